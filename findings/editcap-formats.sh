#!/usr/bin/env bash
# editcap 4.0.17 writes captures in formats in which packets or their times are lost, and says nothing.
#
# Valid input: ten Ethernet frames of 54 octets, a tenth of a second apart from 14 November 2023, 22:13:20 UTC.
# Each is converted with `editcap -F FORMAT`, which exits with 0, and is read again by tshark of the same version:
#   commview-ncfx  one packet of 34 octets, then "damaged or corrupt"
#   observer       no packet, "damaged or corrupt"
#   visual         frames are 50 octets long: 4 are taken off, as if they had been a frame check sequence
#   lanalyzer      the date is kept, the time of day is lost (22:13:20 becomes 00:00:00)
#   k12text        dated 2000-01-01, 21:13:20: the date is lost, and an hour in time zone UTC
# Others (pcap, snoop, modpcap, nettl, netmon2, commview-ncf) come back equal.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree tshark=4.0.17-0+deb12u3 wireshark-common=4.0.17-0+deb12u3
python3 - <<'PY'
import struct
ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 1, 0x4000, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
frame = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHIIBBHHH", 40000, 80, 1, 1, 0x50, 16, 65535, 0, 0)
with open("tree/in.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for i in range(10):
        file.write(struct.pack("<IIII", 1_700_000_000, i * 100_000, len(frame), len(frame)) + frame)
PY
mkdir -p tree/dev tree/tmp && : >tree/dev/null
seen() { # packets, length and time of the first one
    TZ=UTC in_tree /usr/bin/editcap -F "$1" in.pcap out 2>/dev/null
    { TZ=UTC HOME=/tmp in_tree /usr/bin/tshark -r out -T fields -e frame.len -e frame.time_epoch 2>/dev/null || :; } |
        awk '{ n++ } n == 1 { first = " " $1 " " $2 } END { print n + 0 first }'
}
fail=0
while read -r format packets length time; do
    found=$(seen "$format")
    echo "editcap 4.0.17 -F $format: $found"
    [ "$found" = "$packets${length:+ $length $time}" ] || fail=1
done <<'ROWS'
pcap 10 54 1700000000.000000000
snoop 10 54 1700000000.000000000
commview-ncfx 1 34 1700000000.000000000
observer 0
visual 10 50 1700000000.000000000
lanalyzer 10 54 1699920000.000000000
k12text 10 54 946761200.000000000
ROWS
[ "$fail" = 0 ] || { echo "the behaviour has changed"; exit 1; }
