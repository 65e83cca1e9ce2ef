"""How flows share a line: sums and Jain's index over spans in which all run, from what the receivers counted."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from lfp.commands import _show as show
from rttcp.iperf3_tool import Ran, end_event
from scenarios.plan.columns import COLUMNS
from scenarios.run import results
from scenarios.run.progress import outcome
from scenarios.statistics import fairness
from scenarios.trial import sharing

S = 10**9
VALID = {"valid": True, "reasons": []}
LINE = 100e6


def end(t0_ns: int, rates: Sequence[float], step_ns: int = S // 10) -> dict[str, Any]:
    """A sender's last object: the receiver counted these rates (bit/s) in intervals of one length."""
    rows = [[n * step_ns, (n + 1) * step_ns, round(rate * step_ns / 8e9)] for n, rate in enumerate(rates)]
    return {"receiver": {"t0_monotonic_ns": t0_ns, "intervals": rows}, "summary": {}, "sender": {}}


def of(main: dict[str, Any], line: float | None = LINE, **flows: dict[str, Any]) -> fairness.Shared | None:
    beside = {name: main[name] for name in fairness.BESIDE if name in main}
    return fairness.shared(fairness.counts({"main": main, **beside, **flows}), line)


def test_a_flow_that_comes_and_goes_is_compared_while_both_run() -> None:
    """Alone the first flow has 96 Mbit/s, with the other flow 24, so its own average is 72 and the sum of averages
    144."""
    main = end(5 * S, [96e6] * 100 + [24e6] * 100 + [96e6] * 100)
    found = of(main, rival=end(15 * S, [72e6] * 100))
    assert found and found.common_ns == 10 * S
    for name, share in (("main", 0.25), ("rival", 0.75)):
        told = fairness.of_flow(found, name)
        assert told == pytest.approx(
            {
                "flows_common_ns": 10 * S,
                "flows_bps": 96e6,
                "flow_share": share,
                "flow_jain": 1 / (2 * (1 / 16 + 9 / 16)),
                "flow_jain_min": 1 / (2 * (1 / 16 + 9 / 16)),
                "flow_share_error": 0.0,
            },
            rel=1e-6,
            abs=1e-9,
        )
    columns = found.columns()
    assert columns["flow_name"].count("rival") == 10 and columns["flow_name"].count("main") == 30
    assert max(columns["flows_bps"]) <= LINE
    fair = {t0 for t0, index in zip(columns["t0_ns"], columns["flow_jain"], strict=True) if index is not None}
    assert fair == {t * S for t in range(15, 25)}, "there is no fairness of one flow"


