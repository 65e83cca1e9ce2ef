"""`serve` echoes what comes; `send HOST` sends 2 MB, reads them back and says how long that took."""

import asyncio
import sys
import time

PORT, SIZE = 7000, 2_000_000


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve() -> None:
    async with await asyncio.start_server(echo, None, PORT) as server:
        await server.serve_forever()


async def send(host: str) -> None:
    began = time.monotonic()
    reader, writer = await asyncio.open_connection(host, PORT)
    writer.write(bytes(SIZE))
    writer.write_eof()
    came = len(await reader.read())
    print(f"{came} bytes in {1000 * (time.monotonic() - began):.3f} ms")


asyncio.run(serve() if sys.argv[1] == "serve" else send(sys.argv[2]))
