"""What the papers say about the rows that are drawn: points from scenarios/reference/*.csv, regions in words.

Reference points are files (columns named like those of results, `note` and `kind` beside them); regions are few and are
kept here as a table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

KB = 1024


@dataclass(frozen=True)
class Point:
    """A point read off the paper's figure."""

    window_bytes: float
    short_term_bps: float
    note: str


@dataclass(frozen=True)
class Region:
    """A part of the window axis, bytes, and the paper's finding there.

    `measure` says what is compared: `slope` (throughput ÷ (window ÷ measured RTT)) or `level` (throughput, bit/s);
    `paper` is the paper's value of that.
    """

    name: str
    low_bytes: int
    high_bytes: int
    measure: str
    paper: float
    paper_text: str

    def holds(self, window_bytes: float) -> bool:
        return self.low_bytes <= window_bytes < self.high_bytes


# lfp-1995/fig3: the three regions of throughput against window; below 16 KB it is "worse than that", in the paper too.
REGIONS: dict[str, tuple[Region, ...]] = {
    "lfp-1995/fig3": (
        Region("linear", 16 * KB, 96 * KB, "slope", 1.0, "grows with the window, slope 1/RTT"),
        Region("flat", 96 * KB, 170 * KB, "level", 45e6, "about 45 Mbit/s, the line rate"),
        Region("collapse", 170 * KB, 521 * KB, "level", 8e6, "about 8 Mbit/s: the LFP syndrome"),
    )
}


def regions(paper: str) -> tuple[Region, ...]:
    """Regions of a paper row (`lfp-1995/fig3`); empty when the row has none."""
    return REGIONS.get(paper, ())


def points(paper: str) -> tuple[Point, ...]:
    """Points of a paper row from scenarios/reference/<paper>-<row>.csv; empty when there is no such file."""
    name = paper.replace("/", "-")
    if not name or not name.replace("-", "").isalnum():
        return ()
    try:
        text = (resources.files("scenarios") / "reference" / f"{name}.csv").read_text()
    except (FileNotFoundError, NotADirectoryError, ModuleNotFoundError):
        return ()
    rows = csv.DictReader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    if not {"window_bytes", "short_term_bps"} <= set(rows.fieldnames or ()):
        return ()
    number: Callable[[str | None], float] = lambda cell: float(cell) if cell else float("nan")  # noqa: E731
    return tuple(
        Point(number(row["window_bytes"]), number(row["short_term_bps"]), row.get("note") or row.get("kind") or "")
        for row in rows
    )
