"""iperf3 as a transfer tool: its document becomes an `end` event, and the search of `lfp trc` finds a limit."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lfp.commands.trc import Search, paper
from netcommon.errors import LfpError, UsageError
from rttcp.iperf3_tool import Ran, Seen, end_event, keep
from scenarios.plan import profiles
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.trial import transfer_tool
from scenarios.virtual import boxes


def document() -> dict[str, object]:
    total = {"start": 0, "end": 2.0, "seconds": 2.0, "bytes": 2_000_000, "bits_per_second": 8e6}
    return {
        "intervals": [{"sum": total | {"end": 1.0, "seconds": 1.0, "bytes": 1_500_000, "bits_per_second": 12e6}}],
        "end": {
            "streams": [],
            "sum_sent": total | {"retransmits": 3},
            "sum_received": total | {"bytes": 1_900_000},
            "cpu_utilization_percent": {"host_user": 1.0, "host_system": 10.0, "remote_system": 20.0},
            "sender_tcp_congestion": "cubic",
        },
    }


def test_a_document_becomes_an_end_event() -> None:
    end = end_event(json.dumps(document()))
    assert end["summary"]["bytes"] == 1_900_000, "what the receiver got"
    assert end["summary"]["short_term_bps"] == 7_600_000
    assert (end["summary"]["peak_bps"], end["summary"]["retransmits"]) == (None, 3)
    assert end["sender"]["cpu_system_ns"] == 200_000_000
    assert end["receiver"]["cpu_system_ns"] == 400_000_000
    with pytest.raises(ValueError, match="unable to connect"):
        end_event('{"error": "unable to connect"}')


def test_the_peak_is_the_receivers_best_full_interval() -> None:
    """A sender's first second fills buffers, so it does not count; a very short interval gives no rate."""
    rows = [(0, 1, 1_000_000), (1, 2.00001, 1_100_000), (2.00001, 2.04, 100_000)]
    sums = [
        {"start": a, "end": b, "seconds": b - a, "bytes": n, "bits_per_second": 8 * n / (b - a)} for a, b, n in rows
    ]
    server = {"server_output_json": {"intervals": [{"sum": one} for one in sums]}}
    assert end_event(json.dumps(document() | server))["summary"]["peak_bps"] == round(8_800_000 / 1.00001)
    only = {"server_output_json": {"intervals": [{"sum": sums[2]}]}}
    assert end_event(json.dumps(document() | only))["summary"]["peak_bps"] == round(sums[2]["bits_per_second"])


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("duration", "1500ms", "whole seconds"),
        ("second", "reno", "one congestion control"),
        ("congestion", "lfp_xys:x=2", "a name alone"),
    ],
)
def test_what_iperf3_cannot_do_is_refused(key: str, value: str, says: str) -> None:
    transfer = {"tool": "iperf3", "duration": "1s"} | {key: value}
    with pytest.raises(UsageError, match=rf"transfer\.{key} = '{value}': .*{says}"):
        make_plan(Document("test", {"scenario": {"name": "x"}, "transfer": transfer}))


def options_of(tool: str, **transfer: object) -> dict[str, list[str]]:
    """The options of both ends for a scenario in virtual time, which changes settings that the scenario leaves open."""
    content = {"scenario": {"name": "x"}, "transfer": {"tool": tool, "duration": "2s"} | transfer}
    (trial,) = make_plan(Document("test", content), 1).trials
    setting = boxes.settled(trial, "auto").setting
    own = transfer_tool.commands(setting, profiles.of(setting.profile), "10.0.0.1", Path("samples"))
    words = {"sender": own.sender, "receiver": own.receiver}
    return {
        end: [word for word in argv if word.startswith("-") and word not in ("-m", "--")] for end, argv in words.items()
    }


def test_iperf3_gets_no_option_that_the_scenario_does_not_name() -> None:
    """With --length 8192, rttcp's default, iperf3 is a third slower than with its own. --get-server-output gives the
    receiver's figures. iperf3 takes no samples."""
    plain = {
        "sender": ["--client", "--port", "--get-server-output", "--congestion", "--time", "-4"],
        "receiver": ["--port", "-4"],
    }
    assert options_of("iperf3", sample="0") == plain
    sampled = options_of("iperf3", sample="20ms")
    assert sampled == plain | {"sender": ["--samples", "--sample-ns", "--watcher", *plain["sender"]]}
    named = options_of("iperf3", sample="0", length="64KB", window="1MB", nodelay=True, family="ipv6")
    assert sorted(named["sender"]) == sorted([
        "--client", "--port", "--get-server-output", "--congestion", "--time", "--length", "--window", "--no-delay",
        "-6",
    ])  # fmt: skip


def test_rttcp_gets_the_values_of_the_scenarios_table_and_no_others() -> None:
    """Length of writes, streams, zero copy and samples are keys of the scenario with defaults of their own."""
    found = options_of("rttcp", sample="0")
    assert sorted(found["sender"]) == sorted([
        "--transmit", "--json", "--port", "--duration", "--length", "--congestion", "--interval", "--timeout",
        "--parallel", "--zerocopy", "--skip-rx-copy", "-4", "--parent-death",
    ])  # fmt: skip


