"""Evidence from program and kernel takes precedence over what a sender's packets look like: limits in virtual time,
against the results of rttcp and its samples of TCP_INFO."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as parquet
import pytest
from captured_trials import ran

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

Array = npt.NDArray[np.int64]
MS = 1_000_000
JIFFY_NS = MS  # of the virtual kernel, whose counters have steps of it


@dataclass
class Sender:
    """A flow of a trial: its limits, and its samples on the captures' clock."""

    control: str
    t0_ns: Array
    t1_ns: Array
    cause: npt.NDArray[np.str_]
    samples: dict[str, Array]
    written_ns: int
    folder: Path

    def time_ns(self, *causes: str) -> int:
        return int((self.t1_ns - self.t0_ns)[np.isin(self.cause, causes)].sum())

    def spans(self, *causes: str) -> list[tuple[int, int]]:
        named = np.isin(self.cause, causes)
        return list(zip(self.t0_ns[named].tolist(), self.t1_ns[named].tolist(), strict=True))


def senders(folder: Path, text: str) -> Iterator[Sender]:
    """All flows of all trials of a scenario that are captured."""
    for known in ran(folder, text):
        trial = Path(known["path"])
        summary = json.loads((trial / "summary.json").read_text())
        transfer = json.loads((trial / "transfer.json").read_text())
        limits = parquet.read_table(trial / "limits.parquet")
        names = np.asarray(summary["limit_causes"])
        for name, end in {"": transfer, **(transfer.get("flows") or {})}.items():
            file = trial / (f"flows/{name}/tcp_info.parquet" if name else "tcp_info.parquet")
            yield _sender(end["sender"], summary, limits, names, parquet.read_table(file), trial)


def _sender(end: dict[str, Any], summary: dict[str, Any], limits: Any, names: Any, table: Any, trial: Path) -> Sender:
    port = int(end["streams"][0]["local"].rpartition(":")[2])
    flow = next(one["flow"] for one in summary["flows"] if one["sender"]["port"] == port)
    own = limits["flow"].to_numpy() == flow
    samples = {column: table[column].to_numpy() for column in table.column_names}
    samples["t_ns"] = samples["t_ns"] + (end["t0_realtime_ns"] - end["t0_monotonic_ns"])
    return Sender(
        control=end["congestion"],
        t0_ns=limits["t0_ns"].to_numpy()[own],
        t1_ns=limits["t1_ns"].to_numpy()[own],
        cause=names[limits["cause"].to_numpy()[own]],
        samples=samples,
        written_ns=end["t0_realtime_ns"] + end["streams"][0]["last_byte_ns"],
        folder=trial,
    )


SHORT = """
[scenario]
name = "short"
[path]
rate = "100Mbit"
queue = "1 BDP"
[profile]
name = "linux"
[transfer]
bytes = "100KB"
congestion = "{control}"
[sweep]
"path.delay" = ["20ms", "100ms"]
"path.loss" = ["0%", "1%"]
"transfer.bytes" = ["20KB", "100KB", "2MB"]
[capture]
points = ["snd", "rcv"]
"""


@pytest.mark.parametrize("control", ["cubic", "bbr"])
def test_a_program_that_has_given_all_waits_for_no_room(tmp_path: Path, control: str) -> None:
    """rttcp says when the kernel took its last octet. From then on neither rttcp nor its send buffer is the limit."""
    for one in senders(tmp_path, SHORT.format(control=control)):
        for t0_ns, t1_ns in one.spans("send_buffer", "application"):
            assert t1_ns <= one.written_ns or t0_ns < one.written_ns, (one.folder, t0_ns, t1_ns, one.written_ns)
            late_ns = max(0, t1_ns - max(t0_ns, one.written_ns))
            assert late_ns <= MS, (one.folder, late_ns)  # the program wakes up within the gap and writes the rest


