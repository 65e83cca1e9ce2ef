"""What holds in any trial, whatever its settings: each check gives a line for everything in a trial that breaks it.

A trial that is not valid says itself that its numbers do not count; the checks are for those that are valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from scenarios.trial.files import read_json
from scenarios.trial.transfers import FLOWS

Json = dict[str, Any]
ECN_OPTION, ACCECN_MODES = 8, (2, 3)  # TCPI_OPT_ECN in TCP_INFO's options
SEGMENT_BYTES = 1500
NOT_DROPPED = ("sent", "held", "unseen")  # in the box's account of a flow
# What TCP_INFO's counters of time may differ by: they begin with the first segment and end at different moments.
CHRONO_SHARE, CHRONO_NS = 0.05, 100_000_000


@dataclass(frozen=True)
class Trial:
    """The files of a trial that the checks read. ``rows``: those of results.parquet, main's first."""

    folder: Path
    rows: list[Json]
    transfer: Json
    box: Json
    summary: Json

    @classmethod
    def of(cls, folder: Path, rows: list[Json]) -> Trial:
        """Reads the files."""
        transfer, box, summary = (read_json(folder / f"{name}.json") or {} for name in ("transfer", "delay", "summary"))
        return cls(folder, rows, transfer, box, summary)

    @property
    def ends(self) -> list[Json]:
        """Each row's result of its tool."""
        others = self.transfer.get(FLOWS) or {}
        return [self.transfer, *(others[row["flow_name"]] for row in self.rows[1:])]

    @property
    def behind_gateways(self) -> bool:
        return str(self.rows[0]["gateway"]) != "none"

    def flow(self, row: Json) -> Json | None:
        """The captured flow with most data of a row's sender; None where a gateway or another pair stands between."""
        sender = self.ends[row["flow"]].get("sender") or {}
        port = int(str(sender.get("local", ":0")).rpartition(":")[2])
        return next((one for one in self.summary.get("flows") or () if one["sender"]["port"] == port), None)

    def table(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """A table of the captures as arrays."""
        found = parquet.read_table(self.folder / f"{name}.parquet")
        return {column: found[column].to_numpy() for column in found.column_names}


def line(trial: Trial) -> Iterator[str]:
    """No flow, nor all together, has more than the line: on average, and in any 100 ms at the receiver."""
    fastest = _fastest_bps(trial.rows[0])
    for row in trial.rows:
        for name in ("short_term_bps", "flows_bps", "steady_bps"):
            if (row.get(name) or 0) > fastest:
                yield f"{name} {row[name]:.0f} of flow {row['flow_name']} on a line of {fastest}"
    if trial.behind_gateways:
        return
    arrived = trial.table("segments")
    there = arrived["t_received_ns"] >= 0
    when = np.sort(arrived["t_received_ns"][there])
    if when.size == 0:
        return
    length = arrived["len"][there][np.argsort(arrived["t_received_ns"][there], kind="stable")]
    total, span_ns = np.concatenate(([0], np.cumsum(length.astype(np.int64)))), 100_000_000
    most = int((total[np.searchsorted(when, when + span_ns, "right")] - total[:-1]).max())
    if most > fastest * span_ns / 8e9 + 2 * SEGMENT_BYTES + _held_back(trial):
        yield f"{most} octets arrived within 100 ms on a line of {fastest}"


def _fastest_bps(row: Json) -> int:
    """The fastest line that the path ever has."""
    changes = [word for word in str(row["change"]).replace(";", " ").split() if word.startswith("rate=")]
    rates = [float(word.removeprefix("rate=").removesuffix("Mbit")) * 1e6 for word in changes]
    return int(max(row["rate_bps"], *rates)) if rates else int(row["rate_bps"])


def _held_back(trial: Trial) -> float:
    """Octets that may arrive together because the delay became shorter while they were on their way."""
    if "delay=" not in str(trial.rows[0]["change"]):
        return 0
    return _fastest_bps(trial.rows[0]) * float(trial.rows[0]["delay_ns"]) * 2 / 8e9


def shares(trial: Trial) -> Iterator[str]:
    """Shares are from 0 to 1, and those of one whole add up to 1."""
    for row in trial.rows:
        limits = [value for name, value in row.items() if name.startswith("limited_") and value is not None]
        if limits and (min(limits) < 0 or abs(sum(limits) - 1) > 1e-6):
            yield f"limits of flow {row['flow_name']} add up to {sum(limits):.6f}"
        for name in ("stopped_share", "flow_share"):
            if row.get(name) is not None and not 0 <= row[name] <= 1:
                yield f"{name} {row[name]}"
        jain = row.get("flow_jain")
        if jain is not None and not 1 / len(trial.rows) - 1e-9 <= jain <= 1 + 1e-9:
            yield f"flow_jain {jain} of {len(trial.rows)} flows"
    together = [row["flow_share"] for row in trial.rows if row.get("flow_share") is not None]
    if together and abs(sum(together) - 1) > 1e-6:
        yield f"the flows' shares add up to {sum(together):.6f}"


def asked(trial: Trial) -> Iterator[str]:
    """What was asked is what ran: congestion control, ECN, the window."""
    for row, end in zip(trial.rows, trial.ends, strict=True):
        sender = end.get("sender") or {}
        ran, wanted = sender.get("congestion"), str(row["congestion"]).partition(":")[0]
        if ran != wanted:
            yield f"flow {row['flow_name']}: {wanted} was asked, {ran} ran"
        if row["gateway"] != "none":
            continue
        info = sender.get("tcp_info") or {}
        wants_ecn = "tcp_ecn=1" in str(row["sysctl"]) or wanted == "dctcp"
        if bool(int(info.get("options", 0)) & ECN_OPTION) != wants_ecn:
            yield f"flow {row['flow_name']}: ECN asked {wants_ecn}, options {info.get('options')}"
        if row["window_bytes"] and (row.get("window_granted_bytes") or 0) < row["window_bytes"]:
            yield f"flow {row['flow_name']}: window {row['window_granted_bytes']} for {row['window_bytes']}"


def chrono(trial: Trial) -> Iterator[str]:
    """The time that windows of the receiver limited agrees with the sender's kernel, and a sender that always has data
    is never waiting for its application. A kernel that paces counts only the time in which pacing would have let a
    packet go, so its counter is the least then."""
    for row, end in zip(trial.rows, trial.ends, strict=True):
        info, flow = (end.get("sender") or {}).get("tcp_info") or {}, trial.flow(row)
        if flow is None or trial.behind_gateways or not info:
            continue
        ours = flow["limits_ns"]
        windows = ours.get("receiver_window", 0) + ours.get("zero_window", 0)
        theirs = int(info.get("rwnd_limited_us", 0)) * 1000
        allowed = CHRONO_NS + CHRONO_SHARE * flow["elapsed_ns"]
        paced = row["congestion"] == "bbr" or row["sender_pace_bps"]
        if theirs - windows > allowed or (windows - theirs > allowed and not paced):
            said = f"windows limited {windows / 1e9:.3f} s, the kernel says {theirs / 1e9:.3f} s"
            yield f"flow {row['flow_name']}: {said}"
        idle = ours.get("application", 0)
        if idle > CHRONO_NS and not row["sender_pace_bps"]:
            yield f"flow {row['flow_name']}: rttcp always has data, and 'application' has {idle / 1e9:.3f} s"


def marks(trial: Trial) -> Iterator[str]:
    """The marks that the receiver's capture has are those that the box made. Connections of the tools' own, which no
    row tells of, may have some of them."""
    marked = [row["ce_marked"] for row in trial.rows if row.get("ce_marked") is not None]
    for row in trial.rows:
        if row.get("ce_received") is not None and row["ce_received"] != row["ce_marked"]:
            yield f"flow {row['flow_name']}: {row['ce_received']} arrived with CE, the box marked {row['ce_marked']}"
    if marked and sum(marked) > trial.rows[0]["ecn_marks_box"]:
        yield f"{sum(marked)} marks of the flows, the box made {trial.rows[0]['ecn_marks_box']}"


def causes(trial: Trial) -> Iterator[str]:
    """Every data packet that the box dropped is lost, each once, and by its kind."""
    if trial.behind_gateways:
        return
    for flow in trial.summary.get("flows") or ():
        dropped = {name: count for name, count in (flow.get("box") or {}).items() if name not in NOT_DROPPED}
        lost, seen = flow.get("losses_by_cause") or {}, flow.get("losses_seen") or {}
        if sum(dropped.values()) != sum(lost.values()):
            yield f"flow {flow['flow']}: the box dropped {dropped}, lost are {lost}"
        if dropped.get("queue", 0) != lost.get("tail_drop", 0) or dropped.get("aqm", 0) != lost.get("aqm", 0):
            yield f"flow {flow['flow']}: the box dropped {dropped}, causes are {lost}"
        if sum(seen.values()) != sum(lost.values()):
            yield f"flow {flow['flow']}: {sum(lost.values())} lost, {sum(seen.values())} explained by captures"
        if "aqm" in seen and str(trial.rows[0]["aqm"]) == "none":
            yield f"flow {flow['flow']}: {seen['aqm']} losses 'by queue management' on a path without"


CHECKS: dict[str, Callable[[Trial], Iterator[str]]] = {
    "sums are below the line": line,
    "shares add up": shares,
    "what was asked is what ran": asked,
    "limits agree with TCP_INFO": chrono,
    "marks are the box's": marks,
    "causes are the box's": causes,
}
