"""Recovery: the time from the end of each outage until the receiver has its earlier rate again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcommon import binaries
from netcommon.errors import UsageError
from scenarios.plan import params, profiles
from scenarios.plan.plan import load_plan
from scenarios.trial import analysis, concerned, recovery, transfer_tool

MS, S = 10**6, 10**9
STEP = 100 * MS


def intervals(*stretches: tuple[int, int]) -> list[list[int]]:
    """A receiver's intervals of 100 ms. A stretch is the number of intervals, and the bytes in each of them."""
    amounts = [amount for count, amount in stretches for _ in range(count)]
    return [[n * STEP, (n + 1) * STEP, amount] for n, amount in enumerate(amounts)]


def outages_of(found: list[list[int]], **params: Any) -> list[dict[str, Any]]:
    """Outages of a trial whose box began 1 s before the receiver."""
    receiver = {"intervals": found, "t0_monotonic_ns": 101 * S}
    return recovery.of_trial(params, receiver, {"clock": {"monotonic_ns": 100 * S, "realtime_ns": 0}}, 101 * S)


def recovered(found: list[list[int]], loss: str = "time:6s-7s,8s-10s") -> int | None:
    """The recovery from the last outage. The outages are between 5 s and 9 s in the intervals' time."""
    return recovery.columns(outages_of(found, loss=loss)).get("recovery_ns")


def test_recovery_counts_from_the_end_of_the_last_outage_to_nine_tenths_of_the_earlier_rate() -> None:
    slow_start, full, outages = (20, 10), (30, 1000), (40, 0)
    assert recovered(intervals(slow_start, full, outages, (20, 900))) == 0
    assert recovered(intervals(slow_start, full, outages, (25, 300), (20, 900))) == 2500 * MS
    assert recovered(intervals(slow_start, full, outages, (60, 880))) is None


def test_a_moment_in_which_a_repaired_hole_lets_much_through_is_no_recovery() -> None:
    found = intervals((50, 1000), (40, 0), (5, 0), (1, 3000), (30, 100), (20, 1000))
    assert recovered(found) == 3600 * MS, "the second before has nine intervals of the whole rate, and began too early"


def test_without_outages_or_the_moments_there_is_no_recovery_time() -> None:
    found = intervals((100, 1000))
    assert recovered(found, "0.1%") is None and recovered(found, "") is None
    assert recovered([]) is None and recovered(found, "time:0s-1s") is None
    assert recovery.of_trial({"loss": "time:6s-7s"}, {"intervals": found, "t0_monotonic_ns": 0}, {}, 0) == []


def test_every_outage_has_its_recovery_and_the_longest_is_a_column() -> None:
    """Outages at 5, 10 and 15 s of 1 s: the rate is back at once, after 2 s, and after 0.4 s."""
    found = intervals((50, 1000), (10, 0), (40, 1000), (10, 0), (20, 100), (20, 1000), (10, 0), (4, 10), (30, 1000))
    told = outages_of(found, loss="time:6s-7s,11s-12s,16s-17s")
    assert [one["recovery_ns"] for one in told] == [0, 2 * S, 400 * MS]
    assert [one["error_ns"] for one in told] == [100 * MS] * 3
    assert recovery.columns(told) == {
        "outages": 3,
        "recovery_ns": 400 * MS,
        "recovery_error_ns": 100 * MS,
        "recovery_max_ns": 2 * S,
    }


def test_a_span_ends_on_time_where_every_arrival_is_known() -> None:
    """After the outage 38 packets come in 38 ms, and the next one after 45 ms. A round trip of 40 ms has 95 % of the
    earlier rate. The span used to last until the next arrival, and then had 84 %."""
    t_ns = np.concatenate([np.arange(2000), 2500 + np.arange(38), 2545 + np.arange(2000)]) * MS
    series = recovery.of_arrivals(t_ns, np.arange(1, t_ns.size + 1) * 1000)
    (found,) = recovery.recoveries(series, [(2 * S, 2500 * MS)], 40 * MS, exact=True)
    assert (found["recovery_ns"], found["error_ns"]) == (0, 0)


