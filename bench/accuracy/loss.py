"""delay.accuracy, loss: which wire packets are lost, from super-packets, from a steady stream and from TCP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

import pktlogger
from bench.accuracy import numbered, theory
from bench.accuracy.arrivals import captured
from bench.registry import Place, Row
from bench.two_hosts import PORT, box, iperf3, iperf3_result
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool
from scenarios.network.host_pair import MTU, NIC, Hosts

PARTS, PAYLOAD = 60, 256  # wire packets of a super-packet, and payload bytes of one wire packet
SEEDS = 3
PACKETS = 10_000_000  # enough for a loss of 0.01 %; the other models lose more
MODEL_PACKETS = 3_000_000
PPB = 100_000
GILBERT = (0.01, 10.0)
FOUR_STATES = (0.005, 0.2, 0.1, 0.3, 0.001)


@dataclass(frozen=True)
class Fates:
    """Whether each wire packet was lost: an array for each seed."""

    seeds: list[int]
    runs: list[NDArray[np.bool_]]

    @property
    def sent(self) -> int:
        """Wire packets of all runs."""
        return sum(run.size for run in self.runs)

    @property
    def lost(self) -> int:
        """Wire packets that were lost."""
        return sum(int(run.sum()) for run in self.runs)

    @property
    def bursts(self) -> int:
        """Number of bursts, which are runs of lost packets."""
        return sum(int(run[:1].sum() + (run[1:] & ~run[:-1]).sum()) for run in self.runs)

    def note(self) -> str:
        """For the table."""
        return f"{theory.SAYING}; {self.sent} wire packets, seeds {', '.join(map(str, self.seeds))}"


def fates(pair: Hosts, place: Place, loss: str, packets: int, seeds: int = SEEDS) -> Fates:
    """Sends super-packets through a box with this loss, with several fresh seeds and as many packets for each."""
    chosen = [theory.fresh_seed() for _ in range(seeds)]
    runs = []
    for seed in chosen:
        trains = -(-packets // (PARTS * seeds))
        with box(pair, MTU, {"loss": loss}, place.scratch, place.ledger, seed=seed):
            with captured(place, [pair.receiver], numbered.FILTER) as capture:
                sent = numbered.send_trains(pair, trains, PARTS, PAYLOAD)
                numbered.wait_quiet(pair)
            runs.append(numbered.lost(capture.points[0], PAYLOAD, sent))
    return Fates(chosen, runs)


def scaled(place: Place, packets: int) -> int:
    """The number of packets for the requested seconds; ``packets``: the number for 60 s."""
    return packets * min(place.seconds or 60, 60) // 60


def independent(pair: Hosts, place: Place) -> Iterator[Row]:
    """Independent loss of 0.01 %."""
    found = fates(pair, place, f"{PPB}ppb", scaled(place, PACKETS))
    yield Row(f"loss {PPB / 1e7:g} %", "packets", found.lost, *theory.binomial(found.sent, PPB / 1e9), found.note())


def gilbert(pair: Hosts, place: Place) -> Iterator[Row]:
    """Gilbert–Elliott: the number of lost packets, and the length of bursts."""
    share, burst = GILBERT
    found = fates(pair, place, f"gilbert:{share * 100:g}%,{burst:g}", scaled(place, MODEL_PACKETS))
    yield from _chain_rows("Gilbert–Elliott 1 %, bursts of 10", theory.gilbert(share, burst), found)


def four_states(pair: Hosts, place: Place) -> Iterator[Row]:
    """The 4-state model: the number of lost packets, and the length of bursts."""
    text = "4state:" + ",".join(f"{p * 100:g}%" for p in FOUR_STATES)
    found = fates(pair, place, text, scaled(place, MODEL_PACKETS))
    yield from _chain_rows("4-state", theory.four_states(*FOUR_STATES), found)


def _chain_rows(name: str, chain: theory.Chain, found: Fates) -> Iterator[Row]:
    yield Row(f"loss {name}", "packets", found.lost, *chain.losses(found.sent), found.note())
    mean = found.lost / found.bursts if found.bursts else 0.0
    yield Row(
        f"loss {name}, mean burst",
        "packets",
        mean,
        *chain.burst(found.bursts),
        f"{theory.SAYING}; {found.bursts} bursts",
    )


def by_packet(pair: Hosts, place: Place) -> Iterator[Row]:
    """A list of packet numbers: these packets are lost, and no others."""
    found = fates(pair, place, "packets:5,1000-1006,7000-7099", 12_000, seeds=1).runs[0]
    wrong = np.setxor1d(np.flatnonzero(found), np.r_[5, 1000:1007, 7000:7100]).size
    yield Row("loss by packet number, wrong fates", "packets", wrong, 0, 0, f"of {found.size}; 108 are listed")


def by_time(pair: Hosts, place: Place) -> Iterator[Row]:
    """The length of two outages in a steady stream. Their times count from when the box created its ports, so the first
    one is late enough for captures to have begun."""
    count, spacing_s = 7000, 0.0005
    with (
        box(pair, MTU, {"loss": "time:2s-2.2s,2.5s-2.55s"}, place.scratch, place.ledger, poll_ns=0),
        captured(place, [pair.sender, pair.receiver], numbered.FILTER) as capture,
    ):
        numbered.send_spaced(pair, count, spacing_s, PAYLOAD)
        numbered.wait_quiet(pair)
    sent, arrived = capture.points
    out = numbered.lost(arrived, PAYLOAD, count)
    t_ns = sent.t_ns[np.argsort(sent.number_at(numbered.UDP_HEADERS))]
    starts = np.flatnonzero(out & ~np.r_[False, out[:-1]])
    ends = np.flatnonzero(out & ~np.r_[out[1:], False])
    if starts.size != 2 or starts[0] == 0 or ends[1] == count - 1:
        yield Row("outages seen", "", float(starts.size), 2, 2, "200 ms and 50 ms, 300 ms apart")
        return
    for name, first, last, wanted_ms in (
        ("outage of 200 ms", starts[0], ends[0], 200.0),
        ("outage of 50 ms", starts[1], ends[1], 50.0),
    ):
        # the outage is at least as long as the lost packets' span, and at most as the span of the packets around them
        inner, outer = float(t_ns[last] - t_ns[first]) / 1e6, float(t_ns[last + 1] - t_ns[first - 1]) / 1e6
        slack = (outer - inner) / 2 + 0.1
        note = "bounds: the packets next to its ends, and 0.1 ms"
        yield Row(f"loss by time, {name}", "ms", (inner + outer) / 2, wanted_ms - slack, wanted_ms + slack, note)


def by_sequence(pair: Hosts, place: Place) -> Iterator[Row]:
    """TCP bytes 1,000,000 to 1,020,000: their first transmission is lost, and no other packet."""
    segments = tcp_segments(pair, place, {"loss": "seq:1000000-1020000"})
    listed = (segments["seq"] <= 1_020_000) & (segments["seq"] + segments["len"] > 1_000_000)
    yield _tcp_row("loss by TCP sequence", segments, listed & (segments["transmission"] == 1))


def by_retransmission(pair: Hosts, place: Place) -> Iterator[Row]:
    """When a packet is lost behind the bottleneck, its first retransmission is lost too, and its second is not."""
    listed = {"loss_after": "seq:1000000-1002000", "loss": "retransmission:1"}
    segments = tcp_segments(pair, place, listed)
    first = (segments["seq"] <= 1_002_000) & (segments["seq"] + segments["len"] > 1_000_000)
    wanted = (first & (segments["transmission"] == 1)) | (segments["transmission"] == 2)
    yield _tcp_row("loss of the first retransmission", segments, wanted)


def _tcp_row(name: str, segments: dict[str, NDArray[np.int64]], wanted: NDArray[np.bool_]) -> Row:
    wrong = int((wanted != (segments["t_received_ns"] < 0)).sum())
    enough = 0 if wanted.any() else 1
    return Row(
        f"{name}, wrong fates", "segments", wrong + enough, 0, 0, f"of {wanted.size}; {int(wanted.sum())} are listed"
    )


def tcp_segments(pair: Hosts, place: Place, loss: dict[str, str]) -> dict[str, NDArray[np.int64]]:
    """Every data segment of a transfer of 5 MB at 100 Mbit/s and RTT 10 ms, from pktlogger's join of both captures."""
    scratch = Path(tempfile.mkdtemp(dir=place.scratch))
    files = [scratch / f"{name}.pcapng" for name in ("snd", "rcv")]
    path: dict[str, int | str] = {"rate_bps": 100_000_000, "delay_ns": 5_000_000, **loss}
    argv = [str(find("pktlogger")), "capture", "--filter", f"tcp and port {PORT}"]
    for pid, file in zip((pair.sender, pair.receiver), files, strict=True):
        argv += ["--interface", f"{NIC}@{pid}", "--write", str(file)]
    # With this window a retransmission has the borders of the original segment, and no time-out occurs.
    options = ["--bytes", "5M", "--congestion", "reno", "--window", "256K"]
    with box(pair, MTU, path, place.scratch, place.ledger), Tool(argv, name="pktlogger", ledger=place.ledger) as tool:
        tool.wait_event("ready", 10)
        with iperf3(pair, place.ledger, *options) as stream:
            iperf3_result(stream, 60)
        tool.stop(30)
    folder = scratch / "analysis"
    argv = [
        str(find("pktlogger")),
        "analyse",
        "--sender",
        str(files[0]),
        "--receiver",
        str(files[1]),
        "-o",
        str(folder),
    ]
    with Tool(argv, name="pktlogger", ledger=place.ledger) as tool:
        tool.finish(60)
    table, main = pktlogger.read_analysis(folder).segments, pktlogger.summary(folder)["main_flow"]
    ours = table.filter(pc.equal(table["flow"], main))
    if not ours.num_rows:
        raise LfpError("delay.accuracy: no segment of the transfer was captured")
    return {name: ours[name].to_numpy().astype(np.int64) for name in ("seq", "len", "transmission", "t_received_ns")}
