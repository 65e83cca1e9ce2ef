"""The book as one page: for each paper its numbers with their verdicts, its claims, and what else was measured. Pure;
it reads what runs have left.

The scenarios' own expectations (bounds from theory) are at the end of the page and do not affect the verdicts above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from netcommon import readable
from scenarios.papers import verdict
from scenarios.papers.claims import PAPERS, Claim, Number
from scenarios.papers.rows import Row
from scenarios.papers.stored import Stored
from scenarios.papers.verdict import Verdict
from scenarios.plan.expect import Figure

INTRODUCTION = """\
Written by `lfp papers`; not edited by hand. Each number of a paper has a verdict, which follows from what was measured:

| verdict | meaning |
|---|---|
| reproduced | what was measured lies within the distance that stands next to the number |
| deviates | it lies outside, and the measurement that is linked shows why |
| not reproduced | it lies outside, and nothing here shows why |
| input | the scenario sets the number, so it cannot find it |
| not measured | no valid trial of today's scenario has it |

The whole form of a scenario has the paper's durations and rates. Its quick form is shorter, so that anybody can repeat
it; a verdict from it says so, and "of 1/10" says that its path has a tenth of the rate. All figures are medians of the
valid repeats of one setting, in virtual time.

A row stands where all its numbers are reproduced or set, or where a test, a page or a command shows what it says. It is
in part here where a number is neither reproduced nor explained, or where something of it is missing.
"""

OURS = """\
What the scenarios expect by themselves (`[[expect]]` in [SCENARIO.md]({root}scenarios/SCENARIO.md)): mostly bounds from
theory. They watch over the product. No row of a paper stands on them.
"""
_NUMBERS = ("| row | number | paper | allowed | quick | whole | verdict |", "|---|---|---|---|---|---|---|")
_CLAIMS = ("| row | what the paper says | what stands for it | state |", "|---|---|---|---|")
_NEARBY = ("| row | reported | measured here | remarks |", "|---|---|---|---|")
_STATES = ("", *verdict.STATES)


@dataclass(frozen=True)
class Kept:
    """The stored results of each scenario's quick and whole form. A scenario with only one form has it as the whole
    form."""

    quick: Mapping[str, Stored]
    whole: Mapping[str, Stored]

    def newest(self, scenario: str) -> Stored | None:
        """The quick form, or the whole one of a scenario that has no other."""
        return self.quick.get(scenario) or self.whole.get(scenario)


@dataclass(frozen=True)
class _Judged:
    number: Number
    quick: float | None
    whole: float | None
    verdict: Verdict


def page(claims: Sequence[Claim], rows: Sequence[Row], kept: Kept, about: Sequence[str], root: str = "../../") -> str:
    """The Markdown page. ``about``: lines on versions. ``root``: the relative path from the page's folder to the
    project's."""
    judged = {claim.id: [_judge(number, kept) for number in claim.numbers] for claim in claims}
    states = {claim.id: verdict.state(claim, [one.verdict for one in judged[claim.id]]) for claim in claims}
    lines = ["# The reproduction book", "", INTRODUCTION]
    lines += [f"- {line}" for line in about] + ["", *_counts(claims, states, judged)]
    for paper in PAPERS.values():
        own_claims = [claim for claim in claims if claim.paper == paper]
        if own_claims:
            lines += _paper(paper, own_claims, [row for row in rows if row.paper == paper], kept, judged, states, root)
    return "\n".join([*lines, *_ours(kept, root)]) + "\n"


def _judge(number: Number, kept: Kept) -> _Judged:
    quick, whole = (
        verdict.measured(number, run.results) if (run := runs.get(number.scenario)) else None
        for runs in (kept.quick, kept.whole)
    )
    return _Judged(number, quick, whole, verdict.judge(number, quick, whole))


def _counts(claims: Sequence[Claim], states: Mapping[str, str], judged: Mapping[str, Sequence[_Judged]]) -> list[str]:
    """Two tables: rows by state, numbers by verdict."""
    lines = []
    for what, names in (("rows", verdict.STATES), ("numbers", verdict.NAMES)):
        lines += [f"| {what} | all | {' | '.join(names)} |", "|---|" + "---|" * (len(names) + 1)]
        found: dict[str, list[str]] = {paper: [] for paper in PAPERS.values()}
        for claim in claims:
            verdicts = [one.verdict.name for one in judged[claim.id]]
            found[claim.paper] += [states[claim.id]] if what == "rows" else verdicts
        found["all"] = [name for paper in found.values() for name in paper]
        for paper, seen in found.items():
            if seen:
                lines += [f"| {paper} | {len(seen)} | {' | '.join(str(seen.count(name)) for name in names)} |"]
        lines += [""]
    return lines[:-1]


