"""lft.packets: the throughput of a pair of gateways with the smallest and with the largest packets, as router and as
proxy.

This is table 2 of comet-2004 for the machine at hand. The hosts send segments of 88 octets (76 of them payload) or of
1,460, and no interface towards a host joins or splits them, so each is a packet of its own to the gateway's kernel.
The path has RTT 20 ms and no limit; the gateways have the limit of 800 Mbit/s.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import rttcp
from bench.gateway_lab import LAN, SERVER, in_netns
from bench.lft_lab import RATE_BPS, ROUTER, Lab, lab
from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool

NAME = "lft.packets"
PAIRS, SECONDS, WARM_UP_S = 3, 5, 1
PATH: dict[str, int | str] = {"delay_ns": 10_000_000}
DATA_PORT, STREAMS = 5011, 4
MODELS = ("proxy", "router")
OPTIONS_BYTES, HEADERS_BYTES = 12, 52  # TCP's timestamps; with the headers of TCP and IPv4
ETHERNET_BYTES = 14
LEAST_GAIN = 1.5  # largest over smallest packets; 1 if only octets had a cost, 19 if only packets had


@dataclass(frozen=True)
class Size:
    """Packets of one size, by the largest segment that TCP may send (TCP_MAXSEG)."""

    name: str
    mss_bytes: int

    @property
    def payload_bytes(self) -> int:
        """Payload of a full segment."""
        return self.mss_bytes - OPTIONS_BYTES

    @property
    def packet_bytes(self) -> int:
        """The length of the IP packet with a full segment."""
        return self.payload_bytes + HEADERS_BYTES


SMALL, LARGE = Size("smallest", 88), Size("largest", 1460)


def _one_by_one(made: Lab) -> None:
    """Switches off what would join packets or split them, on both sides of both hosts' lines."""
    for pid, interface in ((made.client, "eth0"), (made.near, "lan0"), (made.far, "lan0"), (made.server, "eth0")):
        in_netns(pid, "ethtool", "-K", interface, "tso", "off", "gso", "off", "gro", "off")


def mean_frame_bytes(net_dev: str, interface: str) -> float:
    """Mean length of the frames that an interface has taken in, from the text of /proc/PID/net/dev. A super-packet
    counts as one frame. 0 when there was none."""
    for line in net_dev.splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == interface:
            octets, packets = map(int, columns.split()[:2])
            return octets / packets if packets else 0.0
    raise LfpError(f"{interface}: not in the gateway's namespace")


def _check_size(made: Lab, size: Size) -> None:
    """LfpError when packets were joined before they reached the near gateway, so that the figure would not be for this
    size."""
    mean = mean_frame_bytes(Path(f"/proc/{made.near}/net/dev").read_text(encoding="ascii"), "lan0")
    if mean > size.packet_bytes + ETHERNET_BYTES:
        raise LfpError(f"{NAME}: packets of {size.packet_bytes} bytes came as frames of {mean:.0f} on average")


def _options(model: str) -> tuple[list[str], str]:
    """The near gateway's options, and the address that the sender connects to."""
    if model == "router":
        return list(ROUTER), SERVER[4]
    ports = (rttcp.DEFAULT_PORT, *range(DATA_PORT, DATA_PORT + STREAMS))
    pairs = [f"{LAN['near'][4]}:{port}={SERVER[4]}:{port}" for port in ports]
    return [word for pair in pairs for word in ("--forward", pair)], LAN["near"][4]


def _goodput_bps(place: Place, model: str, size: Size, seconds: int) -> float:
    """Goodput of several streams after their start, bit/s."""
    near, target = _options(model)
    common = ["--rate", f"{RATE_BPS}bit", "--expected-rtt", "20ms"]
    with ExitStack() as stack:
        made = stack.enter_context(lab(place, PATH))
        _one_by_one(made)
        stack.enter_context(made.stopping())
        made.start("far", *common, *(ROUTER if model == "router" else ()))
        made.start("near", *common, *near)
        made.wait_accelerating()
        binary = find("rttcp")
        receive = rttcp.receiver_argv(binary, once=True, data_port=DATA_PORT)
        stack.enter_context(rttcp.listening(receive, netns_pid=made.server, name="rttcp receiver", ledger=made.ledger))
        send = rttcp.sender_argv(
            target,
            binary,
            mss_bytes=size.mss_bytes,
            parallel=STREAMS,
            duration_ns=seconds * 10**9,
            omit_ns=WARM_UP_S * 10**9,
        )
        sender = stack.enter_context(Tool(send, netns_pid=made.client, name="rttcp sender", ledger=made.ledger))
        goodput_bps = float(rttcp.finished(sender, 90.0 + seconds).summary.steady_bps)
        _check_size(made, size)
        return goodput_bps


def measure(place: Place) -> Iterator[Result]:
    """Medians of the rounds."""
    seconds, rounds = place.seconds or SECONDS, place.pairs or PAIRS
    cells: dict[tuple[str, Size], list[float]] = {(model, size): [] for model in MODELS for size in (SMALL, LARGE)}
    for number in range(1, rounds + 1):
        for (model, size), found in cells.items():
            found.append(_goodput_bps(place, model, size, seconds))
            place.say(f"{NAME} {number}: {model}, {size.name} packets: {found[-1] / 1e6:.1f} Mbit/s")
    rows = []
    for model in MODELS:
        small, large = (statistics.median(cells[model, size]) for size in (SMALL, LARGE))
        rows += [_rate(model, SMALL, small), _rate(model, LARGE, large)]
        most = LARGE.payload_bytes / SMALL.payload_bytes
        rows.append(Row(f"{model}, largest over smallest", "ratio", large / small, LEAST_GAIN, most))
    method = (
        f"{STREAMS} streams, RTT 20 ms, limit 800 Mbit/s, aes-128-gcm, {seconds} s behind {WARM_UP_S} s; medians of "
        f"{rounds}. Both hosts, both gateways and the delay box share this machine."
    )
    yield Result(NAME, "within bounds", None, rows=rows, method=method)


def _rate(model: str, size: Size, goodput_bps: float) -> Row:
    packets = goodput_bps / 8 / size.payload_bytes
    note = f"{packets / 1000:.0f} thousand packets/s of {size.packet_bytes} bytes"
    return Row(f"{model}, {size.name} packets", "Mbit/s", goodput_bps / 1e6, 0.0, RATE_BPS / 1e6, note)


BENCH = Bench(NAME, "gateways with the smallest and the largest packets, as router and as proxy", measure)