def test_the_rate_may_come_back_shortly_before_the_end_or_the_next_outage() -> None:
    """The recovery was once null if less than a second was left. Half a second is enough; with less it is unknown."""
    short = intervals((50, 1000), (10, 0), (7, 1000))
    assert outages_of(short, loss="time:6s-7s")[0]["recovery_ns"] == 0
    told = outages_of(intervals((50, 1000), (10, 0), (3, 1000)), loss="time:6s-7s")
    assert told[0]["recovery_ns"] is None and told[0]["why"] == recovery.ENDED
    between = intervals((50, 1000), (10, 0), (2, 1000), (5, 0), (40, 1000))
    told = outages_of(between, loss="time:6s-7s,7.2s-7.7s")
    assert [(one["recovery_ns"], one["why"]) for one in told] == [(None, recovery.NEXT), (0, None)]
    assert recovery.columns(told)["recovery_max_ns"] is None, "the longest of two of which one is not known"


def test_an_outage_shortly_after_the_beginning_is_compared_with_the_interval_before_it() -> None:
    """With intervals of 1 s, no whole interval lies between half of the time before the outage and the outage at 1.5
    s."""
    seconds = [[n * S, (n + 1) * S, amount] for n, amount in enumerate([1000, 300, 1000, 1000])]
    told = recovery.recoveries(recovery.of_intervals(seconds), [(1500 * MS, 1700 * MS)], 0, exact=False)
    assert (told[0]["recovery_ns"], told[0]["error_ns"]) == (300 * MS, S)
    told = recovery.recoveries(recovery.of_intervals(seconds), [(500 * MS, 700 * MS)], 0, exact=False)
    assert told[0]["recovery_ns"] is None and told[0]["why"] == recovery.NEVER_BEFORE


def test_outages_of_both_directions_and_of_changes_count() -> None:
    assert recovery.outages({"loss": "time:6s-7s", "ba_loss": "time:6s-7s", "ba_loss_after": "time:6500ms-8s"}) == [
        (6 * S, 8 * S)
    ]
    change = "3s ab_loss=100%; 4s ab_loss=0%; 5s delay=9ms"
    assert recovery.outages({"loss_ppb": 0, "change": change}) == [(3 * S, 4 * S)]
    assert recovery.outages({"loss": "time:1s-2s,6s-7s", "change": "5s loss=0%"}) == [(S, 2 * S)]
    assert recovery.outages({"loss": "gilbert:1%,10", "change": "none"}) == []


def test_a_flow_that_begins_after_an_outage_has_only_those_it_met() -> None:
    told = outages_of(intervals((30, 1000), (10, 0), (30, 1000)), loss="time:500ms-800ms,4s-5s")
    assert [one["begin_ns"] for one in told] == [3 * S]
    assert recovery.columns(told) == {
        "outages": 1,
        "recovery_ns": 0,
        "recovery_error_ns": 100 * MS,
        "recovery_max_ns": 0,
    }


