"""Statistics of repeats: intervals, outliers, when repeats are enough, the gate's false alarms, RFC 6349's metrics."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy import stats
from support.scenario_runs import TINY, FakeTrials

from lfp import cli
from scenarios.run import checks, plugins, results
from scenarios.run.judgement import ALPHA, Side, judge
from scenarios.run.runs import manifest
from scenarios.statistics import intervals, rfc6349
from scenarios.trial import baseline, sharing

NOISE = 0.0036  # standard deviation of gate.toml's throughputs, relative (docs/how-to/gate.md)


def side(rng: random.Random, mean: float = 1.0, count: int = 5) -> Side:
    values = tuple(rng.gauss(mean, NOISE) for _ in range(count))
    return Side(values, values)


def verdict(base: Side, run: Side, margin: float) -> str:
    (cell,) = judge([{}], [(base, run)], margin, lower_is_better=False)
    return cell.verdict


def test_200_comparisons_of_a_gateway_with_itself_give_few_alarms_and_1_percent_is_found() -> None:
    """The noise of a gateway in virtual time. `lfp bench gate.alarms` measures the same with trials."""
    rng = random.Random(1)
    alarms = dict.fromkeys((0.05, 0.005), 0)
    for _ in range(200):
        pair = side(rng), side(rng)
        assert verdict(*pair, 0.05) == "same"
        for margin in alarms:
            alarms[margin] += verdict(*pair, margin) in ("better", "worse")
    assert alarms[0.05] == 0 and alarms[0.005] <= stats.binom.ppf(0.999, 200, ALPHA), alarms
    found = [verdict(side(rng), side(rng, 0.99), 0.005) for _ in range(200)]
    assert set(found) <= {"worse", "undecided"}, found  # neither passes a gate
    more = [verdict(side(rng, count=16), side(rng, 0.99, 16), 0.005) for _ in range(200)]
    assert set(more) <= {"worse", "undecided"} and more.count("worse") >= 160, more.count("worse")


def test_the_interval_of_a_median_holds_it_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6349)
    for count, least in ((5, 0.75), (20, 0.88)):
        held = 0
        for _ in range(60):
            low, high = intervals.median_interval(list(rng.normal(10, 1, count))) or (0, 0)
            held += low <= 10 <= high
        assert held / 60 >= least, count
    assert intervals.median_interval([1.0] * 4) is None
    assert intervals.median_interval([2.0] * 9) == (2.0, 2.0)


def test_outliers_are_beyond_tukeys_fences() -> None:
    assert intervals.outlying([10, 10.1, 9.9, 10, 14]) == [False] * 4 + [True]
    assert not any(intervals.outlying([1, 2, 3, 4, 5])) and not any(intervals.outlying([1, 1, 1, 9]))


def test_precision_is_students() -> None:
    values = [9.0, 10.0, 11.0, 10.0, 10.0]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert intervals.precision(values) == pytest.approx((high - low) / 2 / 10)
    assert intervals.precision(values[:4]) is None


def row(trial: int, bps: float) -> dict[str, Any]:
    return {"trial": trial, "seed": trial, "valid": True, "short_term_bps": bps}


def test_repeats_are_enough_when_the_interval_is_narrow_or_more_would_be_copies() -> None:
    wide = [row(n, 100 + 10 * (n % 3)) for n in range(8)]
    assert not intervals.is_enough(wide, "short_term_bps", 0.02) and intervals.is_enough(wide, "short_term_bps", 0.2)
    copies = [row(n, 100.0) for n in range(5)]
    assert intervals.is_enough(copies, "short_term_bps", 0.001) and not intervals.is_enough(copies[:4], "x", 1)


def test_a_run_stops_repeating_settings_that_are_known_well_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trials 0, 4, 8, … have one rate; those of the second window scatter by a third."""
    monkeypatch.setattr(checks, "require", lambda tools, settings, virtual: None)
    monkeypatch.setattr(plugins, "after_run", lambda run_dir: [])
    monkeypatch.chdir(tmp_path)
    fake = FakeTrials(monkeypatch, tmp_path)
    fake.rate = lambda trial: 1e6 if trial.number % 4 != 1 else 1e6 * (1 + trial.number % 3 / 3)
    Path("tiny.toml").write_text(TINY.replace("seed = 7", 'seed = 7\nrepeat = 9\nprecision = "2%"'))
    assert cli.run(["run", "tiny.toml"]) == 0
    run_dir = next(Path("runs").iterdir())
    content = manifest(run_dir)
    assert sorted(fake.ran) == sorted({*range(20), *range(21, 36, 4)}), "five rounds of all, then the second alone"
    assert content["enough"] == [n for n in range(20, 36) if n % 4 != 1]
    assert content["verdict"]["valid"] and content["plan"] == 36
    capsys.readouterr()
    assert cli.run(["show", "last"]) == 0
    assert "24 of 36 trials, 12 not needed: run.precision is reached" in capsys.readouterr().out
    fake.ran.clear()
    assert cli.run(["run", "--resume", "last"]) == 0 and not fake.ran, "complete"
    assert cli.run(["show", "last", "--summary", "short_term_bps"]) == 0
    assert "9 repeats" in capsys.readouterr().out


