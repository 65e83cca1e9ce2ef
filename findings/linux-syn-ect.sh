#!/usr/bin/env bash
# Linux 6.1 refuses ECN to a SYN that asks for it in an ECN-capable packet.
#
# Valid use: net.ipv4.tcp_ecn=1, and SYNs with ECE and CWR in IPv4 packets that are marked Not-ECT, ECT(1), ECT(0), CE.
# Seen: the SYN-ACK has ECE for Not-ECT alone. No counter and no message says why the others get none.
# Expected: RFC 3168, 6.1.1 forbids the sender to mark a SYN so, but says nothing of refusing; RFC 8311, 4.3 allows
# ECN-capable SYNs for experiments.
# It misleads those who mark all packets of a path or host as ECN-capable (nft's `ip ecn set ect0`, a router that
# rewrites the TOS octet, experiments with ECN on control packets): every connection silently runs without ECN.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import pathlib, socket, struct

ECE, CWR, SYN = 0x40, 0x80, 0x02
HERE = bytes([127, 0, 0, 1])

def total(octets):
    n = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while n > 0xFFFF:
        n = (n & 0xFFFF) + (n >> 16)
    return n ^ 0xFFFF

def answer(tos, port, listening):
    tcp = struct.pack(">HHIIBBHHH", port, listening, 1, 0, 0x50, ECE | CWR | SYN, 65535, 0, 0)
    sum_ = total(HERE + HERE + struct.pack(">HH", 6, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack(">H", sum_) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(tcp), 1, 0, 64, 6, 0) + HERE + HERE
    back = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    back.settimeout(10)
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).sendto(ip + tcp, ("127.0.0.1", 0))
    while (packet := back.recv(2048))[20:24] != struct.pack(">HH", listening, port):
        pass
    return "ECE" if packet[33] & ECE else "no ECE"

pathlib.Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1")
server = socket.create_server(("127.0.0.1", 0))
for tos, name in enumerate(("Not-ECT", "ECT(1)", "ECT(0)", "CE")):
    print(f"SYN in {name}: SYN-ACK with {answer(tos, 40000 + tos, server.getsockname()[1])}")
PY
in_linux program.py
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
SYN in Not-ECT: SYN-ACK with ECE
SYN in ECT(1): SYN-ACK with no ECE
SYN in ECT(0): SYN-ACK with no ECE
SYN in CE: SYN-ACK with no ECE
SEEN
