#!/usr/bin/env bash
# dpkt 1.9.8 reads every packet of a pcapng file with the time resolution of the first interface.
#
# Valid input: two interfaces, one in microseconds, one in nanoseconds (dumpcap writes such files when it captures on
# two interfaces), and one packet of each at the same time, 1,700,000,000.000007 s.
# Seen: 1700000000.000007 and 1700000000000.0068, a time in the year 55,840. Nothing is said.
# Expected: each interface has an if_tsresol of its own (pcapng, section 4.2), so both times are equal.
set -euo pipefail
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
python3 -m venv v
v/bin/pip -q install --disable-pip-version-check dpkt==1.9.8
v/bin/python - <<'PY'
import io, struct
import dpkt

def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

def interface(digits):
    return block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3x", 9, 1, digits) + bytes(4))

def packet(number, ticks):
    return block(6, struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, 60, 60) + bytes(60))

file = io.BytesIO(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + interface(6) + interface(9)
                  + packet(0, 1_700_000_000_000_007) + packet(1, 1_700_000_000_000_007_000))
times = [float(t) for t, _ in dpkt.pcapng.Reader(file)]
print("dpkt", dpkt.__version__, *map(repr, times))
assert times == [1700000000.000007, 1700000000000.0068], "the behaviour has changed"
PY
