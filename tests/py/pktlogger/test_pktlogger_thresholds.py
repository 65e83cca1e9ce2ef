"""The thresholds of pktlogger's causes stand in one table, each with its reason, and each is used."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "pktlogger" / "src"
TABLE = SOURCES / "causes" / "thresholds.h"
NOT_THRESHOLDS = {"PL_THRESHOLDS_H", "PL_MS"}


def _names() -> list[str]:
    found = re.findall(r"#define (PL_\w+)|\b(PL_\w+) = ", TABLE.read_text())
    return [name for pair in found for name in pair if name and name not in NOT_THRESHOLDS]


def test_each_threshold_is_used() -> None:
    text = "\n".join(file.read_text() for file in SOURCES.rglob("*.[ch]") if file != TABLE)
    assert [name for name in _names() if not re.search(rf"\b{name}\b", text)] == []


def test_each_threshold_has_its_reason() -> None:
    lines = [line for line in TABLE.read_text().splitlines() if re.search(r"#define PL_\w+ \S|PL_\w+ = ", line)]
    bare = [line for line in lines if "/*" not in line and not any(name in line for name in NOT_THRESHOLDS)]
    assert len(lines) > 60 and bare == []


def test_no_file_of_causes_has_thresholds_of_its_own() -> None:
    """A share or a probability that a source defines for itself."""
    own = [f"{file.name}: {found}" for file in (SOURCES / "causes").glob("*.c")
           for found in re.findall(r"^#define (\w+ [\d.]+\b)", file.read_text(), re.MULTILINE)]  # fmt: skip
    assert own == ["loss_facts.c: NORMAL_90 1.64"]
