"""A pair's own path ([pair.N.path]) counts wherever something about a flow is derived from its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard.core import physics
from dashboard.run import theory
from scenarios.plan import estimate, flows, pair_path, params
from scenarios.plan.plan import Trial, load_plan
from scenarios.statistics import line, rfc6349
from scenarios.trial import path_line

MS, S, MBIT = 10**6, 10**9, 10**6
SCENARIO = """
[scenario]
name = "own"
[path]
delay = "10ms"
rate = "10Mbit"
queue = "50KB"
[transfer]
bytes = "1MB"
[flow.far]
pair = 2
"""


def trial(folder: Path, own: str, more: str = "") -> Trial:
    (folder / "own.toml").write_text(f"{SCENARIO}{more}[pair.2.path]\n{own}\n")
    return load_plan(str(folder / "own.toml"), seed=1).trials[0]


def far(folder: Path, own: str, more: str = "") -> dict[str, Any]:
    return params.rows(trial(folder, own, more))[1]


def test_the_own_path_is_read_from_its_column_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "steps").write_text("1\n2\n")
    own = (
        'delay = "60ms"\nba_delay = "5ms"\nloss = "time:1s-2s,3s-4s"\nba_rate = "1Mbit"\nqueue = "9KB"\n'
        f'aqm = "policer:rate=5Mbit,burst=4KB"\nba_rate_trace = "mahimahi:{tmp_path / "steps"}"\nonly = "!syn,tcp"\n'
    )
    written = trial(tmp_path, own)
    said, path = pair_path.of(params.rows(written)[1]), flows.own_path(written.setting, 2)
    assert said and path
    for which, prefix in (("ab", ""), ("ba", "ba_")):
        columns = path.direction(which).columns()  # type: ignore[arg-type]
        assert {name: said[f"{prefix}{name}"] for name in columns} == columns
    assert said["rtt_ns"] == 65 * MS
    back = pair_path.of({"pair_path": pair_path.turned(str(params.rows(written)[1]["pair_path"]))})
    assert back and (back["ba_delay_ns"], back["delay_ns"], back["rate_bps"]) == (60 * MS, 5 * MS, MBIT)
    assert pair_path.of(params.rows(written)[0]) is None is pair_path.turned(None)


def test_a_slower_own_path_bounds_the_rate_of_its_flows(tmp_path: Path) -> None:
    row, main = far(tmp_path, 'rate = "2Mbit"\nqueue = "30KB"'), params.rows(trial(tmp_path, 'rate = "2Mbit"'))[0]
    assert line.rates(row) == [(0, 2 * MBIT)] and line.rates(main) == [(0, 10 * MBIT)]
    assert line.rates(far(tmp_path, 'rate = "20Mbit"')) == [(0, 10 * MBIT)]
    took = {"bytes": 1_000_000, "elapsed_ns": 5 * S}
    ratio = rfc6349.transfer_time_ratio(row, took)
    assert ratio == pytest.approx(5 / (8 / 2 / rfc6349.payload_share(row)))
    assert physics.bottleneck(row) == (2 * MBIT, 30 * 1024) and physics.bottleneck(main) == (10 * MBIT, 50 * 1024)
    two = far(tmp_path, 'aqm = "policer:rate=1Mbit,burst=20KB"')
    assert line.stages(two)[0].policer and line.stages(two)[0].rate_bps == 10 * MBIT
    assert line.rates(far(tmp_path, 'rate_trace = "rate:0s=1Mbit,2s=2Mbit"')) == [(0, 0)]


def test_theory_counts_the_losses_of_both_paths() -> None:
    row = {"rate_bps": 10 * MBIT, "loss_ppb": 5 * 10**8, "pair_path": "loss=50%"}
    assert theory.erasure_bps(row) == 2.5 * MBIT
    assert theory.erasure_bps(row | {"pair_path": "loss=gilbert:1%,10"}) is None
    reno = {"congestion": "reno", "rtt_ns": 100 * MS, "mtu": 1500, "loss_ppb": 0}
    assert theory.mathis_bps(reno) is None
    assert theory.mathis_bps(reno | {"pair_path": "loss=1%"}) == theory.mathis_bps(reno | {"loss_ppb": 10**7})


def test_estimates_take_the_own_path_of_each_flow(tmp_path: Path) -> None:
    assert estimate.transfer_s(trial(tmp_path, 'ab_rate = "1Mbit"').setting) == pytest.approx(8 * 1.048576)
    assert estimate.transfer_s(trial(tmp_path, 'delay = "1ms"').setting) == pytest.approx(1.6 * 1.048576)
    slow, fast = (estimate.longest_s(trial(tmp_path, f'{own}loss = "1%"').setting) for own in ('delay = "1s"\n', ""))
    assert slow > 20 * fast
    exchanges = "exchanges = 10\nrequest = '1B'\nresponse = '1B'\n"
    (tmp_path / "asks.toml").write_text(
        SCENARIO.replace('bytes = "1MB"\n', 'duration = "10ms"\n') + f'{exchanges}[pair.2.path]\ndelay = "1s"\n'
    )
    asks = load_plan(str(tmp_path / "asks.toml"), seed=1).trials[0].setting
    assert estimate.transfer_s(asks) == pytest.approx(10 * 2.02, rel=0.01)


def test_the_line_of_captured_hosts_is_that_of_both_paths(tmp_path: Path) -> None:
    text = SCENARIO.replace('"50KB"', '"50KB"\nchange = "3s rate=1Mbit"')
    own = '[pair.1.path]\nab_rate_trace = "rate:0s=4Mbit,2s=20Mbit,4s=4Mbit"\nba_rate = "3Mbit"\nba_aqm = "fq_codel"\n'
    (tmp_path / "own.toml").write_text(text + own)
    setting = load_plan(str(tmp_path / "own.toml"), seed=1).trials[0].setting
    found = path_line.of_trial(setting, None, 100 * S, 99 * S)
    steps = [(step["t_ns"] / S, step["rate_bps"] / MBIT) for step in found["ab"]]
    assert steps == [(99, 4), (100, 4), (101, 10), (103, 1)]
    assert all(step["queues_behind"] for step in found["ab"]) and found["in_front"] == {"ab": True, "ba": False}
    assert [step["rate_bps"] / MBIT for step in found["ba"]] == [3, 3, 1]
    assert found["per_flow"] == {"ab": False, "ba": False}, "[path] is the slower one after the change"


def test_events_happen_to_the_flows_behind_the_first_gateways_alone(tmp_path: Path) -> None:
    event = '[[event]]\nat = "1s"\nkill = "gateway.near"\ndown = "1s"\n'
    own = f'[gateway]\nkind = "lft"\n{event}[pair.3.gateway]\nkind = "lft"\n[flow.third]\npair = 3\n'
    main, second, third = params.rows(
        trial(tmp_path, "", own.replace("[pair.3", "[pair.2.gateway]\nkind='lft'\n[pair.3"))
    )
    assert main["events"] == "1s kill near 1s" and (second["events"], third["events"]) == ("none", "none")
    (tmp_path / "shared.toml").write_text(f"{SCENARIO}{own}")
    rows = params.rows(load_plan(str(tmp_path / "shared.toml"), seed=1).trials[0])
    assert [row["events"] for row in rows] == ["1s kill near 1s", "1s kill near 1s", "none"]
