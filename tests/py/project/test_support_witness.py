"""The rule of `support.witness`, and how a run lists its inconclusive tests."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import support
from support.others import others_s
from support.witness import Machine, Witness, judge

pytest_plugins = ["pytester"]

TESTS = Path(support.__file__).resolve().parents[1]

QUIET = Machine(real_time_ns=90_000, ordinary_ns=150_000, steal=0.0, idle=0.9, others=0.01)
LATE = Machine(real_time_ns=3_000_000, ordinary_ns=3_000_000, steal=0.0, idle=0.8, others=0.01)
BUSY = Machine(real_time_ns=90_000, ordinary_ns=5_000_000, steal=0.0, idle=0.0, others=0.01)
BESIDE = Machine(real_time_ns=90_000, ordinary_ns=150_000, steal=0.0, idle=0.5, others=0.3)
SHARED = Machine(real_time_ns=90_000, ordinary_ns=150_000, steal=0.4, idle=0.5, others=0.01)


def witness_of(machine: Machine, **options: Any) -> Witness:
    witness = Witness(1.0, **options)
    witness.machine = machine
    return witness


@pytest.mark.parametrize("machine", [QUIET, LATE, BUSY, BESIDE, SHARED])
def test_what_is_within_its_bound_passes_on_any_machine(machine: Machine) -> None:
    witness_of(machine).at_most(5, 5, "ms", "round trip")
    witness_of(machine).at_least(5, 5, "Mbit/s", "rate")


def test_what_is_outside_fails_on_a_quiet_machine() -> None:
    with pytest.raises(pytest.fail.Exception, match="round trip 6 ms, want at most 5 ms"):
        witness_of(QUIET).at_most(6, 5, "ms", "round trip")
    with pytest.raises(pytest.fail.Exception, match="rate 4 Mbit/s, want at least 5 Mbit/s"):
        witness_of(QUIET).at_least(4, 5, "Mbit/s", "rate")


@pytest.mark.parametrize("machine", [LATE, BUSY, BESIDE, SHARED])
def test_what_is_outside_is_inconclusive_on_another_with_both_figures(machine: Machine) -> None:
    said = r"inconclusive: round trip 6 ms.*late by .* ms.*hypervisor.*tolerated 1 ms"
    with pytest.raises(pytest.skip.Exception, match=said):
        witness_of(machine).at_most(6, 5, "ms", "round trip")


def test_a_measurement_without_ordinary_programs_does_not_ask_their_sleepers() -> None:
    with pytest.raises(pytest.fail.Exception):
        witness_of(BUSY, ordinary=False).at_most(6, 5, "ms", "lateness of the box")
    with pytest.raises(pytest.skip.Exception):
        witness_of(LATE, ordinary=False).at_most(6, 5, "ms", "lateness of the box")


def test_it_watches_a_real_machine() -> None:
    with Witness(1.0) as witness:
        pass
    assert witness.machine and witness.machine.real_time_ns > 0 and witness.machine.ordinary_ns > 0
    for share in (witness.machine.steal, witness.machine.idle, witness.machine.others):
        assert 0 <= share <= 1


def test_it_knows_the_work_of_others_from_its_own() -> None:
    """A child's work counts as the test's own. The work of a grandchild whose parent has ended counts as others'."""
    spin = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass"
    before = others_s()
    subprocess.run([sys.executable, "-c", spin], check=True, timeout=60)
    between = others_s()
    orphan = subprocess.Popen(
        ["sh", "-c", 'exec setsid --fork "$0" -c "$1"', sys.executable, f"{spin}\nprint()"], stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while (seen_s := others_s() - between) < 0.7:
        assert time.monotonic() < deadline, f"{seen_s:.2f} s of others seen"
        time.sleep(0.02)
    orphan.communicate(timeout=60)
    print(f"{between - before:.2f} s of others meanwhile")


def test_the_rule_has_three_ends() -> None:
    judge(True, True, "")
    with pytest.raises(pytest.fail.Exception):
        judge(False, False, "")
    with pytest.raises(pytest.skip.Exception):
        judge(False, True, "")


EXAMPLE = """
import pytest
from support.witness import judge

def test_open(): judge(False, True, "delay 6 ms; timers late by 3 ms")
def test_good(): pass
def test_other(): pytest.skip("not installed")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_the_summary_lists_them_and_the_last_line_is_pytests(pytester: pytest.Pytester, workers: list[str]) -> None:
    pytester.makeconftest((TESTS / "conftest.py").read_text())
    pytester.makepyfile(test_example=EXAMPLE)
    pytester.makeini(f"[pytest]\npythonpath = {TESTS} {TESTS.parent}\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *workers)
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["*= inconclusive: 1 =*", "*::test_open: delay 6 ms; timers late by 3 ms"])
    assert "1 passed, 2 skipped" in result.outlines[-1] and "not installed" not in "\n".join(result.outlines[-4:])
