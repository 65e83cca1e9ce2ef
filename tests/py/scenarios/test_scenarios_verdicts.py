"""A verdict in three lengths: sentences of a trial, a few words in a table, one line of a run."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.trial import verdicts
from scenarios.trial.verdicts import Reason

Json = dict[str, Any]


def late_by(ms: float) -> Reason:
    return Reason("machine_late", f"delay box: p99 lateness {ms:g} ms (limit 1 ms): …", f"machine late {ms:g} ms (p99)")


STOLEN = Reason("hypervisor", "hypervisor took 12% of the CPU", "hypervisor 12%")
DROPS = Reason("interface", "interface r1:r1-wan: 3 drops", "r1:r1-wan lost 3")
VALID = verdicts.of_trial([])


def test_a_trials_verdict_comes_back_as_it_was() -> None:
    given = [late_by(38), STOLEN]
    verdict = verdicts.of_trial(given)
    assert verdict["valid"] is False
    assert verdicts.reasons(verdict) == given
    assert VALID == {"valid": True, "reasons": [], "causes": []}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], ""),
        ([late_by(38)], "machine late 38 ms (p99)"),
        ([late_by(38), STOLEN], "machine late 38 ms (p99) + 1 more"),
        ([late_by(38), STOLEN, DROPS, DROPS], "machine late 38 ms (p99) + 3 more"),
    ],
)
def test_in_a_table_a_few_words_stand_for_it(found: list[Reason], words: str) -> None:
    assert verdicts.short(verdicts.of_trial(found)) == words


def test_words_of_any_length_leave_a_table_readable() -> None:
    found = [Reason("transfer", "x" * 500, "x" * 500)] * 20
    assert len(verdicts.short(verdicts.of_trial(found))) < 45


def test_a_verdict_of_an_older_version_is_read() -> None:
    old = {"valid": False, "reasons": ["delay box: ab: 1 % of packets left more than 41.943 ms late"]}
    assert verdicts.short(old).startswith("delay box: ab: 1 % of packets")
    assert verdicts.of_run([old], 1)["summary"] == "1 of 1 trials not valid: other reasons (1)"


def test_a_runs_line_counts_trials_by_cause() -> None:
    trials = [verdicts.of_trial([late_by(38)])] * 3 + [verdicts.of_trial([late_by(2.1), STOLEN])] * 2 + [VALID] * 18
    verdict = verdicts.of_run([*trials, verdicts.of_trial([STOLEN])], 24)
    assert verdict["valid"] is False
    assert verdict["summary"] == "6 of 24 trials not valid: machine's timers late (5), hypervisor took CPU (3)"
    assert verdict["help"] == "use virtual time: `lfp virtual --build`, then `--time virtual`"
    assert verdict["reasons"] == [
        "delay box: p99 lateness 38 ms (limit 1 ms): … (5 of 24 trials)",
        "hypervisor took 12% of the CPU (3 of 24 trials)",
    ]


def test_reasons_that_differ_in_figures_and_units_only_are_one() -> None:
    texts = [f"interface r1: {drops} drops, late {late}" for drops, late in ((1, "950 µs"), (22, "1.2 ms"), (3, "2 s"))]
    verdict = verdicts.of_run([verdicts.of_trial([Reason("interface", text, "r1")]) for text in texts], 3)
    assert verdict["reasons"] == [f"{texts[0]} (3 of 3 trials)"]


def test_trials_that_are_not_done_are_told() -> None:
    verdict = verdicts.of_run([VALID, verdicts.of_trial([DROPS])], 4)
    assert verdict["summary"] == "1 of 4 trials not valid: drops outside the model (1); 2 of 4 trials not done"
    assert verdict["reasons"] == ["interface r1:r1-wan: 3 drops (1 of 4 trials)", "2 of 4 trials not done"]
    assert verdict["help"] is None


def test_a_valid_run_says_so() -> None:
    verdict = verdicts.of_run([VALID, VALID], 2)
    assert (verdict["valid"], verdict["reasons"], verdict["help"]) == (True, [], None)
    assert verdict["summary"] == "all 2 trials valid"


def test_every_kind_that_helps_says_it_in_one_line() -> None:
    for kind in verdicts.KINDS.values():
        assert kind.phrase and "\n" not in kind.help and len(kind.help) <= 88
