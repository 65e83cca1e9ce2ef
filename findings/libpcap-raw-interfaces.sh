#!/usr/bin/env bash
# tcpdump 4.99.3 with libpcap 1.10.3 refuses a pcapng file whose two interfaces are both raw IP, because it takes their
# equal link types for different ones.
#
# Valid input: one section, two Interface Description Blocks with LinkType 101 (LINKTYPE_RAW), a packet of each (pcapng,
# section 4.2: a section may have any number of them). `mergecap -I none` of two captures of raw IP writes such a file.
# Seen: no packet, "an interface has a type 101 different from the type of the first interface", status 1. The first
# interface's 101 has become DLT_RAW, 12 on Linux, before the second one's 101 is compared with it.
# Expected: two packets, as with LinkType 228 (LINKTYPE_IPV4), whose number is the same everywhere. Every program that
# reads captures by libpcap is misled; tcptrace 6.6.7 says "0 packets seen" and exits with 0.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree tcpdump=4.99.3-1 libpcap0.8=1.10.3-1
mkdir -p tree/etc && echo root:x:0:0::/:/bin/sh >tree/etc/passwd # tcpdump looks up who it becomes
python3 - <<'PY'
import struct

def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 1, 0x4000, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
packet = ip + struct.pack(">HHIIBBHHH", 40000, 80, 1, 1, 0x50, 16, 65535, 0, 0)
for link in 101, 228:
    with open(f"tree/{link}.pcapng", "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(block(1, struct.pack("<HHI", link, 0, 0)) * 2)
        for interface in 0, 1:
            ticks = 1_700_000_000_000_000 + interface
            head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(packet), len(packet))
            file.write(block(6, head + packet))
PY
fail=0
while read -r link packets status; do
    found=0
    in_tree /usr/bin/tcpdump -Z root -nn -tt -q -r "$link.pcapng" >packets 2>errors || found=$?
    echo "tcpdump 4.99.3, two interfaces of link type $link: $(grep -c '^1700000000' packets || :) packets, status $found," \
        "$(tail -n 1 errors)"
    [ "$(grep -c '^1700000000' packets || :) $found" = "$packets $status" ] || fail=1
    [ "$link" = 228 ] || grep -q 'type 101 different from the type of the first interface' errors || fail=1
done <<'ROWS'
101 0 1
228 2 0
ROWS
[ "$fail" = 0 ] || { echo "the behaviour has changed"; exit 1; }
