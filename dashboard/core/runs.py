"""Run directories as Python objects: manifest, results, trials (docs/reference/interfaces.md, "Run directory").

Small files (JSON, results) are read whole; `timeline` reads packet columns. A run under way is readable: what does not
exist yet is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dashboard.core import tags
from netcommon import result_rows, run_format, strangers
from netcommon.errors import LfpError
from netcommon.strangers import refuse_links
from pktlogger import between
from scenarios.plan import pair_path

Json = dict[str, Any]
SERVER = "server"  # folder of the far gateway's connection, in a trial with gateways
REVERSE = "reverse"  # folder of what the receivers sent: responses, and the reverse direction of `bidir`
SAMPLES, FLOWS = "tcp_info.parquet", "flows"  # a flow's file of samples, and the folder of other flows' files


@dataclass(frozen=True)
class Verdict:
    """Whether the numbers may be believed, and if not, why not. `valid` None: not judged, or not yet."""

    valid: bool | None
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Verdict:
        """The verdict of the contract's `{"valid": bool, "reasons": […]}`; anything else is 'not judged'."""
        if not isinstance(value, dict) or not isinstance(value.get("valid"), bool):
            return cls(None)
        return cls(value["valid"], tuple(str(reason) for reason in value.get("reasons") or ()))

    @property
    def word(self) -> str:
        return {True: "valid", False: "not valid", None: "not judged"}[self.valid]


@dataclass(frozen=True)
class Trial:
    """One trial's folder. `summary`: pktlogger's summary, empty without a capture. `server_summary`: pktlogger's
    summary of the far gateway's connections, empty without gateways. `realtime_offset_ns`: CLOCK_REALTIME −
    CLOCK_MONOTONIC where the trial ran; None: not recorded. `back`: it is what the receivers sent (`turned`), with
    tables of its own in `path`."""

    number: int
    path: Path
    params: Json
    status: Json
    transfer: Json
    summary: Json
    server_summary: Json
    realtime_offset_ns: int | None
    back: bool = False

    @property
    def home(self) -> Path:
        """The folder of the trial, whichever direction this is."""
        return self.path.parent if self.back else self.path

    @property
    def has_both_ways(self) -> bool:
        """Whether there is a timeline of what the receivers sent."""
        return (self.home / REVERSE / "segments.parquet").is_file()

    def turned(self) -> Trial:
        """The trial's data from the receivers: responses, or the reverse direction of `bidir`. The path's parameters
        describe that direction. Raises LfpError (status 2) where no tables of it are there."""
        if not self.has_both_ways:
            why = "they sent nothing but acknowledgements, or both ends of their connection were not captured"
            raise LfpError(f"trial {self.number} has no tables of what its receivers sent: {why}", 2)
        path = self.home / REVERSE
        other = {name: value for name, value in self.params.items() if f"ba_{name}" in self.params}
        params = self.params | {f"ba_{name}": value for name, value in other.items()}
        params |= {name: self.params[f"ba_{name}"] for name in other}
        params |= {"pair_path": pair_path.turned(self.params.get("pair_path"))}
        named = {name: _sent_back(end) for name, end in (self.transfer.get(FLOWS) or {}).items()}
        transfer = self.transfer | _sent_back(self.transfer) | {FLOWS: named}
        summary, server = read_json(path / "summary.json"), read_json(path / SERVER / "summary.json")
        return replace(
            self, path=path, params=params, transfer=transfer, summary=summary, server_summary=server, back=True
        )

    @property
    def captured(self) -> bool:
        return (self.path / "segments.parquet").is_file()

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.status.get("verdict"))

    @property
    def flows(self) -> list[int]:
        """The numbers of the captured flows, [transfer]'s own first: the one of its streams that has the most data.
        rttcp's control connection is a flow too. In older runs the first one is the flow with the most data."""
        numbers = [int(entry.get("flow", row)) for row, entry in enumerate(self.summary.get("flows") or [])]
        main = next(iter(self.own_flows), None)
        return sorted(numbers, key=lambda number: number != main)

    @property
    def own_flows(self) -> list[int]:
        """The numbers of the captured flows that are streams of [transfer], the one with the most data first; in older
        runs the flow with the most data."""
        own = between(self.summary, (ends for ends, _ in streams(self.transfer)))
        return own or [int(self.summary["main_flow"])] if "main_flow" in self.summary else own

    def samples_of(self, flow: int) -> tuple[Path, int | None] | None:
        """The file of TCP_INFO samples of a captured flow's sender, and the number of its stream in them (None: the
        file has one). None for a flow without samples, such as a tool's control connection."""
        named = self.transfer.get(FLOWS) or {}
        for folder, end in ((self.path, self.transfer), *((self.path / FLOWS / name, named[name]) for name in named)):
            for ends, number in streams(end):
                if flow in between(self.summary, [ends]):
                    return folder / SAMPLES, number
        if streams(self.transfer) or flow != self.summary.get("main_flow"):
            return None
        return self.path / SAMPLES, None  # an older run, whose senders did not report their ports

    def flow_summary(self, flow: int) -> Json:
        """pktlogger's summary of one flow; empty when there is none."""
        return flow_summary(self.summary, flow)


