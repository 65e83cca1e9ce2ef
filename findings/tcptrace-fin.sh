#!/usr/bin/env bash
# tcptrace 6.6.7 counts a FIN that is sent again as one byte of data sent again, and every FIN as a data segment.
#
# Valid input: one segment of 1,000 octets, delivered, and a FIN without data that is sent twice.
# Seen: "rexmt data pkts 1", "rexmt data bytes 1", and an average segment of 999 octets where least and greatest are
# both 1,000. Expected: no data were sent again, and an average of 1,000.
# A comparison with tcptrace has to take off one byte for each FIN that is sent again.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree tcptrace=6.6.7-6+b1
python3 - <<'PY'
import struct

def total(octets):
    octets += bytes(len(octets) % 2)
    n = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while n > 0xFFFF:
        n = (n & 0xFFFF) + (n >> 16)
    return n ^ 0xFFFF

def packet(out, seq, ack, flags, data=b""):
    ends = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])][:: 1 if out else -1]
    ports = (40000, 80) if out else (80, 40000)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    tcp = tcp[:16] + struct.pack(">H", total(ends[0] + ends[1] + struct.pack(">HH", 6, len(tcp)) + tcp)) + tcp[18:]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0, *ends)
    return bytes(12) + b"\x08\x00" + ip[:10] + struct.pack(">H", total(ip)) + ip[12:] + tcp

SYN, FIN, ACK = 2, 1, 16
packets = [(0, packet(True, 100, 0, SYN)), (100, packet(False, 500, 101, SYN | ACK)), (100, packet(True, 101, 501, ACK)),
           (200, packet(True, 101, 501, ACK, b"x" * 1000)), (300, packet(False, 501, 1101, ACK)),
           (400, packet(True, 1101, 501, FIN | ACK)), (1000, packet(True, 1101, 501, FIN | ACK)),
           (1100, packet(False, 501, 1102, FIN | ACK)), (1200, packet(True, 1102, 502, ACK))]
with open("tree/fin.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for at_ms, octets in packets:
        file.write(struct.pack("<IIII", 1_700_000_000 + at_ms // 1000, at_ms % 1000 * 1000, len(octets), len(octets)) + octets)
PY
in_tree /usr/bin/tcptrace -l fin.pcap 2>/dev/null >report
seen=$(awk '/rexmt data pkts/ { print "packets", $4 } /rexmt data bytes/ { print "bytes", $4 }
            /segm size/ { print $1, $4 } / data pkts:/ && /actual/ { print "data", $4 }' report | paste -sd' ')
echo "tcptrace 6.6.7: $seen"
[ "$seen" = "data 1 packets 1 bytes 1 max 1000 min 1000 avg 999" ] || { echo "the behaviour has changed"; exit 1; }
