"""What a reader chose for the figure of a run, as written in the address: `?x=path.rate&value=retransmits`.

A choice is a [report] table that the page writes: `applied` gives a run that asks for it, so that every figure and
every note is built as for a scenario's own [report]. Rejected: passing parameters through all builders in addition to
the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode

from dashboard.core.asked import NO_AXIS, PAPER, THEORY, asked
from dashboard.core.grouping import heading
from dashboard.core.intervals import finite
from dashboard.core.runs import Run
from scenarios.plan import cells, columns

NO_SECOND = "none"  # value of `by` for a figure with only one axis
EVERY = "all"  # value of `series`: every setting that differs makes lines


@dataclass(frozen=True)
class Choice:
    """Names as in an address; empty: the name in the scenario's [report], or a default if it has none. `by`: the second
    axis. `hide`: THEORY, PAPER. `across`: the settings that may differ between two runs."""

    x: str = ""
    by: str = ""
    value: str = ""
    series: str = ""
    hide: frozenset[str] = frozenset()
    across: tuple[str, ...] = ()

    @property
    def search(self) -> str:
        """The part of an address that says this; empty when nothing is chosen."""
        said = {"x": self.x, "by": self.by, "value": self.value, "series": self.series}
        fields = said | {"hide": ",".join(sorted(self.hide)), "across": ",".join(self.across)}
        text = urlencode({name: value for name, value in fields.items() if value}, safe=",")
        return f"?{text}" if text else ""


NO_CHOICE = Choice()


def of_search(search: str) -> Choice:
    """The choice of an address's part after `?`. Unknown keys are ignored; unknown names become notes on the page."""
    given = {name: values[-1] for name, values in parse_qs(search.removeprefix("?")).items()}
    named = {name: given[name] for name in ("x", "by", "value", "series") if name in given}
    across = tuple(name for name in given.get("across", "").split(",") if name)
    return Choice(**named, hide=frozenset(given.get("hide", "").split(",")) & {THEORY, PAPER}, across=across)


def applied(run: Run, choice: Choice) -> Run:
    """The run with the choice as its [report]. Reference and regions stay."""
    if not (choice.x or choice.by or choice.value or choice.series):
        return run
    now = effective(run, choice)
    report = {key: value for key, value in run.report.items() if key in ("reference", "regions")}
    report |= {"kind": "sweep", "x": now.x, "y": now.value}
    if now.by != NO_SECOND:
        report |= {"kind": "matrix", "y": now.by, "value": now.value}
    if now.series != EVERY:
        report["series"] = now.series
    return replace(run, manifest=run.manifest | {"scenario": run.scenario | {"report": report}})


def effective(run: Run, choice: Choice = NO_CHOICE) -> Choice:
    """The choice with all names filled in by what the run's own report asks for."""
    own = asked(run)
    grid = own.kind == "matrix"
    x = choice.x or ("" if own.x in NO_AXIS else heading(run, own.x))
    by = choice.by or (heading(run, own.y) if grid and own.y else NO_SECOND)
    value = choice.value or (own.value if grid else own.y)
    series = choice.series or (heading(run, own.series[0]) if own.series else EVERY)
    return Choice(x, NO_SECOND if by == x else by, value, series, choice.hide)


def of_controls(run: Run, x: str, by: str, value: str, series: str, shown: Iterable[str]) -> Choice:
    """The choice of the page's controls. What the run's report asks for anyway is left out of the address."""
    usual = effective(run)
    fields = {"x": x, "by": by, "value": value, "series": series}
    chosen = {name: text for name, text in fields.items() if text and text != getattr(usual, name)}
    return Choice(**chosen, hide=frozenset({THEORY, PAPER}) - set(shown), across=())


def axes(run: Run) -> list[str]:
    """The settings that trials differ in, as the scenario spells them: what can be an axis, or make lines. A
    reverse-direction setting that always equals the forward one is not listed."""
    wanted = dict.fromkeys((*cells.preferred(run.sweep), *cells.varied(run.rows)))
    varied = set(cells.varied(run.rows)) - columns.OF_THE_CLOCK
    own = [name for name in wanted if name in varied and not _is_the_same_back(run, name)]
    return list(dict.fromkeys(heading(run, name) for name in own))


def _is_the_same_back(run: Run, name: str) -> bool:
    forth = name.removeprefix("ba_")
    return forth != name and all(row.get(name) == row.get(forth) for row in run.rows)


def results(run: Run) -> list[str]:
    """The columns of measured values that have numbers."""
    outcomes = [name for name, column in columns.COLUMNS.items() if column.role == "outcome"]
    known = [name for name in outcomes if any(finite(row.get(name)) for row in run.rows)]
    return [name for name in known if not (run.virtual and name.startswith("cpu_"))]
