"""Which trials are repeats of one setting, which settings tell trials apart, and how many repeats count.

Code that draws a point, an interval or a comparison groups trials here, so that no group mixes settings: two trials of
a group differ in nothing but repeat and seed. Rows are rows of results.parquet. A column that an old run lacks is null.
Rejected: grouping by the columns that a plot happens to show. That counted three queue sizes as three repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from netcommon import readable
from scenarios.plan import columns

Row = dict[str, Any]
Key = tuple[Any, ...]


def key(row: Row, names: Iterable[str]) -> Key:
    """The row's values in these columns."""
    return tuple(row.get(name) for name in names)


def groups(rows: Iterable[Row], names: Sequence[str]) -> dict[Key, list[Row]]:
    """Rows by their values in these columns. Groups, and rows within a group, are in order of appearance."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row, names), []).append(row)
    return found


def varied(rows: Sequence[Row]) -> list[str]:
    """Settings that have more than one value in these rows."""
    return [name for name in columns.settings() if _differs(rows, name)]


def _differs(rows: Sequence[Row], name: str) -> bool:
    first = rows[0].get(name) if rows else None
    return any(row.get(name) != first for row in rows)


def telling(rows: Sequence[Row], given: Sequence[str] = (), first: Iterable[str] = ()) -> list[str]:
    """The smallest set of settings that, together with ``given`` (axes), distinguishes all trials that are not repeats
    of each other. ``first``: columns to prefer, such as those of the sweep. A setting whose value follows from the
    chosen ones is left out: a case decides its gateway, and a delay decides the round-trip time."""
    kept: list[str] = []
    wanted = dict.fromkeys((*first, *varied(rows)))
    candidates = [name for name in wanted if name not in given and _says_all(rows, name)]
    for name in candidates:
        if not _decided(rows, name, (*given, *kept)):
            kept.append(name)
    for name in tuple(reversed(kept)):
        others = [other for other in kept if other != name]
        if _decided(rows, name, (*given, *others)):
            kept = others
    return kept


def _says_all(rows: Sequence[Row], name: str) -> bool:
    """False for a number that is null in some rows because the setting is a model there. The model's text is in a
    column of its own."""
    text = name.removesuffix("_ppb")
    return text == name or all(row.get(name) is not None or row.get(text) is None for row in rows)


def _decided(rows: Sequence[Row], name: str, names: Sequence[str]) -> bool:
    """Whether rows that agree in ``names`` also agree in ``name``."""
    return len({key(row, names) for row in rows}) == len({key(row, (*names, name)) for row in rows})


def preferred(sweep: Iterable[str]) -> list[str]:
    """The columns that a sweep's keys fill, in the sweep's order."""
    return [column for dotted in sweep for column in columns.filled_by(dotted)]


def name_of(column: str, sweep: Iterable[str] = ()) -> str:
    """The scenario's name for a column's setting: as its sweep spells it (``path.ab_queue``), otherwise in general."""
    plain = (dotted for dotted in sweep if not dotted.startswith(columns.OF_NAMED))
    return next((dotted for dotted in plain if column in columns.find(dotted)), columns.spelling(column))


def heading(column: str, sweep: Iterable[str] = ()) -> str:
    """The name of a column over a table or on an axis: the scenario's name of its setting, or the column in words where
    no scenario sets it."""
    name = name_of(column, sweep)
    return name if "." in name else columns.label(column)


def texts(rows: Sequence[Row], names: Sequence[str]) -> dict[Key, str]:
    """A name for each group by ``names``: ``30 KB``, ``bsd-1995, 30 KB``. Different settings have different names."""
    shown = texts_by_column(rows, names)
    return {
        group: ", ".join(shown[name][value] for name, value in zip(names, group, strict=True))
        for group in groups(rows, names)
    }


def texts_by_column(rows: Sequence[Row], names: Sequence[str]) -> dict[str, dict[Any, str]]:
    """The texts of each column's values."""
    return {name: _column_texts(rows, name) for name in names}


def _column_texts(rows: Sequence[Row], name: str) -> dict[Any, str]:
    values = list(dict.fromkeys(row.get(name) for row in rows))
    shown = dict(zip(values, readable.distinct(name, values), strict=True))
    if None in shown:
        shown[None] = "default"
    if any(isinstance(value, bool) for value in values):  # a bare "yes" does not name its setting
        shown = {value: f"{columns.spelling(name)} {text}" for value, text in shown.items()}
    return shown


def observations(rows: Sequence[Row]) -> list[Row]:
    """The repeats of one setting that are independent observations. In virtual time trials with the same seed are
    copies of each other, and where the path draws nothing at random all repeats are. Copies of one trial are one
    observation."""
    distinct = list({(row.get("seed"), outcome(row)): row for row in reversed(rows)}.values())[::-1]
    return distinct[:1] if _agree([outcome(row) for row in distinct]) else distinct


def outcome(row: Row) -> Key:
    """Everything that a trial measured. Two trials with one seed and equal outcomes, to the last nanosecond, are
    copies."""
    return tuple(row.get(name) for name in _OUTCOMES)


def _agree(outcomes: Sequence[Key]) -> bool:
    """Whether only readings of the clock can explain the difference between these outcomes. In virtual time a reading
    takes 256 ns, and with another seed a program may read the clock once more or less, although nothing on the path is
    drawn from the seed."""
    pairs = zip(_OUTCOMES, zip(*outcomes, strict=True), strict=True)
    return all(_close(name, values) for name, values in pairs)


def _close(name: str, values: tuple[Any, ...]) -> bool:
    if len(set(values)) == 1:
        return True
    if not all(isinstance(value, (int, float)) for value in values):
        return False
    bound = _LOOKS_NS if name.endswith("_ns") else _SHARE * max(abs(value) for value in values)
    return bool(max(values) - min(values) <= bound)


_OUTCOMES = tuple(name for name, column in columns.COLUMNS.items() if column.role == "outcome")
_LOOKS_NS, _SHARE = 8 * 256, 1e-6


def repeats_text(count: int, distinct: int) -> str:
    """``5 repeats``; ``5 repeats, 1 distinct``."""
    plural = "" if count == 1 else "s"
    return f"{count} repeat{plural}" + (f", {distinct} distinct" if distinct < count else "")
