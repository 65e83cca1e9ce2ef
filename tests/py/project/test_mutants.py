"""The mutants that `make mutants` builds still fit the sources, and its table lists them. Building them takes
minutes, so that is not done here."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support import mutant_table
from support.mutant_hunt import Hunt, Verdict
from support.mutant_rows import ROOT, Mutant, RowError, is_pytest, read, read_all
from support.mutant_tree import Outcome, Tree

MUTANTS = read_all()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_old_text_stands_in_the_source_once(mutant: Mutant) -> None:
    right = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutant.applied(right) != right
    assert mutant.wrong.endswith(".") and "|" not in mutant.wrong, "a sentence that fits into a table"


def test_there_are_enough_and_in_every_part() -> None:
    parts = {"comet_delay", "rttcp", "lft_ref", "pktlogger", "scenarios", "dashboard", "netcommon"}
    assert len(MUTANTS) >= 25
    assert {mutant.name.split("/")[0] for mutant in MUTANTS} == parts


def test_the_tests_they_name_exist() -> None:
    command = ["ctest", "--test-dir", str(ROOT / "build" / "release"), "-N"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    known = set(re.findall(r"Test +#\d+: (\S+)", listed.stdout))
    for mutant in MUTANTS:
        assert mutant.tests, f"{mutant.name}: names no test"
        for test in mutant.tests:
            file, _, function = test.partition("::")
            found = f"def {function}" in (ROOT / file).read_text(encoding="utf-8") if is_pytest(test) else test in known
            assert found, f"{mutant.name}: {test}: no such test"


def test_the_table_is_about_these_mutants_and_none_survives() -> None:
    page = (ROOT / "docs" / "reference" / "testing.md").read_text(encoding="utf-8")
    table = page.split(mutant_table.BEGIN)[1].split(mutant_table.END)[0]
    rows = dict(re.findall(r"^\| (\w+/\S+) \| .* \| (\S.*) \|$", table, re.MULTILINE))
    assert set(rows) == {mutant.name for mutant in MUTANTS}, "run 'make mutants'"
    assert not [name for name, by in rows.items() if by.startswith("**")]


class FakeTree(Tree):
    """One source, and a test of each kind: one that sees a wrong digit, one that never fails, one that always does."""

    def __init__(self) -> None:
        self.text = "limit = 10\n"

    def read(self, file: str) -> str:
        return self.text

    def write(self, file: str, text: str) -> None:
        self.text = text

    def all_tests(self) -> list[str]:
        return ["sharp", "blunt", "red"]

    def run(self, test: str) -> Outcome:
        wrong = {"sharp": self.text != "limit = 10\n", "blunt": False, "red": True}[test]
        return Outcome(failed=f"{test}: it" if wrong else "", unusable="no build" if "?" in self.text else "")


def judge(*tests: str, old: str = "10", new: str = "11", wide: bool = False) -> Verdict:
    tree, mutant = FakeTree(), Mutant("a/b", "The limit is 11.", "limit.py", old, new, tests)
    hunt = Hunt([tree], lambda line: None)
    (verdict,) = hunt.judge([mutant], hunt.red([mutant]), wide)
    assert tree.text == "limit = 10\n", "the copy is right again"
    return verdict


def test_a_mutant_is_caught_by_the_first_test_that_fails() -> None:
    assert judge("blunt", "sharp").by == "sharp: it"


def test_a_mutant_that_no_test_notices_survives() -> None:
    survivor = judge("blunt")
    assert (survivor.by, survivor.problem) == ("", "") and "SURVIVES" in survivor.text
    assert judge("blunt", wide=True).by == "sharp: it"


def test_a_test_that_fails_anyway_catches_nothing() -> None:
    assert "do not pass without it" in judge("red").problem
    assert judge("red", "sharp").by == "sharp: it"


def test_what_does_not_apply_or_build_is_not_judged() -> None:
    assert "stands 0 times" in judge("sharp", old="12").problem
    assert judge("sharp", new="?").problem == "no build"


def test_only_the_table_of_the_page_changes(tmp_path: Path) -> None:
    page, verdicts = tmp_path / "testing.md", [judge("sharp")]
    page.write_text("# Tests\n\nBy hand.\n")
    mutant_table.write(page, verdicts)
    page.write_text(page.read_text() + "\n## More by hand\n")
    before = page.read_text()
    mutant_table.write(page, verdicts)
    assert page.read_text() == before
    assert "By hand." in before and "| a/b | The limit is 11. | `sharp: it` |" in before
    mutant_table.write(page, [judge("blunt")])
    assert "**SURVIVES" in page.read_text() and "sharp: it" not in page.read_text()


def test_a_row_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "part" / "name.toml"
    file.parent.mkdir()
    file.write_text('wrong = "W."\nfile = "f"\nold = "o"\nnew = "n"\ntest = ["t"]\n')
    with pytest.raises(RowError, match="part/name: has the keys"):
        read(file, tmp_path)