def test_one_outage_begins_at_one_time_in_all_flows_of_a_trial(tmp_path: Path) -> None:
    """Times count from the moment at which the first flow's sender began to connect, as in all tables of a trial. They
    once counted from the beginning of each flow's own receiver."""

    def end(sender_ns: int, receiver_ns: int) -> dict[str, Any]:
        told = {"t0_monotonic_ns": receiver_ns, "intervals": intervals((100, 1000), (10, 0), (100, 1000))}
        return {"sender": {"t0_monotonic_ns": sender_ns}, "receiver": told}

    main, rival = end(101 * S, 101 * S + 700_000), end(103 * S, 103 * S + 400_000)
    files = {
        "params": {"loss": "time:12s-13s"},
        "transfer": main | {"flows": {"rival": rival}},
        "delay": {"clock": {"monotonic_ns": 100 * S}},
        "flows": [{"flow_name": "rival"}],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = recovery.of_flows(tmp_path)
    assert [(one["begin_ns"], one["end_ns"]) for (one,) in found.values()] == [(11 * S, 12 * S)] * 2
    recovery.write(tmp_path)
    assert json.loads((tmp_path / recovery.TABLE).read_text()) == {"v": recovery.VERSION, "flows": found}


def test_an_outage_of_a_pairs_own_path_is_of_its_flows_alone_and_by_its_own_boxs_clock(tmp_path: Path) -> None:
    told = {"t0_monotonic_ns": 101 * S, "intervals": intervals((100, 1000), (20, 0), (100, 1000))}
    end: dict[str, Any] = {"sender": {"t0_monotonic_ns": 101 * S}, "receiver": told}
    hops: list[dict[str, Any]] = [{"clock": {"monotonic_ns": 99 * S, "realtime_ns": 999 * S}}]
    hops += [{"pair": 2, "clock": {"monotonic_ns": 100 * S - 5 * MS, "realtime_ns": 1000 * S - 5 * MS}}]
    files: dict[str, Any] = {
        "params": {"loss": "time:1s-1500ms", "pair": 1, "pair_path": None},
        "transfer": end | {"flows": {"far": end, "near": end}},
        "delay": {"clock": {"monotonic_ns": 100 * S, "realtime_ns": 1000 * S}, "hops": hops},
        "flows": [
            {"flow_name": "far", "pair": 2, "pair_path": "delay=60ms ba_loss=time:12s-13s"},
            {"flow_name": "near", "pair": 3, "pair_path": None},
        ],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    met = {name: [(one["begin_ns"], one["end_ns"]) for one in own] for name, own in recovery.of_flows(tmp_path).items()}
    both = (0, 500 * MS)
    assert met == {"main": [both], "far": [both, (11 * S - 5 * MS, 12 * S - 5 * MS)], "near": [both]}
    assert analysis.outage_spans(tmp_path) == [f"{1001 * S}-{1001 * S + 500 * MS}"]
    (tmp_path / "params.json").write_text(json.dumps(files["flows"][0]))
    assert analysis.outage_spans(tmp_path) == [f"{1012 * S - 5 * MS}-{1013 * S - 5 * MS}"]


def packets(*stretches: tuple[int, int, int]) -> recovery.Series:
    """Arrivals: stretches of (begin, end, gap), ns, a packet of 1,000 octets each."""
    t_ns = np.concatenate([np.arange(begin, end, gap) for begin, end, gap in stretches])
    return recovery.of_arrivals(t_ns, 1000 * np.arange(1, t_ns.size + 1))


def test_from_arrivals_recovery_is_exact() -> None:
    """A packet each ms until 5 s. The outage is from 5 to 6 s. From a single packet at 6.419 s on, each round trip of
    100 ms brings twice as much as the one before; the whole rate is back exactly 7 round trips later."""
    rounds = [(6419 * MS + n * 100 * MS, 6419 * MS + n * 100 * MS + 2**n * MS, MS) for n in range(6)]
    back = 6419 * MS + 6 * 100 * MS
    series = packets((0, 5 * S, MS), *rounds, (back, 10 * S, MS))
    told = recovery.recoveries(series, [(5 * S, 6 * S)], 100 * MS, exact=True)
    assert (told[0]["recovery_ns"], told[0]["error_ns"]) == (back - 6 * S, 0)
    lone = packets((0, 5 * S, MS), (6472 * MS, 6473 * MS, MS), (6519 * MS, 10 * S, MS))
    told = recovery.recoveries(lone, [(5 * S, 6 * S)], 40 * MS, exact=True)
    assert told[0]["recovery_ns"] == 519 * MS, "a second that begins at the lone packet has 95 % of the rate"


def test_packets_that_came_together_right_before_an_outage_are_no_rate() -> None:
    """Packets of two streams in the same nanosecond once gave an infinite rate. The rate is now taken over a span that
    begins with an earlier packet."""
    series = recovery.of_arrivals(np.asarray([500 * MS] * 2 + [700 * MS]), 1000 * np.arange(1, 4))
    told = recovery.recoveries(series, [(600 * MS, 650 * MS)], 40 * MS, exact=True)
    assert (told[0]["recovery_ns"], told[0]["why"]) == (None, recovery.NEVER_BEFORE)
    later = np.asarray([450 * MS] + [500 * MS] * 2 + list(range(660 * MS, 1660 * MS, 10 * MS)))
    series = recovery.of_arrivals(later, 1000 * np.arange(1, later.size + 1))
    told = recovery.recoveries(series, [(600 * MS, 650 * MS)], 40 * MS, exact=True)
    assert told[0]["recovery_ns"] == 10 * MS


def test_a_border_before_which_nothing_came_and_after_which_nothing_comes_is_no_recovery() -> None:
    """A gateway hands over what it held: 3,000 in the interval from 9.7 s on. The round trip of 200 ms that begins
    100 ms before has enough on average."""
    found = intervals((50, 1000), (40, 0), (7, 0), (1, 3000), (20, 1000))
    told = recovery.recoveries(recovery.of_intervals(found), [(5 * S, 9 * S)], 200 * MS, exact=False)
    assert (told[0]["recovery_ns"], told[0]["error_ns"]) == (700 * MS, 100 * MS)


def test_the_exact_time_lies_within_the_error_of_that_of_intervals() -> None:
    """Draws the length of intervals and their borders at random."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        end_ns, took = int(rng.integers(4 * S, 8 * S)), int(rng.integers(0, 3 * S))
        step, begin_ns = int(rng.choice([10, 50, 100, 500, 1000])) * MS, int(rng.integers(0, S))
        series = packets((begin_ns, end_ns - S, MS), (end_ns + took, end_ns + took + 6 * S, MS))
        exact = recovery.recoveries(series, [(end_ns - S, end_ns)], 20 * MS, exact=True)[0]
        assert 0 <= exact["recovery_ns"] - took <= MS, f"seed {seed}"
        edges = np.arange(begin_ns, series[0][-1], step)
        had = np.append(0, series[1])[np.searchsorted(series[0], edges)]
        told = recovery.recoveries((edges, had), [(end_ns - S, end_ns)], 20 * MS, exact=False)[0]
        assert told["error_ns"] == step, f"seed {seed}"
        assert abs(told["recovery_ns"] - exact["recovery_ns"]) <= step, f"seed {seed}"


def test_the_interval_is_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)

    def sender(**transfer: Any) -> list[str]:
        sets = [f"transfer.{key}={value}" for key, value in transfer.items()]
        trial = load_plan("lsr-bunch", overrides=sets).trials[0]
        assert params.of(trial)["interval_ns"] == 50 * MS
        return transfer_tool.commands(trial.setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender

    line = sender(interval="50ms")
    assert line[line.index("--interval") + 1] == "50000000ns"
    with pytest.raises(UsageError, match=r"transfer\.interval = '50ms': iperf3"):
        sender(interval="50ms", tool="iperf3", pace="0")


def test_an_outage_of_other_flows_packets_is_not_this_flows() -> None:
    """`only` limits losses to some packets: here to pair 2, by its addresses, or to packets that the flow does not
    send."""
    ends = {"local": "10.77.0.1:40000", "remote": "10.77.2.2:50000"}
    end = {"sender": {"streams": [ends]}}

    def own(end: dict[str, Any] = end, **params: Any) -> list[tuple[int, int]]:
        return recovery.outages(params, concerned.by(params, end))

    forth: dict[str, Any] = {"loss": "time:6s-7s"}
    back: dict[str, Any] = {"ba_loss": "time:6s-7s"}
    hit = [(6 * S, 7 * S)]
    assert own(**forth) == own(**back) == hit
    assert own(**forth, only="src=10.77.3.0/24") == [] and own(**back, ba_only="dst=10.77.3.0/24") == []
    assert own(**forth, only="src=10.77.0.0/24") == hit and own(**forth, only="!src=10.77.3.0/24,tcp") == hit
    assert own(**forth, only="src=fd77::/64") == []
    assert own(**forth, only="dport=50000") == hit and own(**forth, only="!dport=50000") == []
    assert own(**forth, only="syn") == own(**forth, only="udp") == own(**forth, only="ack-only") == []
    assert own(**back, ba_only="ack-only") == hit and own(**back, ba_only="data") == []
    assert own(**forth, only="min-size=1000") == hit and own(**back, ba_only="min-size=1000") == []
    assert own(**forth, only="max-size=100") == []
    assert own(loss="time:1s-9s", change="3s only=udp; 5s only=all") == [(S, 3 * S), (5 * S, 9 * S)]
    assert own(**forth, only="src=10.77.3.0/24", gateway="lft") == hit, "of a tunnel's packets nobody knows"
    assert own({}, **forth, only="dport=50000") == hit, "iperf3's ports are not known"


def test_responses_and_the_other_way_of_both_at_once_are_a_flows_packets_too() -> None:
    there, here = "10.77.2.2:50000", "10.77.0.1:40000"
    sides = {"sender": {"local": here, "remote": there}, "receiver": {"local": there, "remote": here}}
    exchange = sides | {"summary": {"exchange": {"exchanges": 1}}}
    back = {"sender": sides["receiver"], "receiver": sides["sender"]}
    for end in (exchange, sides | {"reverse": back}):
        for path in ({"ba_loss": "time:6s-7s", "ba_only": "data"}, {"loss": "time:6s-7s", "only": "ack-only"}):
            assert recovery.outages(path, concerned.by(path, end)) == [(6 * S, 7 * S)]
