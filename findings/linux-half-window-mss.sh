#!/usr/bin/env bash
# Linux 6.1 sends segments of half the receiver's window, however large the MSS is that the receiver allows.
#
# Valid use: a path of MTU 9000, a receiver with SO_RCVBUF of 4,096 octets, a sender that writes 3,000 octets with
# TCP_NODELAY.
# Seen: the SYN+ACK has an MSS option of 8,960 and a window of 4,096 octets, so the write fits into one segment. It
# leaves in two, the first of 2,048 octets, which is half of the window. TCP_INFO gives 2,048 as the MSS.
# Expected: RFC 9293, 3.7.1 lets the MSS follow from the MSS option, the path's MTU and the options of a segment; the
# window is no part of it.
# Whoever computes the number of segments, or a TCP formula, from the MSS options of a capture gets the wrong number for
# jumbo frames and small receive buffers. An analyser that expects full segments takes two for one.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import socket, struct, subprocess

subprocess.run(["ip", "link", "set", "lo", "mtu", "9000"], check=True)
seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
seen.bind(("lo", 0x0800))
seen.settimeout(1.5)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
listening.bind(("127.0.0.1", 0))
listening.listen()
sender = socket.create_connection(listening.getsockname())
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
receiver = listening.accept()[0]
sender.send(bytes(3000))
sizes = []
while True:
    try:
        packet, origin = seen.recvfrom(65536)
    except TimeoutError:
        break
    if origin[2] != socket.PACKET_HOST:
        continue
    tcp = packet[20:]
    header = (tcp[12] >> 4) * 4
    if tcp[13] & 0x12 == 0x12:
        window, options = struct.unpack(">H", tcp[14:16])[0], tcp[20:header]
        print("MSS option", struct.unpack(">H", options[2:4])[0], "window", window)
    elif len(tcp) > header:
        sizes.append(len(tcp) - header)
info = struct.unpack("I", sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[16:20])[0]
print("segments of", *sizes, "octets; tcpi_snd_mss", info)
PY
in_linux program.py
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
MSS option 8960 window 4096
segments of 2048 952 octets; tcpi_snd_mss 2048
SEEN
