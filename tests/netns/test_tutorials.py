"""README and tutorials, as a reader pastes them: every command, its exit status and its output, in virtual time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.tutorial import alike, missing, steps
from support.virtual import virtual

from netcommon import binaries

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(page for page in (ROOT / "docs/tutorials").glob("*.md") if page.name != "README.md")
PAGES = [*TUTORIALS, ROOT / "README.md"]


@pytest.mark.timeout(900)  # two dozen guests, on a machine that may be busy
@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem, marks=virtual) for page in PAGES])
def test_every_command_of_a_tutorial_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for build in ("old", "new"):
        (tmp_path / build).mkdir()
        shutil.copy(binaries.find("lft-gateway"), tmp_path / build)
    environment = os.environ | {"PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"}
    found = steps(page)
    assert found, "no command on the page"
    for step in found:
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        printed = done.stdout + done.stderr
        assert done.returncode == step.status, f"{step.command}\n{printed}"
        lost = missing(step.output, printed)
        assert lost is None, f"{step.command}\ndid not print: {lost}\nbut:\n{printed}"


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs/tutorials/README.md").read_text()
    assert all(f"]({page.name})" in index for page in TUTORIALS) and len(TUTORIALS) >= 3


def test_the_readme_shows_the_scenario_that_it_runs() -> None:
    shown = re.search(r"^```toml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert shown and shown[1] in (ROOT / "examples/mine.toml").read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_what_counts_as_the_same_output() -> None:
    assert alike("0  30 KB  21.18 Mbit/s", "0      30 KB   21.5 Mbit/s ")
    assert not alike("0  30 KB  21.18 Mbit/s", "0      30 KB   25 Mbit/s")
    assert not alike("2 same, 0 worse", "1 same, 1 worse")
    assert alike("runs/gate-20261122T065936-9531c8", "runs/gate-20271122T065936-abcdef")
    assert missing(("b", "a"), "a\nb\na") is None and missing(("a", "c"), "a\nb") == "c"


def test_ranks_of_few_repeats_are_not_compared_but_the_verdict_is() -> None:
    expected = ("ratio   p    delta  repeats  verdict", "0.9894  0.2  -0.62  4, 4     same", "1 of 1 cell")

    def printed(row: str) -> str:
        return f"ratio   p      delta  repeats  verdict\n{row}\n1 of 1 cell"

    assert missing(expected, printed("0.9909  0.11   -0.75  4, 4     same")) is None
    assert missing(expected, printed("0.9909  0.029  -1     4, 4     worse")) == expected[1]
    assert missing(expected, printed("0.9009  0.11   -0.75  4, 4     same")) == expected[1]
