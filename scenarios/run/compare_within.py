"""Two values of one swept setting inside one run. Their trials were interleaved, so whatever disturbed the machine met
both values alike: the fairest comparison of two builds, or of two cases.

The trials of a cell have the same values of all other swept settings, so nothing else in the scenario differs between
them. What follows from the compared setting (a case's gateway, a queue in BDP) differs too, and the output names it.
Rejected: pairing by the columns of the results, in which two cases differ in more than their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netcommon.errors import UsageError
from scenarios.plan import columns
from scenarios.plan.cells import Row
from scenarios.run import judgement
from scenarios.run.compare import (
    Comparison,
    Table,
    check_measured,
    check_metric,
    differences,
    invalid_trials,
    lacking,
)
from scenarios.run.judgement import judge

Point = tuple[int, ...]  # indices of the swept settings' values in their lists, then the flow's number


def compare_within(run: Path, *, by: str, metric: str, margin: float, lower_is_better: bool = False) -> Comparison:
    """Cells of one run directory, with one value of a swept setting against another. ``by``: ``SETTING``, or
    ``SETTING=BASE,NEW`` where more than two values are swept. UsageError names the settings or the values."""
    table = Table.load(run)
    check_metric(metric, table)
    check_measured(metric, table)
    setting, *places = _asked(by, table)
    sides = [_by_point(table.good(metric), table, setting, place) for place in places]
    asked = [_by_point(table.rows, table, setting, place) for place in places]
    shared = [point for point in sides[0] if point in sides[1]]
    rows = [row for side in asked for some in side.values() for row in some]
    if not shared:
        having = f" that have {metric}" if lacking(rows, metric) else ""
        raise UsageError(f"{run.name}: no setting with valid trials of both values of {setting}{having}")
    ours, theirs = ([row for point in shared for row in side[point]] for side in sides)
    apart = [
        name
        for name in columns.settings()
        if any(sides[0][point][0].get(name) != sides[1][point][0].get(name) for point in shared)
    ]
    several = len({point[-1] for point in shared}) > 1
    settings = [
        _texts(table, point, setting)
        | _agreed(table, sides[0][point][0], apart)
        | ({"flow": str(sides[0][point][0].get("flow_name"))} if several else {})
        for point in shared
    ]
    pairs = [judgement.pair(sides[0][point], sides[1][point], metric) for point in shared]
    own = {*columns.filled_by(setting), *(columns.OF_THE_CLOCK if table.virtual else ())}
    follows = [name for name in apart if name not in own]
    values = [_text(table.sweep[setting][place]) for place in places]
    return Comparison(
        metric,
        {
            name: name
            for name in (*_others(table, setting), *(["flow"] if several else []))
            if len({row[name] for row in settings}) > 1
        },
        judge(settings, pairs, margin, lower_is_better),
        unmatched=sum(len(side) for side in sides) - 2 * len(shared),
        unjudged=len(sides[1]) - len(shared),
        left_out=invalid_trials(rows),
        margin=margin,
        without=lacking(rows, metric),
        by=(setting, values[0], values[1]),
        also=differences(follows, (ours, theirs)),
    )


def _asked(by: str, table: Table) -> tuple[str, int, int]:
    """The swept setting that ``by`` names, and the indices of its two values."""
    name, equals, picked = by.partition("=")
    setting = _swept(name, table)
    texts = [_text(value) for value in table.sweep[setting]]
    if not equals and len(texts) == 2:
        return setting, 0, 1
    values = " | ".join(texts)
    if not equals or len(texts) < 2:
        choose = f"choose two: --by {setting}={texts[0]},{texts[1]}" if len(texts) > 1 else "nothing to compare"
        raise UsageError(f"--by {by}: {table.path.name} has {len(texts)} values of {setting} ({values}); {choose}")
    words = picked.split(",")  # a value may have commas itself: gilbert:1%,10
    for n in range(1, len(words)):
        places = [_place(",".join(some), texts) for some in (words[:n], words[n:])]
        if None not in places and places[0] != places[1]:
            return setting, *places  # type: ignore[return-value]
    raise UsageError(
        f"--by {by}: want two of the values that {table.path.name} has ({values}), "
        f"such as --by {setting}={texts[0]},{texts[1]}"
    )


def _swept(name: str, table: Table) -> str:
    """The setting of the sweep that a person means, by the scenario's or the results' name."""
    if name in table.sweep:  # tried first, because settings may share a column: path.queue and path.ab_queue
        return name
    for setting in table.sweep:
        if set(columns.find(name)) & set(columns.find(setting)):
            return setting
    swept = f"; swept: {', '.join(table.sweep)}" if table.sweep else ", which sweeps nothing"
    raise UsageError(f"--by {name}: not swept in {table.path.name}{swept}")


def _place(text: str, texts: Sequence[str]) -> int | None:
    """Which of the values ``text`` is; spaces and capitals do not matter."""
    plain = ["".join(one.split()).lower() for one in (text, *texts)]
    return plain.index(plain[0], 1) - 1 if plain[0] in plain[1:] else None


def _text(value: Any) -> str:
    """A value of a sweep as a scenario says it."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _others(table: Table, setting: str) -> list[str]:
    return [name for name in table.sweep if name != setting]


def _by_point(rows: Iterable[Row], table: Table, setting: str, place: int) -> dict[Point, list[Row]]:
    """The trials with one value of ``setting``, by the values of the other swept settings. Trials are numbered in the
    order of the cross product, which is measured once for each repeat."""
    shape = [len(values) for values in table.sweep.values()]
    axis, found = list(table.sweep).index(setting), dict[Point, list[Row]]()
    for row in rows:
        point = tuple(int(one) for one in np.unravel_index(row["trial"] % np.prod(shape), shape))
        if point[axis] == place:
            found.setdefault((*point[:axis], *point[axis + 1 :], int(row.get("flow") or 0)), []).append(row)
    return found


def _texts(table: Table, point: Point, setting: str) -> Row:
    """The scenario's values of the settings that are not compared, at a point of the sweep."""
    names = _others(table, setting)
    return {name: _text(table.sweep[name][place]) for name, place in zip(names, point[:-1], strict=True)}


def _agreed(table: Table, row: Row, apart: Sequence[str]) -> Row:
    """The settings that both sides share, as columns."""
    return {name: row.get(name) for name in columns.settings() if name in table.asked and name not in apart}
