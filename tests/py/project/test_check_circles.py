"""tools/check-circles finds circles. `make lint` runs it on the tree's own includes and imports."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.repository_tools import check_circles, tree


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
    assert list(check_circles.circles(graph)) == found


def test_an_include_means_the_nearest_header() -> None:
    headers = {"control.h": [Path("comet_delay/src/box/control.h"), Path("lft_ref/src/gateway/control.h")]}
    assert check_circles.included(Path("lft_ref/src/relay/pump.c"), "control.h", headers) == headers["control.h"][1]


def test_imports_count_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "scenarios"
    (package / "plan").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "plan/__init__.py": "",
        "plan/model.py": "def f():\n    from scenarios import runner\n",
        "runner.py": "from .plan import model\n",
    }.items():
        (package / name).write_text(text)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    files = [file.relative_to(tmp_path) for file in package.rglob("*.py")]
    circle = {"scenarios.plan.model": {"scenarios.runner"}, "scenarios.runner": {"scenarios.plan.model"}}
    assert check_circles.python_graph(files) == circle


def test_an_unpacked_archive_without_git_has_its_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rttcp/src/a.c", "README.md", "build/release/a.o", "rttcp/__pycache__/a.pyc", ".venv/bin/python"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    assert {str(file) for file in tree.tracked()} == {"rttcp/src/a.c", "README.md"}


def test_calls_are_between_the_sources_of_objects() -> None:
    listing = (
        "rttcp/CMakeFiles/rttcp_core.dir/src/a.c.o: rttcp_a T 0 0\n"
        "rttcp/CMakeFiles/rttcp_core.dir/src/a.c.o: rttcp_b U\n"
        "rttcp/CMakeFiles/rttcp_core.dir/src/b.c.o: rttcp_b T 0 0\n"
        "rttcp/CMakeFiles/rttcp_core.dir/src/b.c.o: rttcp_table U\n"
        "rttcp/CMakeFiles/rttcp_core.dir/src/a.c.o: rttcp_table D 0 0\n"
    )
    assert check_circles.calls(listing) == {"rttcp/src/a.c": {"rttcp/src/b.c"}}


def test_no_c_file_of_the_product_is_called_by_what_it_calls() -> None:
    build = tree.ROOT / "build" / "release"
    if not build.is_dir():
        pytest.skip(f"{build} is not there: an installed package has no object files")
    assert list(check_circles.circles(check_circles.calls(check_circles.listed(build)))) == []
