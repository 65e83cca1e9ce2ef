"""README and tutorials, as a reader pastes them: every command, its exit status and its output, in virtual time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tutorial import PAGES, ROOT, alike, missing, played, renewed, steps
from support.virtual import virtual

TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]


@pytest.mark.timeout(900)  # two dozen guests, on a machine that may be busy
@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem, marks=virtual) for page in PAGES])
def test_every_command_of_a_tutorial_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    assert steps(page.read_text()), "no command on the page"
    for step, status, printed in played(page, tmp_path):
        assert status == step.status, f"{step.command}\n{printed}"
        lost = missing(step.output, printed)
        assert lost is None, f"{step.command}\ndid not print: {lost}\nbut:\n{printed}\nrenew: tools/renew-figures"


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs/tutorials/README.md").read_text()
    assert all(f"]({page.name})" in index for page in TUTORIALS) and len(TUTORIALS) >= 3


def test_the_readme_shows_the_scenario_that_it_runs() -> None:
    shown = re.search(r"^```toml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert shown and shown[1] in (ROOT / "examples/mine.toml").read_text()


def test_what_counts_as_the_same_output() -> None:
    assert alike("0  30 KB  21.18 Mbit/s", "0      30 KB   21.18 Mbit/s ")
    assert not alike("0  30 KB  21.18 Mbit/s", "0      30 KB   21.19 Mbit/s")
    assert not alike("2 same, 0 worse", "1 same, 1 worse")
    assert alike("runs/gate-20261122T065936-9531c8", "runs/gate-20271122T065936-abcdef")
    assert missing(("b", "a"), "a\nb\na") is None and missing(("a", "c"), "a\nb") == "c"


def test_figures_are_renewed_and_words_are_not() -> None:
    """The pages have tables with all columns, and blocks with nothing but commands."""
    page = "0  9 Mbit/s\n```console\n$ lfp show last\ntrial  rate\n0  9.9 Mbit/s  +0.1\n2 same\n```\n"
    said = "trial      rate\n0      10.1 Mbit/s  -0.25  \n1      9 Mbit/s  0\n3 worse\n"
    wanted = page.replace("0  9.9 Mbit/s  +0.1", "0      10.1 Mbit/s  -0.25").replace("trial  rate", "trial      rate")
    assert renewed(page, [said]) == (wanted, ["2 same"])