def test_rfc_6349s_metrics() -> None:
    params = {"rate_bps": 45_000_000, "channels": 1, "mtu": 1500, "family": "ipv4", "framing": "ip"}
    octets = 100_000_000
    ideal_s = octets * 1500 / 1448 * 8 / 45e6
    ratio = rfc6349.transfer_time_ratio(params, {"bytes": octets, "elapsed_ns": int(2 * ideal_s * 1e9)})
    assert ratio == pytest.approx(2.0)
    efficiency = rfc6349.tcp_efficiency({"bytes_sent": 102_000, "bytes_retrans": 2_040})
    assert efficiency == pytest.approx(0.98), "the RFC's own example: 2,040 of 102,000 bytes again"
    assert rfc6349.buffer_delay(25 * 10**6, 32 * 10**6) == pytest.approx(0.28), "the RFC's example"
    assert rfc6349.transfer_time_ratio(params | {"rate_bps": 0}, {"bytes": 1, "elapsed_ns": 1}) is None
    assert rfc6349.tcp_efficiency({}) is None
    assert rfc6349.buffer_delay(0, 1) is None


def test_the_ideal_time_follows_the_rate_of_a_path_that_changes() -> None:
    """From 1 s to 2 s the line carries 50 Mbit, until 3.5 s 30 more, and the remaining 45 in half a second."""
    params = {"rate_bps": 50_000_000, "channels": 1, "mtu": 1500, "family": "ipv4", "framing": "ip",
              "rate_trace": "none", "change": "2s delay=45ms rate=20Mbit; 3500ms delay=8ms rate=90Mbit"}  # fmt: skip
    summary = {"bytes": round(125e6 / 8 * 1448 / 1500), "elapsed_ns": 6 * 10**9}
    assert rfc6349.transfer_time_ratio(params, summary, 10**9) == pytest.approx(2.0, rel=1e-6)
    late = {"bytes": round(45e6 / 8 * 1448 / 1500), "elapsed_ns": 10**9}
    assert rfc6349.transfer_time_ratio(params, late, 4 * 10**9) == pytest.approx(2.0, rel=1e-6), "at 90 Mbit/s alone"
    early = {"bytes": round(25e6 / 8 * 1448 / 1500), "elapsed_ns": 10**9}
    assert rfc6349.transfer_time_ratio(params, early, 0) == pytest.approx(2.0, rel=1e-6), "ended before the change"
    assert rfc6349.transfer_time_ratio(params, summary) is None, "nobody knows when it began"
    unknown = params | {"change": "2s rate=0"}
    assert rfc6349.transfer_time_ratio(unknown, summary, 10**9) is None, "no rate from 2 s on"
    assert rfc6349.transfer_time_ratio(unknown, early, 0) == pytest.approx(2.0, rel=1e-6)
    traced = params | {"change": "none", "rate_trace": "rate:0s=50Mbit,2s=90Mbit"}
    assert rfc6349.transfer_time_ratio(traced, summary, 10**9) is None
    assert rfc6349.transfer_time_ratio(params | {"change": "2s rate=20Mbit"} | {"rate_bps": 0}, summary, 10**9) is None
    assert rfc6349.most_bps(params) is None, "there is no such rate"


POLICED = {"rate_bps": 100_000_000, "channels": 1, "mtu": 1500, "family": "ipv4", "framing": "ip",
           "aqm": "policer:rate=10Mbit,burst=250KB"}  # fmt: skip


