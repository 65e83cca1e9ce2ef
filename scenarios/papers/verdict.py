"""The verdict on a number of a paper, and on the claim that it belongs to. Pure: it follows from what was measured.

Rejected: a verdict written next to the number, because it would remain when the product becomes wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from scenarios.papers.claims import Claim, Number
from scenarios.plan.expect import Expect, Where

Result = Mapping[str, Any]
Name = Literal["reproduced", "deviates", "not reproduced", "input", "not measured"]
State = Literal["stands", "deviates", "input", "in part", "missing"]
NAMES: tuple[Name, ...] = ("reproduced", "deviates", "not reproduced", "input", "not measured")
STATES: tuple[State, ...] = ("stands", "deviates", "input", "in part", "missing")


@dataclass(frozen=True)
class Verdict:
    """``ratio``: measured value / wanted value. ``quick``: the quick form decided, because there is no whole one."""

    name: Name
    ratio: float | None = None
    quick: bool = False


def measured(number: Number, results: Sequence[Result]) -> float | None:
    """The measured value of a number, from valid trials: the median of the repeats, after the subtraction and division
    that the number asks for."""
    value = _median(number, results, number.picks)
    if value is None:
        return None
    other = _at(number, number.minus, results) if number.minus else 0
    if other is None:
        return None
    value = (value - number.subtracted - other) * number.factor
    if number.against is None:
        return value / number.divisor
    base = _at(number, number.against, results)
    return value / base if base else None


def _at(number: Number, settings: Where, results: Sequence[Result]) -> float | None:
    return _median(number, results, Expect(say=number.say, of=number.of, against=settings, min=0).compares_with)


def _median(number: Number, results: Sequence[Result], picks: Any) -> float | None:
    values = [row.get(number.of) for row in results if row["valid"] and picks(row)]
    picked = [value for value in values if value is not None]
    return float(median(picked)) if picked else None


def judge(number: Number, quick: float | None, whole: float | None) -> Verdict:
    """The verdict on a number. The whole form decides where there is one."""
    if number.input:
        return Verdict("input")
    value, wanted = (quick, number.value * number.scale) if whole is None else (whole, number.value)
    if value is None:
        return Verdict("not measured")
    ratio = value / wanted
    low, high = 1 - number.distance, 1 + number.distance
    near = (number.sense == "most" or ratio >= low) and (number.sense == "least" or ratio <= high)
    name: Name = "reproduced" if near else "deviates" if number.shows else "not reproduced"
    return Verdict(name, ratio, quick=whole is None)


def state(claim: Claim, verdicts: Sequence[Verdict]) -> State:
    """The state of a claim, from the verdicts on its numbers and its own fields."""
    names = {one.name for one in verdicts}
    if claim.missing:
        return "missing"
    if claim.lacks or names & {"not reproduced", "not measured"}:
        return "in part"
    if "deviates" in names:
        return "deviates"
    return "input" if names == {"input"} and not claim.by else "stands"
