"""Runs a plan: one network, trial after trial. Results are on disk after each trial, so a run that is ended loses one
trial at most."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from netcommon import extras, run_format
from netcommon.errors import LfpError, MissingError, UsageError
from netcommon.ledger import Ledger, state_directory
from scenarios.certify import seal
from scenarios.network.existing import Existing
from scenarios.network.graph import Graph
from scenarios.network.topology import Topology
from scenarios.plan import estimate, model_files, profiles
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Plan, Trial
from scenarios.run import enough, expectations, manifest, results, runs, speed
from scenarios.run.progress import RunProgress
from scenarios.run.time_choice import TimeChoice
from scenarios.trial import attempts, trial, verdicts
from scenarios.trial.ended import Ended
from scenarios.trial.files import read_json

Rows = dict[int, list[dict[str, Any]]]  # rows of results.parquet by trial number, one for each flow


@dataclass(frozen=True)
class Finished:
    """A run that has ended. ``failed``: number of trials whose measurement failed. ``superseded``: number of attempts
    that were not valid and have been repeated. ``expected``: the expectations of [[expect]], and their outcomes."""

    run_dir: Path
    failed: int
    verdict: dict[str, Any]
    superseded: int = 0
    expected: tuple[expectations.Judged, ...] = ()


class Elsewhere(Protocol):
    """Other machines that run trials. The runner knows no more about them, so it works without a cluster's packages."""

    @property
    def slots(self) -> int:
        """How many trials run at a time, as far as is known."""

    def ready(self, plan: Plan, content: dict[str, Any]) -> dict[str, Any]:
        """Checks that these machines can run the plan; called before the first trial. ``content``: the run's manifest.
        Returns what else the manifest says. LfpError when they cannot."""

    def run_all(self, run_dir: Path, todo: list[Trial], ended: Callable[[Ended], None]) -> None:
        """Runs the trials in order, and calls ``ended`` for each that has its folder in ``run_dir``. LfpError ends the
        run."""


def start(
    plan: Plan,
    runs_dir: Path,
    *,
    quick: bool = False,
    virtual_box: str | None = None,
    choice: TimeChoice | None = None,
    give_up: int | None = None,
) -> Path:
    """Creates the directory of a new run and writes its first manifest. ``virtual_box``: the kind of box in virtual
    time; None: the run is in real time. ``choice``: how real or virtual time was chosen; None: the user asked for it.
    ``give_up``: the run ends when this many trials have failed with the same error and none has succeeded."""
    choice = choice or TimeChoice.given("virtual" if virtual_box else "real")
    content = manifest.first(plan, quick=quick, choice=choice)  # first, because it fails when a tool is missing
    content |= {"give_up": give_up}
    if virtual_box:
        from scenarios.virtual import engine

        content |= engine.manifest(plan, virtual_box)
    elif any(one.setting.cpu.has_price for one in plan.trials):
        raise UsageError(f"{plan.name}: cpu: system calls cost what they cost in real time; use --time virtual")
    run_dir = runs.create(runs_dir, plan.name)
    content["scenario"], content["files"] = model_files.carried(content["scenario"], run_dir)
    manifest.write(run_dir, content)
    return run_dir


def extend(run_dir: Path, content: dict[str, Any]) -> None:
    """Gives a run a plan with more trials, which `resume` then measures. ``content``: the changed manifest. LfpError if
    a file has changed since the run ended."""
    seal.open_again(run_dir)
    manifest.write(run_dir, content)


