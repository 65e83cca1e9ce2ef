"""A machine's fitness for real time, and the choice of --time auto: fabricated figures, the verdict's own rules."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from lfp.commands import _time
from lfp.commands.doctor import command as doctor
from netcommon import ledger, unprivileged
from netcommon.errors import MissingError
from scenarios.plan import lateness
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import checks, fitness, fitness_measure, runner
from scenarios.run.checks import Check
from scenarios.run.fitness import Fitness
from scenarios.run.time_choice import TimeChoice, choose_time
from scenarios.trial.validity import STEAL_LIMIT
from scenarios.virtual import kernel

MS = 1_000_000
QUIET = Fitness(3.0, 50_000, 200_000, 900_000, 0.001, 8e9)
NOISY = Fitness(3.0, 90_000, 3_800_000, 10_000_000, 0.03, 8e9)
STOLEN = Fitness(3.0, 50_000, 200_000, 900_000, 0.12, 8e9)
CROWDED = Fitness(3.0, 50_000, 200_000, 900_000, 0.001, 8e9, "", 0.97)
NOT_BUILT = "the virtual-time kernel is not built"


def settings(*overrides: str) -> list[Scenario]:
    return [one.setting for one in load_plan("lfp-seqack", overrides=overrides).trials]


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (NOISY, "real time from RTT 380 ms up and to about 4 Gbit/s; below that use virtual time (--time virtual)"),
        (QUIET, "real time to about 4 Gbit/s; timers are late by less than 1 % of the RTT from RTT 20 ms up"),
        (STOLEN, "virtual time (--time virtual): the hypervisor takes 12 % of the CPU (limit 5 %)"),
        (
            Fitness(3.0, 0, 200_000, 0, 0.0, None, "no root"),
            "real time at any RTT; timers are late by less than 1 % of the RTT from RTT 20 ms up",
        ),
        (
            Fitness(3.0, 0, 3_800_000, 0, 0.0, None, "no root"),
            "real time from RTT 380 ms up; below that use virtual time (--time virtual)",
        ),
    ],
)
def test_it_says_what_a_machine_is_good_for(measured: Fitness, words: str) -> None:
    assert fitness.good_for(measured) == words


@pytest.mark.parametrize("p99_ns", [10_000, 999_999, 1_000_000, 1_000_001, 3_800_000, 97_000_000])
def test_the_least_rtt_is_the_one_whose_trials_would_be_valid(p99_ns: int) -> None:
    least_ns = lateness.least_rtt_ns(p99_ns)
    assert p99_ns <= lateness.limit_of_rtt_ns(least_ns)
    assert least_ns == 0 or p99_ns > lateness.limit_of_rtt_ns(least_ns - lateness.SHARE_OF_RTT)


def test_real_time_where_the_figures_allow_the_scenario() -> None:
    choice = choose_time(settings(), QUIET, None, None)
    assert (choice.chosen, choice.advice) == ("real", "")
    assert choice.why == "this machine's timers are late by 200 µs (p99; limit 1 ms at RTT 8.4 ms)"


@pytest.mark.parametrize(
    ("measured", "overrides", "why"),
    [
        (NOISY, [], "this machine's timers are late by 3.8 ms (p99; limit 1 ms at RTT 8.4 ms)"),
        (NOISY, ["path.delay=250ms,100ms,150ms"],
         "this machine's timers are late by 3.8 ms (p99; limit 2 ms at RTT 200 ms)"),
        (NOISY, ["path.delay=250ms", "run.lateness=3ms"],
         "this machine's timers are late by 3.8 ms (p99; limit 3 ms at RTT 500 ms)"),
        (STOLEN, [], "the hypervisor takes 12 % of the CPU (limit 5 %)"),
        (CROWDED, [], "other programs use 97 % of the CPU (limit 90 %)"),
        (QUIET, ["path.rate=10Gbit", "path.access_rate=0", "transfer.window=1GB"],
         "10 Gbit/s is more than this machine carries (about 4 Gbit/s)"),
    ],
)  # fmt: skip
def test_virtual_time_where_they_do_not(measured: Fitness, overrides: list[str], why: str) -> None:
    choice = choose_time(settings(*overrides), measured, None, None)
    assert (choice.chosen, choice.why, choice.advice) == ("virtual", why, "")
    late = choose_time(settings(*overrides), measured, NOT_BUILT, None)
    assert late.chosen == "real"
    assert late.why == f"{why}; but {NOT_BUILT}"
    assert "lfp virtual --build" in late.advice and "--time virtual" in late.advice


@pytest.mark.parametrize(
    ("measured", "overrides"),
    [
        (NOISY, ["path.delay=250ms"]),
        (NOISY, ["run.lateness=4ms"]),
        (QUIET, ["path.rate=10Gbit"]),  # behind a line of 100 Mbit/s
        (QUIET, ["path.rate=10Gbit", "path.access_rate=0"]),  # a window of 400 KB fills 390 Mbit/s
        (Fitness(3.0, 0, 0, 0, STEAL_LIMIT, None), ["path.rate=100Gbit", "path.access_rate=0", "transfer.window=1GB"]),
    ],
)
def test_what_does_not_disturb_is_no_objection(measured: Fitness, overrides: list[str]) -> None:
    assert fitness.objections(measured, settings(*overrides)) == []


def test_without_real_time_virtual_time_is_chosen_whatever_was_measured() -> None:
    choice = choose_time(settings(), QUIET, None, "/dev/net/tun is missing")
    assert (choice.chosen, choice.why) == ("virtual", "no real time here: /dev/net/tun is missing")


def test_the_manifest_holds_what_was_asked_chosen_and_measured() -> None:
    said = choose_time(settings(), NOISY, None, None).as_json()
    assert (said["asked"], said["chosen"]) == ("auto", "virtual")
    assert said["why"].startswith("this machine's timers")
    assert said["measured"]["p99_ns"] == 3_800_000 and said["measured"]["least_rtt_ns"] == 380 * MS
    assert TimeChoice.given("real").as_json() == {
        "asked": "real",
        "chosen": "real",
        "why": "asked for",
        "advice": "",
        "measured": None,
    }


def plan(tmp_path: Path, name: str, delay: str) -> Plan:
    path = tmp_path / f"{name}.toml"
    path.write_text(f'[scenario]\nname = "{name}"\n[path]\ndelay = "{delay}"\n[transfer]\nbytes = "1MB"\n')
    return load_plan(str(path))


def test_auto_measures_once_and_chooses_for_each_scenario(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[int] = []

    def measure(ledger: object) -> Fitness:
        measured.append(1)
        return NOISY

    monkeypatch.setattr(fitness_measure, "measure", measure)
    monkeypatch.setattr(kernel, "missing", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(runner, "state_directory", lambda: tmp_path / "state")
    monkeypatch.setattr(ledger, "state_directory", lambda: tmp_path / "state")
    out = io.StringIO()
    found = _time.choices(
        [plan(tmp_path, "near", "4ms"), plan(tmp_path, "far", "250ms")], "auto", Console(file=out, width=200)
    )
    assert [choice.chosen for choice in found] == ["virtual", "real"]
    assert len(measured) == 1
    assert "time       near: virtual: this machine's timers are late by 3.8 ms" in out.getvalue()
    assert "time       far: real: " in out.getvalue()
    assert "help " not in out.getvalue()


def test_the_advice_is_there_before_the_first_trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_time, "measure", lambda out: NOISY)
    monkeypatch.setattr(kernel, "missing", lambda: f"{NOT_BUILT}; run 'lfp virtual --build'")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    out = io.StringIO()
    _time.choices([plan(tmp_path, name, "4ms") for name in ("one", "two")], "auto", Console(file=out, width=200))
    assert out.getvalue().count("help       this machine disturbs real time: run `lfp virtual --build` once") == 1


def test_an_ordinary_user_begins_again_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(fitness_measure, "measure")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(unprivileged, "obstacle", lambda: None)
    with pytest.raises(unprivileged.Outside):
        _time.choices([plan(tmp_path, "x", "4ms")], "auto", Console(file=io.StringIO()))


def test_what_was_asked_for_is_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(fitness_measure, "measure")
    (found,) = _time.choices([plan(tmp_path, "x", "4ms")], "virtual", Console(file=io.StringIO()))
    assert found == TimeChoice.given("virtual")


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "everything", lambda: [Check("one", "ok", "fine"), Check("two", "note", "so", "do it")])
    monkeypatch.setattr(fitness_measure, "measure", lambda ledger: NOISY)
    monkeypatch.setattr(runner, "state_directory", lambda: tmp_path / "state")


def run_doctor(*options: str) -> Any:
    return CliRunner().invoke(doctor, list(options), standalone_mode=False)


@pytest.mark.usefixtures("ready")
def test_doctor_shows_figures_and_what_they_are_good_for() -> None:
    printed = run_doctor().output
    assert "measuring this machine for 3 s" in printed
    assert "timer lateness: 90 µs median, 3.8 ms p99, 10 ms at most" in printed
    assert "hypervisor: took 3 % of the CPU (limit 5 %)" in printed
    assert "veth pair: 8 Gbit/s (one TCP stream)" in printed
    assert f"this machine is good for {fitness.good_for(NOISY)}" in printed
    assert all(len(line) <= 100 for line in printed.splitlines() if "good for" not in line)


@pytest.mark.usefixtures("ready")
def test_doctor_brief_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fitness_measure, "measure")
    printed = run_doctor("--brief").output
    assert "two: so" in printed and "one: fine" not in printed and "lateness" not in printed


@pytest.mark.usefixtures("ready")
def test_doctor_json_is_one_object() -> None:
    said = json.loads(run_doctor("--json").stdout)
    assert (said["ready"], said["measured"]["p99_ns"], len(said["checks"])) == (True, 3_800_000, 2)
    assert said["good_for"] == fitness.good_for(NOISY)
    brief = json.loads(run_doctor("--json", "--brief").stdout)
    assert (brief["measured"], brief["good_for"]) == (None, None)


@pytest.mark.usefixtures("ready")
def test_doctor_without_the_witness_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(ledger: object) -> Fitness:
        raise MissingError("timer-witness: not found")

    monkeypatch.setattr(fitness_measure, "measure", measure)
    assert "measurement: timer-witness: not found" in run_doctor().output
