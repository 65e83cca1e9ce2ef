#!/usr/bin/env bash
# tcptrace 6.6.7 counts the extension headers of IPv6 as octets of TCP data.
#
# Valid input: a connection that sends one segment of 1,000 octets; each packet has a Destination Options header of 8
# octets (RFC 8200, 4.6) in front of TCP. Without that header the same packets are counted right.
# Seen: "actual data bytes" 1040, in five data packets: the SYN, the two acknowledgements and the FIN, which have no
# data, count as 8 octets each. Expected: 1000 octets in one data packet.
# Captures of segment routing (RFC 8754), IPsec's AH and hop-by-hop options show too much data and goodput.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree tcptrace=6.6.7-6+b1
python3 - <<'PY'
import struct

A, B = bytes.fromhex("20010db8" + "00" * 11 + "01"), bytes.fromhex("20010db8" + "00" * 11 + "02")

def total(octets):
    octets += bytes(len(octets) % 2)
    n = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while n > 0xFFFF:
        n = (n & 0xFFFF) + (n >> 16)
    return n ^ 0xFFFF

def packet(extended, out, seq, ack, flags, data=b""):
    ends, ports = [A, B][:: 1 if out else -1], (40000, 80) if out else (80, 40000)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    pseudo = ends[0] + ends[1] + struct.pack(">IBBBB", len(tcp), 0, 0, 0, 6)
    tcp = tcp[:16] + struct.pack(">H", total(pseudo + tcp)) + tcp[18:]
    options = struct.pack(">BBBB4x", 6, 0, 1, 4) if extended else b""  # PadN
    body = options + tcp
    head = struct.pack(">IHBB", 6 << 28, len(body), 60 if extended else 6, 64)
    return bytes(12) + b"\x86\xdd" + head + ends[0] + ends[1] + body

SYN, FIN, ACK = 2, 1, 16
talk = [(True, 100, 0, SYN), (False, 500, 101, SYN | ACK), (True, 101, 501, ACK), (True, 101, 501, ACK, b"x" * 1000),
        (False, 501, 1101, ACK), (True, 1101, 501, FIN | ACK), (False, 501, 1102, FIN | ACK), (True, 1102, 502, ACK)]
for name, extended in ("plain", False), ("options", True):
    with open(f"tree/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, one in enumerate(talk):
            octets = packet(extended, *one)
            file.write(struct.pack("<IIII", 1_700_000_000, i * 1000, len(octets), len(octets)) + octets)
PY
fail=0
while read -r name packets octets; do
    in_tree /usr/bin/tcptrace -l "$name.pcap" 2>/dev/null >report
    seen=$(awk '/actual data pkts/ { packets = $4 } /actual data bytes/ { print packets, $4 }' report)
    echo "tcptrace 6.6.7, $name: data packets and octets $seen"
    [ "$seen" = "$packets $octets" ] || fail=1
done <<'ROWS'
plain 1 1000
options 5 1040
ROWS
[ "$fail" = 0 ] || { echo "the behaviour has changed"; exit 1; }
