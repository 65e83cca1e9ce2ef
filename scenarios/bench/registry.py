"""What a bench is, and the list of those there are: every module of this package that has a ``BENCH``."""

from __future__ import annotations

import importlib
import pkgutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from netcommon.ledger import Ledger
from scenarios import bench as package
from scenarios import machine


@dataclass(frozen=True)
class Place:
    """What a bench gets: where to record ownership, a scratch directory, pairs and seconds asked for, whom to tell."""

    ledger: Ledger
    scratch: Path
    pairs: int | None
    say: Callable[[str], None]
    seconds: int | None = None


@dataclass(frozen=True)
class Row:
    """One figure of a table, with what theory or the claim allows: ``low`` … ``high``, both in ``unit``."""

    what: str
    unit: str
    measured: float
    low: float
    high: float
    note: str = ""

    @property
    def within(self) -> bool:
        """True when the figure is where it has to be."""
        return self.low <= self.measured <= self.high

    def as_json(self) -> dict[str, Any]:
        """An element of ``rows`` in bench-results.jsonl."""
        return asdict(self) | {"within": self.within}


@dataclass(frozen=True)
class Result:
    """Medians of pairs measured alternately, or a table of rows; a result of rows has the share of them that are
    where they have to be as its figure. ``base_name`` None: without a base. ``extra``: figures of
    its own. ``method``: how rows were measured, for the published page."""

    name: str
    unit: str
    base_name: str | None
    pairs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    method: str = ""

    @property
    def ours(self) -> float:
        """Median of our measurements, or the share of rows within their bounds."""
        if self.rows:
            return sum(row.within for row in self.rows) / len(self.rows)
        return statistics.median(float(pair["ours"]) for pair in self.pairs)

    @property
    def base(self) -> float | None:
        """Median of the base's measurements."""
        return statistics.median(float(pair["base"]) for pair in self.pairs) if self.base_name else None

    @property
    def ratio(self) -> float | None:
        """Median of the pairs' ratios."""
        return statistics.median(float(pair["ours"] / pair["base"]) for pair in self.pairs) if self.base_name else None

    def as_json(self) -> dict[str, Any]:
        """The line of bench-results.jsonl."""
        return {
            "name": self.name, "unit": self.unit, "ours": self.ours, "base": self.base, "base_name": self.base_name,
            "ratio": self.ratio, "pairs": self.pairs,
            **({"rows": [row.as_json() for row in self.rows]} if self.rows else {}), **self.extra,
            "machine": machine.describe() | {"kernel": machine.kernel()},
        }  # fmt: skip

    def row(self) -> str:
        """One line for people."""
        against = ""
        if self.base is not None and self.ratio is not None:
            against = f"  {self.base_name} {scaled(self.base, self.unit)}  ratio {self.ratio:.3f}"
        extra = "".join(f"  {key} {value}" for key, value in self.extra.items())
        ours = scaled(self.ours, self.unit)
        return f"{self.name:<20} ours {ours}{against}  ({len(self.pairs or self.rows)} measured){extra}"


def scaled(value: float, unit: str) -> str:
    """A figure for people."""
    return f"{value / 1e9:.2f} Gbit/s" if unit == "bit/s" and value >= 1e9 else f"{value:.4g} {unit}"


@dataclass(frozen=True)
class Bench:
    """A named measurement; it yields each result once it has it, so that an interrupted bench keeps the others."""

    name: str
    summary: str
    measure: Callable[[Place], Iterator[Result]]


def load() -> dict[str, Bench]:
    """Benches by name, in order of name."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        bench = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "BENCH", None)
        if isinstance(bench, Bench):
            found[bench.name] = bench
    return dict(sorted(found.items()))