def resume(
    run_dir: Path,
    console: Console | None = None,
    *,
    jobs: int = 1,
    elsewhere: Elsewhere | None = None,
    with_waits: bool = False,
) -> Finished:
    """Runs the trials of ``run_dir`` that are not done; for a new run these are all. ``jobs``: how many run at a time,
    in virtual time only, where trials cannot disturb each other. ``elsewhere``: other machines, which run them instead
    of this one. ``with_waits``: in virtual time, each trial keeps what its TCP senders waited for
    (`scenarios.virtual.waits`)."""
    content = runs.manifest(run_dir)
    plan = manifest.replan(content, run_dir)
    if len(plan.trials) != content["plan"]:
        found = f"its scenario gives {len(plan.trials)} trials, not {content['plan']}"
        raise UsageError(f"{run_dir}/manifest.json: {found}")
    rows = _rows(run_dir)
    todo = [t for t in plan.in_order() if t.number not in rows or rows[t.number][0]["state"] != "done"]
    content |= {"state": "running", "v": run_format.VERSION}
    seal.open_again(run_dir)
    manifest.write(run_dir, content)
    side_by_side = max(1, min(jobs, os.cpu_count() or 1, len(todo)))
    price_s, taken = _price_s(content, side_by_side, elsewhere), list[tuple[Trial, float]]()
    factor = speed.measured(run_dir.parent, virtual="virtual" in content).factor
    try:
        content |= elsewhere.ready(plan, content) if elsewhere else {}
        with RunProgress(plan, todo, console, lambda one: factor * price_s(one), taken, run_dir) as progress:
            way, own = (
                _way_to_run(content, _Pace(jobs, side_by_side, factor, with_waits), elsewhere),
                (rows, content, progress),
            )
            content["enough"] = enough.rounds(plan, todo, rows, lambda some: way(run_dir, some, *own))
            while "virtual" not in content and (again := _to_repeat(run_dir, plan, rows)):
                progress.again(again)
                way(run_dir, again, *own)
        content["state"] = "done"
    except KeyboardInterrupt:
        content["state"] = "interrupted"
        raise
    except LfpError:
        content["state"] = "failed"
        raise
    finally:
        statuses = [read_json(folder / "status.json") for folder in runs.trial_folders(run_dir)]
        content["verdict"] = manifest.verdict(statuses, enough.wanted(plan, content), content.get("virtual"))
        content |= speed.noted(taken, price_s)
        content["superseded"] = attempts.listed(run_dir)
        expected = expectations.judge(plan.base.expect, list(itertools.chain(*rows.values())), plan.sweep)
        content["expected"] = [one.as_json() for one in expected]
        content["ended_realtime_ns"] = time.time_ns()
        manifest.write(run_dir, content)
    seal.write(run_dir)
    failed = sum(status["state"] != "done" for status in statuses)
    return Finished(run_dir, failed, content["verdict"], len(content["superseded"]), tuple(expected))


@dataclass(frozen=True)
class _Pace:
    """``jobs``: the number of trials that may run at a time. ``side_by_side``: how many of them do, each on a processor
    of its own. ``factor``: this machine's times as a multiple of the built-in prices. ``with_waits``: see `resume`."""

    jobs: int
    side_by_side: int
    factor: float
    with_waits: bool


def _price_s(content: dict[str, Any], side_by_side: int, elsewhere: Elsewhere | None) -> Callable[[Trial], float]:
    """The wall time that a trial adds to a run, in the run's kind of time, by the built-in prices."""
    if "virtual" not in content:
        return lambda one: estimate.trial_s(one.setting) / (elsewhere.slots if elsewhere else 1)
    from scenarios.virtual import cost

    at_a_time = elsewhere.slots if elsewhere else side_by_side
    return lambda one: cost.wall_s(one, content["virtual"]["box"]) / at_a_time


def _run_all(run_dir: Path, todo: list[Trial], rows: Rows, content: dict[str, Any], progress: RunProgress) -> None:
    with owned() as (ledger, scratch), results.Table(run_dir, rows) as table, _Networks(ledger) as networks:
        for one in todo:
            begun = time.monotonic()
            net, profile = networks.of(one.setting), profiles.of(one.setting.profile)
            content["offloads"] = content["offloads"] or net.offloads()
            if profile.name not in content["sysctls"]:
                content["sysctls"][profile.name] = net.apply(profile)
                manifest.write(run_dir, content)
            progress.begins(one)
            status = trial.run_trial(net, one, run_dir, scratch, ledger)
            table.add(one)
            ended = Ended(one, status, time.monotonic() - begun)
            progress.done(one, _line(rows, ended), ended.wall_s)
            _check_alike(run_dir, rows, content)


