"""The captures that the benches of pktlogger read, and how their measurements become results."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from support.pktlogger_frames import ACK, FIN, SYN, T0_NS, A, B, Packet, write_pcapng

import pktlogger
from bench.log import agree, analyse, capture, index, totals
from bench.log.command import cost
from bench.log.conversation import write
from bench.registry import load
from netcommon.binaries import find
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan


def test_both_are_listed() -> None:
    assert {index.NAME, analyse.NAME, agree.NAME, capture.NAME} <= set(load())


def test_the_captures_show_one_repaired_loss_a_cycle(tmp_path: Path) -> None:
    """Seven cycles lose a packet each, and repair it."""
    sender, receiver = write(tmp_path, 10_800)
    argv: list[str | Path] = [find("pktlogger"), "analyse", "--sender", sender, "--receiver", receiver]
    subprocess.run([*argv, "-o", tmp_path / "out"], check=True, capture_output=True, timeout=30)
    found = pktlogger.read_analysis(tmp_path / "out").summary
    (flow,) = found["flows"]
    assert [found["captures"][end]["frames"] for end in ("sender", "receiver")] == [10_800, 10_800]
    assert (flow["lost"], flow["retransmitted"], flow["fast_recoveries"], flow["timeouts"]) == (7, 7, 7, 0)
    assert (flow["stops"], flow["unresolved"], flow["min_delay_ns"], flow["max_delay_ns"]) == ([], 0, 10**6, 10**6)


@pytest.mark.skipif(not (shutil.which("tshark") and shutil.which("tcptrace")), reason="not installed")
def test_three_programs_count_the_same(tmp_path: Path) -> None:
    """Compared in both directions: packets, bytes, SACK blocks, windows of 0, duplicate acknowledgements,
    retransmissions."""
    sender, _ = write(tmp_path, 10_800)
    connection, ours = totals.by_pktlogger(sender)
    shark, trace = totals.by_tshark(sender, connection), totals.by_tcptrace(sender, connection)
    assert sum(way["packets"] for way in ours) == 10_800 and ours[1]["packets with SACK"] > 0
    assert shark == ours
    assert 0 < ours[1]["duplicate ACKs"] < ours[1]["packets"] and ours[0]["duplicate ACKs"] == 0
    assert [way | {"duplicate ACKs": 0, "bytes sent again": 0} for way in ours] == [
        way | {"duplicate ACKs": 0, "bytes sent again": 0} for way in trace
    ]
    assert trace[0]["bytes sent again"] == 7 * 1448


def test_a_duplicate_is_reported_below_the_acknowledgement_or_within_the_second_block() -> None:
    blocks = [[], [(10, 20)], [(40, 50)], [(60, 70), (40, 50)], [(40, 50), (40, 80)], [(10, 20), (40, 80)]]
    columns = pa.table(
        {
            "sack_n": [len(row) for row in blocks],
            "ack": [30] * len(blocks),
            "sack_left": [[left for left, _ in row] for row in blocks],
            "sack_right": [[right for _, right in row] for row in blocks],
        }
    )
    assert totals.dsacks({name: columns[name] for name in columns.schema.names}).tolist() == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.skipif(not (shutil.which("tshark") and shutil.which("tcptrace")), reason="not installed")
@pytest.mark.parametrize("again", [0, 1, 2])
def test_tcptrace_counts_a_fin_that_is_sent_again_as_a_byte(tmp_path: Path, again: int) -> None:
    capture, client, server = tmp_path / "fin.pcapng", (A, 40000), (B, 5001)
    packets = [
        Packet(T0_NS, client, server, 100, flags=SYN),
        Packet(T0_NS + 1, server, client, 500, 101, SYN | ACK),
        Packet(T0_NS + 2, client, server, 101, 501, length=1000),
        *(Packet(T0_NS + 3 + n, client, server, 1101, 501, FIN | ACK, 200) for n in range(1 + again)),
    ]
    write_pcapng(capture, packets)
    connection, _ = totals.by_pktlogger(capture)
    assert totals.by_tcptrace(capture, connection)[0]["bytes sent again"] == again * 201
    assert totals.fins_again(capture) == again


def test_a_missing_program_is_named_before_any_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LfpError, match=r"^tshark and tcptrace: not installed; .*bench/log/debian-packages.txt"):
        totals.require()


def test_a_difference_without_an_explanation_is_wrong() -> None:
    tally = agree.Tally()
    tally.add("packets", 5, 5)
    tally.add("spurious retransmissions", 0, 2, "two DSACKs")
    assert (tally.compared, tally.agree, tally.wrong) == (2, 1, 0)
    tally.add("bytes", 7, 8)
    assert (tally.compared, tally.agree, tally.wrong) == (3, 1, 1)
    assert tally.said == ["spurious retransmissions: 0 and 2; two DSACKs", "bytes: 7 and 8"]
    assert len(load_plan(str(agree.SCENARIO)).trials) == 46


def test_a_result_for_each_other_tool_and_for_parquet() -> None:
    rounds = [
        {
            tool: {"rate": rate * scale, "memory_bytes": 1e6 * scale, "anonymous_bytes": 5e5 * scale}
            for tool, rate in rates
        }
        for scale, rates in (
            (1, (("index", 8), ("parquet", 4), ("tshark", 2))),
            (2, (("index", 8), ("parquet", 4), ("tshark", 2))),
        )
    ]
    against, parquet = index.results("log.index", rounds, 1000, ("index", "parquet"))
    assert (against.base_name, against.ours, against.ratio, against.extra["memory_MB"]) == ("tshark", 12, 4, 2)
    assert against.extra["anonymous_MB"] == 1
    assert (parquet.base_name, parquet.ours, parquet.extra["variant"]) == (None, 6, "parquet")
    (alone,) = index.results(
        "log.analyse", [{"analyse": {"rate": 5, "memory_bytes": 0, "anonymous_bytes": 0}}], 10, ("analyse",)
    )
    assert (alone.base_name, alone.ours) == (None, 5)


def test_what_tcpdump_says_at_its_end_is_counted() -> None:
    said = "listening on port0\n12 packets captured\n15 packets received by filter\n1 packet dropped by kernel\n"
    assert capture.tcpdump_counts(said) == {"packets": 12, "dropped": 1}
    with pytest.raises(LfpError, match="no counts"):
        capture.tcpdump_counts("tcpdump: port0: No such device exists")


def test_the_peak_of_a_command_is_its_own_and_a_failure_is_said() -> None:
    script = "import sys, time; held = bytearray(b'x') * (200 << 20); time.sleep(0.2); sys.exit(len(held) == 1)"
    assert 200e6 < cost([sys.executable, "-c", script]).memory_bytes < 400e6
    with pytest.raises(LfpError, match="exit status 1"):
        cost(["false"])
