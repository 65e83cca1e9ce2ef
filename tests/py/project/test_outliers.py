"""tools/outliers counts rooms and functions."""

from __future__ import annotations

from pathlib import Path

from support.repository_tools import outliers


def test_a_c_function_counts_between_its_braces() -> None:
    lines = ["static int f(int a,", "             int b)", "{", "    return a;", "}", "", "struct s {", "};"]
    assert list(outliers.c_functions(lines)) == [(3, 1)]


def test_a_python_function_counts_without_its_docstring() -> None:
    source = 'def f() -> None:\n    """One.\n\n    Two.\n    """\n    pass\n\n\ndef g() -> None:\n    """One."""\n'
    assert list(outliers.python_functions(source)) == [(1, 1), (9, 0)]


def test_a_room_counts_its_own_files_and_neither_tests_nor_data() -> None:
    room = [Path(f"rttcp/src/wire/{name}.c") for name in "abc"]
    others = [Path("tests/py/test_a.py"), Path("scenarios/library/a.toml"), Path("scenarios/profiles/a.py")]
    assert list(outliers.rooms(outliers.sources([*room, *others]))) == [(3, "rttcp/src/wire")]