def _policed_ns(bits: float, **changed: Any) -> float | None:
    """The ideal time that a transfer of so many bits (with headers) takes if it begins 1 s after the box."""
    summary = {"bytes": round(bits / 8 * 1448 / 1500), "elapsed_ns": 10**9}
    ratio = rfc6349.transfer_time_ratio(POLICED | changed, summary, 10**9)
    return ratio and 1e9 / ratio


def test_the_ideal_time_keeps_to_a_policer() -> None:
    """While 100 Mbit/s pass, the bucket of 250 KB (2.048 Mbit) loses 90 Mbit/s, so it is empty after 22.76 ms and
    2.2756 Mbit. The rest passes at 10 Mbit/s."""
    assert _policed_ns(2e6) == pytest.approx(20e6, rel=1e-5), "within the burst, at the line's rate"
    full_s = 2.048 / 90
    assert _policed_ns(50e6) == pytest.approx((full_s + (50 - 100 * full_s) / 10) * 1e9, rel=1e-5)
    assert _policed_ns(50e6, rate_bps=8_000_000) == pytest.approx(6.25e9, rel=1e-5), "the line is slower"
    assert _policed_ns(50e6, channels=2, rate_bps=50_000_000) == pytest.approx(
        (4.096 / 80 + (50 - 100 * 4.096 / 80) / 20) * 1e9, rel=1e-5
    ), "each channel has a bucket"
    assert rfc6349.most_bps(POLICED) == pytest.approx(10e6 * 1448 / 1500)


def test_the_ideal_time_follows_a_policer_that_changes() -> None:
    """The bucket keeps its level when its rate changes, and its default depth is 100 KB (comet-delay(1))."""
    later = {"aqm": "none", "change": "2s aqm=policer:rate=10Mbit"}
    lasts_s = 0.8192 / 90
    assert _policed_ns(150e6, **later) == pytest.approx((1 + lasts_s + (50 - 100 * lasts_s) / 10) * 1e9, rel=1e-5)
    lifted = {"change": "2s aqm=none"}
    passed = 100 * 2.048 / 90 + 10 * (1 - 2.048 / 90)
    assert _policed_ns(50e6, **lifted) == pytest.approx((1 + (50 - passed) / 100) * 1e9, rel=1e-5)
    faster = {"change": "2s aqm=policer:rate=20Mbit,burst=250KB"}
    assert _policed_ns(50e6, **faster) == pytest.approx((1 + (50 - passed) / 20) * 1e9, rel=1e-5)


def test_nobody_knows_what_a_marking_policer_lets_pass() -> None:
    assert _policed_ns(50e6, aqm="policer:rate=10Mbit,burst=250KB,ecn=on") is None
    assert rfc6349.most_bps(POLICED | {"aqm": "policer:rate=10Mbit,ecn=on"}) is None


@pytest.mark.parametrize(
    "stage",
    [{"pace_bps": 15_000_000}, {"drain_rate_bps": 15_000_000}, {"harmonize_bps": 15_000_000},
     {"nic_rate_bps": 15_000_000}, {"access_rate_bps": 15_000_000}, {"pace_packets": 1250},
     {"pace_bps": 5_000_000, "pace_packets": 1250}],
)  # fmt: skip
def test_the_ideal_time_is_that_of_the_slowest_stage(stage: dict[str, int]) -> None:
    """RFC 6349, 3.3.2: the bottleneck counts, whichever it is. 1,250 packets/s of 1,500 octets are 15 Mbit/s."""
    params = {"rate_bps": 100_000_000, "channels": 1, "mtu": 1500, "family": "ipv4", "framing": "ip"} | stage
    summary = {"bytes": round(15e6 / 8 * 1460 / 1500), "elapsed_ns": 2 * 10**9}
    assert rfc6349.transfer_time_ratio(params, summary, timestamps=False) == pytest.approx(2, rel=1e-6)
    assert rfc6349.transfer_time_ratio(params, summary) == pytest.approx(2 * 1448 / 1460, rel=1e-6)


@pytest.mark.parametrize(("options", "known"), [(7, True), (4, False), (None, None)])
def test_time_stamps_are_what_the_kernel_says(options: int | None, known: bool | None) -> None:
    end = {"sender": {"tcp_info": {} if options is None else {"options": options}}}
    for otherwise in (False, True):
        assert rfc6349.timestamps_of(end, otherwise=otherwise) is (otherwise if known is None else known)


