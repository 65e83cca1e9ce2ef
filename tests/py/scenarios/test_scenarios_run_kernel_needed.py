"""`make demo` builds a virtual-time kernel only where it helps: real time is disturbed, and there is no kernel."""

from __future__ import annotations

import dataclasses

import pytest

from netcommon import unprivileged
from scenarios.run import fitness_measure, kernel_needed
from scenarios.run.fitness import Fitness
from scenarios.virtual import kernel

QUIET = Fitness(3.0, 50_000, 100_000, 300_000, 0.0, 20e9)


def machine(monkeypatch: pytest.MonkeyPatch, *, kernel_there: bool, measured: Fitness) -> None:
    monkeypatch.setattr(kernel, "missing", lambda: None if kernel_there else "not built")
    monkeypatch.setattr(fitness_measure, "measure", lambda _: measured)
    monkeypatch.setattr(unprivileged, "obstacle", lambda: None)


@pytest.mark.parametrize(
    ("kernel_there", "p99_ns", "answer"),
    [(False, 100_000, "no"), (False, 5_000_000, "yes"), (True, 5_000_000, "no")],
)
def test_a_kernel_is_needed_where_timers_are_late_and_none_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kernel_there: bool, p99_ns: int, answer: str
) -> None:
    machine(monkeypatch, kernel_there=kernel_there, measured=dataclasses.replace(QUIET, p99_ns=p99_ns))
    monkeypatch.setattr("sys.argv", ["kernel_needed", "lfp-syndrome", "lfp-seqack"])
    assert kernel_needed.main() == 0
    said = capsys.readouterr()
    assert said.out.strip() == answer
    assert ("disturbs real time" in said.err) == (answer == "yes")


def test_an_unknown_scenario_is_no_reason_to_build(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(monkeypatch, kernel_there=False, measured=QUIET)
    monkeypatch.setattr("sys.argv", ["kernel_needed", "no-such-scenario"])
    assert kernel_needed.main() == 0
    assert capsys.readouterr().out.strip() == "no"
