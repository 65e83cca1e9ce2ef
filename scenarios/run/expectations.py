"""Whether a run's results show what its scenario expects ([[expect]] in SCENARIO.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from netcommon import readable
from scenarios.plan import cells
from scenarios.plan.cells import Row
from scenarios.plan.expect import Expect, Where


@dataclass(frozen=True)
class Seen:
    """The outcome for one setting. ``measured`` and ``met`` None: it has no valid trial. ``setting``: the settings that
    ``where`` selects, and those that distinguish this one among them."""

    setting: str
    measured: float | None
    repeats: int
    met: bool | None


@dataclass(frozen=True)
class Judged:
    """An expectation and the outcome for each of its settings."""

    say: str
    of: str
    wanted: str
    ratio: bool
    seen: tuple[Seen, ...]

    @property
    def met(self) -> bool | None:
        """Whether all settings meet it. None: one has no valid trial, or no trial has its settings."""
        states = [seen.met for seen in self.seen]
        if False in states:
            return False
        return True if states and None not in states else None

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self) | {"met": self.met}

    def lines(self) -> Iterator[str]:
        """A line for each setting that does not meet it or could not be judged."""
        if not self.seen:
            yield f"NOT JUDGED '{self.say}': no trial has these settings"
        for seen in self.seen:
            at = f" ({seen.setting})" if seen.setting else ""
            if seen.measured is None or seen.met is None:
                yield f"NOT JUDGED '{self.say}': no valid trial{at}"
            elif not seen.met:
                yield f"NOT MET    '{self.say}': {_shown(self.of, self.ratio, seen.measured)}{at}, want {self.wanted}"


def judge(expected: Sequence[Expect], rows: Sequence[Row], sweep: Iterable[str] = ()) -> list[Judged]:
    """All expectations over the rows of results.parquet. ``sweep``: the swept settings, by which others are named."""
    names = cells.preferred(sweep)
    return [_judge(one, rows, names) for one in expected]


def _judge(expectation: Expect, rows: Sequence[Row], names: Sequence[str]) -> Judged:
    base: float | None = 1.0
    if expectation.against is not None:
        base = _median(expectation, [row for row in rows if expectation.compares_with(row)])
    picked = [row for row in rows if expectation.picks(row)]
    telling = cells.telling(picked, (), names)
    texts = cells.texts_by_column(picked, telling)
    seen = []
    for key, group in cells.groups(picked, telling).items():
        named = zip(telling, key, strict=True)
        rest = [f"{cells.heading(name)} {texts[name][value]}" for name, value in named]
        setting = ", ".join([*_named(expectation.where), *rest])
        found = _median(expectation, group)
        measured = found / base if found is not None and base else None
        met = _within(measured, expectation.bounds())
        seen.append(Seen(setting, measured, sum(bool(row["valid"]) for row in group), met))
    return Judged(expectation.say, expectation.of, _wanted(expectation), expectation.against is not None, tuple(seen))


def _within(measured: float | None, bounds: tuple[float | None, float | None]) -> bool | None:
    if measured is None:
        return None
    low, high = bounds
    return (low is None or measured >= low) and (high is None or measured <= high)


def _median(one: Expect, rows: Sequence[Row]) -> float | None:
    values = [float(row[one.of]) for row in rows if row["valid"] and row.get(one.of) is not None]
    return median(values) if values else None


def _wanted(one: Expect) -> str:
    low, high = (None if bound is None else _shown(one.of, one.against is not None, bound) for bound in one.bounds())
    of = f" that of {', '.join(_named(one.against))}" if one.against is not None else ""
    if low is not None and high is not None:
        return f"{low} to {high}{of}"
    return f"at most {high}{of}" if low is None else f"at least {low}{of}"


def _named(picked: Where) -> list[str]:
    return [f"{name} {value}" for name, value in picked.items()]


def _shown(of: str, ratio: bool, value: float) -> str:
    return f"{readable.number(value)} ×" if ratio else readable.named(of, value)
