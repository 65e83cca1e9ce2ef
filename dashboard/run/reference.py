"""What a paper says about the row that a run reproduces: scenarios/reference/<paper>-<row>.csv.

Such a file has one of three shapes: columns named like those of the results (`rows`, for matrices), points
(`window_bytes, short_term_bps, kind, note`; kind `slope`, `level` or `border`), or facts (`fact, value, unit, note`).
The scenario's [report] says which files belong to a run and where the regions of its window axis lie. Without it the
paper row names the file.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import Any

from dashboard.core.runs import Run


@dataclass(frozen=True)
class Point:
    """A point of the paper's figure, in bytes and bit/s. `kind`: slope, level or border."""

    window_bytes: float
    short_term_bps: float
    kind: str
    note: str


@dataclass(frozen=True)
class Region:
    """A stretch of the window axis, low < window <= high bytes, with the paper's points there."""

    label: str
    low_bytes: float
    high_bytes: float
    points: tuple[Point, ...]

    @property
    def slope(self) -> bool:
        """Whether throughput grows with the window here, so that slopes are compared rather than levels."""
        return any(point.kind == "slope" for point in self.points)

    @property
    def first_bytes(self) -> float:
        """The least window whose slope is compared: the paper's first point. Below it the paper's curve leaves the line
        too."""
        return min(point.window_bytes for point in self.points) if self.slope else self.low_bytes

    def holds(self, window_bytes: float) -> bool:
        return self.low_bytes < window_bytes <= self.high_bytes


def points(run: Run) -> tuple[Point, ...]:
    """The paper's points for a window sweep; empty when there are none."""
    rows = [row for name in _names(run) for row in _rows(name)]
    return tuple(
        Point(float(row["window_bytes"]), float(row["short_term_bps"]), row.get("kind") or "", row.get("note") or "")
        for row in rows
        if row.get("window_bytes") and row.get("short_term_bps")
    )


def facts(run: Run) -> dict[str, tuple[float, str]]:
    """The paper's single facts: name to (value in SI units, note); empty when there are none."""
    rows = [row for name in _names(run) for row in _rows(name)]
    return {row["fact"]: (float(row["value"]), row.get("note") or "") for row in rows if row.get("fact")}


def rows(run: Run) -> list[dict[str, Any]]:
    """All rows of the run's reference files, as texts, for figures whose axes are any columns."""
    return [row for name in _names(run) for row in _rows(name)]


def regions(run: Run) -> tuple[Region, ...]:
    """The scenario's regions, each with the paper's slope or level points in it."""
    known = [point for point in points(run) if point.kind in ("slope", "level")]
    found = []
    for entry in _report(run).get("regions") or ():
        low, high = float(entry["from"]), float(entry["to"])
        own = tuple(point for point in known if low < point.window_bytes <= high)
        found.append(Region(str(entry.get("label") or ""), low, high, own))
    return tuple(found)


def _report(run: Run) -> dict[str, Any]:
    value = run.scenario.get("report")
    return value if isinstance(value, dict) else {}


def _names(run: Run) -> list[str]:
    return [str(name) for name in _report(run).get("reference") or ()] or [run.paper.replace("/", "-")]


def _rows(name: str) -> list[dict[str, str]]:
    """The rows of a reference file; empty when there is no such file, or when the name could be a path."""
    if not name.replace("-", "").isalnum():
        return []
    try:
        text = (resources.files("scenarios") / "reference" / f"{name}.csv").read_text()
    except (FileNotFoundError, ModuleNotFoundError):
        return []
    return list(csv.DictReader(line for line in text.splitlines() if line.strip() and not line.startswith("#")))
