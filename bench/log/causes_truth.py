"""The ground truth of log.causes: the kernel's own view of a sender and the delay box's record, never the captures.

The kernel's samples say when the sender was in recovery, waited for a time-out, or had nothing to send. They say when
the receiver's window or the send buffer limited it (the kernel's chronographs), and whether its window was below the
slow start threshold. The box's record says how busy the bottleneck was. Pacing is known by construction, where the
kernel's window had room.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as parquet

import pktlogger
from netcommon import quantity
from netcommon.binaries import find
from scenarios.plan.plan import Trial

Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
BUSY_SHARE = 0.98  # share of a round trip above which the path's rate is the limit
RECOVERY, LOSS = 3, 4  # tcpi_ca_state
_LINK_BYTES = 14  # a frame's link header, which framing = "ip" does not count
_ROOM_SEGMENTS = 3  # a window with more room than this does not limit


class Truth:
    """The intervals between samples of a trial's transfer, and the limit in each. Times are CLOCK_REALTIME."""

    def __init__(self, folder: Path, trial: Trial) -> None:
        clock = json.loads((folder / "status.json").read_text())["clock"]
        table = parquet.read_table(folder / "tcp_info.parquet")
        self._of = {name: table[name].to_numpy() for name in table.column_names}
        self.t_ns: Times = self._of["t_ns"] + (int(clock["realtime_ns"]) - int(clock["monotonic_ns"]))
        self._trial = trial
        self._busy = _Bottleneck(folder, trial)
        self._down = _down(folder, str(trial.setting.path.loss), self.t_ns, int(trial.setting.path.rtt_ns()))

    def limits(self) -> list[str]:
        """The limit between each sample and the next one."""
        of, lasted_ns = self._of, np.diff(self.t_ns)
        paced = bool(self._trial.setting.transfer.pace)
        filled = "tcp_wmem" in self._trial.setting.profile.sysctl  # the application always has more data
        share = {
            name: np.diff(of[f"{name}_us"]) * 1000 / lasted_ns
            for name in ("busy_time", "rwnd_limited", "sndbuf_limited")
        }
        state, room = of["ca_state"][:-1], of["unacked"] + _ROOM_SEGMENTS < of["snd_cwnd"]
        idle = room & (of["notsent_bytes"] < of["snd_mss"])  # Nagle keeps less than a segment back
        rules: list[tuple[str, Flags]] = [
            ("path_down", self._down),
            ("timeout", (state == LOSS) | self._waits_for_timeout()),
            ("fast_recovery", state == RECOVERY),
            ("send_buffer" if filled else "application", (share["busy_time"] < 0.5) | idle[:-1]),
            ("receiver_window", share["rwnd_limited"] > 0.5),
            ("send_buffer", share["sndbuf_limited"] > 0.5),
            ("path_rate", self._busy.share(self.t_ns[:-1], int(self._trial.setting.path.rtt_ns())) >= BUSY_SHARE),
            ("slow_start", (of["snd_cwnd"] < of["snd_ssthresh"])[:-1] & ~(room[:-1] & paced)),
            ("pacing", room[:-1] & paced),
        ]
        names = ["congestion_avoidance", *(name for name, _ in rules)]
        number = np.select([flags for _, flags in rules], range(1, len(names)), 0)
        return [names[one] for one in number]

    def _waits_for_timeout(self) -> Flags:
        """Whether each interval is between the last segment sent and the time-out that ends the silence."""
        segments, timeouts = self._of["data_segs_out"], self._of["total_rto"]
        waits = np.zeros(segments.size - 1, np.bool_)
        for at in np.flatnonzero(np.diff(timeouts) > 0):  # a few in a trial
            waits[np.searchsorted(segments, segments[at]) : at + 1] = True
        return waits


def _down(folder: Path, loss: str, t_ns: Times, rtt_ns: int) -> Flags:
    """Whether the path was down between each time and the next one: from the first packet that an outage took, by the
    box's record, until an acknowledgement could have come back once it was up."""
    up_ns = np.asarray([*_up_again_ns(folder, loss), 2**62])
    table = parquet.read_table(folder / "box.parquet")
    fates = json.loads((table.schema.metadata or {})[b"pktlogger.record"])["fates"]
    flow = table["flow"].to_numpy()
    main = np.bincount(flow[flow < table.num_rows]).argmax()  # the data connection, not the control connection
    forth = (table["direction"].to_numpy() == 0) & (flow == main)
    came, fate = table["t_arrival_ns"].to_numpy()[forth], table["fate"].to_numpy()[forth]
    order = np.argsort(came, kind="stable")
    came, taken = came[order], (fate == fates.index("outage"))[order]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], taken, [False]]).astype(np.int8)))
    middle_ns, down = (t_ns[:-1] + t_ns[1:]) // 2, np.zeros(t_ns.size - 1, np.bool_)
    for first, passed in edges.reshape(-1, 2):  # a few in a trial
        until_ns = up_ns[np.searchsorted(up_ns, came[passed - 1])] + rtt_ns // 2
        down |= (middle_ns >= came[first]) & (middle_ns < until_ns)
    return down


