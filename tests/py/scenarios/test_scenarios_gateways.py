"""[gateway] and [case]: what a scenario may say, which trials follow from it, and what makes such a trial invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.network.tcp_memory import TcpMemory
from scenarios.network.topology import Topology
from scenarios.plan import params
from scenarios.plan.plan import Plan, load_plan
from scenarios.run.manifest import replan
from scenarios.trial import recovery
from scenarios.trial.validity import CpuTimes, Observation, reasons

CASES = """
[scenario]
name = "cases"
[path]
rate = "100Mbit"
[transfer]
duration = "1s"
[case.bbr.profile]
name = "bbr"
[case.fec.gateway]
kind = "lft"
recovery = "fec"
rate = "80Mbit"
[sweep]
"scenario.case" = ["bbr", "fec"]
"path.delay" = ["1ms", "2ms"]
"""


def plan_of(tmp_path: Path, text: str = CASES, *overrides: str) -> Plan:
    file = tmp_path / "cases.toml"
    file.write_text(text)
    return load_plan(str(file), overrides=overrides, seed=1)


def summary(plan: Plan) -> list[tuple[object, ...]]:
    names = ("case", "profile", "gateway", "gateway_recovery", "gateway_rate_bps", "delay_ns")
    return [tuple(params.of(trial)[name] for name in names) for trial in plan.trials]


def test_a_case_lays_its_tables_over_the_others(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    plain = ("bbr", "bbr", "none", None, None)
    tunnel = ("fec", "modern", "lft", "fec", 80_000_000)
    assert summary(plan) == [(*one, delay) for one in (plain, tunnel) for delay in (1_000_000, 2_000_000)]


def test_a_run_with_cases_is_planned_again_from_its_manifest(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert summary(replan({"scenario": plan.echo, "seed": plan.seed})) == summary(plan)


def test_a_value_set_wins_over_that_of_a_case(tmp_path: Path) -> None:
    found = summary(plan_of(tmp_path, CASES, "gateway.rate=10Mbit"))
    assert {row[4] for row in found if row[0] == "fec"} == {10_000_000}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("scenario.case=cubic", "scenario.case = 'cubic': unknown; allowed: bbr, fec"),
        ("gateway.kind=command", "takes 'near' and 'far'"),
        ("gateway.rate=1500Kbit", "1Mbit"),
        ("gateway.recovery=arq", "gateway.recovery = 'arq'"),
        ('capture.points=[["gw1-in"]]', "no such node exists"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path: Path, override: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_of(tmp_path, CASES, override)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_gateways_are_nodes_between_hosts_and_routers(tmp_path: Path) -> None:
    net = Topology.of(plan_of(tmp_path, CASES, "gateway.kind=lft").trials[0].setting)
    assert net.names == ["snd", "gw1", "r1", "r2", "gw2", "rcv"]
    assert net.interface("gw1", "left") == "gw1-snd" and net.interface("gw1", "right") == "gw1-r1"
    assert net.address_of("gw2", "left") != net.address_of("gw2", "right") == "10.77.4.1"


def test_what_a_gateway_dropped_makes_a_trial_invalid() -> None:
    quiet = Observation({}, {}, CpuTimes(0, 0, 0), TcpMemory(short=False, times=0))
    box = {"verdict": {"valid": True, "reasons": []}}
    end = {"uptime_ns": 10**10, "cpu_ns": 99 * 10**8, "relay": {"near_accepted": 0}, "io": {"rx_overflows": 7}}
    found = reasons(quiet, quiet, box, {}, {}, {"kind": "lft", "near": end, "far": {}})
    assert [reason.text for reason in found] == [
        "near gateway: 7 datagrams dropped for want of socket buffer",
        "near gateway: took no connection over",
        "CPU short: the near gateway used 99 % of a core",
    ]
    priced = reasons(quiet, quiet, box, {}, {}, {"kind": "lft", "near": end, "far": {}}, priced=True)
    assert not [reason for reason in priced if reason.kind == "cpu"]


@pytest.mark.parametrize(("down", "texts"), [((), ["near gateway: 1 outages of the tunnel"]), ((1,), [])])
def test_an_outage_of_the_tunnel_counts_unless_the_path_was_to_have_one(
    down: tuple[int, ...], texts: list[str]
) -> None:
    quiet = Observation({}, {}, CpuTimes(0, 0, 0), TcpMemory(short=False, times=0))
    box = {"verdict": {"valid": True, "reasons": []}}
    end = {"relay": {"near_accepted": 1}, "tunnel": {"outages": 1}}
    found = reasons(quiet, quiet, box, {}, {}, {"kind": "lft", "near": end, "far": {}}, down=down)
    assert [reason.text for reason in found] == texts


def test_an_outage_of_one_pairs_own_path_excuses_no_other_pairs_tunnel() -> None:
    quiet = Observation({}, {}, CpuTimes(0, 0, 0), TcpMemory(short=False, times=0))
    box = {"verdict": {"valid": True, "reasons": []}}
    end = {"relay": {"near_accepted": 1}, "tunnel": {"outages": 1}}
    site = {"kind": "lft", "near": end, "far": {}}
    both = site | {"pair": 1, "behind": {"1": 1, "2": 2, "3": 1}, "others": {"2": site}}
    for down, count in (((2,), 1), ((3,), 1), ((2, 3), 0)):
        assert len(reasons(quiet, quiet, box, {}, {}, both, down=down)) == count


def test_a_change_to_a_loss_of_everything_and_a_pairs_own_outage_are_outages_of_a_path() -> None:
    for outage in ({"loss": "time:1s-2s"}, {"change": "1s loss=100%; 2s loss=0"}, {"pair_path": "loss=time:1s-2s"}):
        assert recovery.has_outages(outage)
    for other in ({"loss": "1%"}, {"pair_path": "delay=5ms"}, {}):
        assert not recovery.has_outages(other)


def test_the_papers_scenarios_have_all_their_series() -> None:
    series = {"selective", "fec", "gbn", "gbn-strict", "bbr", "cubic"}
    rivals = {"comet-fig11": {"highspeed", "scalable", "htcp", "fast", "era"}, "comet-fig12": set[str]()}
    for name, more in rivals.items():
        plan = load_plan(name, quick=True)
        assert {trial.setting.scenario.case for trial in plan.trials} == series | more
        assert plan.base.report.series == "case"
    ciphers = {trial.setting.gateway.cipher for trial in load_plan("comet-fig13").trials}
    assert "3des-cbc" in ciphers
