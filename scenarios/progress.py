"""Progress of a run: a bar with the time left on a terminal, a line a trial anywhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from scenarios import terminal
from scenarios.estimate import TimeLeft, spoken
from scenarios.plan import Plan, Trial


class RunProgress:
    """Context manager around the trials of one run. ``done`` prints a trial's line and moves the bar."""

    def __init__(self, plan: Plan, trials: list[Trial], console: Console | None = None) -> None:
        self.console = console or terminal.console()
        self._plan = plan
        self._left = TimeLeft(trial.setting for trial in trials)
        self._count = len(plan.trials)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
            console=self.console, disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip
        done_before = self._count - len(trials)
        self._finished = done_before
        self._task = self._bar.add_task(plan.name, total=self._count, completed=done_before, left=self._spoken())

    def __enter__(self) -> RunProgress:
        self.console.print(f"{self._plan.name}: {self._count} trials, about {spoken(self._left.seconds())}")
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()

    def done(self, trial: Trial, row: dict[str, Any], taken_s: float) -> None:
        """``trial`` has ended with the results ``row``."""
        self._left.done(trial.setting, taken_s)
        self._finished += 1
        line = f"{self._finished:>{len(str(self._count))}}/{self._count}  {describe(self._plan, trial)}  {outcome(row)}"
        self.console.print(line if self.console.is_terminal else f"{line}  ({self._spoken()})", markup=False)
        self._bar.update(self._task, completed=self._finished, left=self._spoken())

    def _spoken(self) -> str:
        return f"{spoken(self._left.seconds())} left"


def describe(plan: Plan, trial: Trial) -> str:
    """What distinguishes the trial: its swept values and repeat."""
    parts = [f"{key.removesuffix('.name').rpartition('.')[2]} {_value(trial, key)}" for key in plan.sweep]
    parts += [f"repeat {trial.repeat + 1}"] if plan.base.run.repeat > 1 else []
    return "  ".join(f"{part:<17}" for part in parts) or trial.setting.profile.name


def _value(trial: Trial, dotted: str) -> str:
    table, key = dotted.split(".", 1)
    dumped = trial.setting.model_dump(mode="json", include={table: {key}})
    return str(dumped[table][key])


def outcome(row: dict[str, Any]) -> str:
    """``43.80 Mbit/s  valid`` or why not."""
    if row["state"] != "done":
        return f"FAILED: {row['error']}"
    rate = row["short_term_bps"]
    measured = "no rate" if rate is None else f"{rate / 1e6:8.2f} Mbit/s"
    times = f"  {row['virtual_s']:.0f} s in {row['wall_s']:.1f} s" if "virtual_s" in row else ""
    return f"{measured}{times}  {'valid' if row['valid'] else 'NOT VALID: ' + row['reasons']}"