def _up_again_ns(folder: Path, loss: str) -> list[int]:
    """The end times of the outages in a trial with this loss; empty for a loss without outages."""
    kind, _, ranges = loss.partition(":")
    began_ns = int(json.loads((folder / "delay.json").read_text())["clock"]["realtime_ns"])
    ends = [one.partition("-")[2] for one in ranges.split(",")] if kind == "time" else []
    return [began_ns + quantity.parse_duration_ns(end) for end in ends]


class _Bottleneck:
    """How long the bottleneck worked, from the box's record."""

    def __init__(self, folder: Path, trial: Trial) -> None:
        table = parquet.read_table(folder / "box.parquet")
        rows = {name: table[name].to_numpy() for name in ("direction", "t_queue_exit_ns", "wire_len")}
        mine = (rows["direction"] == 0) & (rows["t_queue_exit_ns"] >= 0)
        self._exit_ns: Times = np.sort(rows["t_queue_exit_ns"][mine])
        work = (rows["wire_len"][mine] - _LINK_BYTES) * 8e9 / trial.setting.path.direction("ab").rate_bps
        self._worked_ns = np.concatenate([[0.0], np.cumsum(work)])

    def share(self, t_ns: Times, window_ns: int) -> npt.NDArray[np.float64]:
        """The share of the window around each time in which a packet was on the line."""
        first = np.searchsorted(self._exit_ns, t_ns - window_ns // 2)
        last = np.searchsorted(self._exit_ns, t_ns + window_ns // 2)
        return np.asarray((self._worked_ns[last] - self._worked_ns[first]) / window_ns)


def judged(folder: Path, t_ns: Times) -> list[str]:
    """The limit by the captures alone at each time; "none" outside of the transfer. `lfp run` also gives its analysis
    the samples of the sender's socket, from which the truth is computed."""
    seen = alone(folder)
    mine = seen.limits["flow"].to_numpy() == seen.summary["main_flow"]
    rows = {name: seen.limits[name].to_numpy()[mine] for name in ("t0_ns", "t1_ns", "cause")}
    causes = seen.summary["limit_causes"]
    at = np.searchsorted(rows["t0_ns"], t_ns, "right") - 1
    inside = (at >= 0) & (t_ns < rows["t1_ns"][-1]) if rows["t0_ns"].size else np.zeros(t_ns.size, np.bool_)
    return [causes[rows["cause"][row]] if there else "none" for row, there in zip(at, inside, strict=True)]


def losses(folder: Path, trial: Trial) -> list[tuple[str, str]]:
    """The cause by the box's record and the cause by the captures alone, of each lost part that these show."""
    rows, names = main_flow(folder, "losses")
    behind = trial.setting.path.direction("ab").values["loss_after"]
    truth = {"random": "random_behind" if behind else "random_before"}
    seen = alone(folder)
    by_part = {
        (row["t_sent_ns"], row["seq"]): seen.summary["loss_causes"][row["cause"]] for row in seen.losses.to_pylist()
    }
    causes = []
    for at, seq, cause in zip(rows["t_sent_ns"].tolist(), rows["seq"].tolist(), rows["cause"].tolist(), strict=True):
        if (at, seq) in by_part:
            causes.append((truth.get(names["cause"][cause], names["cause"][cause]), by_part[at, seq]))
    return causes


def alone(folder: Path) -> pktlogger.Analysis:
    """The analysis of both ends' captures alone: without the box's record, and without knowledge of the path."""
    capture = folder / "capture"
    with tempfile.TemporaryDirectory() as made:
        argv: list[str | Path] = [find("pktlogger"), "analyse", "--sender", capture / "snd.pcapng"]
        argv += ["--receiver", capture / "rcv.pcapng", "-o", Path(made) / "alone"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=60)
        return pktlogger.read_analysis(Path(made) / "alone")


def joined(folder: Path) -> Counter[str]:
    """The captures' account of the main flow's parts compared with the box's record. ``dropped``: dropped by the box;
    ``found``: how many of these the captures show as lost; ``invented``: lost by the captures, but sent by the box."""
    seen = alone(folder)
    of_flow = seen.segments["flow"].to_numpy() == seen.summary["main_flow"]
    lost = seen.segments["t_received_ns"].to_numpy()[of_flow] < 0
    rows, _ = main_flow(folder, "segments")
    fates = json.loads((folder / "summary.json").read_text())["box"]["fates"]
    sent, dropped = fates.index("sent"), np.asarray([fate not in ("sent", "held") for fate in fates])
    of_box = np.append(dropped, [False] * (256 - dropped.size))[rows["box_fate"]]
    return Counter(
        dropped=int(of_box.sum()),
        found=int((of_box & lost).sum()),
        invented=int((lost & (rows["box_fate"] == sent)).sum()),
    )


def main_flow(folder: Path, name: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, list[str]]]:
    """The columns of a trial's table, of its main flow, and the names of their numbers."""
    table = parquet.read_table(folder / f"{name}.parquet")
    names = json.loads((table.schema.metadata or {})[b"pktlogger.names"])
    mine = table["flow"].to_numpy() == json.loads((folder / "summary.json").read_text())["main_flow"]
    return {column: table[column].to_numpy()[mine] for column in table.column_names}, names
