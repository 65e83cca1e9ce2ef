"""Two runs over one swept setting: what both measured there, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netcommon import readable

Value = float | str


@dataclass(frozen=True)
class SidePoint:
    """One setting on both sides. `base`, `run`: the values of its trials. `difference`: of the medians, as a share of
    the base's; None where that is 0. `interval`: the difference's, 95 %; None with too few repeats that differ."""

    x: Value
    base: tuple[float, ...]
    run: tuple[float, ...]
    difference: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Sides:
    """`x_texts`: what each value of `x_name` is called; `metric`: the result's column. `series`: the points for each
    combination of the other settings that differ, in the order of x; its name is empty if no other setting differs."""

    x_name: str
    x_texts: dict[Value, str]
    metric: str
    metric_name: str
    series: dict[str, tuple[SidePoint, ...]]


def sides(
    headings: Mapping[str, str],
    settings: Sequence[Mapping[str, object]],
    points: Sequence[SidePoint],
    metric: str,
    metric_name: str,
) -> Sides | None:
    """Points over the numeric setting with most values. Without a numeric setting they are over the text with most
    values. `headings`: the names of the settings that differ, by column. `settings`, `points`: one of each cell; the
    points' `x` is filled in here. None where no setting differs."""
    if not headings:
        return None
    columns = {name: [setting[name] for setting in settings] for name in headings}
    across = max(columns, key=lambda name: (_numeric(columns[name]), len(set(columns[name]))))
    texts = {name: readable.distinct(name, values) for name, values in columns.items()}
    found: dict[str, list[SidePoint]] = {}
    for row, point in enumerate(points):
        name = ", ".join(f"{headings[other]} {texts[other][row]}" for other in headings if other != across)
        x = _value(columns[across][row])
        found.setdefault(name, []).append(SidePoint(x, point.base, point.run, point.difference, point.interval))
    x_texts = dict(zip(map(_value, columns[across]), texts[across], strict=True))
    if _numeric(columns[across]):
        x_texts = dict(sorted(x_texts.items()))
    order = {x: place for place, x in enumerate(x_texts)}
    series = {name: tuple(sorted(own, key=lambda point: order[point.x])) for name, own in found.items()}
    return Sides(headings[across], x_texts, metric, metric_name, series)


def _numeric(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _value(value: object) -> Value:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