class _Networks:
    """The networks of a run, each made for its first trial and kept for the others: trials with and without gateways
    alternate in a comparison, and a network of six nodes takes half a second."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._nets: dict[tuple[Any, ...], Topology | Existing] = {}

    def __enter__(self) -> _Networks:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            for net in self._nets.values():
                stack.callback(net.__exit__)
            self._nets.clear()

    def of(self, setting: Scenario) -> Topology | Existing:
        """The network that a trial needs. A new network replaces the least recently used one when there are too
        many."""
        key = _network(setting)
        net = self._nets.pop(key, None)
        if net is None:
            if len(self._nets) == _MOST_NETWORKS:
                self._nets.pop(next(iter(self._nets))).__exit__()
            net = _made(setting, self._ledger).__enter__()
        self._nets[key] = net
        return net


_MOST_NETWORKS = 4  # networks kept at a time; a sweep over MTU or routers needs more


def _to_repeat(run_dir: Path, plan: Plan, rows: Rows) -> list[Trial]:
    """Trials that were not valid and have retries left. They run after all others, because the disturbance may be over
    by then. Virtual time has no retries: the same trial would give the same result."""

    def left(one: Trial) -> bool:
        return attempts.next_attempt(trial.folder_of(run_dir, one.number)) <= 1 + one.setting.run.retries

    done = [one for one in plan.in_order() if one.number in rows]
    return [one for one in done if not rows[one.number][0]["valid"] and left(one)]


Run = Callable[[Path, list[Trial], Rows, dict[str, Any], RunProgress], None]


def _way_to_run(content: dict[str, Any], pace: _Pace, elsewhere: Elsewhere | None) -> Run:
    if elsewhere:
        return functools.partial(_run_elsewhere, elsewhere)
    return functools.partial(_run_virtual, pace) if "virtual" in content else _run_all


def _run_virtual(
    pace: _Pace,
    run_dir: Path,
    todo: list[Trial],
    rows: Rows,
    content: dict[str, Any],
    progress: RunProgress,
) -> None:
    from scenarios.virtual import engine

    def ended(one: Ended) -> None:
        table.add(one.trial)
        progress.done(one.trial, _line(rows, one), one.wall_s / pace.side_by_side)
        _check_alike(run_dir, rows, content)

    with owned() as (ledger, _), results.Table(run_dir, rows) as table:
        engine.run_all(
            run_dir,
            todo,
            ledger,
            pace.jobs,
            content["virtual"]["box"],
            ended,
            lambda looks: progress.under_way(looks, pace.side_by_side),
            pace.factor,
            with_waits=pace.with_waits,
        )


def _run_elsewhere(
    elsewhere: Elsewhere,
    run_dir: Path,
    todo: list[Trial],
    rows: Rows,
    content: dict[str, Any],
    progress: RunProgress,
) -> None:
    def ended(one: Ended) -> None:
        table.add(one.trial)
        for key in ("sysctls", "offloads"):
            content[key] = one.manifest.get(key, {}) | content[key]
        progress.done(one.trial, _line(rows, one), one.wall_s / elsewhere.slots)
        _check_alike(run_dir, rows, content)

    with results.Table(run_dir, rows) as table:
        elsewhere.run_all(run_dir, todo, ended)


def _check_alike(run_dir: Path, rows: Rows, content: dict[str, Any]) -> None:
    """LfpError when as many trials as the manifest's ``give_up`` have failed alike and none has succeeded: the others
    would fail, too."""
    most = content.get("give_up")
    if not most or len(rows) < most or any(own[0]["state"] != "failed" for own in rows.values()):
        return
    errors = [str(read_json(trial.folder_of(run_dir, number) / "status.json")["error"]) for number in rows]
    if len({re.sub(r"[0-9]+", "", error) for error in errors}) == 1:
        raise LfpError(f"{run_dir.name}: gave up after {len(rows)} trials that failed alike: {errors[-1]}")


def _line(rows: Rows, ended: Ended) -> dict[str, Any]:
    """What the progress says about a trial that has ended."""
    trial_rows = rows[ended.trial.number]
    columns = {"error": ended.status["error"], "cause": verdicts.short(ended.status["verdict"])}
    times = {} if ended.virtual_s is None else {"virtual_s": ended.virtual_s, "wall_s": ended.wall_s}
    flows = {"flows": trial_rows} if len(trial_rows) > 1 else {}
    return trial_rows[0] | flows | columns | times


@contextlib.contextmanager
def owned() -> Iterator[tuple[Ledger, Path]]:
    """A ledger and a scratch directory, both removed afterwards. The directory's path is short: sockets are created in
    it."""
    state_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    with Ledger.open() as ledger:
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=state_directory()))
        ledger.add_directory(scratch)
        try:
            yield ledger, scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def prompt(plan: Plan, console: Console) -> None:
    """Opens Mininet's prompt on the path of the plan's first trial, with the box running and the profile written."""
    first = plan.trials[0]
    if first.setting.topology.kind == "existing":
        raise UsageError('--cli: not with topology.kind = "existing"; log in at the hosts themselves')
    extras.require("mininet", "lfp run --cli")
    if not shutil.which("mnexec"):
        raise MissingError("lfp run --cli: program mnexec not found; apt-get install mininet")
    with owned() as (ledger, scratch), Topology.of(first.setting, ledger, prompt=True) as net:
        net.apply(profiles.of(first.setting.profile))
        with trial.path_up(net, first, scratch, scratch, ledger):
            address = net.receiver_address()
            console.print(f"nodes: {' '.join(net.names)}; receiver is {address}; try 'snd ping -c 3 {address}'")
            net.prompt()


def _rows(run_dir: Path) -> Rows:
    return {int(folder.name): results.rows(folder) for folder in runs.trial_folders(run_dir)}


def _made(setting: Scenario, ledger: Ledger) -> Topology | Existing:
    """The network of a setting, not yet entered."""
    return Existing.of(setting, ledger) if setting.topology.kind == "existing" else Topology.of(setting, ledger)


def _network(setting: Scenario) -> tuple[Any, ...]:
    """The settings that decide a network."""
    hosts = tuple((name, pair.sender, pair.receiver) for name, pair in setting.pair.items())
    graph = None if setting.topology.kind == "existing" else Graph.of(setting)
    nic = setting.path.nic_rate, setting.path.nic_queue
    return setting.topology, graph, hosts, setting.path.mtu, setting.transfer.family, nic
