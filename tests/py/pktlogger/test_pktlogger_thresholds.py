"""The thresholds of pktlogger's causes are in one table, each with its reason, and each is used."""

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


NUMBERS = {  # constants of formulas, units and texts, which are no thresholds
    "loss_facts.c": ["NORMAL_90 1.64"],
    "round.c": ["NS_PER_S 1e9"],
    "transfer_verdict.c": ["GBIT 1e9", "SAME 1.001", "MATHIS 1.22"],
}


def test_no_file_of_causes_or_verdicts_has_thresholds_of_its_own() -> None:
    """Searches for numbers that a source file defines, and for times inside functions."""
    files = [file for room in ("causes", "analyse") for file in (SOURCES / room).glob("*.c")]
    own = {file.name: re.findall(r"^#define (\w+ [\d.]+(?:e\d+)?)\b", file.read_text(), re.MULTILINE) for file in files}
    assert {name: found for name, found in own.items() if found} == NUMBERS
    times = [
        f"{file.name}: {found}"
        for file in files
        for found in re.findall(r"const (?:int64_t|double) \w+(?:_ns)? = \d.*", file.read_text())
    ]
    assert times == []


def test_the_rules_of_rounds_and_limits_have_no_bare_numbers() -> None:
    """The number 2 is allowed, for halves and majorities; units, parts of names and comments are no thresholds."""
    found = []
    for name in ("limits.c", "round.c", "round.h", "send_buffer.c", "evidence.c"):
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", (TABLE.parent / name).read_text(), flags=re.DOTALL | re.MULTILINE)
        found += [
            f"{name}: {number}"
            for number in re.findall(r"(?<![\w.-])(\d+(?:\.\d+)?)(?![\w.])", text)
            if number not in ("0", "1", "2")
        ]
    assert found == []
