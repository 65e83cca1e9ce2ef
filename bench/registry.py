"""What a bench is, and the list of all benches: every module below this package that has a ``BENCH``."""

from __future__ import annotations

import importlib
import pkgutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import bench as package
from netcommon.ledger import Ledger
from scenarios.run import machine


@dataclass(frozen=True)
class Place:
    """The arguments of a bench: the ledger, a scratch directory, the pairs, seconds and packets that the user asked for
    (None: the bench's own), and a function that prints progress."""

    ledger: Ledger
    scratch: Path
    pairs: int | None
    say: Callable[[str], None]
    seconds: int | None = None
    packets: int | None = None
    products: tuple[Path, ...] = ()  # scenarios of further gateways, for benches that compare products


@dataclass(frozen=True)
class Row:
    """One figure of a table, with the bounds that theory or the claim allows: ``low`` … ``high``, both in ``unit``."""

    what: str
    unit: str
    measured: float
    low: float
    high: float
    note: str = ""

    @property
    def within(self) -> bool:
        """Whether the figure is within its bounds."""
        return self.low <= self.measured <= self.high

    def as_json(self) -> dict[str, Any]:
        """An element of ``rows`` in bench-results.jsonl."""
        return asdict(self) | {"within": self.within}


@dataclass(frozen=True)
class Result:
    """Pairs that were measured alternately, or a table of rows. The figure of pairs is their median. The figure of a
    table is the share of its rows that are within their bounds. ``base_name`` None: there is no base. ``extra``:
    further figures. ``method``: how rows were measured, for the published page."""

    name: str
    unit: str
    base_name: str | None
    pairs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    method: str = ""

    @property
    def ours(self) -> float:
        """The median of our measurements, or the share of rows within their bounds."""
        if self.rows:
            return sum(row.within for row in self.rows) / len(self.rows)
        return statistics.median(float(pair["ours"]) for pair in self.pairs)

    @property
    def base(self) -> float | None:
        """The median of the base's measurements."""
        return statistics.median(float(pair["base"]) for pair in self.pairs) if self.base_name else None

    @property
    def ratio(self) -> float | None:
        """The median of the pairs' ratios."""
        return statistics.median(float(pair["ours"] / pair["base"]) for pair in self.pairs) if self.base_name else None

    def as_json(self) -> dict[str, Any]:
        """The line of bench-results.jsonl."""
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": self.ours,
            "base": self.base,
            "base_name": self.base_name,
            "ratio": self.ratio,
            "pairs": self.pairs,
            **({"rows": [row.as_json() for row in self.rows]} if self.rows else {}),
            **self.extra,
            "machine": machine.describe() | {"kernel": machine.kernel()},
        }

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
    """A named measurement. It yields each result as soon as it has it, so that an interrupted bench keeps the
    others."""

    name: str
    summary: str
    measure: Callable[[Place], Iterator[Result]]


def load() -> dict[str, Bench]:
    """All benches by name, sorted."""
    found = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        bench = getattr(importlib.import_module(module.name), "BENCH", None)
        if isinstance(bench, Bench):
            found[bench.name] = bench
    return dict(sorted(found.items()))
