"""The bounds of an input's cost in the specifications equal those that the fuzz targets enforce."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SPECIFICATIONS = (
    "lft_ref/FORMAT.md",
    "lft_ref/CONTROL.md",
    "rttcp/PROTOCOL.md",
    "pktlogger/FORMAT.md",
    "comet_delay/CONTROL.md",
)
_TARGET = re.compile(r"lfp_fuzz\((\w+) [^)]*?COST (\d+) (\d+) (\d+) (\d+)\)")
_ROW = re.compile(r"^\| [^|]+ \| `(\w+)` \| ([\d,]+) \+ ([\d,]+) n \| ([\d,]+) \+ ([\d,]+) n \|$", re.MULTILINE)


def held_to() -> dict[str, tuple[int, ...]]:
    """Each target's bounds in the build files."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests/fuzz").glob("*/CMakeLists.txt")]
    assert sum(text.count("lfp_fuzz(") for text in texts) == sum(len(_TARGET.findall(text)) for text in texts)
    return {name: tuple(map(int, bounds)) for text in texts for name, *bounds in _TARGET.findall(text)}


def promised() -> dict[str, tuple[int, ...]]:
    """Each target's bounds in the specifications."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in SPECIFICATIONS]
    return {
        name: tuple(int(number.replace(",", "")) for number in bounds)
        for text in texts
        for name, *bounds in _ROW.findall(text)
    }


def test_every_bound_is_in_a_specification() -> None:
    assert promised() == held_to()
