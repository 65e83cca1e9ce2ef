"""Scenarios from Python: the tables of a scenario file as keyword arguments, merged and checked as a file is.

A scenario is immutable: `set`, `quick` and `tables` give another one, so a notebook's cells can be run in any order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from lfp.commands import _running
from lfp.tables import Run
from netcommon import unprivileged
from netcommon.errors import LfpError, MissingError, UsageError
from scenarios.plan import params
from scenarios.plan.document import Document, load_layers
from scenarios.plan.plan import Plan, plan_of
from scenarios.run import forecast, plugins, runner, runs

_PYTHON = "Scenario(…)"  # what errors name as the file of tables from Python


class Scenario:
    """A scenario. ``source``: a name of the library, the path of a .toml file, or None for a new one. ``tables``: those
    of a scenario file (SCENARIO.md), laid over it: ``path={"delay": "10ms"}``, ``flow={"late": {"start": "5s"}}``."""

    def __init__(self, source: str | Path | None = None, **tables: Mapping[str, Any] | list[Mapping[str, Any]]) -> None:
        given = Document(_PYTHON, _plain(tables), {})
        if source is None:
            about = {"name": "scenario"} | dict(given.values.get("scenario") or {})
            self._document = Document(_PYTHON, given.values | {"scenario": about}, {})
        else:
            self._document = load_layers(str(source))
            self._document = self._document.extended_by(given) if given.values else self._document
        self._quick = False

    def tables(self, **tables: Mapping[str, Any]) -> Scenario:
        """This scenario with other tables laid over its own."""
        return self._with(self._document.extended_by(Document(_PYTHON, _plain(tables), {})))

    def set(self, key: str, value: Any) -> Scenario:
        """This scenario with one key set (``path.delay``); a list of values is swept."""
        plain = self._document.with_value(tuple(key.split(".")), value[0] if _swept(key, value) else value, _PYTHON)
        return self._with(plain.with_value(("sweep", key), list(value), _PYTHON) if _swept(key, value) else plain)

    @property
    def quick(self) -> Scenario:
        """This scenario in its quick form ([quick])."""
        other = self._with(self._document)
        other._quick = True
        return other

    def plan(self, seed: int | None = None) -> Plan:
        """The trials. LfpError, in one line, when the scenario is wrong."""
        return plan_of(self._document, quick=self._quick, seed=seed)

    def trials(self) -> list[dict[str, Any]]:
        """What each trial asks for, units in the names."""
        return [dict(params.of(trial)) for trial in self.plan(0).trials]

    def explain(
        self, *, time: Literal["real", "virtual"] = "virtual", runs_dir: str | Path | None = None
    ) -> dict[str, Any]:
        """What a run takes: seconds, memory, disk, and whether this machine has them."""
        found = forecast.forecast(self.plan(0), runs.directory(runs_dir), virtual=time == "virtual")
        return forecast.as_json(found)

    def run(
        self,
        *,
        time: Literal["real", "virtual"] = "virtual",
        runs_dir: str | Path | None = None,
        seed: int | None = None,
        jobs: int | None = None,
        box: str = "auto",
        report: bool = False,
        quiet: bool = True,
    ) -> Run:
        """Runs it and returns the run, whose trials may be valid or not. ``jobs``: trials at a time, in virtual time.
        ``report``: also writes report.html. LfpError when a measurement failed."""
        if time not in ("real", "virtual"):
            raise UsageError(f"time = '{time}': unknown; allowed: real, virtual")
        plan, virtual = self.plan(seed), time == "virtual"
        try:
            _running.require([plan], virtual=virtual)
        except unprivileged.Outside:
            raise MissingError(
                "time = 'real': a running Python cannot enter namespaces of its own; start it as root, "
                "use time = 'virtual', or the command 'lfp run'"
            ) from None
        run_dir = runner.start(plan, runs.directory(runs_dir), quick=self._quick, virtual_box=box if virtual else None)
        out = Console(quiet=quiet)
        done = runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1)
        if report:
            plugins.after_run(run_dir)
        if done.failed:
            raise LfpError(f"{run_dir}: {done.failed} of {len(plan.trials)} measurements failed; 'lfp show' says why")
        return Run(run_dir)

    def _with(self, document: Document) -> Scenario:
        other = Scenario.__new__(Scenario)
        other._document, other._quick = document, self._quick
        return other

    def __repr__(self) -> str:
        about = self._document.values.get("scenario") or {}
        return f"<Scenario {about.get('name')}>"


def run(source: str | Path, **options: Any) -> Run:
    """Runs a scenario of the library or of a file. ``options``: those of `Scenario.run`."""
    return Scenario(source).run(**options)


def _swept(key: str, value: Any) -> bool:
    """Whether a list is a sweep; a list of capture points is one value."""
    return isinstance(value, list | tuple) and (key != "capture.points" or any(isinstance(v, list) for v in value))


def _plain(tables: Any) -> Any:
    """Tables as a TOML file would have them."""
    if isinstance(tables, Mapping):
        return {str(key): _plain(value) for key, value in tables.items()}
    return [_plain(value) for value in tables] if isinstance(tables, list | tuple) else tables