def _sent_back(end: Json) -> Json:
    """A sender's last object, in which the account of the receiving end replaces the sender's."""
    return {"sender": (end.get("reverse") or {}).get("sender") or end.get("receiver") or {}}


def streams(end: Json) -> list[tuple[tuple[str, str], int | None]]:
    """The streams of a sender's last object: each its two ends, local and remote, and its number."""
    sender = end.get("sender") or {}
    known = [(stream, stream.get("stream")) for stream in sender.get("streams") or ()] or [(sender, None)]
    return [((str(one["local"]), str(one["remote"])), number) for one, number in known if one.get("local")]


def behind_gateway(params: Json) -> bool:
    """Whether gateways are nodes of their own, so that the sender's TCP ends at the near one."""
    return params.get("gateway") not in (None, "none") and params.get("gateway_model") != "host"


def flow_summary(summary: Json, flow: int) -> Json:
    """One flow of a summary.json; empty when there is none."""
    flows = summary.get("flows") or []
    by_number = {int(entry.get("flow", row)): entry for row, entry in enumerate(flows)}
    found: Json = by_number.get(flow, {})
    return found


@dataclass(frozen=True)
class Run:
    """A run directory. `rows`: those of results.parquet, one for each trial and flow. `captured`: the trials that have
    a timeline."""

    path: Path
    manifest: Json
    rows: tuple[Json, ...]
    captured: frozenset[int]

    @property
    def name(self) -> str:
        """The directory's name, unique in its runs directory."""
        return self.path.name

    @property
    def scenario(self) -> Json:
        value = self.manifest.get("scenario")
        return value if isinstance(value, dict) else {}

    @property
    def heading(self) -> Json:
        """The scenario's own table (name, title, paper, description)."""
        value = self.scenario.get("scenario")
        return value if isinstance(value, dict) else self.scenario

    @property
    def title(self) -> str:
        return str(self.heading.get("title") or self.manifest.get("name") or self.name)

    @property
    def description(self) -> str:
        """The scenario's description of itself; empty without one."""
        return str(self.heading.get("description") or "")

    @property
    def paper(self) -> str:
        """The paper row that the scenario reproduces, such as `lfp-1995/fig3`; empty if there is none."""
        return str(self.manifest.get("paper") or self.heading.get("paper") or "")

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.manifest.get("verdict"))

    @property
    def state(self) -> str:
        return str(self.manifest.get("state") or "unknown")

    @property
    def has_route(self) -> bool:
        """Whether the scenario has a [route], so that the run has a distance and a score."""
        return bool((self.scenario.get("route") or {}).get("points"))

    @property
    def virtual(self) -> bool:
        """Whether the trials ran in virtual time."""
        return bool(self.manifest.get("virtual"))

    @property
    def report(self) -> Json:
        """The scenario's [report] as it was written."""
        value = self.scenario.get("report")
        return value if isinstance(value, dict) else {}

    @property
    def sweep(self) -> tuple[str, ...]:
        """The keys of the scenario's [sweep] as they were written (`path.queue`)."""
        value = self.scenario.get("sweep")
        return tuple(value) if isinstance(value, dict) else ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The words that people gave the run."""
        return tags.read(self.path)

    def trial_numbers(self) -> list[int]:
        """The numbers of the complete trials on disk, ascending."""
        folders = (self.path / "trials").glob("[0-9]*")
        return sorted(int(folder.name) for folder in folders if folder.name.isdigit())

    def trial(self, number: int) -> Trial:
        """One trial. Raises LfpError (status 2) when it does not exist."""
        path = self.path / "trials" / f"{number:04d}"
        if not (path / "params.json").is_file():
            raise LfpError(f"run {self.name}: no trial {number}; it has {_listing(self.trial_numbers())}", 2)
        names = ("params", "status", "transfer", "summary", f"{SERVER}/summary")
        params, status, transfer, summary, server = (read_json(path / f"{name}.json") for name in names)
        return Trial(number, path, params, status, transfer, summary, server, self._offset_ns(status))

    def _offset_ns(self, status: Json) -> int | None:
        """The offset from the trial's own pair of clocks. Trials of older runs have no pair; for those in real time the
        manifest's is used. That pair is the host's and says nothing about the guests of virtual time."""
        pair = status.get("clock") or ({} if self.virtual else self.manifest.get("clock") or {})
        return int(pair["realtime_ns"]) - int(pair["monotonic_ns"]) if pair else None


def load_run(path: Path) -> Run:
    """The run at `path`. Raises LfpError (status 2) when it is not a run directory, has links, a later lfp
    wrote it, or its manifest is damaged."""
    if not (path / "manifest.json").is_file():
        raise LfpError(f"{path}: not a run directory (it has no manifest.json); `lfp run SCENARIO` makes one", 2)
    refuse_links(path)
    manifest = read_json(path / "manifest.json")
    run_format.check(path, manifest)
    results = path / "results.parquet"
    found = result_rows.rows(results) if results.is_file() else _rows_from_trials(path)
    rows = [run_format.as_meant(row, manifest.get("v", 1)) for row in found]
    captured = frozenset(int(file.parent.name) for file in (path / "trials").glob("[0-9]*/segments.parquet"))
    return Run(path, manifest, tuple(rows), captured)


def list_runs(runs_dir: Path) -> list[Run]:
    """All readable runs of a directory, newest first. Damaged ones are left out."""
    found = []
    for manifest in runs_dir.glob("*/manifest.json"):
        try:
            found.append(load_run(manifest.parent))
        except (LfpError, OSError, ValueError):
            continue
    return sorted(found, key=lambda run: run.manifest.get("started_realtime_ns") or 0, reverse=True)


def _rows_from_trials(path: Path) -> list[Json]:
    """The rows of a run that has no results.parquet yet, from the files of its finished trials."""
    rows = []
    for folder in sorted((path / "trials").glob("[0-9]*")):
        status = read_json(folder / "status.json")
        verdict = Verdict.of(status.get("verdict"))
        measured = read_json(folder / "transfer.json").get("summary") or {}
        row = read_json(folder / "params.json") | {
            key: value for key, value in measured.items() if isinstance(value, int | float)
        }
        row |= {"flow": 0, "state": status.get("state"), "valid": verdict.valid, "reasons": "; ".join(verdict.reasons)}
        rows.append(row)
    return rows


def read_json(path: Path) -> Json:
    """The object in a file; empty where there is no file. Raises LfpError (status 1) for a damaged one."""
    value = strangers.read_json(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise LfpError(f"{path}: one JSON object expected", 1)
    return value


def _listing(numbers: list[int]) -> str:
    if not numbers:
        return "none yet"
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
