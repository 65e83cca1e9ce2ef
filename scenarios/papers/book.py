"""The page that the book is: a table for each paper, a line for each row. Pure; it reads what runs have left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from netcommon import readable
from scenarios.papers.rows import Row
from scenarios.plan.cells import Row as Result
from scenarios.plan.expect import Figure

INTRODUCTION = """\
Written by `make papers`; not edited by hand. Each scenario was run in its `--quick` form in virtual time, so that
anybody can repeat it, in twenty minutes on two cores: sessions are shorter than the papers' and repeats fewer. A
measured figure is the median of the valid repeats of one setting; where there are several, their least and greatest
stand behind it. The verdict counts what the scenario expects (`[[expect]]` in
[SCENARIO.md]({root}scenarios/SCENARIO.md)).
"""

HEADER = ("| row | reported | measured here | verdict | remarks |", "|---|---|---|---|---|")


@dataclass(frozen=True)
class Measured:
    """What a scenario's run has left: the rows of results.parquet, the manifest's ``expected`` and ``verdict``, and
    what the run simplified."""

    results: Sequence[Result]
    expected: Sequence[Mapping[str, Any]]
    verdict: Mapping[str, Any]

    @property
    def good(self) -> bool:
        """Whether the run is valid and nothing that its scenario expects is missing."""
        return bool(self.verdict["valid"]) and all(one["met"] is not False for one in self.expected)


def page(rows: Iterable[Row], runs: Mapping[str, Measured], about: Sequence[str], root: str = "../../") -> str:
    """The Markdown page. ``runs``: by scenario. ``about``: lines on date and machine. ``root``: the way from the page's
    folder to the project's."""
    lines = ["# The reproduction book", "", INTRODUCTION.format(root=root)]
    lines += [f"- {line}" for line in about]
    for paper, group in groupby(rows, lambda row: row.paper):
        lines += ["", f"## {paper}", "", *HEADER]
        lines += [_line(row, runs, root) for row in group]
    return "\n".join(lines) + "\n"


def _line(row: Row, runs: Mapping[str, Measured], root: str) -> str:
    name = row.row.partition("/")[2]
    if row.open:
        cells = [name, row.reported, readable.NOTHING, "not reproduced yet", row.open]
    elif row.by:
        cells = [name, row.reported, row.by, "see there", row.differs]
    else:
        run = runs.get(row.scenario)
        link = f"[{row.scenario}]({root}scenarios/library/{row.scenario}.toml)"
        measured = "<br>".join(_figure(one, run.results) for one in row.figures) if run else "no run"
        cells = [name, row.reported, f"{link}: {measured}", _verdict(run), row.differs]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _figure(figure: Figure, results: Sequence[Result]) -> str:
    values = [row.get(figure.of) for row in results if row["valid"] and figure.picks(row)]
    picked = [value for value in values if value is not None]
    if not picked:
        return f"{figure.say}: no valid trial"
    text = f"{figure.say}: {readable.named(figure.of, median(picked))}"
    if len(picked) == 1:
        return text
    least, most = (readable.named(figure.of, one) for one in (min(picked), max(picked)))
    return f"{text} ({least} to {most}, {len(picked)} trials)"


def _verdict(run: Measured | None) -> str:
    if run is None:
        return "not measured"
    valid = "" if run.verdict["valid"] else "run not valid; "
    if not run.expected:
        return f"{valid}measured, nothing expected"
    met = sum(one["met"] is True for one in run.expected)
    return f"{valid}{met} of {len(run.expected)} expectations met"
