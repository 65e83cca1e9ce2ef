"""Captures of every link type, tag, tunnel, beginning, duplication, cut, file format and compression: a quick form of
the matrix of log.agree."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.log import matrix, matrix_captures, matrix_cover, matrix_tools
from bench.log.matrix_captures import Made
from bench.log.matrix_cover import Case
from bench.log.matrix_talk import Talk

SEED, GROUPS, EACH, SHARK = 45, 4, 15, 12
CASES = matrix_captures.cases(SEED)


def test_every_pair_of_values_occurs() -> None:
    values = [(axis, value) for axis, every in matrix_captures.AXES.items() for value in every]
    pairs = {
        frozenset(pair)
        for pair in itertools.combinations(values, 2)
        if pair[0][0] != pair[1][0] and matrix_captures.allowed(dict(pair))
    }
    found = {frozenset(pair) for case in CASES for pair in itertools.combinations(case.items(), 2)}
    assert len(CASES) >= 400 and pairs <= found
    assert all(matrix_captures.allowed(case) for case in CASES)


def test_a_pair_that_no_case_can_have_is_said() -> None:
    axes = {"a": ("1", "2"), "b": ("1", "2"), "c": ("1",)}
    with pytest.raises(ValueError, match="no case has"):
        matrix_cover.cover(axes, lambda case: not (len(case) == 3 and case["a"] == "2"), SEED)


@pytest.mark.parametrize("group", range(GROUPS))
def test_pktlogger_counts_what_the_scripts_say(group: int, tmp_path: Path) -> None:
    """Connections, packets, octets, handshakes, window scales, and what was sent again. The first cases have most
    pairs of values."""
    tally = matrix.Tally()
    for number in range(group * EACH, (group + 1) * EACH):
        (tmp_path / str(number)).mkdir()
        tally.add(matrix.against_script(CASES[number], tmp_path / str(number), SEED + number))
    assert tally.wrong == [] and tally.compared == tally.agree > 100, (SEED, group)


def _other(tool: str, case: Case, folder: Path, seed: int) -> matrix.Tally:
    made = matrix_captures.make(case, folder, seed)
    return matrix.against(tool, made, matrix_tools.by_script(made))


@pytest.mark.skipif(not shutil.which("tshark"), reason="not installed: tshark")
def test_tshark_differs_by_known_rules_only(tmp_path: Path) -> None:
    tally = matrix.Tally()
    for number in range(SHARK):
        tally.add(_other("tshark", CASES[number], tmp_path, SEED + number))
    assert tally.wrong == [] and tally.agree > 50, SEED


@pytest.mark.skipif(not shutil.which("tcptrace"), reason="not installed: tcptrace")
def test_tcptrace_differs_by_known_rules_only(tmp_path: Path) -> None:
    tally = matrix.Tally()
    for number, case in enumerate(matrix_captures.plain_cases(SEED)[:40]):
        tally.add(_other("tcptrace", case, tmp_path, SEED + number))
    assert tally.wrong == [] and tally.agree > 200, SEED


def _made(tmp_path: Path, **values: str) -> Made:
    case = {axis: every[0] for axis, every in matrix_captures.AXES.items()} | values
    return matrix_captures.make(case, tmp_path, SEED)


def test_a_difference_that_no_rule_explains_is_wrong(tmp_path: Path) -> None:
    """A missing connection, an additional one, and a number that follows from no rule are found."""
    made = _made(tmp_path, kind="plain")
    right = matrix_tools.by_script(made)
    first, second, *rest = sorted(right)
    theirs = {key: right[key] for key in rest} | {first: right[first].__class__((1, 1), (2, 2), True)}
    tally = matrix.compare(made, right, theirs | {(1, 2, 0): right[first]}, matrix.TSHARK)
    assert len(tally.wrong) >= 4 and any("missing" in one for one in tally.wrong)
    row = tally.row("x")
    assert not row.within and any("too many" in one for one in tally.wrong) and second in right


@pytest.mark.parametrize("rules", [matrix.TSHARK, matrix.TCPTRACE])
def test_rules_change_nothing_of_a_whole_capture_without_copies(rules: tuple[matrix.Rule, ...], tmp_path: Path) -> None:
    made = _made(tmp_path, kind="plain")
    for account, talk in zip(matrix_tools.by_script(made).values(), made.talks, strict=True):
        if talk.kind == "plain":
            change: Callable[[matrix_tools.Account, Made, Talk], matrix_tools.Account]
            for change in (rule.changes for rule in rules):
                assert change(account, made, talk) == account
