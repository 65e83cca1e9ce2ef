"""Progress of a run: a line for each trial, and on a terminal a bar with the time left.

In virtual time the bar also has the clock and the speed of each trial that runs. Without a terminal, a line with these
figures is printed every half minute. The same figures are in progress.json of the run's folder, which the dashboard
reads. A lock on the folder of trials shows that the runner is alive, however it ends. Rejected: a process id in the
file, because the id means another process in another PID namespace.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from netcommon import readable
from scenarios.plan.estimate import TimeLeft, spoken, trial_s
from scenarios.plan.plan import Plan, Trial
from scenarios.run import terminal
from scenarios.trial.files import write_json
from scenarios.virtual.under_way import Look

_LINE_S = 30.0  # without a bar: time between two lines about the trials that run


class ProgressFile:
    """progress.json in a run's folder (docs/reference/interfaces.md), from its first writing to `close`. Write errors
    are ignored: a measurement must not fail because its progress cannot be shown."""

    def __init__(self, run_dir: Path, planned: int) -> None:
        self._path, self._planned = run_dir / "progress.json", planned
        self._lock = os.open(run_dir / "trials", os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def write(self, done: int, left_s: float, under_way: list[dict[str, Any]]) -> None:
        """Writes how far the run is. ``under_way``: the trials that run now."""
        content = {
            "v": 1,
            "written_realtime_ns": time.time_ns(),
            "planned": self._planned,
            "done": done,
            "left_s": left_s,
            "under_way": under_way,
        }
        with contextlib.suppress(OSError):
            write_json(self._path, content)

    def close(self) -> None:
        """Deletes the file: the run has ended."""
        os.close(self._lock)
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


class RunProgress:
    """Context manager around the trials of one run. ``done`` prints a trial's line and moves the bar. ``expected_s``:
    the wall time that a trial is expected to add to the run; by default its own duration in real time. ``taken`` is
    called with each trial that ends and the wall time that it added, in seconds. ``run_dir``: the folder for
    progress.json; None: no file is written."""

    def __init__(
        self,
        plan: Plan,
        trials: list[Trial],
        console: Console | None = None,
        expected_s: Callable[[Trial], float] = lambda trial: trial_s(trial.setting),
        taken: list[tuple[Trial, float]] | None = None,
        run_dir: Path | None = None,
    ) -> None:
        self.console = console or terminal.console()
        self._plan, self._expected_s = plan, expected_s
        self._taken = [] if taken is None else taken
        self._left = TimeLeft(expected_s(trial) for trial in trials)
        self._count, self._said_s = len(plan.trials), time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        done_before = self._count - len(trials)
        self._finished = done_before
        self._file = ProgressFile(run_dir, self._count) if run_dir else None
        self._task = self._bar.add_task(plan.name, total=self._count, completed=done_before, left=self._spoken())

    def __enter__(self) -> RunProgress:
        trials = "1 trial" if self._count == 1 else f"{self._count} trials"
        self.console.print(f"{self._plan.name}: {trials}, about {spoken(self._left.seconds())}")
        self._bar.start()
        self._tell(self._left.seconds(), [])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()
        if self._file:
            self._file.close()

    def again(self, trials: list[Trial]) -> None:
        """Notes that these trials were not valid and are measured once more."""
        self._finished -= len(trials)
        self._left = TimeLeft(self._expected_s(trial) for trial in trials)
        self.console.print(f"not valid: {len(trials)} of {self._count} trials, measured again")
        self._bar.update(self._task, completed=self._finished, left=self._spoken())
        self._tell(self._left.seconds(), [])

    def begins(self, trial: Trial) -> None:
        """Notes that ``trial`` starts now, in real time."""
        left_s = self._left.corrected(self._expected_s(trial))
        self._tell(self._left.seconds(), [self._said(trial) | {"left_s": left_s}])

    def under_way(self, looks: list[Look], at_a_time: int) -> None:
        """Shows the progress of the trials that run now."""
        pairs = [(self._expected_s(one.trial), one.left_s) for one in looks]
        left_s = self._left.seconds(pairs, at_a_time)
        self._tell(left_s, [self._said(one.trial) | one.figures() for one in looks])
        left = f"{spoken(left_s)} left"
        clocks = "; ".join(map(str, looks))
        self._bar.update(self._task, left=f"{clocks}  {left}")
        if not self.console.is_terminal and time.monotonic() - self._said_s >= _LINE_S:
            self._said_s = time.monotonic()
            self.console.print(f"clock      {clocks}  ({left})", markup=False)

    def done(self, trial: Trial, row: dict[str, Any], taken_s: float) -> None:
        """Notes that ``trial`` has ended with the results ``row``."""
        self._left.done(self._expected_s(trial), taken_s)
        self._taken.append((trial, taken_s))
        self._finished += 1
        self._said_s = time.monotonic()
        line = f"{self._finished:>{len(str(self._count))}}/{self._count}  {describe(self._plan, trial)}  {outcome(row)}"
        self.console.print(line if self.console.is_terminal else f"{line}  ({self._spoken()})", markup=False)
        self._bar.update(self._task, completed=self._finished, left=self._spoken())
        self._tell(self._left.seconds(), [])

    def _said(self, trial: Trial) -> dict[str, Any]:
        return {"trial": trial.number, "say": " ".join(describe(self._plan, trial).split())}

    def _tell(self, left_s: float, under_way: list[dict[str, Any]]) -> None:
        if self._file:
            self._file.write(self._finished, left_s, under_way)

    def _spoken(self) -> str:
        return f"{spoken(self._left.seconds())} left"


def describe(plan: Plan, trial: Trial) -> str:
    """What distinguishes the trial: its swept settings, under the scenario's names, and its repeat."""
    parts = [f"{key} {_value(trial, key)}" for key in plan.sweep]
    parts += [f"repeat {trial.repeat + 1}"] if plan.base.run.repeat > 1 else []
    return "  ".join(f"{part:<22}" for part in parts) or f"profile.name {trial.setting.profile.name}"


