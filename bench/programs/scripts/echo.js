// `serve` echoes what comes; `send HOST` sends 2 MB, reads them back and says how long that took.
const net = require("net");

const PORT = 7000, SIZE = 2_000_000;

if (process.argv[2] === "serve") {
    net.createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(PORT);
} else {
    const began = process.hrtime.bigint();
    let came = 0;
    const socket = net.connect(PORT, process.argv[3], () => socket.end(Buffer.alloc(SIZE)));
    socket.on("data", (data) => (came += data.length));
    socket.on("end", () => console.log(`${came} bytes in ${Number(process.hrtime.bigint() - began) / 1e6} ms`));
}