def sample(t_ns: int, stream: int, port: int, **more: int) -> str:
    row = {"t_ns": t_ns, "stream": stream, "local_port": port, "remote_port": 5010, **more}
    return json.dumps(row, separators=(",", ":")) + "\n"


def test_of_iperf3s_connections_the_one_with_the_data_is_kept(tmp_path: Path) -> None:
    """The first connection is for control. Ports that only share digits are different ports. The data connection
    appeared between the samples at 20 and 30, which began after 10; at 40 it has sent its cookie, twice."""
    file = tmp_path / "samples.jsonl"
    sent = {30: {"bytes_sent": 0}, 40: {"bytes_sent": 74, "bytes_retrans": 37}, 50: {"bytes_sent": 38}, 60: {}}
    own = {t_ns: sample(t_ns, 1, 4567, **more) for t_ns, more in sent.items()}
    lines = [sample(t_ns, 0, 45678) + own.get(t_ns, "") + sample(t_ns, 2, 56780) for t_ns in range(10, 70, 10)]
    file.write_text("".join(lines))
    assert keep(file, "10.0.0.1:4567") == Seen(1, 10, 50)
    assert file.read_text() == "".join(own.values())
    assert keep(file, "[fd00::1]:4567") == Seen(1, 0, 50) and file.read_text() == "".join(own.values())
    assert keep(file, "10.0.0.1:5010") is None and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("seen", "earliest_s", "latest_s"),
    [
        (None, 100, 101),
        (Seen(1, 0, None), 100, 101),
        (Seen(1, 100_400_000_000, 100_600_000_000), 100.4, 100.6),
        (Seen(1, 99_000_000_000, 100_600_000_000), 100, 100.6),
        (Seen(1, 100_400_000_000, 105_000_000_000), 100.4, 101),
        (Seen(1, 102_000_000_000, 103_000_000_000), 100, 101),  # outside of the client's run: samples by another clock
    ],
)
def test_the_beginning_lies_between_all_that_is_known(seen: Seen | None, earliest_s: float, latest_s: float) -> None:
    """A client of 3 s whose server counted for 2 s. ``seen``: when samples showed that the data connection did not
    exist yet, and that it had sent."""
    sums = {"start": 0, "end": 2.0, "seconds": 2.0, "bytes": 1, "bits_per_second": 4}
    text = json.dumps(document() | {"server_output_json": {"intervals": [{"sum": sums}]}})
    end = end_event(text, Ran(100 * 10**9, 103 * 10**9, 7, seen))
    for side in (end["sender"], end["receiver"]):
        middle_ns, error_ns = round((earliest_s + latest_s) / 2 * 1e9), round((latest_s - earliest_s) / 2 * 1e9)
        assert (side["t0_monotonic_ns"], side["t0_error_ns"]) == (middle_ns, error_ns)
        assert side["t0_realtime_ns"] == middle_ns + 7


@pytest.mark.parametrize("seen", [None, Seen(1, 100_400_000_000, None), Seen(1, 100_400_000_000, 100_600_000_000)])
def test_samples_say_when_a_test_began_whose_server_counted_nothing(seen: Seen | None) -> None:
    """Nothing arrived until the client's time was over, so the server's document has no intervals."""
    end = end_event(json.dumps(document()), Ran(100 * 10**9, 103 * 10**9, 7, seen))
    known = seen is not None and seen.sent_ns is not None
    began = {"t0_monotonic_ns": 100_500_000_000, "t0_realtime_ns": 100_500_000_007, "t0_error_ns": 100_000_000}
    assert {key: end["sender"].get(key) for key in began} == (began if known else dict.fromkeys(began))
    assert not began.keys() & end["receiver"].keys()


@pytest.mark.parametrize("limit", [600, 1234, 1999])
def test_the_search_comes_as_near_as_asked(limit: int) -> None:
    """Above the limit the path carries 0.8 of the limit. The search must not take this for the limit, although lower
    rates carry less."""
    search = Search(lambda pps: float(pps) if pps <= limit else 0.8 * limit, 300, 3000, 0.005)
    best = search.best()
    assert best <= limit < math.ceil(best * 1.005) + 1
    assert len(search.curve) <= search.trials()
    assert round(best * 1.01) in search.curve and round(best * 0.99) in search.curve


def test_a_limit_outside_the_range_is_said() -> None:
    with pytest.raises(LfpError, match="--high 200: the receiver takes this rate"):
        Search(float, 100, 200, 0.01).best()
    with pytest.raises(LfpError, match="--low 100: nothing arrived"):
        Search(lambda pps: 0.0, 100, 200, 0.01).best()


def test_the_papers_best_rate_stands_beside_ours() -> None:
    assert paper(("tgnle-2006-fig4",), 1500) == [
        {"name": "tgnle-2006-fig4", "packets_per_s": 6950.0, "short_term_bps": 80508800.0}
    ]
