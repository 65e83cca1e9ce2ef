"""tools/check-limits finds what is beyond a limit; that the tree is within them is for `make lint` to say."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.limits import limits


def test_a_c_function_counts_between_its_braces() -> None:
    lines = ["static int f(int a,", "             int b)", "{", "    return a;", "}", "", "struct s {", "};"]
    assert list(limits.c_functions(lines)) == [(3, 1)]


def test_a_python_function_counts_without_its_docstring() -> None:
    source = 'def f() -> None:\n    """One.\n\n    Two.\n    """\n    pass\n\n\ndef g() -> None:\n    """One."""\n'
    assert list(limits.python_functions(source)) == [(1, 1), (9, 0)]


def test_a_room_of_31_files_is_full_and_tests_are_no_room() -> None:
    many = [Path(f"rttcp/src/wire/{number}.c") for number in range(31)]
    assert list(limits.full_rooms(many)) == ["rttcp/src/wire: 31 files in one room; allowed are 30"]
    assert not list(limits.full_rooms([Path("tests/py") / file.name for file in many]))


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}}, []),
        ({"a": {"b"}, "b": {"a"}}, ["a → b → a"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b → c → b"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, ["a → b → c → a"]),
    ],
)
def test_a_circle_is_said_once(graph: dict[str, set[str]], found: list[str]) -> None:
    assert list(limits.circles(graph)) == found


def test_an_include_means_the_nearest_header() -> None:
    headers = {"control.h": [Path("comet_delay/src/box/control.h"), Path("lft_ref/src/gateway/control.h")]}
    assert limits.included(Path("lft_ref/src/relay/pump.c"), "control.h", headers) == headers["control.h"][1]


def test_imports_count_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "scenarios"
    (package / "plan").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "plan/__init__.py": "",
        "plan/model.py": "def f():\n    from scenarios import cli\n",
        "cli.py": "from .plan import model\n",
    }.items():
        (package / name).write_text(text)
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    files = [file.relative_to(tmp_path) for file in package.rglob("*.py")]
    circle = {"scenarios.plan.model": {"scenarios.cli"}, "scenarios.cli": {"scenarios.plan.model"}}
    assert limits.python_graph(files) == circle


def test_an_unpacked_archive_without_git_has_its_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rttcp/src/a.c", "README.md", "build/release/a.o", "rttcp/__pycache__/a.pyc", ".venv/bin/python"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    assert {str(file) for file in limits.tracked()} == {"rttcp/src/a.c", "README.md"}
