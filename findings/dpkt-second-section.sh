#!/usr/bin/env bash
# dpkt 1.9.8 stops without a word at the second section of a pcapng file whose byte order differs.
#
# Valid input: a little-endian section with one packet, then a big-endian section with one packet, as `cat` makes it of
# files from two machines (pcapng, section 4.1: each section has its own byte order).
# Seen: one packet and a normal end. Expected: two packets (tshark prints two), or an error.
set -euo pipefail
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
python3 -m venv v
v/bin/pip -q install --disable-pip-version-check dpkt==1.9.8
v/bin/python - <<'PY'
import io, struct
import dpkt

def block(order, kind, body):
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

def section(order, ticks):
    return (block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
            + block(order, 1, struct.pack(order + "HHI", 1, 0, 0))
            + block(order, 6, struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, 60, 60) + bytes(60)))

both = section("<", 1_700_000_000_000_000) + section(">", 1_700_000_000_000_005)
seen = len(list(dpkt.pcapng.Reader(io.BytesIO(both))))
print("dpkt", dpkt.__version__, "packets of 2:", seen)
assert seen == 1, "the behaviour has changed"
PY
