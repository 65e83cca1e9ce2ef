"""The rate of a path's line over time, by the scenario (line.json)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from scenarios.plan.document import Document
from scenarios.plan.model import Scenario
from scenarios.plan.path import PathTable
from scenarios.plan.plan import make_plan
from scenarios.trial import path_line

S = 10**9
BEGAN = 1_700_000_000 * S


def steps(way: Literal["ab", "ba"] = "ab", **path: Any) -> list[dict[str, Any]]:
    return path_line.of_path(PathTable.model_validate(path), way, BEGAN)


def rates(way: Literal["ab", "ba"] = "ab", **path: Any) -> list[tuple[float, float | None]]:
    """The line's steps in seconds since the box began, and Mbit/s."""
    found = [(step["t_ns"], step["rate_bps"]) for step in steps(way, **path)]
    return [((t_ns - BEGAN) / S, bps and bps / 1e6) for t_ns, bps in found]


def setting(**tables: Any) -> Scenario:
    whole = {"scenario": {"name": "x", "title": "X"}, "transfer": {"bytes": "1MB"}} | tables
    return make_plan(Document("x", whole), 1).trials[0].setting


def test_each_direction_has_a_rate_of_its_own() -> None:
    assert rates("ab", ab_rate="60Mbit", ba_rate="1Mbit") == [(0, 60)]
    assert rates("ba", ab_rate="60Mbit", ba_rate="1Mbit") == [(0, 1)]
    assert rates("ba", ab_rate="60Mbit") == [(0, None)]


@pytest.mark.parametrize(
    ("path", "mbit"),
    [
        ({"rate": "50Mbit", "channels": 2}, 100),
        ({"rate": "60Mbit", "access_rate": "40Mbit"}, 40),
        ({"rate": "60Mbit", "drain_rate": "35Mbit"}, 35),
        ({"rate": "60Mbit", "pace": "30Mbit"}, 30),
        ({"harmonize": "20Mbit"}, 20),
        ({"rate": "60Mbit", "pace_packets": 700}, 60),
    ],
)
def test_the_slowest_stage_counts(path: dict[str, Any], mbit: float) -> None:
    (step,) = steps(**path)
    assert step["rate_bps"] == mbit * 1e6
    assert step["packets_per_s"] == path.get("pace_packets")
    assert step["queues_behind"] == bool(path.keys() & {"pace", "pace_packets", "drain_rate", "harmonize"})


def test_changes_and_traces_have_a_step_each() -> None:
    assert rates(rate="60Mbit", change="1s rate=30Mbit; 2s delay=5ms") == [(0, 60), (1, 30), (2, 30)]
    trace = "rate:0s=10Mbit,1s=0bit,2s=5Mbit"
    assert rates(rate_trace=trace) == [(0, 10), (1, 0), (2, 5)]
    assert rates(rate_trace=trace, change="1500ms delay=5ms") == [(0, 10), (1, 0), (1.5, 0), (2, 5)]
    later = rates(rate="60Mbit", change=f"3s rate_trace={trace}; 4500ms rate_trace=none")
    assert later == [(0, 60), (3, 10), (4, 0), (4.5, 60)]


def test_a_trace_of_opportunities_has_its_mean(tmp_path: Path) -> None:
    file = tmp_path / "two"
    file.write_text("1\n2\n2\n4\n")  # four of 1,500 octets in 4 ms
    (step,) = steps(rate_trace=f"mahimahi:{file}")
    assert (step["rate_bps"], step["mean"], step["overhead_bytes"]) == (12e6, True, 0)
    assert steps(rate_trace=f"mm-link:{file}")[0]["overhead_bytes"] == 4


def test_framing_is_said_in_octets() -> None:
    assert [steps(framing=name)[0]["overhead_bytes"] for name in ("ip", "l2", "ethernet")] == [0, 14, 38]