PAUSES = """
[scenario]
name = "pauses"
[path]
delay = "20ms"
rate = "100Mbit"
queue = "1 BDP"
[transfer]
duration = "2s"
{kind}
[profile]
sysctl = "net.ipv4.tcp_rmem=4096 65536 131072"
[sweep]
"{key}" = ["40KB", "60KB", "200KB"]
[capture]
points = ["snd", "rcv"]
"""


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ('request = "60KB"\nresponse = "100B"', "transfer.request"),
        ('pace = "4Mbit"\npace_burst = "60KB"', "transfer.pace_burst"),
    ],
)
def test_a_window_limits_as_long_as_the_kernel_counts(tmp_path: Path, kind: str, key: str) -> None:
    """A program that writes and pauses fills the window, and then has nothing unsent. The kernel counts a wait with an
    error of a jiffy at each end, and there is at most one wait in a round trip."""
    for one in senders(tmp_path, PAUSES.format(kind=kind, key=key)):
        t_ns, counted_us = one.samples["t_ns"], one.samples["rwnd_limited_us"]
        spans = [(max(t0, t_ns[0]), min(t1, t_ns[-1])) for t0, t1 in one.spans("receiver_window", "zero_window")]
        ours_ns = sum(max(0, t1 - t0) for t0, t1 in spans)
        kernel_ns = int(counted_us[-1] - counted_us[0]) * 1000
        waits = (t_ns[-1] - t_ns[0]) // (40 * MS)
        assert abs(ours_ns - kernel_ns) <= 2 * JIFFY_NS * waits, (one.folder, ours_ns / MS, kernel_ns / MS)


SHARED = """
[scenario]
name = "shared"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "1 BDP"
loss = "{loss}"
[transfer]
duration = "3s"
congestion = "cubic"
[sweep]
"transfer.congestion" = ["cubic", "reno", "dctcp", "bbr"]
[flow.rival]
start = "500ms"
duration = "1s"
congestion = "bbr"
[flow.short]
start = "800ms"
bytes = "300KB"
congestion = "reno"
[capture]
points = ["snd", "rcv", "box"]
"""


@pytest.mark.parametrize("loss", ["0%", "0.1%"])
def test_flows_that_share_a_line_have_the_limits_of_their_kernels(tmp_path: Path, loss: str) -> None:
    """Nothing paces flows whose control has a window, so pacing never limits them. Slow start limits them where the
    kernel is in slow start, and the path's rate where the line was busy."""
    for one in senders(tmp_path, SHARED.format(loss=loss)):
        if one.control != "bbr":
            assert one.time_ns("pacing") == 0, one.folder
            _slow_start_is_the_kernels(one)
        _the_line_is_busy(one)


def _slow_start_is_the_kernels(one: Sender) -> None:
    """At samples within spans of slow start, cwnd is below ssthresh, except in the round in which slow start ends."""
    t_ns, below = one.samples["t_ns"], one.samples["snd_cwnd"] < one.samples["snd_ssthresh"]
    at = np.searchsorted(one.t0_ns, t_ns, "right") - 1
    inside = (at >= 0) & (t_ns < one.t1_ns[at])
    slow = inside & (one.cause[at] == "slow_start")
    past = inside & np.isin(one.cause[at], ["congestion_avoidance", "ecn"])
    assert (slow & ~below).sum() <= 0.5 * max(slow.sum(), 8), (one.folder, one.control)
    assert (past & below).sum() <= 0.1 * max(past.sum(), 80), (one.folder, one.control)


def _the_line_is_busy(one: Sender) -> None:
    box = parquet.read_table(one.folder / "box.parquet")
    column = {name: box[name].to_numpy() for name in ("direction", "t_arrival_ns", "t_queue_exit_ns")}
    passed = (column["direction"] == 0) & (column["t_queue_exit_ns"] >= 0)
    begin, end = column["t_arrival_ns"][passed], np.maximum.accumulate(column["t_queue_exit_ns"][passed])
    idle_from, idle_to = end[:-1], begin[1:]
    for t0_ns, t1_ns in one.spans("path_rate"):
        idle_ns = np.maximum(0, np.minimum(idle_to, t1_ns) - np.maximum(idle_from, t0_ns)).sum()
        assert idle_ns <= 0.1 * (t1_ns - t0_ns) + MS, (one.folder, one.control, (t1_ns - t0_ns) / MS, idle_ns / MS)
