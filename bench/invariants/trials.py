"""The trial of a draw, in the form that the checks read; and functions that run draws."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from rich.console import Console

from bench.invariants.draws import Draw, scenario
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import results, runner
from scenarios.trial import trial
from scenarios.trial.files import read_json
from scenarios.trial.transfers import FLOWS
from scenarios.virtual import waits

SYN, DELIVERED = 2, ("sent", "held")  # a flag of TCP; fates in the box's record
Json = dict[str, Any]
Array = np.ndarray[Any, Any]
Columns = dict[str, Array]


@dataclass(frozen=True)
class Trial:
    """``rows``: those of results.parquet, [transfer]'s flow first."""

    draw: Draw
    folder: Path
    rows: list[Json]

    def json(self, name: str) -> Json:
        """One of the trial's files; empty if it is missing."""
        return read_json(self.folder / f"{name}.json") or {}

    @cached_property
    def status(self) -> Json:
        return self.json("status")

    @cached_property
    def transfer(self) -> Json:
        return self.json("transfer")

    @cached_property
    def summary(self) -> Json:
        return self.json("summary")

    @cached_property
    def asked(self) -> Json:
        """The tables of the draw."""
        return self.draw.tables

    @property
    def ends(self) -> list[Json]:
        """Each row's result of its tool."""
        others = self.transfer.get(FLOWS) or {}
        return [self.transfer, *(others.get(row["flow_name"]) or {} for row in self.rows[1:])]

    @property
    def gateway(self) -> str:
        return str(self.draw.values["gateway"])

    @property
    def recorded(self) -> bool:
        """Whether there are captures of both hosts with nothing but the path between them, and the box's record."""
        return self.gateway == "none" and "box" in self.asked["capture"]["points"]

    def captured(self, row: Json) -> Json | None:
        """The captured connection of the first stream of a row's flow. None without one, and where it sent no data
        because its SYNs were lost until its time was over."""
        sender = self.ends[row["flow"]].get("sender") or {}
        port = _port(sender)
        found = self.summary.get("flows") or () if self.gateway == "none" else ()
        return next((one for one in found if port and one["sender"]["port"] == port and one["bytes"]), None)

    def table(self, name: str) -> Columns:
        """A table as arrays."""
        found = parquet.read_table(self.folder / f"{name}.parquet")
        return {column: found[column].to_numpy() for column in found.column_names}

    @cached_property
    def limits(self) -> Columns:
        return self.table("limits")

    @cached_property
    def segments(self) -> Columns:
        return self.table("segments")

    def time_of(self, flow: Json, *causes: str) -> Callable[[Array], Array]:
        """A function of time: how long these causes have limited a captured flow until then."""
        begin_ns, end_ns, named = self.rows_of(flow, *causes)
        return until(np.append(begin_ns, end_ns[-1:]), named)

    def rows_of(self, flow: Json, *causes: str) -> tuple[Array, Array, Array]:
        """The beginning and the end of each row of a captured flow's limits, and whether its cause is one of these."""
        own = self.limits["flow"] == flow["flow"]
        named = np.isin(np.asarray(self.summary["limit_causes"])[self.limits["cause"][own]], causes)
        return self.limits["t0_ns"][own], self.limits["t1_ns"][own], named

    @cached_property
    def acks(self) -> Columns:
        return self.table("acks")

    @cached_property
    def records(self) -> waits.Records | None:
        """What the senders waited for, according to the hosts' kernels; None without a complete file."""
        return waits.load(self.folder / waits.FILE)

    def records_of(self, flow: Json) -> waits.Records:
        """What the sender of a captured flow waited for. Empty without a complete file."""
        if self.records is None:
            return np.zeros(0, waits.RECORD)
        local = ip_address(flow["sender"]["address"]).packed
        return waits.of_connection(self.records, local, flow["sender"]["port"], flow["receiver"]["port"])

    def opened_ns(self, row: Json, flow: Json) -> int:
        """When the first stream of a row sent the first octet after its opening. In the opening of a transfer with a
        window, rttcp sends one window at a time and waits for answers (rttcp/PROTOCOL.md)."""
        samples = self.samples(row)
        opening = int(samples["opening_bytes"].max()) if samples else 0
        own = self.segments["flow"] == flow["flow"]
        sent, at = self.segments["seq"][own].astype(np.int64), self.segments["t_sent_ns"][own]
        behind = at[sent - sent.min() >= opening]
        return int(behind.min()) if behind.size else int(at.max()) + 1

    def all_sent_ns(self, flow: Json) -> int:
        """When a captured flow sent its last octet for the first time."""
        first = (self.segments["flow"] == flow["flow"]) & (self.segments["transmission"] == 1)
        return int(self.segments["t_sent_ns"][first].max())

    def ports(self, row: Json) -> set[int]:
        """The sender's ports of a row's data connections."""
        end = self.ends[row["flow"]]
        sides = [side for way in (end, end.get("reverse") or {}) for side in (way.get("sender"), way.get("receiver"))]
        streams = [one for side in sides if side for one in (side.get("streams") or [side])]
        names = [str(one[name]) for one in streams for name in ("local", "remote") if name in one]
        return {int(name.rpartition(":")[2]) for name in names}

    @cached_property
    def lost_syns(self) -> set[int]:
        """The ports, at both ends, of connections of which the box dropped a SYN."""
        table = parquet.read_table(self.folder / "box.parquet", columns=["flow", "flags", "fate"])
        fates = json.loads(table.schema.metadata[b"pktlogger.record"])["fates"]
        flows = json.loads(table.schema.metadata[b"pktlogger.flows"])["flows"]
        flow, flags, fate = (column.to_numpy() for column in table.columns)
        lost = np.unique(flow[(flags & SYN != 0) & ~np.isin(np.asarray(fates)[fate], DELIVERED)])
        return {side["port"] for number in lost if number < len(flows) for side in flows[number]["sides"]}

    def samples(self, row: Json) -> Columns:
        """TCP_INFO of the sender of a row's first stream, ``t_ns`` on the captures' clock. Empty without samples."""
        found = self._samples(row)
        return {name: column[found["stream"] == found["stream"][:1]] for name, column in found.items()}

    def sampled_ns(self, flow: Json) -> Array:
        """When the sender of a captured flow was sampled, on the captures' clock."""
        for row in self.rows:
            sender = self.ends[row["flow"]].get("sender") or {}
            for stream in sender.get("streams") or ():
                found = self._samples(row) if _port(stream) == flow["sender"]["port"] else {}
                if found:
                    own: Array = found["t_ns"][found["stream"] == stream["stream"]]
                    return own
        return np.zeros(0, np.int64)

    def _samples(self, row: Json) -> Columns:
        """TCP_INFO of the senders of all streams of a row, ``t_ns`` on the captures' clock. The trial's offset between
        the two clocks is used: both ends are on one machine, and iperf3 does not report its beginning if its server's
        document is missing."""
        file = f"{FLOWS}/{row['flow_name']}/tcp_info" if row["flow"] else "tcp_info"
        if not (self.folder / f"{file}.parquet").exists():
            return {}
        found, both = self.table(file), self.status["clock"]
        return found | {"t_ns": found["t_ns"] + int(both["realtime_ns"]) - int(both["monotonic_ns"])}


