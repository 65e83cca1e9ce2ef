"""Every number that a person reads is formatted in one place: no other code of ours rounds a number into a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tree

ROOT = tree.ROOT
FOLDERS = ("scenarios", "dashboard", "netcommon", "lfp", "bench")
# Exact by intent: the published bench table compares seven digits with bounds; the formatter itself; a model's parser.
EXEMPT = {"netcommon/readable.py", "bench", "lfp/commands/bench.py", "scenarios/plan/values.py"}
ROUNDS = re.compile(r"[gGfFeE%]$")  # presentation types of format() that round


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if not any(path.is_relative_to(ROOT / exempt) for exempt in EXEMPT)]


def specs(module: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and format specification of every formatted value."""
    for node in ast.walk(module):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant)),
            )


def wrong() -> Iterator[str]:
    """A line for each number that is rounded elsewhere."""
    for path in sources():
        for line, spec in specs(ast.parse(path.read_text(encoding="utf-8"))):
            if ROUNDS.search(spec):
                yield f"{path.relative_to(ROOT)}:{line}: formats a number ({spec}); netcommon.readable does that"