def _value(trial: Trial, dotted: str) -> str:
    value: Any = trial.setting.model_dump(mode="json", include={dotted.partition(".")[0]})
    for part in dotted.split("."):
        value = value[part]
    return str(value)


def outcome(row: dict[str, Any]) -> str:
    """``43.80 Mbit/s  valid``, or why it is not valid, in a few words where the row has them (``cause``). ``flows``:
    the rows of several flows."""
    if row["state"] != "done":
        return f"FAILED: {row['error']}"
    if flows := row.get("flows"):
        each = ", ".join(f"{one['flow_name']} {_of_flow(one)}" for one in flows)
        measured = f"{each}; {together(row)}"
    elif row.get("exchanges_per_s"):
        measured = exchanged(row)
    else:
        measured = f"{_rate(row['short_term_bps']):>12}"
        measured += f"; {together(row)}" if row.get("flows_common_ns") else ""
    times = (
        f"  {readable.number(row['virtual_s'], 2)} s in {readable.number(row['wall_s'], 2)} s"
        if "virtual_s" in row
        else ""
    )
    return f"{measured}{times}  {'valid' if row['valid'] else 'NOT VALID: ' + (row.get('cause') or row['reasons'])}"


def _of_flow(row: dict[str, Any]) -> str:
    return exchanged(row) if row.get("exchanges_per_s") else _rate(row["short_term_bps"])


def exchanged(row: dict[str, Any]) -> str:
    """``3.636 exchanges/s, median 285.2 ms, p99 494.9 ms, responses 2.909 Mbit/s``: a trial of request and response,
    with the goodput of the messages that carry the most."""
    latencies = ", ".join(
        f"{word} {readable.duration(row[f'latency_{key}_ns'])}"
        for word, key in (("median", "p50"), ("p99", "p99"))
        if row.get(f"latency_{key}_ns")
    )
    most = max(("request", "response"), key=lambda way: row.get(f"{way}_bps") or 0.0)
    goodput = f"{most}s {_rate(row.get(f'{most}_bps'))}"
    return f"{readable.number(row['exchanges_per_s'])} exchanges/s, {latencies}, {goodput}"


def _rate(bps: float | None) -> str:
    return "no rate" if bps is None else readable.rate(bps)


def together(row: dict[str, Any]) -> str:
    """``all for 10.5 s: 96.52 Mbit/s, Jain 0.71``: the flows of a trial over the span in which all of them ran. Their
    own averages are over different spans, so they must not be added."""
    if not (lasted_ns := row.get("flows_common_ns")):
        return "shares not known"  # SCENARIO.md, flows_common_ns, has the reasons
    if row.get("flows_bps") is None:
        return f"all for {readable.duration(lasted_ns)}, counted too coarsely to compare them"
    fair = f"Jain {readable.number(row['flow_jain'], 2)}"
    return f"all for {readable.duration(lasted_ns)}: {readable.rate(row['flows_bps'])}, {fair}"
