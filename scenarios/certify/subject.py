"""The subject of a dossier: the best valid trial of a run whose files are unchanged since its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon.errors import LfpError, UsageError
from scenarios.certify import distance, records, seal
from scenarios.certify.records import Record
from scenarios.plan.route import Route
from scenarios.trial import points
from scenarios.trial.files import read_json

Json = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """``trial``: the trial's folder, relative to the run. ``hashes``: SHA-256 by file, relative to the run.
    ``entered``: the day, YYYY-MM-DD, by whose records R10 judges; None: by all records."""

    name: str
    trial: str
    manifest: Json
    params: Json
    transfer: Json
    route: Route
    hashes: dict[str, str]
    entered: str | None = None

    @property
    def family(self) -> str:
        """``ipv4`` or ``ipv6``."""
        return str(self.params["family"])

    @property
    def kind(self) -> str:
        """R6's class: ``single`` or ``multiple`` stream."""
        flows = self.params["parallel"] > 1 or self.params["bidir"] or self.params["second"]
        return "multiple" if flows else "single"

    @property
    def clock(self) -> str:
        """``real`` or ``virtual``."""
        return "virtual" if "virtual" in self.manifest else "real"

    @property
    def rate_bps(self) -> int:
        """The short-term rate: from connect to the last byte acknowledged."""
        return int(self.transfer["summary"]["short_term_bps"])

    @property
    def distance_m(self) -> float:
        """R8's distance."""
        return distance.scored_m(self.route.counted)

    @property
    def score(self) -> float:
        """Tbit·m/s."""
        return self.rate_bps * self.distance_m / 1e12

    @property
    def record(self) -> Record:
        """The record that R10 compares the score with."""
        return records.best(self.family, self.kind, self.entered)


def load(run_dir: Path, entered: str | None = None) -> Subject:
    """The run's best valid trial. LfpError when a file has changed since the run's end, or no trial is valid."""
    hashes = seal.check(run_dir)
    manifest = read_json(run_dir / "manifest.json")
    if points.IMPORTED in manifest:
        raise UsageError(f"{run_dir}: made of captures by 'lfp import'; the rules want a transfer that 'lfp run' made")
    trial = _best(run_dir)
    return Subject(
        name=run_dir.resolve().name,
        trial=str(trial.relative_to(run_dir)),
        manifest=manifest,
        params=read_json(trial / "params.json"),
        transfer=read_json(trial / "transfer.json"),
        route=Route.model_validate(manifest["scenario"].get("route") or {}),
        hashes=hashes,
        entered=entered,
    )


def _best(run_dir: Path) -> Path:
    """The folder of the fastest trial that is done and valid, and sends data one way."""
    rates: dict[Path, int] = {}
    for folder in sorted((run_dir / "trials").iterdir()):
        status, transfer = read_json(folder / "status.json") or {}, read_json(folder / "transfer.json") or {}
        rate_bps = (transfer.get("summary") or {}).get("short_term_bps")
        if status.get("state") == "done" and status["verdict"]["valid"] and rate_bps:
            rates[folder] = rate_bps
    if not rates:
        raise LfpError(f"{run_dir}: no trial is done and valid, so there is nothing to certify; see 'lfp show'")
    best = max(rates, key=lambda folder: rates[folder])
    if (read_json(best / "params.json") or {}).get("tool") != "rttcp":
        raise UsageError(f'{best}: rules are shown from rttcp\'s results; use transfer.tool = "rttcp"')
    return best