def test_the_baseline_follows_the_path() -> None:
    """Two samples at an RTT of 40 ms, two at 60 ms, four at 55 ms: from 10 s on the reverse delay is 5 ms shorter."""
    ms, s = 10**6, 10**9
    params = {"rtt_ns": 40 * ms, "delay_ns": 20 * ms, "ba_delay_ns": None, "change": "5s delay=30ms; 10s ba_delay=25ms"}
    at_s = [1, 2, 6, 7, 11, 12, 13, 14]
    mean_ns = baseline.mean_ns(params, {"clock": {"monotonic_ns": 100 * s}}, np.asarray(at_s) * s + 100 * s)
    assert mean_ns == pytest.approx((2 * 40 + 2 * 60 + 4 * 55) / 8 * ms)
    assert baseline.mean_ns({"rtt_ns": 0, "delay_ns": 0}, {}, np.asarray(at_s)) is None
    changed = {"delay_ns": 20 * ms, "change": "1s delay=30ms"}
    assert baseline.round_trips({"rtt_ns": 80 * ms, "hops": 2, "pair": 1} | changed)[1] == (s, 120 * ms)
    assert baseline.round_trips({"rtt_ns": 80 * ms, "pair": 2} | changed)[1] == (s, 100 * ms)  # 40 ms are its own


def test_what_a_line_carries_of_its_streams() -> None:
    """1,448 octets in each 1,500 with time stamps. A line of 20 Mbit/s carried 19.3, and the result once said 20.0."""
    assert rfc6349.payload_share({"mtu": 1500}) == pytest.approx(1448 / 1500)
    assert rfc6349.payload_share({"mtu": 1500}, timestamps=False) == pytest.approx(1460 / 1500)
    assert rfc6349.payload_share({"mtu": 9000, "framing": "ethernet", "family": "ipv6"}) == pytest.approx(8928 / 9038)
    assert sharing._bound_bps({"rate_bps": 20_000_000}, {"sender": {"tcp_info": {"options": 7}}}) == pytest.approx(
        20e6 * 1448 / 1500
    )
    assert sharing._bound_bps({"rate_bps": 0}, {}) is None
    for varies in ({"jitter": "2ms"}, {"reorder_ppb": 10**6}, {"bunch_ns": 10**6}, {"change": "2s delay=5ms"}):
        assert sharing._bound_bps({"rate_bps": 20_000_000} | varies, {}) is None, varies
    assert sharing._bound_bps({"rate_bps": 20_000_000, "change": "2s ab_rate=10Mbit"}, {}) is not None


def test_a_round_trip_that_took_no_time_is_a_measurement(tmp_path: Path) -> None:
    """In virtual time no time passes between a sender and a gateway next to it; here one acknowledgement was delayed.
    Before the first measurement the kernel has no minimum RTT; after a measurement of 0 it has a tick of its clock."""
    samples = {"t_ns": [1, 2, 3, 4, 5], "rtt_us": [0, 0, 0, 0, 5_093], "min_rtt_us": [2**32 - 1] + [1_000] * 4}
    parquet.write_table(pa.table(samples), tmp_path / "tcp_info.parquet")
    found = results._round_trips(tmp_path / "tcp_info.parquet", {}, {}, [])
    assert (found["rtt_min_ns"], found["rtt_median_ns"], found["rtt_mean_ns"]) == (0, 0, 1_273_250)


def test_the_least_rtt_is_the_kernels_and_not_the_least_of_its_averages(tmp_path: Path) -> None:
    """The average RTT of a flow that starts with a full queue is far from the path's RTT."""
    samples = {"t_ns": [1, 2, 3], "rtt_us": [0, 52_000, 50_180], "min_rtt_us": [2**32 - 1, 51_000, 40_620]}
    parquet.write_table(pa.table(samples), tmp_path / "tcp_info.parquet")
    found = results._round_trips(tmp_path / "tcp_info.parquet", {"rtt_ns": 40_000_000}, {}, [])
    assert found["rtt_min_ns"] == 40_620_000 and found["rtt_median_ns"] == 51_090_000
    behind = results._buffer_delay({"baseline_ns": 40.0, "rtt_mean_ns": 1.0}, behind_gateway=True)
    assert behind is None, "the RTT to the near gateway says nothing of the whole path"
