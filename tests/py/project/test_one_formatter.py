"""Every number that a person reads is formatted in one place: no other code of ours rounds a number into a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("scenarios", "dashboard", "netcommon", "lfp", "bench")
# Exact by intent: the published bench table compares seven digits with bounds; the formatter itself; a model's parser.
EXEMPT = {"netcommon/readable.py", "bench", "lfp/commands/bench.py", "scenarios/plan/values.py"}
ROUNDS = re.compile(r"[gGfFeE%]$")  # presentation types of format() that round


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if not any(path.is_relative_to(ROOT / exempt) for exempt in EXEMPT)]


def specs(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and format specification of every formatted value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant)),
            )


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_number_is_rounded_elsewhere(path: Path) -> None:
    found = [f"line {line}: {spec}" for line, spec in specs(ast.parse(path.read_text())) if ROUNDS.search(spec)]
    assert not found, f"{path.relative_to(ROOT)} formats numbers by itself; netcommon.readable does that: {found}"
