#!/usr/bin/env bash
# SO_MAX_PACING_RATE of Linux 6.1 does not hold for the first ten segments of a connection.
#
# Valid use: SO_MAX_PACING_RATE of 5,000 octets a second on a TCP socket before it connects; 20 segments of 500 octets.
# Seen: ten segments leave at once, and what follows keeps to the rate.
# Expected: one each tenth of a second from the first one on; the option's name says "max".
# Short transfers are not paced at all, whatever rate is asked for, and the burst at the beginning of a paced one is
# met at each bottleneck that is slower than the host's link.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import socket, time

SO_MAX_PACING_RATE = 47
seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
seen.bind(("lo", 0x0800))
seen.settimeout(1.5)
listening = socket.create_server(("127.0.0.1", 0))
sender = socket.socket()
sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 5000)
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 512)
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
sender.connect(listening.getsockname())
receiver = listening.accept()[0]
for _ in range(20):
    sender.send(bytes(500))
times, sizes = [], [] # of what arrives; headers have 52 octets
while True:
    try:
        packet, origin = seen.recvfrom(65536)
    except TimeoutError:
        break
    if origin[2] == socket.PACKET_HOST and len(packet) > 100:
        times.append(time.monotonic())
        sizes.append(len(packet) - 52)
at_once = sum(t - times[0] < 0.05 for t in times)
paced = sum(size / 5000 for size in sizes[at_once:-1])
late = times[-1] - times[at_once]
print("at once", at_once, "octets", sum(sizes[:at_once]), "then", "paced" if late > paced * 0.9 else "not paced")
PY
in_linux program.py
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
at once 10 octets 5000 then paced
SEEN
