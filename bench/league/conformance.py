"""The column "conformance" of the league's pages: how many cases of `lfp conformance` each product passes, from the
pages in docs/reference that ``tools/conformance-tables`` makes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
HEADING, NOTHING = "conformance", "–"
_TABLE = "## Goodput"  # the table that has the column
_SUMMARY = re.compile(r"^(\d+) cases?: (\d+) pass(?:es)?, \d+ fails?, (\d+) not applicable", re.MULTILINE)


def found(folder: Path = PAGES) -> dict[str, str]:
    """By product, a link to its page with the cases that passed of those that apply. lft-gateway's cases are one
    product."""
    cells = {}
    for page in sorted(folder.glob("conformance-*.md")):
        if told := _SUMMARY.search(page.read_text(encoding="utf-8")):
            cases, passed, other = map(int, told.groups())
            cells[page.stem.removeprefix("conformance-")] = f"[{passed} of {cases - other}]({page.name})"
    return cells


def cell(case: str, results: Mapping[str, str]) -> str:
    """A product's cell; all cases of LFT have the cell of `lft`."""
    return results.get(case) or results.get(case.partition("-")[0], NOTHING)


def with_column(text: str, results: Mapping[str, str]) -> str:
    """A league's page whose table of goodput has the column; an old column is replaced."""
    before, heading, rest = text.partition(_TABLE)
    lines, inside, had = rest.splitlines(keepends=True), False, False
    for number, line in enumerate(lines):
        if not line.startswith("|"):
            if inside:
                break
            continue
        cells = [one.strip() for one in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not inside:
            had = HEADING in cells
        cells = cells[:-1] if had else cells
        more = HEADING if not inside else "---:" if set(cells[0]) == {"-"} else cell(cells[0], results)
        lines[number] = f"| {' | '.join([*cells, more])} |\n"
        inside = True
    return before + heading + "".join(lines)
