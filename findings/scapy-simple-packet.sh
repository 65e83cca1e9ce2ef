#!/usr/bin/env bash
# scapy 2.6.1 returns Simple Packet Blocks of a pcapng file as empty packets when the interface has no snap length.
#
# Valid input: an interface with snap length 0, which means "no limit" (pcapng, section 4.2), and a Simple Packet
# Block with 60 octets.
# Seen: a packet of 0 octets whose length on the wire is 60. Expected: 60 octets (tshark and tcpdump show them).
# scapy cuts the packet at the snap length, and takes 0 for a length.
set -euo pipefail
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
python3 -m venv v
v/bin/pip -q install --disable-pip-version-check scapy==2.6.1
v/bin/python - <<'PY'
import struct
import scapy
from scapy.utils import RawPcapNgReader

def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

def seen(snap):
    with open("simple.pcapng", "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
                   + block(1, struct.pack("<HHI", 1, 0, snap)) + block(3, struct.pack("<I", 60) + bytes(60)))
    with RawPcapNgReader("simple.pcapng") as reader:
        return [(len(octets), about.wirelen) for octets, about in reader]

print("scapy", scapy.__version__, "snap 0:", seen(0), "snap 65535:", seen(65535))
assert (seen(0), seen(65535)) == ([(0, 60)], [(60, 60)]), "the behaviour has changed"
PY
