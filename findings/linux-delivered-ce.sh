#!/usr/bin/env bash
# tcpi_delivered_ce of Linux 6.1 counts, with classic ECN, packets that no router has marked.
#
# Valid use: a connection with ECN (RFC 3168) over a path of 0.2 s; the first of ten segments gets CE, no other one.
# Seen: tcpi_delivered_ce is 10, the number of segments that acknowledgements with ECE have acknowledged. A receiver
# sets ECE from the mark on until the sender's CWR arrives, that is for one round trip at least (RFC 3168, 6.1.3).
# Expected: 1, by the name; `ss -i` prints it as delivered_ce, and with DCTCP or AccECN it is the number of marks.
# A share of marks that is computed from it (marks of a queue, DCTCP's alpha, L4S studies that compare with classic
# ECN) is too large by about the segments of a round trip for each reduction.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import socket, struct, subprocess, time

def netem(verb, *words):
    subprocess.run(["tc", "qdisc", verb, "dev", "lo", "root", "netem", "delay", "100ms", *words], check=True)

open("/proc/sys/net/ipv4/tcp_ecn", "w").write("1")
netem("add")
seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
seen.bind(("lo", 0x0800))
listening = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listening.getsockname())
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
receiver = listening.accept()[0]
time.sleep(1)
netem("change", "loss", "100%", "ecn")
sender.send(bytes(100))
netem("change")
for _ in range(9):
    sender.send(bytes(100))
time.sleep(2)
seen.setblocking(False)
marks = data = 0
while True:
    try:
        packet, origin = seen.recvfrom(2000)
    except BlockingIOError:
        break
    if origin[2] == socket.PACKET_HOST and len(packet) > 100:
        data += 1
        marks += packet[1] & 3 == 3
info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
print("segments", data, "with CE", marks, "delivered_ce", struct.unpack_from("I", info, 196)[0])
PY
in_linux program.py sch_netem.ko
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
segments 10 with CE 1 delivered_ce 10
SEEN
