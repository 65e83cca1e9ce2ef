"""Runs a plan: one network, trial after trial, results on disk after each, so that any end loses one trial at most."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from netcommon.errors import LfpError, UsageError
from netcommon.ledger import Ledger, state_directory
from scenarios import manifest, results, runs, tcp_profile, trial
from scenarios.addresses import Family
from scenarios.files import read_json
from scenarios.model import Scenario
from scenarios.plan import Plan, Trial
from scenarios.progress import RunProgress
from scenarios.topology import Topology


@dataclass(frozen=True)
class Finished:
    """A run that came to its end. ``failed``: number of trials whose measurement failed."""

    run_dir: Path
    failed: int
    verdict: dict[str, Any]


def start(plan: Plan, runs_dir: Path, *, quick: bool = False, virtual_box: str | None = None) -> Path:
    """Makes the directory of a new run and writes its first manifest. ``virtual_box``: in virtual time, with it."""
    content = manifest.first(plan, quick=quick)  # first: it fails when a tool is missing
    if virtual_box:
        from scenarios.virtual import engine

        content |= engine.manifest(plan, virtual_box)
    run_dir = runs.create(runs_dir, plan.name)
    manifest.write(run_dir, content)
    return run_dir


def resume(run_dir: Path, console: Console | None = None, *, jobs: int = 1) -> Finished:
    """Runs the trials of ``run_dir`` that are not done: all of them for a new run. ``jobs``: at a time, in virtual time
    only, where trials cannot disturb each other."""
    content = runs.manifest(run_dir)
    plan = manifest.replan(content)
    if len(plan.trials) != content["plan"]:
        found = f"its scenario gives {len(plan.trials)} trials, not {content['plan']}"
        raise UsageError(f"{run_dir}/manifest.json: {found}")
    rows = _rows(run_dir)
    todo = [t for t in plan.in_order() if rows.get(t.number, {}).get("state") != "done"]
    content |= {"state": "running"}
    manifest.write(run_dir, content)
    try:
        with RunProgress(plan, todo, console) as progress:
            if "virtual" in content:
                _run_virtual(run_dir, todo, rows, content, progress, jobs)
            else:
                _run_all(run_dir, todo, rows, content, progress)
        content["state"] = "done"
    except KeyboardInterrupt:
        content["state"] = "interrupted"
        raise
    except LfpError:
        content["state"] = "failed"
        raise
    finally:
        statuses = [read_json(folder / "status.json") for folder in runs.trial_folders(run_dir)]
        content["verdict"] = manifest.verdict(statuses, len(plan.trials))
        if "virtual" in content:
            content["verdict"]["differs"] = content["virtual"]["differs"]
        content["ended_realtime_ns"] = time.time_ns()
        manifest.write(run_dir, content)
    failed = sum(status["state"] != "done" for status in statuses)
    return Finished(run_dir, failed, content["verdict"])


def _run_all(
    run_dir: Path, todo: list[Trial], rows: dict[int, dict[str, Any]], content: dict[str, Any], progress: RunProgress
) -> None:
    with owned() as (ledger, scratch):
        for group in _same_network(todo):
            with Topology.of(group[0].setting, ledger) as net:
                content["offloads"] = net.offloads()
                for one in group:
                    name = one.setting.profile.name
                    if name not in content["sysctls"]:
                        content["sysctls"][name] = net.apply(tcp_profile.load(name))
                        manifest.write(run_dir, content)
                    begun = time.monotonic()
                    status = trial.run_trial(net, one, run_dir, scratch, ledger)
                    rows[one.number] = results.row(trial.folder_of(run_dir, one.number))
                    results.write(run_dir, list(rows.values()))
                    progress.done(one, rows[one.number] | {"error": status["error"]}, time.monotonic() - begun)


def _run_virtual(
    run_dir: Path, todo: list[Trial], rows: dict[int, dict[str, Any]], content: dict[str, Any], progress: RunProgress,
    jobs: int,
) -> None:  # fmt: skip
    from scenarios.virtual import engine

    def ended(one: engine.Ended) -> None:
        rows[one.trial.number] = results.row(trial.folder_of(run_dir, one.trial.number))
        results.write(run_dir, list(rows.values()))
        row = rows[one.trial.number] | {"error": one.status["error"], "virtual_s": one.virtual_s, "wall_s": one.wall_s}
        progress.done(one.trial, row, one.wall_s / jobs)

    with owned() as (ledger, _):
        engine.run_all(run_dir, todo, ledger, jobs, content["virtual"]["box"], ended)


@contextlib.contextmanager
def owned() -> Iterator[tuple[Ledger, Path]]:
    """A ledger and a scratch directory (short path: sockets are made in it), gone afterwards."""
    state_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    with Ledger.open() as ledger:
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=state_directory()))
        ledger.add_directory(scratch)
        try:
            yield ledger, scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def prompt(plan: Plan, console: Console) -> None:
    """Mininet's prompt on the path of the plan's first trial, box running, profile set."""
    first = plan.trials[0]
    with owned() as (ledger, scratch), Topology.of(first.setting, ledger) as net:
        net.apply(tcp_profile.load(first.setting.profile.name))
        with trial.path_up(net, first, scratch, scratch, ledger):
            address = net.receiver_address()
            console.print(f"nodes: {' '.join(net.names)}; receiver is {address}; try 'snd ping -c 3 {address}'")
            net.prompt()


def _rows(run_dir: Path) -> dict[int, dict[str, Any]]:
    return {int(folder.name): results.row(folder) for folder in runs.trial_folders(run_dir)}


def _same_network(trials: list[Trial]) -> list[list[Trial]]:
    """Neighbouring trials that can share one network, in order."""
    return [list(group) for _, group in itertools.groupby(trials, key=lambda one: _network(one.setting))]


def _network(setting: Scenario) -> tuple[int, int, Family, bool]:
    """What a topology is made of."""
    return setting.path.routers, setting.path.mtu, setting.transfer.family, setting.gateway.has_nodes
