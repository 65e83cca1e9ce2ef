"""[[event]]: what a scenario says of it, its column, and what it does to a pair of gateways."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from netcommon.errors import LfpError, UsageError
from netcommon.process import Tool
from scenarios.plan import events, params
from scenarios.plan.plan import Trial, load_plan
from scenarios.run.manifest import replan
from scenarios.trial import events as happening
from scenarios.trial import gateways, recovery, timed, validity
from scenarios.virtual import boxes

MS, S = 10**6, 10**9
SCENARIO = """\
[scenario]
name = "events"
[path]
delay = "10ms"
rate = "40Mbit"
[transfer]
duration = "10s"
[gateway]
kind = "command"
near = "sleep 100"
far = "sleep 100"
settle = "10ms"
"""
EVENTS = """\
[[event]]
at = "9s"
rebind = "gateway.near"
[[event]]
at = "5s"
restart = "gateway.far"
[[event]]
at = "7s"
kill = "gateway.near"
down = "200ms"
"""


def trial_of(tmp_path: Path, text: str, *overrides: str) -> Trial:
    (tmp_path / "events.toml").write_text(text)
    plan = load_plan(str(tmp_path / "events.toml"), overrides=overrides)
    assert replan({"scenario": plan.echo, "seed": 1}).trials[0].setting.event == plan.trials[0].setting.event
    return plan.trials[0]


def test_events_are_one_column_in_order_of_time(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, SCENARIO + EVENTS)
    row = params.of(trial)
    assert row["events"] == "5s restart far 1s; 7s kill near 200ms; 9s rebind near"
    assert events.spans(str(row["events"])) == [(5 * S, 6 * S), (7 * S, 7 * S + 200 * MS), (9 * S, 9 * S)]
    assert not recovery.outages(row), "no packet is lost on the path"
    assert boxes.choose(trial, "auto") == "comet", "netem has no clock that recovery could count by"
    assert params.of(trial_of(tmp_path, SCENARIO))["events"] == "none"


def test_events_rest_in_trials_without_gateways(tmp_path: Path) -> None:
    lft = SCENARIO.partition("[gateway]")[0] + '[gateway]\nkind = "lft"\n'
    text = lft + EVENTS + '[sweep]\n"gateway.kind" = ["none", "lft"]\n'
    (tmp_path / "events.toml").write_text(text)
    rows = [params.of(trial) for trial in load_plan(str(tmp_path / "events.toml")).trials]
    assert [row["events"] == "none" for row in rows] == [True, False]


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ('at = "5s"', "events.toml:13: [event.0]: give one of restart, kill, rebind, such as"),
        ('at = "5s"\nkill = "gateway.far"\nrestart = "gateway.far"', "give one of restart, kill, rebind, such as"),
        ('at = "5s"\nkill = "far"', "events.toml:15: event.0.kill = 'far': unknown; allowed is one of gateway.near,"),
        ('at = "5s"\nrebind = "gateway.far"', "event.0.rebind = 'gateway.far': unknown"),
        ('at = 5\nkill = "gateway.far"', "events.toml:14: event.0.at = 5: has no unit; write"),
        ('kill = "gateway.far"', "missing 'event.0.at'; write at = … in [event]"),
        ('at = "5s"\nkil = "gateway.far"', "unknown key 'event.0.kil' — did you mean 'kill'?"),
    ],
)
def test_a_wrong_event_is_named(tmp_path: Path, event: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        trial_of(tmp_path, f"{SCENARIO}[[event]]\n{event}\n")
    assert says in str(caught.value)


def test_an_event_needs_gateways(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"events\.toml:\d+: \[\[event\]\]: no trial has gateways"):
        trial_of(tmp_path, SCENARIO.partition("[gateway]")[0] + EVENTS)


def pair_of(trial: Trial) -> gateways.Pair:
    (site,) = gateways.sites(trial.setting)
    pair = gateways.Pair(site, {}, lambda which: Tool(["sleep", "100"], name=f"{which}-gateway", json_lines=False))
    pair.start("far")
    pair.start("near")
    return pair


@pytest.mark.parametrize("act", ["restart", "kill"])
def test_a_gateway_is_ended_and_started_again(tmp_path: Path, act: str) -> None:
    trial = trial_of(tmp_path, f'{SCENARIO}[[event]]\nat = "0"\n{act} = "gateway.far"\ndown = "1ms"\n')
    pair = pair_of(trial)
    with contextlib.closing(pair), contextlib.ExitStack() as stack:
        far, near = pair.tools["far"], pair.tools["near"]
        acts = [one for event in trial.setting.event for one in happening._acts(net(), pair, event, stack)]
        with timed.applied(time.monotonic_ns(), acts):
            deadline = time.monotonic() + 30
            while pair.tools.get("far") in (None, far) and time.monotonic() < deadline:
                time.sleep(0.01)
        assert pair.tools["far"] is not far and pair.tools["far"].running() and not far.running()
        assert pair.tools["near"] is near and near.running() and not pair.why_ended()
        wanted = signal.SIGKILL if act == "kill" else signal.SIGTERM
        assert f"killed by {wanted.name}" in str(far.failed("ended"))


def net() -> Any:
    """Restarts ask nothing of a network."""
    return None


def test_a_gateway_that_does_not_come_back_fails_the_trial(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, SCENARIO + '[[event]]\nat = "0"\nkill = "gateway.far"\ndown = "0"\n')
    pair = pair_of(trial)
    tried = threading.Event()

    def make(which: gateways.Which) -> Tool:
        tried.set()
        raise LfpError(f"no licence for {which}")

    pair.make = make
    with contextlib.closing(pair), contextlib.ExitStack() as stack:
        acts = [one for event in trial.setting.event for one in happening._acts(net(), pair, event, stack)]
        said = pytest.raises(LfpError, match=r"event kill gateway\.far at .*: no licence for far")
        with said, timed.applied(time.monotonic_ns(), acts):
            assert tried.wait(30)


def test_what_an_event_brings_about_makes_no_trial_invalid() -> None:
    end = {"tunnel": {"outages": 2}, "io": {"tx_failed": 3}, "relay": {"near_accepted": 0}}
    found = {"kind": "lft", "near": end, "far": end}
    assert validity._gateways(found, False, True) == []
    assert len(validity._gateways(found, False, False)) == 5
