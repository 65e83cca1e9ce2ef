#!/usr/bin/env bash
# tcpdump 4.99.3 with libpcap 1.10.3 reads only the first section of a pcapng file when the byte order changes, and
# calls the second section's header a block that is too large.
#
# Valid input: a little-endian section with one packet, then a big-endian section with one packet (pcapng, section 4.1:
# the byte-order magic of each section says how it, with its block length, is to be read).
# Seen: one packet, "pcapng block size 469762048 > maximum 16777216" (28, the length, read in the old order), status 1.
# Expected: two packets; tshark 4.0.17 prints two.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree tcpdump=4.99.3-1 libpcap0.8=1.10.3-1
mkdir -p tree/etc && echo root:x:0:0::/:/bin/sh >tree/etc/passwd # tcpdump looks up who it becomes
python3 - <<'PY'
import struct

def block(order, kind, body):
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

with open("tree/both.pcapng", "wb") as file:
    for order, ticks in ("<", 1_700_000_000_000_000), (">", 1_700_000_000_000_005):
        file.write(block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
                   + block(order, 1, struct.pack(order + "HHI", 1, 0, 0))
                   + block(order, 6, struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, 60, 60) + bytes(60)))
PY
status=0
in_tree /usr/bin/tcpdump -Z root -nn -tt -q -r both.pcapng >packets 2>errors || status=$?
echo "tcpdump 4.99.3: $(grep -c '^1700000000' packets) packet, status $status, $(tail -n 1 errors)"
grep -q 'block size 469762048 > maximum' errors && [ "$(grep -c '^1700000000' packets)" = 1 ] && [ "$status" = 1 ] ||
    { echo "the behaviour has changed"; exit 1; }
