"""The history of records (scenarios/reference/lsr-*.csv), by protocol and class."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from netcommon.errors import UsageError

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
FACTOR = 1.1  # R10: a new record beats the old one by 10 %
CLASSES = ("single", "multiple")


@dataclass(frozen=True)
class Record:
    """One record. ``classes``: single, multiple or both."""

    date: str
    score: int  # Tbit·m/s
    group: str
    classes: tuple[str, ...]


def load(family: str) -> list[Record]:
    """The records of ``ipv4`` or ``ipv6``, oldest first."""
    with (REFERENCE / f"lsr-{family}.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            Record(row["date"], int(row["tbit_m_per_s"]), row["group"], tuple(row["class"].split("+")))
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda one: one.date)


def best(family: str, kind: str, entered: str | None = None) -> Record:
    """The record that is valid in a class when a run is entered on the day ``entered`` (YYYY-MM-DD), or after the last
    record. R6: a single-stream mark above the multi-stream record also counts there, so the class of several streams
    has the marks of both. UsageError when no record is older than ``entered``."""
    allowed = CLASSES if kind == "multiple" else ("single",)
    known = [one for one in load(family) if set(allowed) & set(one.classes)]
    standing = [one for one in known if entered is None or one.date < entered]
    if not standing:
        first = min(one.date for one in known)
        raise UsageError(f"--entered {entered}: the first record of {family}, {kind}, is of {first}; give a later day")
    return max(standing, key=lambda one: one.score)
