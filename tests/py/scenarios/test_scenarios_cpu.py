"""The price of system calls ([cpu]): bounds, columns, and the kind of time that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from support.tiny_scenario import Tiny

from netcommon.errors import MissingError, UsageError
from netcommon.process import Tool
from scenarios.plan import params
from scenarios.run import runner, time_choice
from scenarios.run.fitness import Fitness
from scenarios.trial import cpu

TINY = Tiny("""\
[path]
rate = "100Mbit"
[transfer]
bytes = 10_000_000
[gateway]
kind = "lft"
[cpu]
call = "2us"
rate = "4Gbit"
""")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2us", "2s", "cpu.call = '2s': out of range; allowed is 0"),
        ("4Gbit", "10kbit", "cpu.rate = '10kbit': below 1Mbit; want 1Mbit to 100Gbit, or 0 for none"),
        ("4Gbit", "1Tbit", "cpu.rate = '1Tbit': out of range; allowed is 0"),
        ("[cpu]", '[cpu]\nof = "box"', "cpu.of = 'box'"),
        ('kind = "lft"', "", "cpu.call = '2us': no trial has gateways, whose system calls would cost it; set cpu.of"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    TINY.refused(tmp_path, says, old, new)


def test_the_costs_are_columns_and_a_byte_has_its_share_of_the_rate(tmp_path: Path) -> None:
    trial = TINY.trial(tmp_path)
    found = params.of(trial)
    assert (found["cpu_of"], found["cpu_call_ns"], found["cpu_rate_bps"]) == ("gateways", 2000, 4_000_000_000)
    assert trial.setting.cpu.byte_ps == 2000  # 8 bits at 4 bits a ns


def test_without_costs_the_columns_say_so(tmp_path: Path) -> None:
    trial = TINY.trial(tmp_path, '[cpu]\ncall = "2us"\nrate = "4Gbit"\n')
    found = params.of(trial)
    assert (found["cpu_of"], found["cpu_call_ns"], found["cpu_rate_bps"]) == (None, 0, None)
    with cpu.priced(trial.setting.cpu, "gateways"):
        pass


@pytest.mark.parametrize(
    ("of", "charged"),
    [("gateways", {"gateways"}), ("hosts", {"hosts"}), ("all", {"gateways", "hosts"})],
)
def test_only_those_who_are_named_are_charged(
    of: str, charged: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    price = tmp_path / "call_cost"
    price.write_text("0 0")
    monkeypatch.setattr(cpu, "_PRICE", price)
    asked = TINY.trial(tmp_path, "[cpu]", f'[cpu]\nof = "{of}"').setting.cpu
    whose: list[Literal["gateways", "hosts"]] = ["gateways", "hosts"]
    for who in whose:
        price.write_text("0 0")
        with cpu.priced(asked, who), Tool(["printf", '{"event":"end"}\n']) as tool:
            tool.finish(30)
        assert price.read_text().strip() == ("2000 2000" if who in charged else "0 0"), who
    price.write_text("0 0")
    with Tool(["printf", '{"event":"end"}\n']) as tool:
        tool.finish(30)
    assert price.read_text() == "0 0"


def test_a_kernel_that_cannot_charge_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_PRICE", tmp_path / "none")
    asked = TINY.trial(tmp_path).setting.cpu
    with pytest.raises(MissingError, match="older than Linux 7"), cpu.priced(asked, "gateways"):
        pass


def test_real_time_is_refused_and_auto_takes_virtual_time(tmp_path: Path) -> None:
    plan = TINY.plan(tmp_path)
    with pytest.raises(UsageError, match="tiny: cpu: system calls cost what they cost in real time; use --time virt"):
        runner.start(plan, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    perfect = Fitness(3.0, 1000, 2000, 3000, 0.0, 1e12)
    choice = time_choice.choose_time([plan.trials[0].setting], perfect, None, None)
    assert choice.chosen == "virtual" and "[cpu]" in choice.why
