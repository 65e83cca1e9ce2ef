#!/usr/bin/env bash
# scapy 2.6.1 and python-pcapng 2.1.1 ignore if_tsoffset, so a packet of 2023 is dated 1 January 1970.
#
# Valid input: an interface whose option if_tsoffset is 1,700,000,000 seconds (pcapng, section 4.2: to be added to the
# time of each packet), and a packet 1.5 s after it.
# Seen: 1.5 s from both. dpkt 1.9.8, in the same run, gives 1700000001.5, as tshark and tcpdump do.
# Who joins captures of several machines by time with these libraries finds nothing in common.
set -euo pipefail
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
python3 -m venv v
v/bin/pip -q install --disable-pip-version-check scapy==2.6.1 python-pcapng==2.1.1 dpkt==1.9.8
v/bin/python - <<'PY'
import struct
import dpkt, pcapng, scapy
from scapy.layers.l2 import Ether  # noqa: F401  names the link type
from scapy.utils import PcapNgReader

def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

with open("offset.pcapng", "wb") as file:
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
               + block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHq", 14, 8, 1_700_000_000) + bytes(4))
               + block(6, struct.pack("<IIIII", 0, 0, 1_500_000, 60, 60) + bytes(60)))
with PcapNgReader("offset.pcapng") as reader:
    by_scapy = [float(packet.time) for packet in reader]
with open("offset.pcapng", "rb") as file:
    by_pcapng = [b.timestamp for b in pcapng.FileScanner(file) if hasattr(b, "packet_data")]
with open("offset.pcapng", "rb") as file:
    by_dpkt = [float(t) for t, _ in dpkt.pcapng.Reader(file)]
print("scapy", scapy.__version__, by_scapy, "python-pcapng 2.1.1", by_pcapng, "dpkt", dpkt.__version__, by_dpkt)
assert (by_scapy, by_pcapng, by_dpkt) == ([1.5], [1.5], [1700000001.5]), "the behaviour has changed"
PY