def test_what_the_box_recorded_comes_before_what_was_asked() -> None:
    """The scenario only counts where the box cannot know: the sender's interface, prices of system calls, further
    boxes."""
    one = setting(path={"rate": "60Mbit", "change": "1s rate=30Mbit"})
    asked = path_line.of_trial(one, None, BEGAN)
    assert [step["rate_bps"] for step in asked["ab"]] == [60e6, 30e6] and asked["hosts_bps"] is None
    way = [dict(asked["ab"][0], t_ns=BEGAN + 5)]
    assert path_line.of_trial(one, {"line": {"ab": way, "ba": way}}, BEGAN)["ab"] == way
    slow = setting(path={"rate": "60Mbit", "nic_rate": "40Mbit"}, cpu={"of": "hosts", "rate": "35Mbit"})
    found = path_line.of_trial(slow, None, BEGAN)
    assert (found["ab"][0]["rate_bps"], found["ba"][0]["rate_bps"], found["hosts_bps"]) == (40e6, 60e6, 35e6)
    assert found["in_front"] == {"ab": True, "ba": False}
    assert path_line.turned(found)["in_front"] == {"ab": False, "ba": True}
    fast = setting(path={"rate": "60Mbit", "nic_rate": "80Mbit"})
    assert path_line.of_trial(fast, None, BEGAN)["in_front"] == {"ab": False, "ba": False}
    row = setting(path={"rate": "60Mbit"}, topology={"kind": "parking-lot", "hops": 2})
    assert path_line.of_trial(row, None, BEGAN)["ab"][0]["queues_behind"]
    turned = path_line.turned(found)
    assert (turned["ab"], turned["ba"]) == (found["ba"], found["ab"])


def test_a_line_with_a_queue_for_each_flow_says_so() -> None:
    fair = path_line.of_trial(setting(path={"rate": "60Mbit", "ab_aqm": "fq_codel:target=2ms"}), None, BEGAN)
    assert fair["per_flow"] == {"ab": True, "ba": False}
    assert path_line.turned(fair)["per_flow"] == {"ab": False, "ba": True}
    later = setting(path={"rate": "60Mbit", "aqm": "fq_codel", "change": "1s aqm=codel"})
    assert path_line.of_trial(later, None, BEGAN)["per_flow"] == {"ab": False, "ba": False}


def test_a_line_says_what_marks() -> None:
    def marker(**path: str) -> str | None:
        found: dict[str, Any] = path_line.of_trial(setting(path={"rate": "60Mbit"} | path), None, BEGAN)
        assert path_line.turned(found)["marker"]["ba"] == found["marker"]["ab"]
        one: str | None = found["marker"]["ab"]
        return one

    assert marker() is marker(change="1s rate=5Mbit") is None
    assert marker(ab_aqm="policer:rate=25Mbit,ecn=on") == "policer"
    assert marker(ab_aqm="codel:ecn=on") == marker(ab_aqm="dualpi2") == "aqm"
    assert marker(ab_aqm="policer:rate=25Mbit,ecn=on", change="1s ab_aqm=codel:ecn=on") is None


def test_a_policer_says_what_it_lets_pass() -> None:
    """The path carries no more than the policer's rate, however fast its line is; packets that a policer marks pass."""

    def policer(**path: str) -> dict[str, Any]:
        found: dict[str, Any] = path_line.of_trial(setting(path={"rate": "60Mbit"} | path), None, BEGAN)["policer"]
        return found

    forth = policer(ab_aqm="policer:rate=25Mbit,burst=64KB")
    assert forth == {"ab": {"rate_bps": 25_000_000, "marks": False}, "ba": None}
    assert policer(ab_aqm="policer:rate=25Mbit,ecn=on")["ab"]["marks"]
    assert policer(aqm="codel") == {"ab": None, "ba": None}
    assert policer(ab_aqm="policer:rate=25Mbit", change="1s ab_aqm=policer:rate=30Mbit")["ab"]["rate_bps"] == 30e6
    assert policer(ab_aqm="policer:rate=25Mbit", change="1s ab_aqm=none")["ab"] is None
    found = path_line.of_trial(setting(path={"rate": "60Mbit", "ab_aqm": "policer:rate=25Mbit"}), None, BEGAN)
    assert path_line.turned(found)["policer"] == {"ab": None, "ba": found["policer"]["ab"]}