def test_without_a_common_span_there_is_neither_sum_nor_index() -> None:
    found = of(end(0, [96e6] * 20), late=end(3 * S, [96e6] * 20))
    assert found and fairness.of_flow(found, "main") == {}
    found = of(end(0, [50e6] * 20), b=end(S, [40e6] * 20), c=end(5 * S // 2, [40e6] * 20))
    assert found and fairness.of_flow(found, "b") == {}, "two of three run together, never all"
    assert any(index is not None for index in found.columns()["flow_jain"])


def test_a_span_shorter_than_the_intervals_has_a_length_alone() -> None:
    """It is not known how many octets the first flow received in these 0.3 s of its interval of 1 s."""
    found = of(end(0, [96e6] * 4, S), short=end(3 * S // 2, [40e6] * 3))
    assert fairness.of_flow(found, "short") == pytest.approx({"flows_common_ns": 3 * S // 10, "flow_share_error": 0.6})


def test_one_flow_shares_with_nobody_and_a_count_that_is_missing_tells_nothing() -> None:
    assert of(end(0, [96e6] * 20)) is None
    lost = end(0, [96e6] * 20)
    lost["receiver"]["intervals_dropped"] = 3
    assert of(end(0, [1e6] * 20), rival=lost) is None
    assert of(end(0, [1e6] * 20), rival={"receiver": {}, "summary": {}}) is None


def test_what_is_counted_over_a_second_keeps_to_the_line_within_it() -> None:
    """Two flows, each counted once a second from its own beginning on. The line is full all the time; the first had
    it alone for 300 ms, and the second one waits for its turn until the first ends at 1 s."""
    octets = {"main": 0.65 * LINE, "late": 0.65 * LINE}
    found = of(end(0, [octets["main"]], S), late=end(3 * S // 10, [octets["late"]], S))
    assert found
    columns = found.columns()
    assert max(columns["flows_bps"]) <= LINE * (1 + 1e-9)
    each = dict.fromkeys(octets, 0.0)
    for name, bps, t0, t1 in zip(*(columns[key] for key in ("flow_name", "bps", "t0_ns", "t1_ns")), strict=True):
        each[name] += bps * (t1 - t0) / S
    assert each == pytest.approx(octets)


def test_what_a_repaired_hole_hands_over_at_once_had_arrived_before() -> None:
    """In two seconds the line brings 24 MB. 10 MB that arrive in the first second reach the receiver's program in the
    second one."""
    main = end(0, [16e6] * 10 + [176e6] * 10 + [96e6] * 10)
    found = of(main, rival=end(0, [4e6] * 30))
    assert found is not None
    columns = found.columns()
    assert max(columns["flows_bps"]) <= LINE * (1 + 1e-9)
    assert sum(columns["bps"]) == pytest.approx(16e6 + 176e6 + 96e6 + 3 * 4e6)


def test_streams_of_second_and_plain_are_flows_too() -> None:
    main = end(0, [60e6] * 30) | {"second": end(S, [30e6] * 30)}
    found = of(main)
    assert found and found.names == ("main", "second")
    assert fairness.of_flow(found, "main") == pytest.approx(
        {"flows_common_ns": 2 * S, "flows_bps": 90e6, "flow_share": 2 / 3, "flow_share_error": 0.0}
        | dict.fromkeys(("flow_jain", "flow_jain_min"), 0.9),
        abs=1e-9,
    )


def test_what_a_flow_had_in_a_span_is_as_certain_as_its_counts() -> None:
    """Whatever flows do inside their intervals, the true share lies within the error that is given, and where that is
    more than 5 % of the whole there is neither share nor sum. From arrivals the share is exact."""
    given = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        starts = rng.integers(0, 3 * S, 2)
        times = [np.sort(start + rng.integers(0, int(rng.uniform(1, 30) * S), 3000)) for start in starts]
        octets = [
            rng.integers(1, 65536, 3000) * (1 + np.sin(t_ns / rng.uniform(0.1, 3) / S) > rng.random()) for t_ns in times
        ]
        octets = [np.append(1, np.append(own[1:-1], 1)) for own in octets]  # its first and last octets end a flow
        begin, finish = max(t_ns[0] for t_ns in times), min(t_ns[-1] for t_ns in times)
        if begin >= finish:
            continue
        had = [int(own[(t_ns >= begin) & (t_ns <= finish)].sum()) for t_ns, own in zip(times, octets, strict=True)]
        exact = fairness.shared(
            [
                fairness.Count.of_arrivals(name, t_ns, np.cumsum(own))
                for name, t_ns, own in zip("ab", times, octets, strict=True)
            ],
            1e12,
        )
        told = fairness.of_flow(exact, "a")
        assert told["flow_share"] == pytest.approx(had[0] / sum(had), abs=1e-12), f"seed {seed}"
        assert told["flows_bps"] == pytest.approx(sum(had) * 8e9 / (finish - begin), rel=1e-6), f"seed {seed}"
        assert told["flow_share_error"] == pytest.approx(0, abs=1e-12), f"seed {seed}"
        step = int(rng.choice([10, 100, 1000]) * 10**6)
        ends = [counted(t_ns, own, step) for t_ns, own in zip(times, octets, strict=True)]
        told = fairness.of_flow(of(ends[0], None, b=ends[1]), "main")
        if "flow_share" in told:
            given += 1
            within = told["flow_share_error"] + 1e-9
            assert told["flow_share"] == pytest.approx(had[0] / sum(had), abs=within), f"seed {seed}"
            assert told["flow_share_error"] <= fairness.MOST_ERROR
        else:
            assert told["flow_share_error"] > 0, f"seed {seed}"
    assert 100 < given < 290, "both kinds are drawn"


def counted(t_ns: np.ndarray, octets: np.ndarray, step: int) -> dict[str, Any]:
    """A receiver's counts of these arrivals: intervals from the first arrival on, of which the last may be shorter."""
    edges = np.append(np.arange(t_ns[0], t_ns[-1], step), t_ns[-1])
    place = np.maximum(np.searchsorted(edges, t_ns) - 1, 0)
    sums = np.bincount(place, octets, minlength=edges.size - 1).astype(np.int64)
    rows = np.stack([edges[:-1] - t_ns[0], edges[1:] - t_ns[0], sums], axis=1)
    return {"receiver": {"t0_monotonic_ns": int(t_ns[0]), "intervals": rows.tolist()}, "summary": {}, "sender": {}}


def test_a_span_as_short_as_the_interval_has_no_share_that_is_guessed() -> None:
    """In the first second the flow's octets all came at the end. Interpolation once gave 35.5 % instead of 33.2 %."""
    main = end(0, [24e6, 40e6, 24e6], S)
    told = fairness.of_flow(of(main, rival=end(9 * S // 10, [60e6] * 12)), "main")
    assert told["flows_common_ns"] == 12 * S // 10 and "flow_share" not in told and "flows_bps" not in told
    assert told["flow_share_error"] > 0.05


def delivered(rng: random.Random, arrived: np.ndarray) -> np.ndarray:
    """When the program gets arriving octets: now and then a hole delays all octets behind it for some intervals."""
    got, held = np.zeros_like(arrived), 0.0
    for n, octets in enumerate(arrived):
        held += octets
        if rng.random() > 0.4 or n == len(arrived) - 1:
            got[n], held = held, 0.0
    return got


def test_sums_stay_below_the_line_and_shares_add_up_whatever_the_flows_do() -> None:
    """Flows on a line of random rate start, stop and share at random; holes delay what their programs get."""
    for seed in range(200):
        rng = random.Random(seed)
        line, step = rng.uniform(1e6, 1e10), rng.choice([10, 50, 100, 1000]) * 10**6
        many, length = rng.randint(2, 6), rng.randint(20, 200)
        weights = np.asarray([[rng.random() for _ in range(length)] for _ in range(many)])
        for own in weights:
            first = rng.randint(0, length // 2)
            own[:first] = 0
            own[rng.randint(first + 1, length) :] = 0
        room = line * step / 8e9 * rng.uniform(0.3, 1.0)
        octets = weights / np.maximum(weights.sum(axis=0), 1e-9) * room
        ends = []
        for own in octets:
            ran = np.flatnonzero(own)
            got = delivered(rng, own[ran[0] : ran[-1] + 1])
            ends.append(end(int(ran[0]) * step, (got * 8e9 / step).tolist(), step))
        found = of(ends[0], line, **{f"f{n}": one for n, one in enumerate(ends[1:])})
        assert found is not None
        columns = found.columns()
        assert max(columns["flows_bps"]) <= line * (1 + 1e-6), f"seed {seed}"
        told = [fairness.of_flow(found, name) for name in found.names]
        if told[0].get("flows_bps") is not None:
            assert told[0]["flows_bps"] <= line * (1 + 1e-6), f"seed {seed}"
            assert sum(one["flow_share"] for one in told) == pytest.approx(1), f"seed {seed}"
            assert 1 / many - 1e-9 <= told[0]["flow_jain"] <= 1 + 1e-9, f"seed {seed}"
        fair = [index for index in columns["flow_jain"] if index is not None]
        assert all(1 / many - 1e-9 <= index <= 1 + 1e-9 for index in fair), f"seed {seed}"
        moved = sum(row[2] for one in ends for row in one["receiver"]["intervals"])
        lasted = np.asarray(columns["t1_ns"]) - np.asarray(columns["t0_ns"])
        assert (np.asarray(columns["bps"]) * lasted).sum() / 8e9 == pytest.approx(moved), f"seed {seed}"


def test_what_was_handed_over_at_once_counts_as_it_arrived() -> None:
    """Two flows send 100 octets every 10 ms. A gateway holds the first flow's octets of 90 ms until a repair comes, and
    then delivers them all at once: in the 20 ms in which both flows run, more arrives than the line carries."""
    even = np.arange(1, 101, dtype=np.int64) * 10_000_000
    at_once = np.where((even > 500_000_000) & (even <= 590_000_000), 590_000_000, even)
    line, octets = 160_000.0, np.arange(1, 101, dtype=np.int64) * 100
    flows = {"main": (at_once, octets), "late": (even[58:61], octets[:3])}
    found = fairness.shared([fairness.Count.of_arrivals(name, *one) for name, one in flows.items()], line)
    told = fairness.of_flow(found, "main")
    assert told["flows_bps"] == pytest.approx(1400 * 8e9 / told["flows_common_ns"])
    assert told["flow_share"] == pytest.approx(1100 / 1400)


def test_the_line_is_that_of_all_flows() -> None:
    assert fairness.line_bps({"rate_bps": 10**8, "topology": "dumbbell"}) == 1e8
    assert fairness.line_bps({"rate_bps": 10**8, "access_rate_bps": 10**7}) == 1e7
    assert fairness.line_bps({"rate_bps": 10**8, "channels": 4}) == 4e8
    assert fairness.line_bps({"rate_bps": 10**7, "change": "8s rate=50Mbit; 9s delay=5ms"}) == 5e7
    for none in ({"rate_bps": 0}, {"rate_bps": 10**7, "rate_trace": "mahimahi:x"}, {"topology": "parking-lot"}):
        assert fairness.line_bps(none) is None


def test_what_iperf3s_server_counted_is_on_the_same_clock() -> None:
    """The program took 5 s for a test of 4 s, so the test began within the 1 s before and after it."""
    total = {"start": 0, "end": 4.0, "seconds": 4.0, "bytes": 4_000_000, "bits_per_second": 8e6}
    rows = [{"sum": total | {"start": n, "end": n + 1.0, "seconds": 1.0, "bytes": 10**6}} for n in range(4)]
    connected = {"local_host": "10.0.0.1", "local_port": 40001, "remote_host": "10.0.0.2", "remote_port": 5010}
    document = {
        "start": {"connected": [connected]},
        "intervals": rows,
        "server_output_json": {"intervals": rows},
        "end": {"sum_sent": total | {"retransmits": 0}, "sum_received": total},
    }
    got = end_event(json.dumps(document), Ran(began_ns=7 * S, ended_ns=12 * S, offset_ns=1000 * S))
    receiver = got["receiver"]
    assert receiver["t0_monotonic_ns"] == 7.5 * S and receiver["t0_error_ns"] == 0.5 * S
    assert receiver["intervals"][-1] == [3 * S, 4 * S, 10**6]
    assert got["sender"]["local"] == "10.0.0.1:40001" and got["sender"]["streams"][0]["remote"] == "10.0.0.2:5010"
    found = of(got, rival=end(8 * S, [4e6] * 20))
    told = fairness.of_flow(found, "main")
    assert "flow_share" not in told and told["flow_share_error"] == pytest.approx(3 / 3.5 - 2 / 3)
    receiver["t0_error_ns"] = 0
    receiver["t0_monotonic_ns"] = 7 * S
    assert fairness.of_flow(of(got, rival=end(8 * S, [4e6] * 30)), "main")["flow_share"] == pytest.approx(2 / 3)


def test_equal_amounts_of_streams_are_compared_when_the_first_has_ended() -> None:
    """Two streams of 1 MB: the first has the line for a second, then the other one has. Each has it alone."""
    t_ns = np.arange(0, 21) * S // 10
    first, second = (np.clip(t_ns - start, 0, S) // 1000 for start in (0, S))
    streams = [{"bytes": 10**6, "last_byte_ns": last} for last in (S, 2 * S)]
    found = fairness.of_streams({"streams": streams}, [(t_ns, first), (t_ns, second)])
    assert (found["stream_min_bps"], found["stream_max_bps"]) == (4e6, 8e6), "over their own spans"
    assert found["stream_jain"] == pytest.approx(0.5)
    assert fairness.of_streams({"streams": streams})["stream_jain"] is None, "the whole amounts say nothing"
    by_time = [{"bytes": octets, "last_byte_ns": S} for octets in (10**6, 3 * 10**6)]
    assert fairness.of_streams({"streams": by_time}, by_time=True)["stream_jain"] == pytest.approx(0.8)


def test_a_trial_keeps_its_seconds(tmp_path: Path) -> None:
    transfer = end(5 * S, [60e6] * 30) | {"flows": {"rival": end(6 * S, [30e6] * 20)}}
    files = {
        "params": {"rate_bps": 10**8, "topology": "dumbbell"},
        "flows": [{"flow_name": "rival"}],
        "transfer": transfer,
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    sharing.write(tmp_path)
    rows = parquet.read_table(tmp_path / "flows.parquet").to_pylist()
    assert [row["flow_name"] for row in rows] == ["main", "main", "rival", "main", "rival"]
    assert rows[0]["flow_jain"] is None and rows[-1]["flow_jain"] == pytest.approx(0.9)


def test_arrivals_of_a_flow_whose_sender_has_no_clock_are_on_the_others(tmp_path: Path) -> None:
    """iperf3's sender does not say when it began. Its arrivals were once placed 1.7e9 s after rttcp's, and a row for
    each second in between took 13 GB."""
    day = 1_767_225_600 * S  # CLOCK_REALTIME less CLOCK_MONOTONIC
    ports = {"main": 40001, "iperf": 40002}
    names = [{"local": f"10.0.0.1:{port}", "remote": "10.0.0.2:5010"} for port in ports.values()]
    clock = {"t0_monotonic_ns": S, "t0_realtime_ns": day + S}
    ends: list[dict[str, Any]] = [
        {"sender": {**names[0], **clock}, "receiver": {}, "summary": {}},
        {"sender": names[1], "receiver": {}, "summary": {}},
    ]
    to = {"address": "10.0.0.2", "port": 5010}
    flows = [
        {"flow": number, "unseen": 0, "sender": {"address": "10.0.0.1", "port": port}, "receiver": to}
        for number, port in enumerate(ports.values())
    ]
    files = {
        "params": {"rate_bps": 10**8, "topology": "dumbbell"},
        "flows": [{"flow_name": "iperf"}],
        "transfer": ends[0] | {"flows": {"iperf": ends[1]}},
        "summary": {"flows": flows},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    octets, each = np.arange(0, 3_000_000, 1000), [0, 1]
    parquet.write_table(
        pa.table(
            {
                "flow": np.repeat(each, octets.size),
                "seq": np.tile(octets, 2),
                "len": np.full(2 * octets.size, 1000),
                "t_received_ns": np.tile(day + 2 * S + octets * 1000, 2),
            }
        ),
        tmp_path / "segments.parquet",
    )
    found = sharing.of_trial(tmp_path)
    assert found is not None and found.edges_ns[0] == 2 * S - 1 and len(found.edges_ns) == 4
    assert found.common_bps == pytest.approx([8e6, 8e6], rel=1e-3)


def test_a_second_has_no_more_than_the_line_when_counts_are_a_second_apart() -> None:
    """Two flows of iperf3 on 5 Mbit/s. Counts do not show in which half of a second the other flow had its octets; the
    line's rate tells more about that than the assumption of a constant rate."""
    ms = S // 1000
    main = fairness.Count(
        "main", np.asarray([0, 1000, 2000, 3000, 3683]) * ms, np.cumsum([0.0, 610_876, 518_520, 286_080, 17_880])
    )
    other = fairness.Count("other", np.asarray([1310, 2310, 2798]) * ms, np.cumsum([0.0, 306_916, 134_100]))
    found = fairness.shared([main, other], 4.98e6)
    assert found is not None
    seconds = np.diff(found.edges_ns) / 1e9
    assert (found.bps.sum(axis=0) <= 4.98e6 * (1 + 1e-9)).all(), found.bps
    assert (found.bps @ seconds / 8).tolist() == pytest.approx([1_433_356, 441_016])


def test_what_was_acknowledged_before_the_first_sample_counts(tmp_path: Path) -> None:
    """On a short path 11 KB had been acknowledged before the first sample. The kernel also counts the SYN and the
    FIN."""
    each: dict[str, dict[str, Any]] = {}
    for name, t0_ns, first in (("main", 5 * S, 2_000_001), ("rival", 6 * S, 0)):
        samples = {
            "t_ns": [t0_ns + S // 100, t0_ns + S, t0_ns + 2 * S],
            "stream": [0, 0, 0],
            "bytes_acked": [first, 8_000_001, 10_000_002],
        }
        sender = {"t0_monotonic_ns": t0_ns, "elapsed_ns": 2 * S, "bytes": 10**7, "streams": [{"stream": 0}]}
        each[name] = {"sender": sender, "receiver": {}, "summary": {}}
        folder = tmp_path / "flows" / name if name != "main" else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(samples), folder / "tcp_info.parquet")
    transfer = each["main"] | {"flows": {"rival": each["rival"]}}
    files = {
        "params": {"rate_bps": 10**9, "topology": "dumbbell"},
        "flows": [{"flow_name": "rival"}],
        "transfer": transfer,
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    sharing.write(tmp_path)
    rows = parquet.read_table(tmp_path / "flows.parquet").to_pylist()
    for name in ("main", "rival"):
        own = [row["bps"] * (row["t1_ns"] - row["t0_ns"]) / 8e9 for row in rows if row["flow_name"] == name]
        assert sum(own) == pytest.approx(10**7, abs=1e-3)


def test_what_was_acknowledged_behind_a_lost_packet_has_arrived(tmp_path: Path) -> None:
    """The rival repairs a loss after 6 s. Then 2.5 MB are acknowledged at once, although they arrived before main
    began."""
    lines = {"main": ([0, 2_500_000, 5_000_000], [0, 0, 0]), "rival": ([0, 1, 5_000_000], [0, 1700, 0])}
    each: dict[str, dict[str, Any]] = {}
    for name, t0_ns in (("main", 6 * S), ("rival", 5 * S)):
        acked, sacked = lines[name]
        samples = {
            "t_ns": [t0_ns, t0_ns + S, t0_ns + 2 * S],
            "stream": [0] * 3,
            "bytes_acked": acked,
            "sacked": sacked,
            "snd_mss": [1448] * 3,
        }
        sender = {"t0_monotonic_ns": t0_ns, "elapsed_ns": 2 * S, "bytes": 5_000_000, "streams": [{"stream": 0}]}
        each[name] = {"sender": sender, "receiver": {}, "summary": {}}
        folder = tmp_path / "flows" / name if name != "main" else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(samples), folder / "tcp_info.parquet")
    files = {
        "params": {"rate_bps": 10**9, "topology": "dumbbell"},
        "flows": [{"flow_name": "rival"}],
        "transfer": each["main"] | {"flows": {"rival": each["rival"]}},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = sharing.of_trial(tmp_path)
    assert found is not None and found.common_ns == S
    assert found.common_bps == pytest.approx([20e6, (5_000_000 - 1 - 1700 * 1448) * 8], rel=1e-6)


@pytest.mark.parametrize("short", [0, 464])
def test_a_flow_is_over_when_its_sender_had_the_last_acknowledgement(tmp_path: Path, short: int) -> None:
    """The last sample is taken a little later, 768 ns in virtual time, so the flow once seemed to last too long. The
    same happened where the last acknowledgements were lost and the receiver confirms the end on another connection."""
    each: dict[str, dict[str, Any]] = {}
    for name, later_ns in (("main", 900), ("rival", 768)):
        samples = {
            "t_ns": [5 * S, 6 * S, 7 * S + later_ns],
            "stream": [0, 0, 0],
            "bytes_acked": [1, 10**6, 10**7 + 2 - short],
        }
        sender = {"t0_monotonic_ns": 5 * S, "elapsed_ns": 2 * S, "bytes": 10**7, "streams": [{"stream": 0}]}
        each[name] = {"sender": sender, "receiver": {}, "summary": {}}
        folder = tmp_path / "flows" / name if name != "main" else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(samples), folder / "tcp_info.parquet")
    files = {
        "params": {"rate_bps": 10**9, "topology": "dumbbell"},
        "flows": [{"flow_name": "rival"}],
        "transfer": each["main"] | {"flows": {"rival": each["rival"]}},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = sharing.of_trial(tmp_path)
    assert found is not None and found.common_ns == 2 * S and found.edges_ns[-1] == 7 * S
    assert found.common_bps == pytest.approx([4e7, 4e7])


def test_what_a_gateway_in_the_host_acknowledged_has_not_arrived(tmp_path: Path) -> None:
    """By the sender's samples everything arrived at once; the receivers' counts show when it really arrived."""
    rival = end(6 * S, [30e6] * 20)
    transfer = end(5 * S, [60e6] * 30) | {"flows": {"rival": rival}}
    files = {
        "params": {"rate_bps": 10**8, "topology": "dumbbell", "gateway": "lft", "gateway_model": "host"},
        "flows": [{"flow_name": "rival"}],
        "transfer": transfer,
    }
    for one, folder in ((transfer, tmp_path), (rival, tmp_path / "flows" / "rival")):
        one["sender"] = {"t0_monotonic_ns": 5 * S, "elapsed_ns": 5 * S, "bytes": 10**7, "streams": [{"stream": 0}]}
        folder.mkdir(parents=True, exist_ok=True)
        told = {"t_ns": [5 * S, 6 * S, 7 * S], "stream": [0, 0, 0], "bytes_acked": [0, 0, 10**7]}
        parquet.write_table(pa.table(told), folder / "tcp_info.parquet")
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = sharing.of_trial(tmp_path)
    assert found is not None and found.common_ns == 2 * S
    assert found.common_bps == pytest.approx([60e6, 30e6])


def test_no_line_of_text_adds_averages_of_different_spans() -> None:
    flows: list[dict[str, Any]] = [
        {"flow_name": "main", "short_term_bps": 47.8e6},
        {"flow_name": "rival", "short_term_bps": 78e6},
    ]
    row = {"state": "done", "valid": True, "short_term_bps": 47.8e6, "flows": flows}
    told = {"flows_common_ns": 10 * S, "flows_bps": 96.5e6, "flow_jain": 0.71}
    assert outcome(row | told) == "main 47.8 Mbit/s, rival 78 Mbit/s; all for 10 s: 96.5 Mbit/s, Jain 0.71  valid"
    assert "shares not known" in outcome(row | {"flows_common_ns": None})
    flows[1] |= {
        "short_term_bps": 7e3,
        "exchanges_per_s": 4.5,
        "request_bps": 7e3,
        "response_bps": 11e6,
        "latency_p50_ns": 10**8,
        "latency_p99_ns": 2 * 10**8,
    }
    assert "rival 4.5 exchanges/s, median 100 ms, p99 200 ms, responses 11 Mbit/s; all" in outcome(row | told)
    assert COLUMNS["flows_common_ns"].role == "outcome"


def test_lfp_show_says_once_what_flows_share_and_nothing_of_a_flow_that_is_alone() -> None:
    metrics = {"short_term_bps": 47.8e6, "stopped_share": None, "rtt_median_ns": None}
    told = {"flows_common_ns": 10 * S, "flows_bps": 96.5e6, "flow_share": 0.181, "flow_jain": 0.71}
    one = {"state": "done", "error": None, "verdict": VALID, "params": {"beside": None}, "metrics": metrics}
    assert show._measured(one, captured=False, several=True)[-2:] == ("", " 47.8 Mbit/s  valid")
    both = one | {"params": {"beside": "bbr"}, "metrics": metrics | told}
    assert show._measured(both, captured=False, several=True)[-2:] == (
        "18.1 %; all for 10 s: 96.5 Mbit/s, Jain 0.71",
        " 47.8 Mbit/s  valid",
    )


def test_round_trips_are_those_of_sockets_that_send(tmp_path: Path) -> None:
    """With `bidir` the samples also have the sockets of the other direction. Their RTT stays the handshake's."""
    columns = {
        "stream": [0, 1, 0, 1],
        "t_ns": [1, 1, 2, 2],
        "rtt_us": [47_000, 40_000, 49_000, 40_000],
        "min_rtt_us": [40_100, 40_000, 40_100, 40_000],
    }
    parquet.write_table(pa.table(columns), tmp_path / "tcp_info.parquet")
    one = {"stream": 0, "bytes": 1, "last_byte_ns": 1}
    files = {
        "params": {"trial": 0, "gateway": "none"},
        "status": {"state": "done", "verdict": VALID},
        "transfer": {"sender": {"streams": [one], "tcp_info": {}}, "receiver": {"streams": [one]}},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    row = results.row(tmp_path)
    assert (row["rtt_min_ns"], row["rtt_median_ns"]) == (40_100_000, 48_000_000)


def test_counts_of_the_kernel_are_of_all_streams(tmp_path: Path) -> None:
    """The sender's `tcp_info` describes its first stream alone, so time-outs of other streams were once left out."""
    samples = tmp_path / "tcp_info.parquet"
    columns = {
        "stream": [0, 1, 0, 1],
        "t_ns": [1, 1, 2, 2],
        "bytes_acked": [0, 0, 9, 8],
        "total_rto": [0, 1, 2, 3],
        "bytes_sent": [50, 50, 100, 100],
        "bytes_retrans": [0, 0, 10, 30],
        "rtt_us": [1, 1, 1, 1],
    }
    parquet.write_table(pa.table(columns), samples)
    streams = [{"stream": n, "bytes": 1, "last_byte_ns": 1} for n in (0, 1)]
    sender = {"streams": streams, "tcp_info": {"total_rto": 2, "bytes_sent": 100, "bytes_retrans": 10}}
    files = {
        "params": {"trial": 0, "gateway": "none"},
        "status": {"state": "done", "verdict": VALID},
        "transfer": {"sender": sender, "receiver": {"streams": streams}},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    row = results.row(tmp_path)
    assert (row["timeouts"], row["tcp_efficiency"]) == (5, 0.8)
    samples.unlink()
    row = results.row(tmp_path)
    assert row["timeouts"] is None and row["tcp_efficiency"] is None, "one stream's count is not the transfer's"
    sender["streams"] = streams[:1]
    (tmp_path / "transfer.json").write_text(json.dumps({"sender": sender}))
    assert (results.row(tmp_path)["timeouts"], results.row(tmp_path)["tcp_efficiency"]) == (2, 0.9)


@pytest.mark.parametrize(("pair", "moved"), [(1, True), (2, False)])
def test_the_interfaces_of_two_senders_are_not_one_line(tmp_path: Path, pair: int, moved: bool) -> None:
    """Each flow sends 2 Mbit/s, then 15, through an interface of 20 Mbit/s. Two flows of one host get at most 20
    together."""
    rival = end(5 * S, [2e6] * 10 + [15e6] * 10)
    transfer = end(5 * S, [2e6] * 10 + [15e6] * 10) | {"flows": {"rival": rival}}
    files = {
        "params": {"rate_bps": 10**8, "nic_rate_bps": 20 * 10**6, "topology": "dumbbell", "gateway": "none"},
        "flows": [{"flow_name": "rival", "pair": pair}],
        "transfer": transfer,
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = sharing.of_trial(tmp_path)
    assert found is not None
    assert (found.bps.sum(axis=0)[-1] < 21e6) == moved
