"""tools/check-tree: what counts as a file name, which number formats round, and which dependencies the table
refuses."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest
from support.repository_tools import names, numbers_read, rooms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see relay/pump.c and `docs/README.md`.", ["relay/pump.c", "docs/README.md"]),
        ("test_*_exact.py, lfp_<name>.h, $HOME/x.py and https://host/x.md are no names", []),
        ("RECORD.md, section 2", ["RECORD.md"]),
    ],
)
def test_what_looks_like_a_name(text: str, found: list[str]) -> None:
    assert [match[1] for match in names._NAME.finditer(text)] == found


def test_a_comment_of_several_lines_is_one_text() -> None:
    code = """# A block, whose second line
# continues it.

# another block
A = 1  # of the line
B = 2  # begins here
       # and goes on
# A new block.
def f():
    \"\"\"A docstring.\"\"\"
    # inside
"""
    assert sorted(names.python_prose(code)) == [
        (1, "# A block, whose second line\n# continues it."),
        (4, "# another block"),
        (5, "# of the line"),
        (6, "# begins here\n# and goes on"),
        (8, "# A new block."),
        (10, "A docstring."),
        (11, "# inside"),
    ]


@pytest.mark.parametrize(("text", "rounds"), [("f'{x:.3f}'", True), ("f'{x:>8}'", False), ("f'{x:,.1%}'", True)])
def test_which_formats_round(text: str, rounds: bool) -> None:
    assert [bool(numbers_read.ROUNDS.search(spec)) for _, spec in numbers_read.specs(ast.parse(text))] == [rounds]


def lines(monkeypatch: pytest.MonkeyPatch, includes: dict[str, set[str]], imports: dict[str, set[str]]) -> set[str]:
    """The complaints about a tree of two rooms, of which a may use b."""
    monkeypatch.setattr(rooms, "table", lambda: {"a": {"b"}, "b": set()})
    monkeypatch.setattr(rooms, "folders", lambda: {"a", "b"})
    monkeypatch.setattr(rooms, "is_python", lambda room: True)
    monkeypatch.setattr(rooms, "folder_of", lambda module: module)
    for name in ("cmake_rooms", "of_contracts", "of_changes"):
        monkeypatch.setattr(rooms, name, lambda *_: {})
    circles: Any = SimpleNamespace(c_graphs=lambda files: ({}, {}, includes), python_graph=lambda files: imports)
    return set(rooms.wrong(circles))


def test_arrows_are_what_the_table_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(monkeypatch, {"a": {"b"}}, {"a": {"b"}}) == set()
    assert lines(monkeypatch, {"b": {"a"}}, {"a": {"b"}}) == {"b includes a, which its row does not allow"}
    assert lines(monkeypatch, {}, {"b": {"a"}}) == {
        "b imports a, which its row does not allow",
        "a may use b and does not import it",
    }


def test_the_contracts_of_import_linter_are_found() -> None:
    assert rooms.contracts() and rooms.cmake_rooms() and rooms.table()