def _paper(
    paper: str,
    claims: Sequence[Claim],
    rows: Sequence[Row],
    kept: Kept,
    judged: Mapping[str, Sequence[_Judged]],
    states: Mapping[str, str],
    root: str,
) -> list[str]:
    lines = ["", f"## {paper}"]
    numbers = [_number(claim, one, root) for claim in claims for one in judged[claim.id]]
    if numbers:
        lines += ["", "Numbers:", "", *_NUMBERS, *numbers]
    lines += ["", "Rows:", "", *_CLAIMS, *(_claim(claim, states[claim.id], root) for claim in claims)]
    if rows:
        lines += ["", "Measured in the same scenarios:", "", *_NEARBY, *(_nearby(row, kept, root) for row in rows)]
    return lines


def _number(claim: Claim, one: _Judged, root: str) -> str:
    number = one.number
    allowed = f"{_allowed(number)}: {number.why}" if number.why else readable.NOTHING
    cells = [
        claim.id,
        number.say,
        _paper_value(number),
        allowed,
        _measured(number, one.quick),
        _measured(number, one.whole),
        _verdict(one, root),
    ]
    return _line(cells)


def _paper_value(number: Number) -> str:
    bound = {"equal": "", "least": "at least ", "most": "at most "}[number.sense]
    return bound + _shown(number, number.value, number.input_column or number.of)


def _allowed(number: Number) -> str:
    if not number.distance:
        return "nothing"
    sign = {"equal": "±", "least": "−", "most": "+"}[number.sense]
    return f"{sign} {readable.share(number.distance)}"


def _measured(number: Number, value: float | None) -> str:
    return readable.NOTHING if value is None or number.input else _shown(number, value, number.of)


def _shown(number: Number, value: float, column: str) -> str:
    return readable.number(value) if number.is_ratio else readable.named(column, value)


def _verdict(one: _Judged, root: str) -> str:
    """The verdict with its form, the deviation, and a link to the explanation."""
    number, found = one.number, one.verdict
    text: str = found.name
    if found.name == "input":
        return f"input: `{number.input}` of {_scenario(number.scenario, root)}"
    if found.ratio is None:
        return f"{text}: {_scenario(number.scenario, root)}"
    notes = [f"× {readable.number(found.ratio, 3)}"] if found.name != "reproduced" else []
    notes += ["quick form"] if found.quick else []
    notes += [f"of 1/{readable.number(1 / number.scale)}"] if found.quick and number.scale != 1 else []
    text += f" ({', '.join(notes)})" if notes else ""
    return f"{text}: {_link(number.shows, root)}" if found.name == "deviates" else text


def _scenario(name: str, root: str) -> str:
    return f"[{name}]({root}scenarios/library/{name}.toml)"


def _link(shows: str, root: str) -> str:
    kind, _, name = shows.partition(":")
    if kind == "scenario":
        return _scenario(name, root)
    return f"`{name}`" if kind == "test" else f"[{shows.rpartition('/')[2].removesuffix('.md')}]({root}{shows})"


def _claim(claim: Claim, state: str, root: str) -> str:
    scenarios = dict.fromkeys(_scenario(number.scenario, root) for number in claim.numbers)
    stands = "; ".join(filter(None, [", ".join(scenarios), claim.by.replace("ROOT/", root)])) or readable.NOTHING
    said = f"missing: {claim.missing}" if claim.missing else f"{state}: {claim.lacks}" if claim.lacks else state
    return _line([claim.id, claim.says, stands, said])


def _nearby(row: Row, kept: Kept, root: str) -> str:
    name = row.row.partition("/")[2]
    if not row.scenario:
        return _line([name, row.reported, row.by or f"nothing yet: {row.open}", row.differs])
    run = kept.newest(row.scenario)
    measured = "<br>".join(_figure(one, run.results) for one in row.figures) if run else "no run"
    return _line([name, row.reported, f"{_scenario(row.scenario, root)}: {measured}", row.differs])


def _figure(figure: Figure, results: Sequence[Mapping[str, Any]]) -> str:
    values = [row.get(figure.of) for row in results if row["valid"] and figure.picks(row)]
    picked = [value for value in values if value is not None]
    if not picked:
        return f"{figure.say}: no valid trial"
    text = f"{figure.say}: {readable.named(figure.of, median(picked))}"
    if len(picked) == 1:
        return text
    least, most = (readable.named(figure.of, one) for one in (min(picked), max(picked)))
    return f"{text} ({least} to {most}, {len(picked)} trials)"


def _ours(kept: Kept, root: str) -> list[str]:
    lines = ["", "## Expectations of our own", "", OURS.format(root=root)]
    lines += ["| scenario | form | run | expectations met | not met |", "|---|---|---|---|---|"]
    for form, runs in (("quick", kept.quick), ("whole", kept.whole)):
        for scenario, run in runs.items():
            met = sum(one["met"] is True for one in run.expected)
            others = "; ".join(one["say"] for one in run.expected if one["met"] is not True) or readable.NOTHING
            when = f"{run.about['date']}{'' if run.valid else ', not valid'}"
            lines.append(_line([_scenario(scenario, root), form, when, f"{met} of {len(run.expected)}", others]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