def _port(side: Json) -> int:
    """The sender's port of a side or a stream; 0: not known."""
    return int(str(side.get("local", ":0")).rpartition(":")[2])


def until(edges_ns: Array, named: Array) -> Callable[[Array], Array]:
    """A function of time: the total length, until then, of the spans between these edges that are ``named``."""
    sums = np.concatenate(([0], np.cumsum(np.diff(edges_ns) * named)))
    begin_ns = edges_ns[0]
    return lambda t_ns: np.interp(t_ns - begin_ns, edges_ns - begin_ns, sums)


def run(drawn: list[Draw], runs_dir: Path, jobs: int = 1, *, with_waits: bool = True) -> list[Trial]:
    """Runs draws in virtual time, as one run below ``runs_dir``. ``with_waits``: each trial keeps what its senders
    waited for (`scenarios.virtual.waits`)."""
    plan = make_plan(Document("drawn", scenario(drawn)), drawn[0].seed)
    run_dir = runner.start(plan, runs_dir, virtual_box="auto")
    runner.resume(run_dir, Console(quiet=True), jobs=jobs, with_waits=with_waits)
    return read(drawn, run_dir)


def read(drawn: list[Draw], run_dir: Path) -> list[Trial]:
    """The trials of a run of these draws."""
    folders = [trial.folder_of(run_dir, number) for number in range(len(drawn))]
    return [Trial(one, folder, results.rows(folder)) for one, folder in zip(drawn, folders, strict=True)]
