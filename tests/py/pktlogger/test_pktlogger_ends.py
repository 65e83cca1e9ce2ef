"""What an operator has: one capture alone, ends behind NAT, captures that do not belong together, swapped files, short
snap lengths. Values are those of tshark 4 and tcptrace 6.6, or are known because the conversation was made."""

from __future__ import annotations

import gzip
import heapq
import json
import math
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.pktlogger_conversation import FAST, ISN_R, ISN_S, MSS, NEW, SPURIOUS, TIMEOUT, Conversation, at
from support.pktlogger_frames import ACK, SYN, B, Packet, Pcapng, options, write_pcap, write_pcapng

import pktlogger
from netcommon import readable
from netcommon.binaries import find

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
COUNTS = ("bytes", "segments", "retransmitted", "retransmitted_bytes", "lost", "lost_bytes", "spurious", "timeouts",
          "fast_recoveries", "duplicate_acks", "min_rtt_ns", "max_rtt_ns", "max_unacknowledged_bytes")  # fmt: skip


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find("pktlogger"), *arguments], capture_output=True, text=True, timeout=60)


def write(folder: Path, name: str, packets: list[Packet]) -> Path:
    file = folder / f"{name}.pcapng"
    write_pcapng(file, sorted(packets, key=lambda p: p.t_ns), "<")
    return file


def snapped(file: Path, packets: list[Packet], most: int) -> Path:
    """A capture with at most ``most`` octets of each frame."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for p in sorted(packets, key=lambda p: p.t_ns):
        data, wire = p.frame()
        out += struct.pack("<IIII", p.t_ns // 10**9, p.t_ns % 10**9, min(len(data), most), wire) + data[:most]
    file.write_bytes(out)
    return file


def analyse(folder: Path, *arguments: str | Path) -> pktlogger.Analysis:
    done = run("analyse", *arguments, "-o", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return pktlogger.read_analysis(folder)


def flow_of(found: pktlogger.Analysis) -> dict[str, Any]:
    (flow,) = found.summary["flows"]
    return dict(flow)


def alone(folder: Path, end: str, packets: list[Packet]) -> tuple[pktlogger.Analysis, dict[str, Any]]:
    """The analysis of one end's packets alone, and its only flow."""
    found = analyse(folder / end, f"--{end}", write(folder, end, packets))
    return found, flow_of(found)


def refused(*arguments: str | Path) -> str:
    done = run("analyse", *arguments, "--json")
    assert done.returncode in (1, 2), done.stdout
    return str(json.loads(done.stdout)["message"])


# One end alone


def _recovered() -> Conversation:
    """Ten packets; the third and the tenth are lost. A fast retransmission repairs the third, a time-out the tenth."""
    c = Conversation()
    for i in range(10):
        c.send(100 + i, 1 + i * MSS, arrive=[] if i in (2, 9) else None)
    c.ack(110, 1 + MSS)
    c.ack(111, 1 + 2 * MSS)
    for i in range(3, 9):
        c.ack(110 + i, 1 + 2 * MSS, sack=(1 + 3 * MSS, 1 + (i + 1) * MSS))
    c.send(126, 1 + 2 * MSS)
    c.ack(136, 1 + 9 * MSS)
    c.send(400, 1 + 9 * MSS)
    c.ack(410, 1 + 10 * MSS)
    c.send(421, 1 + 10 * MSS)
    c.ack(431, 1 + 11 * MSS)
    return c


def test_the_senders_capture_alone_counts_as_both_do(tmp_path: Path) -> None:
    c = _recovered()
    _, both = c.analyse(tmp_path)
    found, flow = alone(tmp_path, "sender", c.sender)
    assert {name: flow[name] for name in COUNTS} == {name: both[name] for name in COUNTS}
    assert (flow["lost"], flow["timeouts"], flow["fast_recoveries"], flow["spurious"]) == (2, 1, 1, 0)
    assert flow["lost_by"] == "acknowledgements" and both["lost_by"] == "both captures"
    assert found.segments["kind"].to_pylist() == [NEW] * 10 + [FAST, TIMEOUT, NEW]
    assert flow["limits_ns"].keys() == both["limits_ns"].keys()
    assert flow["losses_by_cause"] == {"unknown": 2}
    assert [row["seq"] for row in found.losses.to_pylist()] == [1 + 2 * MSS, 1 + 9 * MSS]


@pytest.mark.parametrize("name", ["15-full", "15-mid", "06-zwp-byte", "06b-more", "37-cut"])
def test_the_senders_capture_alone_counts_as_both_do_in_captures_of_others(name: str, tmp_path: Path) -> None:
    snd, rcv = CAPTURES / f"{name}-snd.pcap", CAPTURES / f"{name}-rcv.pcap"
    both = flow_of(analyse(tmp_path / "both", "--sender", snd, "--receiver", rcv))
    flow = flow_of(analyse(tmp_path / "one", "--sender", snd))
    assert {name: flow[name] for name in COUNTS} == {name: both[name] for name in COUNTS}
    assert flow["limits_ns"].keys() == both["limits_ns"].keys()
    assert [stop["cause"] for stop in flow["stops"]] == [stop["cause"] for stop in both["stops"]]


def test_what_needs_both_ends_is_null_with_the_senders_capture_alone(tmp_path: Path) -> None:
    c = _recovered()
    found, flow = alone(tmp_path, "sender", c.sender)
    assert found.summary["ends"] == "sender" and found.summary["captures"]["receiver"] is None
    assert found.summary["clock"] is None
    for name in ("min_delay_ns", "reordered", "unseen", "ce_received"):
        assert flow[name] is None, name
    assert all(scale["received_bps"] is None for scale in flow["rates"])
    assert set(found.segments["t_received_ns"].to_pylist()) == {-1}
    pktlogger.analysis_to_parquet(tmp_path / "sender", tmp_path)
    segments = pq.read_table(tmp_path / "segments.parquet")
    assert segments["t_received_ns"].null_count == segments["delay_ns"].null_count == 13
    assert segments["t_sent_ns"].null_count == 0
    assert segments["t_acked_ns"][0].as_py() == at(120) and segments["rtt_ns"][0].as_py() == 20_000_000
    assert pq.read_table(tmp_path / "acks.parquet")["t_sent_ns"].null_count == found.acks.num_rows


def test_a_duplicate_that_is_reported_was_needless(tmp_path: Path) -> None:
    """RFC 2883: the first copy's acknowledgement was lost, and the second copy's reports a duplicate. Without
    the report nothing tells the copies apart, and the first one counts as lost."""
    for reported, fates in ((True, (0, 1)), (False, (1, 0))):
        c = Conversation()
        c.send(100, 1)
        c.ack(110, 1 + MSS, lost=True)
        c.send(400, 1)
        c.ack(410, 1 + MSS, sack=(1, 1 + MSS) if reported else None)
        folder = tmp_path / str(reported)
        folder.mkdir()
        found, flow = alone(folder, "sender", c.sender)
        assert (flow["lost"], flow["spurious"]) == fates
        assert found.segments["kind"].to_pylist() == [NEW, SPURIOUS if reported else TIMEOUT]


def test_what_is_overtaken_when_the_capture_ends_is_not_lost(tmp_path: Path) -> None:
    """The second packet is reported as arrived, and the capture ends within a round trip of the first one."""
    c = Conversation()
    c.send(100, 1)
    c.send(100.5, 1 + MSS)
    c.ack(110.5, 1, sack=(1 + MSS, 1 + 2 * MSS))
    _, flow = alone(tmp_path, "sender", c.sender)
    assert (flow["lost"], flow["in_flight_at_end"]) == (0, 1)
    c.send(150, 1 + 2 * MSS)  # longer
    (tmp_path / "longer").mkdir()
    _, flow = alone(tmp_path / "longer", "sender", c.sender)
    assert (flow["lost"], flow["in_flight_at_end"]) == (1, 1)


@pytest.mark.parametrize("ends", ["sender", "both"])
def test_a_copy_of_what_was_sent_before_the_capture_is_a_copy(ends: str, tmp_path: Path) -> None:
    """The sender's capture begins behind the first of three packets, which is lost, and sent again."""
    c = Conversation()
    for i in range(3):
        c.send(100 + i, 1 + i * MSS, arrive=[] if i == 0 else None)
    c.send(400, 1)
    c.ack(410, 1 + 3 * MSS)
    c.send(421, 1 + 3 * MSS)
    c.ack(431, 1 + 4 * MSS)
    late = [p for p in c.sender if p.t_ns > at(100)]
    argv: list[str | Path] = ["--sender", write(tmp_path, "s", late)]
    if ends == "both":
        argv += ["--receiver", write(tmp_path, "r", [p for p in c.receiver if p.t_ns > at(101)])]
    found = analyse(tmp_path / "o", *argv)
    flow = flow_of(found)
    assert (flow["bytes"], flow["retransmitted"], flow["retransmitted_bytes"]) == (3 * MSS, 1, MSS)
    assert found.segments["transmission"].to_pylist() == [1, 1, 2, 1]


@pytest.mark.parametrize("missed", [False, True])
def test_what_follows_a_missed_answer_to_the_syn_is_no_round_trip(missed: bool, tmp_path: Path) -> None:
    """The receiver opened the connection, and its capture misses the SYN+ACK; the first data come 20 ms later. So 40 ms
    are not known to be a round trip, and a packet that comes 22 ms after one that overtook it is a retransmission."""
    c = Conversation()
    c.send(140, 1, arrive=[(0, 1, 10)])
    c.send(141, 1 + MSS, arrive=[])
    c.send(142, 1 + 2 * MSS, arrive=[(0, 1, 10)])
    c.ack(152.1, 1 + MSS, sack=(1 + 2 * MSS, 1 + 3 * MSS))
    c.send(164, 1 + MSS, arrive=[(0, 1, 10)])
    c.ack(174.1, 1 + 3 * MSS)
    data = [p for p in c.receiver if p.t_ns > at(120)]
    data = [replace(p, ip_id=0) for p in data]
    syn = Packet(at(110), c.b, c.a, ISN_R, 0, SYN, 0, 60000, 0, options(MSS))
    answer = Packet(at(130), c.a, c.b, ISN_S, ISN_R + 1, SYN | ACK, 0, 60000, 0, options(MSS))
    third = Packet(at(130.01), c.b, c.a, ISN_R + 1, ISN_S + 1, ACK, 0, 60000)
    _, flow = alone(tmp_path, "receiver", [syn, *([] if missed else [answer]), third, *data])
    assert flow["min_rtt_ns"] == (None if missed else 20 * 10**6)
    assert (flow["bytes"], flow["retransmitted"], flow["reordered"]) == (3 * MSS, 1, 0)


def test_an_old_time_stamp_that_comes_back_says_that_a_copy_was_needless(tmp_path: Path) -> None:
    """RFC 3522: the acknowledgement came late, and it echoes the time stamp of the first copy."""
    for echo, fates in ((101, (0, 1)), (401, (1, 0))):
        c = Conversation(ts=True)
        c.send(100, 1)
        c.send(400, 1)
        c.ack(412, 1 + MSS)
        c.sender[-1] = replace(c.sender[-1], options=options(ts=(500, echo)))
        folder = tmp_path / str(echo)
        folder.mkdir()
        _, flow = alone(folder, "sender", c.sender)
        assert (flow["lost"], flow["spurious"]) == fates, echo


def test_an_acknowledgement_that_comes_too_soon_is_of_an_earlier_copy(tmp_path: Path) -> None:
    """The round trip takes 20 ms, and the acknowledgement comes 5 ms after the copy."""
    c = Conversation()
    c.send(100, 1)
    c.send(400, 1)
    c.ack(395, 1 + MSS)  # it is there at 405
    _, flow = alone(tmp_path, "sender", c.sender)
    assert (flow["lost"], flow["spurious"]) == (0, 1)


def test_the_receivers_capture_alone_shows_losses_as_holes(tmp_path: Path) -> None:
    c = _recovered()
    found, flow = alone(tmp_path, "receiver", c.receiver)
    assert (flow["bytes"], flow["segments"], flow["retransmitted"], flow["lost"], flow["spurious"]) == (
        11 * MSS, 11, 1, 1, 0)  # fmt: skip
    assert flow["lost_bytes"] == MSS and flow["reordered"] == 0  # nothing followed the tenth, so it left no hole
    assert [(row["seq"], row["len"]) for row in found.losses.to_pylist()] == [(1 + 2 * MSS, MSS)]
    assert flow["min_rtt_ns"] == 20_000_000  # SYN+ACK to ACK
    assert flow["duplicate_acks"] == 6
    for name in ("limits_ns", "stops", "timeouts", "max_unacknowledged_bytes", "min_delay_ns"):
        assert flow[name] is None, name
    assert set(found.segments["t_sent_ns"].to_pylist()) == {-1}
    assert found.segments["t_received_ns"][0].as_py() == at(110)
    pktlogger.analysis_to_parquet(tmp_path / "receiver", tmp_path)
    assert pq.read_table(tmp_path / "segments.parquet")["t_sent_ns"].null_count == 11


@pytest.mark.parametrize("ids", [True, False])
def test_what_was_overtaken_fills_a_hole_and_was_not_lost(ids: bool, tmp_path: Path) -> None:
    """The second packet comes 4 ms behind the third one. A round trip takes 20 ms."""
    c = Conversation(ids=ids)
    for i in range(3):
        c.send(100 + i, 1 + i * MSS, arrive=[(0, 1, 15)] if i == 1 else None)
    _, flow = alone(tmp_path, "receiver", c.receiver)
    assert (flow["bytes"], flow["lost"], flow["reordered"], flow["retransmitted"]) == (3 * MSS, 0, 1, 0)


def test_a_needless_copy_and_a_capture_that_missed_a_packet_at_the_receiver(tmp_path: Path) -> None:
    c = Conversation()
    c.send(100, 1)
    c.ack(110, 1 + MSS)
    c.send(300, 1)  # again
    c.send(301, 1 + MSS)
    c.send(302, 1 + 2 * MSS)
    c.ack(312, 1 + 3 * MSS)
    missed = [p for p in c.receiver if not (p.length and p.seq == ISN_S + 1 + MSS)]
    _, flow = alone(tmp_path, "receiver", missed)
    assert (flow["spurious"], flow["lost"], flow["unseen"], flow["acked_unseen_bytes"]) == (1, 0, 1, MSS)


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_closed_window_shows_at_either_end(end: str, tmp_path: Path) -> None:
    """tcptrace counts one zero window advertisement, and tshark one packet with tcp.analysis.zero_window."""
    c = Conversation()
    c.send(100, 1)
    c.ack(110, 1 + MSS, window=0)
    c.ack(510, 1 + MSS)
    c.send(521, 1 + MSS)
    found, _ = alone(tmp_path, end, c.sender if end == "sender" else c.receiver)
    way = 10 if end == "sender" else 0
    kinds = found.summary["event_kinds"]
    closed = [row for row in found.events.to_pylist() if kinds[row["kind"]] == "zero_window"]
    assert [(row["t0_ns"], row["t1_ns"]) for row in closed] == [(at(110 + way), at(510 + way))]


def test_keep_alives_and_probes_are_no_data_at_the_receiver(tmp_path: Path) -> None:
    flow = flow_of(analyse(tmp_path / "k", "--receiver", CAPTURES / "05-keepalive-garbage-rcv.pcap"))
    assert (flow["bytes"], flow["segments"], flow["retransmitted"]) == (200, 2, 0)
    flow = flow_of(analyse(tmp_path / "z", "--receiver", CAPTURES / "06-zwp-byte-rcv.pcap"))
    assert (flow["bytes"], flow["retransmitted"], flow["lost"]) == (2000, 0, 0)


def test_text_needs_no_folder_and_says_what_is_missing(tmp_path: Path) -> None:
    c = _recovered()
    snd, rcv = write(tmp_path, "s", c.sender), write(tmp_path, "r", c.receiver)
    for end, file in (("sender", snd), ("receiver", rcv)):
        done = run("analyse", f"--{end}", file, "--human")
        assert done.returncode == 0 and f"Only the {end}'s capture was given" in done.stdout, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.pcapng", "s.pcapng"]
    packed = tmp_path / "s.pcapng.gz"
    packed.write_bytes(gzip.compress(snd.read_bytes()))
    plain = run("analyse", "--sender", snd, "--human").stdout
    assert run("analyse", "--sender", packed, "--human").stdout == plain
    assert refused("--sender", snd).startswith("--output is missing")
    assert refused("-o", tmp_path / "x").startswith("--sender or --receiver, or both, is missing")
    assert "--box has no effect with one capture alone" in refused("--sender", snd, "--box", "b", "-o", tmp_path / "x")


def _tcptrace(file: Path) -> dict[str, list[str]]:
    """tcptrace's output for the only connection: for each row, the values of both directions."""
    said = subprocess.run(["tcptrace", "-lrn", file], capture_output=True, text=True, timeout=60, check=True).stdout
    rows: dict[str, list[str]] = {}
    for line in said.splitlines():
        pair = re.findall(r"(?:^|\s{2,})([A-Za-z][A-Za-z /]*):\s+(\S+)", line)
        if len(pair) == 2 and pair[0][0].strip() == pair[1][0].strip():
            rows[pair[0][0].strip()] = [pair[0][1], pair[1][1]]
    return rows


def _tshark(file: Path, expression: str) -> int:
    argv = ["tshark", "-n", "-r", str(file), "-Y", expression, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True).stdout.split())


@pytest.mark.skipif(not (shutil.which("tcptrace") and shutil.which("tshark")), reason="not installed: tcptrace, tshark")
@pytest.mark.parametrize("kind", ["recovered", "closed window", "15-full", "06b-more"])
def test_tcptrace_and_tshark_count_the_same_at_the_sender(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    if kind in ("15-full", "06b-more"):
        file = CAPTURES / f"{kind}-snd.pcap"
    else:
        c = _recovered()
        if kind == "closed window":
            c.ack(440, 1 + 11 * MSS, window=0)
            c.ack(540, 1 + 11 * MSS)
        write_pcap(file, sorted(c.sender, key=lambda p: p.t_ns), nano=False)
    found = analyse(tmp_path / "o", "--sender", file)
    flow = flow_of(found)
    rows = _tcptrace(file)
    assert flow["bytes"] == int(rows["unique bytes sent"][0])
    assert flow["retransmitted"] == int(rows["rexmt data pkts"][0])
    assert flow["min_rtt_ns"] / 1e6 == pytest.approx(float(rows["RTT min"][0]), abs=0.11)
    closed = [row for row in found.events.to_pylist() if row["kind"] == 3]
    assert len(closed) == _tshark(file, "tcp.analysis.zero_window") == (kind == "closed window")
    assert flow["duplicate_acks"] == _tshark(file, "tcp.analysis.duplicate_ack")


def _overtaken(seed: int) -> Conversation:
    """Sixty packets; lost ones are sent again at the end. Each arrival is acknowledged at once, with one of two
    windows, and acknowledgements take 10 to 16 ms, so they overtake one another."""
    draw, c, window = random.Random(seed), Conversation(), 60000
    lost, ways = {number for number in range(1, 60) if draw.random() < 0.1}, []
    for number in range(60):
        c.send(100 + number, 1 + number * MSS, arrive=[] if number in lost else None)
    hole = min(lost, default=60)
    for number in range(60):
        if number not in lost:
            window = draw.choice([window] * 8 + [60000, 61000])
            c.ack(110 + number, 1 + min(number + 1, hole) * MSS, window=window)
            ways.append(draw.uniform(10, 16))
    for number, way_ms in enumerate(ways, len(c.sender) - len(ways)):
        packet = c.sender[number]
        c.sender[number] = replace(packet, t_ns=packet.t_ns + int((way_ms - c.way_ms) * 1e6))
    for number in sorted(lost):
        c.send(300 + number, 1 + number * MSS)
    return c


def _duplicates(packets: list[Packet], sender: tuple[str, int]) -> tuple[int, int]:
    """Duplicate acknowledgements in a capture at the sender: by RFC 5681, section 2, and by tshark's rule."""
    high = una = window = ours = theirs = 0
    before: Packet | None = None
    for packet in sorted(packets, key=lambda p: p.t_ns):
        if packet.src == sender:
            high = max(high, packet.seq - ISN_S + packet.length)
            continue
        ack, plain = packet.ack - ISN_S, packet.flags == ACK and not packet.length
        ours += plain and ack == una and packet.window == window and high > una
        theirs += bool(plain and before and packet.ack == before.ack and packet.window == before.window)
        before = packet
        if ack >= una:
            una, window = ack, packet.window
    return ours, theirs


def test_duplicate_acknowledgements_that_overtake_each_other_are_rfc_5681s(tmp_path: Path) -> None:
    """The window of an overtaken acknowledgement was once taken for the current one, so the next duplicate was missed.
    tshark compares with the packet before; it may differ only by that rule."""
    differ = 0
    for seed in range(20):
        c = _overtaken(seed)
        (tmp_path / str(seed)).mkdir()
        _, flow = alone(tmp_path / str(seed), "sender", c.sender)
        ours, theirs = _duplicates(c.sender, c.a)
        assert flow["duplicate_acks"] == ours, f"seed {seed}"
        differ += ours != theirs
        if shutil.which("tshark"):
            assert theirs == _tshark(tmp_path / str(seed) / "sender.pcapng", "tcp.analysis.duplicate_ack"), seed
    assert differ > 5


# NAT


def _translated(packets: list[Packet], to: tuple[str, int]) -> list[Packet]:
    """The packets as they are behind a router that gives the client another address and port."""
    client = ("10.0.0.1", 40000)

    def change(end: tuple[str, int]) -> tuple[str, int]:
        return to if end == client else end

    return [replace(p, src=change(p.src), dst=change(p.dst)) for p in packets]


@pytest.mark.parametrize("whole", [True, False], ids=["handshake", "mid-connection"])
def test_a_pair_through_nat_is_joined_by_its_numbers(whole: bool, tmp_path: Path) -> None:
    c = _recovered()
    ends = [c.sender, c.receiver] if whole else [[p for p in e if p.t_ns >= at(100)] for e in (c.sender, c.receiver)]
    snd, rcv = write(tmp_path, "s", ends[0]), write(tmp_path, "r", ends[1])
    plain = flow_of(analyse(tmp_path / "plain", "--sender", snd, "--receiver", rcv))
    assert plain["translated"] is None
    nat = write(tmp_path, "n", _translated(ends[1], ("192.0.2.1", 61001)))
    flow = flow_of(analyse(tmp_path / "nat", "--sender", snd, "--receiver", nat))
    assert flow.pop("translated") == {
        "sender": {"address": "192.0.2.1", "port": 61001},
        "receiver": {"address": "10.0.0.2", "port": 5010},
    }
    plain.pop("translated")
    assert flow == plain
    said = run("analyse", "--sender", snd, "--receiver", nat, "--human").stdout
    assert "10.0.0.1:40000 is 192.0.2.1:61001 at the other end (NAT)." in said


def test_a_firewall_that_writes_its_own_numbers_cannot_be_joined(tmp_path: Path) -> None:
    c = _recovered()
    moved = [
        replace(p, seq=p.seq + 12345) if p.src == c.a else replace(p, ack=p.ack and p.ack + 12345) for p in c.receiver
    ]
    message = refused(
        "--sender", write(tmp_path, "s", c.sender), "--receiver", write(tmp_path, "r", moved), "-o", tmp_path / "o"
    )
    assert "10.0.0.1:40000 and 10.0.0.2:5010 is in both, but with other sequence numbers" in message
    assert "Analyse each capture alone" in message


# No connection in common


def _apart(tmp_path: Path, packets: list[Packet], c: Conversation | None = None) -> str:
    c = c or _recovered()
    return refused(
        "--sender", write(tmp_path, "s", c.sender), "--receiver", write(tmp_path, "r", packets), "-o", tmp_path / "o"
    )


def _other_ports(packets: list[Packet]) -> list[Packet]:
    """Another connection between the same hosts."""
    return [
        replace(p, src=(p.src[0], p.src[1] + 1), dst=(p.dst[0], p.dst[1] + 1), seq=p.seq + 7, ack=p.ack + 7)
        for p in packets
    ]


def test_other_addresses_are_named(tmp_path: Path) -> None:
    others = [
        replace(p, src=("192.0.2." + p.src[0][-1], p.src[1]), dst=("192.0.2." + p.dst[0][-1], p.dst[1]))
        for p in _other_ports(_recovered().receiver)
    ]
    message = _apart(tmp_path, others)
    assert "the sender's has 10.0.0.1:40000 and 10.0.0.2:5010" in message
    assert "the receiver's 192.0.2.1:40001 and 192.0.2.2:5011" in message
    assert "no initial sequence numbers are the same" in message


def test_other_times_are_named(tmp_path: Path) -> None:
    later = [replace(p, t_ns=p.t_ns + 7200 * 10**9) for p in _other_ports(_recovered().receiver)]
    message = _apart(tmp_path, later)
    assert "the same hosts, but at other times: the sender's capture is of 2023-11-14 22:13:20" in message
    assert "the receiver's of 2023-11-15 00:13:20" in message


def test_one_direction_alone_is_named(tmp_path: Path) -> None:
    c = _recovered()
    assert "has only the acknowledgements of 1 connections" in _apart(tmp_path, [p for p in c.receiver if p.src == c.b])


def test_cut_headers_and_unknown_link_types_are_named(tmp_path: Path) -> None:
    good = CAPTURES / "15-full-rcv.pcap"
    data = (CAPTURES / "15-full-snd.pcap").read_bytes()
    out, where = data[:24], 24
    while where < len(data):
        seconds, fraction, captured, wire = struct.unpack_from("<IIII", data, where)
        out += struct.pack("<IIII", seconds, fraction, 40, wire) + data[where + 16 : where + 56]
        where += 16 + captured
    cut, unread = tmp_path / "cut.pcap", tmp_path / "unread.pcap"
    cut.write_bytes(out)
    unread.write_bytes(data[:20] + struct.pack("<I", 127) + data[24:])
    message = refused("--sender", cut, "--receiver", good, "-o", tmp_path / "o")
    assert "has no TCP packet with whole headers" in message and "tcpdump -s 96" in message
    message = refused("--sender", good, "--receiver", unread, "-o", tmp_path / "o")
    assert "packets of link type 127, which is not read, and no TCP packet" in message


# Swapped ends


def test_swapped_captures_are_exchanged(tmp_path: Path) -> None:
    c = _recovered()
    snd, rcv = write(tmp_path, "s", c.sender), write(tmp_path, "r", c.receiver)
    right = flow_of(analyse(tmp_path / "right", "--sender", snd, "--receiver", rcv))
    assert flow_of(analyse(tmp_path / "wrong", "--sender", rcv, "--receiver", snd)) == right
    said = run("analyse", "--sender", rcv, "--receiver", snd, "--human").stdout.splitlines()[0]
    assert "No data leave the machine of" in said and f"--sender '{snd}' --receiver '{rcv}'" in said


def test_a_capture_of_the_other_end_is_noticed(tmp_path: Path) -> None:
    """The handshake shows it: at the receiver the SYN+ACK leaves at once, and the ACK comes a round trip later."""
    c = _recovered()
    snd, rcv = write(tmp_path, "s", c.sender), write(tmp_path, "r", c.receiver)
    for file, given, end in ((snd, "receiver", "sender"), (rcv, "sender", "receiver")):
        found = analyse(tmp_path / end, f"--{given}", file)
        assert found.summary["ends"] == end and found.summary["swapped"] is True
        said = run("analyse", f"--{given}", file, "--human").stdout.splitlines()[0]
        assert f"was taken at the {end} of the data" in said and f"as --{end}" in said


def test_what_is_said_of_an_exchanged_capture_names_its_file(tmp_path: Path) -> None:
    """A line about cut packets names the file that has them, whether it was given as sender's or receiver's."""
    c = Conversation(ts=True)
    c.send(100, 1)
    c.send(101, 1 + MSS)
    c.ack(111, 1, sack=(1 + MSS, 1 + 2 * MSS))
    c.ack(135, 1 + 2 * MSS)
    snd, rcv = snapped(tmp_path / "s.pcap", c.sender, 68), snapped(tmp_path / "r.pcap", c.receiver, 65535)
    for given in (("--receiver", snd), ("--sender", rcv, "--receiver", snd), ("--sender", snd, "--receiver", rcv)):
        done = run("analyse", *given, "-o", tmp_path / "o")
        assert f"'{snd}': 3 TCP packets were cut within their options" in done.stderr, (given, done.stderr)
        shutil.rmtree(tmp_path / "o")


def _late(tmp_path: Path, name: str, packets: list[Packet], ahead_ns: int = 0) -> Path:
    """A capture from 100 ms on, whose clock is ahead."""
    late = sorted((p for p in packets if p.t_ns >= at(100)), key=lambda p: p.t_ns)
    return write(tmp_path, name, [replace(p, t_ns=p.t_ns + ahead_ns) for p in late])


def test_swapped_captures_of_mid_connection_are_exchanged(tmp_path: Path) -> None:
    """No handshake shows at which end a capture was taken. Round trips show it: with the ends swapped they are
    negative, whatever the clocks."""
    c = Conversation()
    for i in range(20):
        c.send(100 + 30 * i, 1 + i * MSS)
        c.ack(110 + 30 * i, 1 + (i + 1) * MSS)
    snd, rcv = _late(tmp_path, "s", c.sender), _late(tmp_path, "r", c.receiver, 3600 * 10**9)
    right = flow_of(analyse(tmp_path / "right", "--sender", snd, "--receiver", rcv))
    assert right["lost"] == 0 and right["bytes"] == 20 * MSS
    assert flow_of(analyse(tmp_path / "wrong", "--sender", rcv, "--receiver", snd)) == right
    said = run("analyse", "--sender", rcv, "--receiver", snd, "--human").stdout.splitlines()[0]
    assert f"--sender '{snd}' --receiver '{rcv}'" in said


@pytest.mark.parametrize("options", [(), ("--clock", "same")], ids=["clocks unknown", "one clock"])
def test_a_response_larger_than_the_request_does_not_turn_captures_of_mid_connection_round(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """The sender's machine sends 100 octets, and 10,000 come back: most payload goes the other way."""
    c = Conversation()
    for i in range(20):
        request, response = 1 + 100 * i, 1 + 10 * MSS * i
        for end, out_ms, back_ms in ((c.sender, 0, 20), (c.receiver, 10, 10)):
            t_ms = 100 + 30 * i
            end.append(Packet(at(t_ms + out_ms), c.a, c.b, ISN_S + request, ISN_R + response, ACK, 100, 60000))
            for part in range(10):
                seq = ISN_R + response + part * MSS
                end.append(Packet(at(t_ms + back_ms + part), c.b, c.a, seq, ISN_S + request + 100, ACK, MSS, 60000))
    snd, rcv = _late(tmp_path, "s", c.sender), _late(tmp_path, "r", c.receiver)
    flow = flow_of(analyse(tmp_path / "o", "--sender", snd, "--receiver", rcv, *options))
    assert (flow["sender"]["port"], flow["bytes"], flow["lost"]) == (c.a[1], 20 * 100, 0)
    assert flow["min_delay_ns"] == flow["max_delay_ns"] == 10 * 10**6


def test_most_data_the_other_way_are_worth_a_line(tmp_path: Path) -> None:
    c = _recovered()
    c.sender.append(Packet(at(500), c.b, c.a, ISN_R + 1, ISN_S + 1 + 11 * MSS, ACK, 100, 60000))
    c.receiver.append(Packet(at(490), c.b, c.a, ISN_R + 1, ISN_S + 1 + 11 * MSS, ACK, 100, 60000))
    snd, rcv = write(tmp_path, "s", c.sender), write(tmp_path, "r", c.receiver)
    done = run("analyse", "--sender", rcv, "--receiver", snd, "-o", tmp_path / "o")
    assert f"11000 of 11100 bytes go to the machine of '{rcv}'; --sender '{snd}' --receiver '{rcv}'" in done.stderr


def test_a_clock_that_was_set_back_leaves_no_negative_time(tmp_path: Path) -> None:
    """The packets behind the step have earlier times than the first one. The file has the order of sending."""
    c = Conversation()
    for i, (sent, acked) in enumerate(((100, 120), (121, 141), (40, 60), (61, 81))):
        c.send(sent, 1 + i * MSS)
        c.ack(acked - 10, 1 + (i + 1) * MSS)
    for end in ("sender", "receiver"):
        file = tmp_path / f"{end}.pcapng"
        write_pcapng(file, list(getattr(c, end)), "<")  # not sorted by time
        flow = flow_of(analyse(tmp_path / f"{end}-alone", f"--{end}", file))
        assert flow["bytes"] == 4 * MSS and flow["t1_ns"] >= flow["t0_ns"], (end, flow["elapsed_ns"])
        assert flow["elapsed_ns"] == flow["t1_ns"] - flow["t0_ns"] == (41 if end == "sender" else 21) * 10**6


def test_a_clock_that_leapt_for_one_packet_leaves_shares_of_the_time(tmp_path: Path) -> None:
    """The duplicate acknowledgement has a time of 5 s; what follows it in the file has its right times."""
    c = Conversation()
    c.send(100, 1)
    c.ack(4990, 1)
    c.send(200, 1 + MSS)
    c.ack(210, 1 + 2 * MSS)
    file = tmp_path / "s.pcapng"
    write_pcapng(file, c.sender, "<")  # not sorted by time
    flow = flow_of(analyse(tmp_path / "o", "--sender", file))
    assert 0 <= flow["stopped_share"] <= 1
    assert sum(flow["limits_ns"].values()) <= flow["elapsed_ns"]


# Cut headers, interfaces


def test_a_short_snap_length_keeps_octets_and_says_what_is_missing(tmp_path: Path) -> None:
    """68 octets, tcpdump's former default, hold 14 octets of options. Linux puts a SYN's window scale after its time
    stamp, so the window scale is cut off, and so are SACK blocks."""
    c = Conversation(ts=True)
    syn = struct.pack("!BBHBBBBIIBBBB", 2, 4, MSS + 12, 4, 2, 8, 10, 1, 1, 1, 3, 3, 7)
    c.sender[:2] = [replace(p, options=syn) for p in c.sender[:2]]
    c.send(100, 1)
    c.send(101, 1 + MSS)
    c.ack(111, 1, sack=(1 + MSS, 1 + 2 * MSS))
    c.send(125, 1)
    c.ack(135, 1 + 2 * MSS)
    plain, short = snapped(tmp_path / "plain.pcap", c.sender, 65535), snapped(tmp_path / "short.pcap", c.sender, 68)
    found, done = analyse(tmp_path / "p", "--sender", plain), run("analyse", "--sender", short, "-o", tmp_path / "s")
    cut = pktlogger.read_analysis(tmp_path / "s")
    flow, known = flow_of(cut), flow_of(found)
    assert flow["bytes"] == known["bytes"] == 2 * MSS and flow["retransmitted"] == known["retransmitted"] == 1
    assert known["window_scaled"] is True and flow["window_scaled"] is None
    capture = cut.summary["captures"]["sender"]
    assert capture["options_cut"] == 3 and capture["kinds"]["truncated"] == 0  # two SYNs, one SACK
    assert "3 TCP packets were cut within their options" in done.stderr and "SACK" in done.stderr
    assert found.summary["captures"]["sender"]["options_cut"] == 0


def test_one_of_several_interfaces_is_chosen(tmp_path: Path) -> None:
    """A router that captured both interfaces into one file has both ends of the path through it."""
    c = _recovered()
    file = tmp_path / "router.pcapng"
    both = Pcapng()
    both.interface()
    both.interface()
    packets = [(p, 0) for p in c.sender] + [(p, 1) for p in c.receiver]
    for p, number in sorted(packets, key=lambda pair: pair[0].t_ns):
        both.packet(p.frame(), p.t_ns, number)
    both.write(file)
    right = flow_of(analyse(tmp_path / "right", "--sender", write(tmp_path, "s", c.sender),
                            "--receiver", write(tmp_path, "r", c.receiver)))  # fmt: skip
    done = run("analyse", "--sender", file, "--receiver", file, "--interface", "0,1", "-o", tmp_path / "o")
    assert done.returncode == 0, done.stdout
    found = pktlogger.read_analysis(tmp_path / "o")
    flow = flow_of(found)
    assert {name: flow[name] for name in COUNTS} == {name: right[name] for name in COUNTS}
    assert flow["min_delay_ns"] == right["min_delay_ns"] == 10_000_000
    n = found.summary["captures"]["sender"]["kinds"]
    assert (n["tcp"], n["other_interface"]) == (len(c.sender), len(c.receiver))
    assert f"interface 0 is the chosen one: {len(c.sender)} TCP packets" in done.stderr
    assert f"interface 1 is left out: {len(c.receiver)} TCP packets" in done.stderr
    message = refused("--sender", file, "--interface", "eth9", "-o", tmp_path / "x")
    assert "has no TCP packet of interface 'eth9'" in message


# The verdict


def _windowed(scale: int | None, window: int, rounds: int = 20) -> Conversation:
    """A window of 4 packets, filled in each round trip of 20 ms."""
    c = Conversation()
    syn = options(MSS, scale, False)
    c.sender[0], c.receiver[0] = replace(c.sender[0], options=syn), replace(c.receiver[0], options=syn)
    back = options(MSS, None, False)
    c.sender[1], c.receiver[1] = replace(c.sender[1], options=back), replace(c.receiver[1], options=back)
    for r in range(rounds):
        for i in range(4):
            c.send(100 + 21 * r + i / 100, 1 + (4 * r + i) * MSS)
        c.ack(110.1 + 21 * r, 1 + 4 * (r + 1) * MSS, window=window)
    return c


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_the_verdict_on_a_small_window_names_it_and_what_to_change(end: str, tmp_path: Path) -> None:
    """4,000 octets in 20 ms are 1.6 Mbit/s. 1 Gbit/s over 20 ms needs 2.5 million octets, 2.38 MB."""
    c = _windowed(7, 4000)
    file = write(tmp_path, "x", c.sender if end == "sender" else c.receiver)
    found = analyse(tmp_path / "o", f"--{end}", file)
    verdict = flow_of(found)["verdict"]
    assert verdict["cause"] == "receiver_window"
    assert "It offers at most 4000 B, which in a round trip of 20 ms is 1.6 Mbit/s at most." in verdict["text"]
    assert readable.size(4000) == "4000 B" and readable.size(2.5e6, 3) == "2.38 MB", "one form in all that lfp prints"
    assert "Window scaling is off: the SYN of the receiver does not offer it." in verdict["text"]
    assert "net.ipv4.tcp_window_scaling = 1" in verdict["text"]
    assert "each Gbit/s of it needs 2.38 MB" in verdict["text"]
    said = run("analyse", f"--{end}", file, "--human").stdout
    assert said.startswith(verdict["text"].split(".")[0])


def test_the_verdict_on_losses_counts_them(tmp_path: Path) -> None:
    """Half of the time is silence before a time-out."""
    c = _recovered()
    verdict = c.analyse(tmp_path)[1]["verdict"]
    assert verdict["cause"] == "losses" and "2 of 13 packets were lost (15.4 %)" in verdict["text"]


def test_losses_of_one_recovery_are_one_signal_to_slow_down(tmp_path: Path) -> None:
    """Mathis et al. 1997 count congestion signals. Three losses in one window and a later time-out are 4 losses but 2
    signals in 15 packets. 1,000 octets in 20 ms × 1.22 / sqrt(2 / 15) are 1.34 Mbit/s."""
    c = Conversation()
    for i in range(10):
        c.send(100 + i, 1 + i * MSS, arrive=[] if i in (2, 3, 4, 9) else None)
    c.ack(110, 1 + MSS)
    c.ack(111, 1 + 2 * MSS)
    for i in range(5, 9):
        c.ack(110 + i, 1 + 2 * MSS, sack=(1 + 5 * MSS, 1 + (i + 1) * MSS))
    for i in (2, 3, 4):
        c.send(126 + i / 10, 1 + i * MSS)
    c.ack(137, 1 + 9 * MSS)
    c.send(400, 1 + 9 * MSS)
    c.ack(410, 1 + 10 * MSS)
    c.send(421, 1 + 10 * MSS)
    c.ack(431, 1 + 11 * MSS)
    flow = c.analyse(tmp_path)[1]
    assert (flow["segments"], flow["lost"], flow["fast_recoveries"], flow["timeouts"]) == (15, 4, 1, 1)
    assert "4 of 15 packets were lost (26.7 %)" in flow["verdict"]["text"]
    assert "With 2 congestion signals (fast recoveries and time-outs) TCP Reno" in flow["verdict"]["text"]
    assert "reaches about 1.34 Mbit/s over 20 ms." in flow["verdict"]["text"]


def test_many_connections_are_summed_up(tmp_path: Path) -> None:
    """Two hundred connections of one server, each with a larger transfer than the one before."""
    packets: list[Packet] = []
    for n in range(200):
        client = ("10.0.1.1", 20000 + n)
        for p in _windowed(7, 4000, 1 + n // 20).sender:
            from_client = p.src[1] == 40000
            src, dst = (client, p.dst) if from_client else (p.src, client)
            packets.append(replace(p, t_ns=p.t_ns + n * 10**7, src=src, dst=dst))
    file = write(tmp_path, "many", packets)
    lines = run("analyse", "--sender", file, "--human").stdout.splitlines()
    assert lines[0].startswith("200 connections, 200 of them with data: 4400000 bytes in")
    assert any(
        "share the sender and the receiver, and port 5010 of the receiver; window scaling is off in all" in line
        for line in lines
    )
    at_ = lines.index("The ten largest:")
    assert [line.startswith("  flow ") and ": 40000 bytes" in line for line in lines[at_ + 1 : at_ + 11]] == [True] * 10


# What lies behind a cause


def _send_short(c: Conversation, t_ms: float, seq: int, length: int) -> None:
    packet = Packet(at(t_ms), c.a, c.b, ISN_S + seq, ISN_R + 1, ACK, length, 60000, c.next_id)
    c.next_id += 1
    c.sender.append(packet)
    c.receiver.append(replace(packet, t_ns=packet.t_ns + 10_000_000))


def _messages(delayed_ms: float, answered: bool) -> Conversation:
    """Thirty short messages; each waits until the one before is acknowledged, `delayed_ms` after it arrived."""
    c = Conversation()
    t = 100.0
    for n in range(30):
        _send_short(c, t, 1 + n * 400, 400)
        c.ack(t + 10 + delayed_ms, 1 + (n + 1) * 400)
        if answered:
            for end in (c.sender, c.receiver):
                end[-1] = replace(end[-1], length=100, seq=ISN_R + 1 + 100 * n)
        t += 20 + delayed_ms + 0.05
    return c


@pytest.mark.parametrize(
    ("delayed_ms", "answered", "found"),
    [(40, False, True), (40, True, False), (0, False, False)],
    ids=["nagle", "answers", "no delay"],
)
def test_nagle_and_delayed_acknowledgements(delayed_ms: float, answered: bool, found: bool, tmp_path: Path) -> None:
    """Linux delays an acknowledgement by 40 ms. If the answer comes with it, the program is waiting, not TCP."""
    verdict = alone(tmp_path, "sender", _messages(delayed_ms, answered).sender)[1]["verdict"]
    assert (verdict["cause"] == "nagle") is found, verdict
    if found:
        assert "29 short packets waited for an acknowledgement, 60 ms each" in verdict["text"]
        assert "TCP_NODELAY" in verdict["text"]


@pytest.mark.parametrize("end", ["sender", "both"])
def test_large_packets_that_never_arrive(end: str, tmp_path: Path) -> None:
    c = Conversation()
    _send_short(c, 100, 1, 200)
    c.ack(110, 201)
    for t in (121, 421, 1021, 2221):
        c.send(t, 201, arrive=[])
    verdict = (c.analyse(tmp_path) if end == "both" else alone(tmp_path, "sender", c.sender))[1]["verdict"]
    assert verdict["cause"] == "path_mtu", verdict
    assert "No packet with more than 200 bytes of payload arrived; one with 1000 was sent 4 times in vain." in (
        verdict["text"].replace("1000 bytes of payload", "1000")
    )
    assert "clamp the MSS" in verdict["text"] and "tcp_mtu_probing" in verdict["text"]


@pytest.mark.parametrize(("parts", "cause"), [(2, "path_mtu"), (1, "losses")], ids=["large", "small"])
def test_large_packets_of_which_none_arrives_and_no_other_with_payload(parts: int, cause: str, tmp_path: Path) -> None:
    """Packets of 2,000 bytes, or of 1,000, which every path carries."""
    c = Conversation()
    for end in (c.sender, c.receiver):
        end[:2] = [replace(p, options=options(parts * MSS)) for p in end[:2]]
    for t in (121, 421, 1021, 2221):
        c.send(t, 1, parts, arrive=[])
    c.receiver.append(replace(c.receiver[-1], t_ns=at(6000)))  # until when it was captured
    verdict = c.analyse(tmp_path)[1]["verdict"]
    assert (verdict["cause"] == "path_mtu") is (cause == "path_mtu"), verdict
    if cause == "path_mtu":
        assert "Empty packets arrived, and none with payload did; one with 2000 bytes was sent" in verdict["text"]
        assert "ping -M do -s 2000" in verdict["text"]


def test_a_path_that_goes_down_is_no_black_hole_for_large_packets(tmp_path: Path) -> None:
    c = Conversation()
    c.send(100, 1)
    c.ack(110, 1 + MSS)
    for t in (121, 421, 1021, 2221):
        c.send(t, 1 + MSS, arrive=[])
    assert c.analyse(tmp_path)[1]["verdict"]["cause"] != "path_mtu"


def _windows(rounds: int, begin: list[int], later: int) -> Conversation:
    """A sender that fills one window in each round trip. `begin` lists the first windows in packets; all others have
    `later` packets. Each packet is acknowledged, and the window never shrinks (RFC 9293, 3.8.6)."""
    c = Conversation()
    c.send(100, 1)
    c.ack(110.1, 1 + MSS, window=begin[0] * MSS)
    seq, edge, t = 1 + MSS, 1 + MSS + begin[0] * MSS, 121.0
    for n in range(1, rounds):
        window = begin[n] if n < len(begin) else later
        parts = range(seq, edge, MSS)
        for i, part in enumerate(parts):
            c.send(t + i / 100, part)
            seq = part + MSS
            edge = max(edge, seq + window * MSS)
            c.ack(t + i / 100 + 10.1, seq, window=edge - seq)
        t += 20.3
    return c


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize(
    ("begin", "later", "slow"),
    [([8], 8, False), ([8], 2, False), ([8, 8, 8], 2, True)],
    ids=["small buffer", "large first offer", "slow reader"],
)
def test_a_slow_reader_is_told_from_a_small_buffer(
    begin: list[int], later: int, slow: bool, end: str, tmp_path: Path
) -> None:
    """A slow reader leaves a buffer of 8 packets nearly full, so the window shrinks to 2 packets. Otherwise the buffer,
    of 8 packets or of 2 after a first offer of 8, is empty whenever an acknowledgement leaves."""
    c = _windows(60, begin, later)
    flow = alone(tmp_path, end, c.sender if end == "sender" else c.receiver)[1]
    if slow and end == "receiver":
        assert flow["verdict"] is None, "the receiver's capture alone does not show when the window was full"
        return
    assert flow["verdict"]["cause"] == ("slow_reader" if slow else "receiver_window"), flow["verdict"]
    if not slow:
        assert f"It offers at most {readable.size(later * MSS)}, " in flow["verdict"]["text"], flow["verdict"]


def _closing(cycles: int) -> Conversation:
    """The reader leaves room for 8 packets three times, for 3 packets twice, and then for none during 25 ms."""
    c = Conversation()
    c.send(100, 1)
    c.ack(110.1, 1 + MSS, window=8 * MSS)
    seq, t = 1 + MSS, 121.0
    for _ in range(cycles):
        for window, room in ((8, 8), (8, 8), (8, 3), (3, 3), (3, 0)):
            for i in range(window):
                c.send(t + i / 100, seq + i * MSS)
            seq += window * MSS
            c.ack(t + 10.1, seq, window=room * MSS)
            t += 20.3
        c.ack(t + 14.7, seq, window=8 * MSS)
        t += 25
    return c


def test_a_window_that_a_slow_reader_fills_and_closes_in_turn_is_one_limit(tmp_path: Path) -> None:
    """The window is closed for more than a third of the time. The rest of the time it is full, in two of five rounds at
    a smaller size: the sender never waits for anything else."""
    verdict = alone(tmp_path, "sender", _closing(20).sender)[1]["verdict"]
    assert verdict["cause"] == "slow_reader", verdict
    assert verdict["share"] > 0.98 and "It had offered a window of 8000 B" in verdict["text"], verdict


def _requests(parts: int, answered: bool, n: int = 30) -> Conversation:
    """``n`` messages of ``parts`` packets. The program waits 20 ms for each ACK, with or without an answer."""
    c, seq, t = Conversation(), 1, 100.0
    for number in range(n):
        c.send(t, seq, parts)
        seq += parts * MSS
        c.ack(t + 10.1, seq)
        if answered:
            for end in (c.sender, c.receiver):
                end[-1] = replace(end[-1], length=100, seq=ISN_R + 1 + 100 * number)
        t += 30
    return c


@pytest.mark.parametrize("answered", [True, False])
def test_a_program_that_waits_for_answers_is_told_from_one_that_has_nothing_to_send(
    answered: bool, tmp_path: Path
) -> None:
    verdict = _requests(8, answered).analyse(tmp_path)[1]["verdict"]
    assert verdict["cause"] == ("request_response" if answered else "application"), verdict
    if answered:
        assert "It sent 8000 B on average and then waited for an answer, 30 ms each time" in verdict["text"]
        assert "a round trip of 20 ms allows messages of this size 3.2 Mbit/s at most" in verdict["text"]


@pytest.mark.parametrize(("queue_ms", "free"), [(60, 2), (60, 20), (0, 0)])
def test_a_way_back_that_is_congested(queue_ms: float, free: int, tmp_path: Path) -> None:
    """A window of 8 packets that is always full. After `free` rounds acknowledgements meet a queue. With a large
    `free`, most acknowledgements come before that."""
    c, seq, t = Conversation(), 1, 100.0
    for number in range(30 if free < 5 else 39):
        c.send(t, seq, 8)
        seq += 8 * MSS
        c.ack(t + 10.1, seq, window=8000)
        wait_ms = queue_ms if number > free else 0
        c.sender[-1] = replace(c.sender[-1], t_ns=c.sender[-1].t_ns + int(wait_ms * 1e6))
        t += 20.2 + wait_ms
    verdict = c.analyse(tmp_path)[1]["verdict"]
    assert verdict["cause"] == ("way_back" if queue_ms else "receiver_window"), verdict
    if queue_ms:
        said = re.search(r"waited ([\d.]+) ms in queues, on average over time; a round trip takes 20", verdict["text"])
        assert said and 30 < float(said[1]) <= 60, verdict["text"]


def test_acknowledgements_that_come_in_bunches_have_waited(tmp_path: Path) -> None:
    """Two-way traffic bunches acknowledgements (Zhang, Shenker and Clark 1991): here each waits for the next multiple
    of 100 ms. The sender has a window of 40 packets, and the bottleneck passes one every 2 ms. The first
    acknowledgement of a bunch waits for most of the 100 ms, the last one for little. Each wait counts at the time at
    which the acknowledged packet arrived."""
    c, told = Conversation(), [(10.0, 0.0), (110.0, 0.0)]
    c.send(100, 1)
    c.ack(110, 1 + MSS, window=40 * MSS)
    to_send, seq, free_ms = [120 + number / 100 for number in range(40)], 1 + MSS, 0.0
    while len(told) < 800:
        t = to_send.pop(0)
        free_ms = max(free_ms + 2, t + 10)
        c.send(t, seq, arrive=[(0, 1, free_ms - t)])
        seq += MSS
        came = max(100 * math.ceil((free_ms + 10) / 100), to_send[-1] if to_send else 0) + 0.01
        c.ack(free_ms, seq, window=40 * MSS)
        c.sender[-1] = replace(c.sender[-1], t_ns=at(came))
        told.append((free_ms, came - free_ms - 10))
        to_send.append(came + 0.01)
    verdict = c.analyse(tmp_path)[1]["verdict"]
    assert verdict["cause"] == "way_back", verdict
    mean_ms = sum(wait * (sent - before) for (before, _), (sent, wait) in pairwise(told)) / (told[-1][0] - told[0][0])
    said = re.search(r"waited ([\d.]+) ms in queues, on average over time", verdict["text"])
    assert said and float(said[1]) == pytest.approx(mean_ms, rel=0.01), verdict["text"]


@pytest.mark.parametrize(("queue_ms", "cause"), [(0, "losses"), (60, "way_back")])
def test_a_window_that_grows_after_one_loss_over_a_slow_way_back(queue_ms: int, cause: str, tmp_path: Path) -> None:
    """One packet is lost early. Then the window grows by a packet a round, and ``queue_ms`` on the reverse path
    lengthens each round."""
    c, seq, t = Conversation(), 1, 100.0

    def ack(at: float, number: int, sack: tuple[int, int] | None = None) -> None:
        c.ack(at, number, sack=sack)
        c.sender[-1] = replace(c.sender[-1], t_ns=c.sender[-1].t_ns + queue_ms * 1_000_000)

    for i in range(6):
        c.send(t + i / 10, 1 + i * MSS, arrive=[] if i == 2 else None)
    ack(t + 10.2, 1 + 2 * MSS)
    for i in range(3, 6):
        ack(t + 10 + i / 10, 1 + 2 * MSS, (1 + 3 * MSS, 1 + (i + 1) * MSS))
    t += 20.6 + queue_ms
    c.send(t, 1 + 2 * MSS)
    seq = 1 + 6 * MSS
    for flight in range(3, 33):
        ack(t + 10.1, seq)
        t += 20.2 + queue_ms
        c.send(t, seq, flight)
        seq += flight * MSS
    flow = c.analyse(tmp_path)[1]
    assert flow["lost"] == 1
    assert flow["verdict"]["cause"] == cause, flow["verdict"]


@pytest.mark.parametrize(("passed", "others"), [(1.0, 0), (0.2, 0), (1.0, 1000)])
def test_a_receiver_that_passes_the_data_on_is_a_gateway(passed: float, others: int, tmp_path: Path) -> None:
    """The receiver's capture has a second connection by which its machine forwards the data, or sends something else.
    With more than 1,000 connections, comparing each with each would cost too much."""
    c = _full_window()
    came = [p for p in c.receiver if p.src == c.a and p.length]
    far, behind = (c.b[0], 33000), ("10.9.9.9", 80)
    start = came[0].t_ns
    c.receiver += [
        Packet(start, far, behind, 10, 0, SYN, 0, 60000, 0, options(MSS)),
        Packet(start + 1, behind, far, 20, 11, SYN | ACK, 0, 60000, 0, options(MSS)),
    ]
    c.receiver += [
        Packet(start, ("10.8.8.8", 1024 + number), behind, 10, 0, SYN, 0, 60000, 0, options(MSS))
        for number in range(others)
    ]
    sent = 11
    for p in came[: int(passed * len(came))]:
        c.receiver.append(Packet(p.t_ns + 1000, far, behind, sent, 21, ACK, p.length, 60000, 0))
        sent += p.length
    for name, packets in (("s", c.sender), ("r", c.receiver)):
        write_pcapng(tmp_path / f"{name}.pcapng", sorted(packets, key=lambda p: p.t_ns), "<")
    found = analyse(tmp_path / "out", "--sender", tmp_path / "s.pcapng", "--receiver", tmp_path / "r.pcapng")
    (flow,) = found.summary["flows"]
    gateway = passed == 1 and not others
    assert flow["verdict"]["cause"] == ("gateway" if gateway else "receiver_window"), flow["verdict"]
    if gateway:
        assert "The receiver is a gateway, which passed 234 KB on to 10.9.9.9 port 80." in flow["verdict"]["text"]


def _full_window() -> Conversation:
    """A window of 8 packets that is always full."""
    c, seq, t = Conversation(), 1, 100.0
    for _ in range(30):
        c.send(t, seq, 8)
        seq += 8 * MSS
        c.ack(t + 10.1, seq, window=8000)
        t += 20.2
    return c


def _policed(kind: str) -> Conversation:
    """Two bursts of 2 MB/s and 3 MB/s. A policer lets 1 MB/s pass, with a bucket of 20 KB; a queue of 20 KB is served
    at that rate; chance takes a tenth. What was lost is sent again after 200 ms, slowly."""
    c, chance = Conversation(), random.Random(7)
    for end in (c.sender, c.receiver):  # windows of 128 times 60,000
        end[:2] = [replace(p, options=options(MSS, 7)) for p in end[:2]]
    seq, t = 1, 100.0
    for gap_ms in (0.5, 1 / 3):
        lost, tokens, behind_ms, begin = [], 20_000.0, 0.0, t
        for _ in range(600):
            tokens = min(20_000.0, tokens + 1000 * gap_ms)
            behind_ms = max(0.0, behind_ms - gap_ms)
            drop = {"policer": tokens < 1052, "queue": behind_ms > 20, "chance": chance.random() < 0.1}[kind]
            if drop:
                lost.append(seq)
            else:
                tokens -= 1052
                behind_ms += 1.052
            c.send(t, seq, arrive=[] if drop else [(0, 1, 10 + (behind_ms if kind == "queue" else 0))])
            seq += MSS
            t += gap_ms
        t += 200
        for one in lost:
            c.send(t, one)
            t += 2
        c.ack(t + 11, seq)
        t += 40
        assert t > begin
    return c


@pytest.mark.parametrize("kind", ["policer", "queue", "chance"])
def test_a_policer_is_told_from_a_queue_and_from_chance(kind: str, tmp_path: Path) -> None:
    verdict = _policed(kind).analyse(tmp_path)[1]["verdict"]
    assert verdict["cause"] == ("policer" if kind == "policer" else "losses"), verdict
    if kind == "policer":
        rate = re.search(r"explains it: ([\d.]+) Mbit/s pass", verdict["text"])
        burst = re.search(r"bursts of up to ([\d.]+) KB", verdict["text"])
        assert rate and float(rate[1]) == pytest.approx(8.0, rel=0.03)
        assert burst and float(burst[1]) == pytest.approx(20, rel=0.1)


def _shared(flows: int, last: int = 1200, then_ms: float = 1, apart_ms: float = 0.01) -> list[Conversation]:
    """Flows with a window of 60 packets each at a bottleneck that takes 1 ms a packet, so there is a standing queue.
    They send 1,200 packets, of which the last flow sends at most `last`. For the second half the bottleneck takes
    `then_ms` a packet. `apart_ms`: time between the packets of a flow's first window."""
    made = [Conversation() for _ in range(flows)]
    for c in made:
        for end in (c.sender, c.receiver):
            end[:2] = [replace(p, options=options(MSS, 7)) for p in end[:2]]
    sends = [(100 + i * apart_ms, n) for n in range(flows) for i in range(60)]
    heapq.heapify(sends)
    sent, free = [0] * flows, 0.0
    for number in range(1200):
        t, n = heapq.heappop(sends)
        free = max(free, t) + (1 if number < 600 else then_ms)
        made[n].send(t, 1 + sent[n] * MSS, arrive=[(0, 1, free - t + 10)])
        sent[n] += 1
        made[n].ack(free + 10, 1 + sent[n] * MSS)
        if n < flows - 1 or sent[n] + 60 <= last:
            heapq.heappush(sends, (free + 20.001, n))
    return made


def _analyse_shared(
    folder: Path, end: str, made: list[Conversation], hosts: int = 2, transfers: Sequence[int] = (), ports: int = 1
) -> pktlogger.Analysis:
    """Senders are on `hosts` hosts, and send to `ports` ports. `transfers`: the number of the transfer of which each
    flow is a stream, by the samples."""
    ends: list[list[Packet]] = [[], []]
    for n, c in enumerate(made):
        for packets, own in zip(ends, (c.sender, c.receiver), strict=True):
            server = c.b[0], c.b[1] + n % ports
            packets += [
                replace(p, src=server if p.src == c.b else p.src, dst=server if p.dst == c.b else p.dst)
                for p in _translated(own, (f"10.0.1.{n % hosts}", 41000 + n))
            ]
    files = [write(folder, f"{name}{len(made)}", packets) for name, packets in zip("sr", ends, strict=True)]
    given: list[str | Path] = ["--sender", files[0]]
    given += ["--receiver", files[1], "--clock", "same"] if end == "both" else []
    if transfers:
        rows = [f"{at(1)},{41000 + n},{c.b[1] + n % ports},5000,{transfers[n]}" for n, c in enumerate(made)]
        head = "t_ns,local_port,remote_port,notsent_bytes,transfer"
        (folder / "samples.csv").write_text("\n".join([head, *rows, ""]))
        given += ["--samples", folder / "samples.csv"]
    return analyse(folder / f"{len(made)}", *given)


@pytest.mark.parametrize("end", ["sender", "both"])
def test_a_line_that_other_connections_share(end: str, tmp_path: Path) -> None:
    for flows, cause in ((1, "path_rate"), (2, "cross_traffic")):
        found = _analyse_shared(tmp_path, end, _shared(flows))
        for flow in found.summary["flows"]:
            verdict = flow["verdict"]
            assert verdict["cause"] == cause, verdict
            if flows == 2:
                assert re.search(r"1 other connection of the captures carried 3\.\d+ Mbit/s meanwhile", verdict["text"])


@pytest.mark.parametrize("end", ["sender", "both"])
def test_streams_of_one_transfer_are_no_other_connections(end: str, tmp_path: Path) -> None:
    """Two streams of one host to one port: together they are limited by the line, and not by each other."""
    found = _analyse_shared(tmp_path, end, _shared(2), hosts=1)
    assert [flow["verdict"]["cause"] for flow in found.summary["flows"]] == ["path_rate"] * 2
    assert not any("other connection" in flow["verdict"]["text"] for flow in found.summary["flows"])


@pytest.mark.parametrize("end", ["sender", "both"])
def test_samples_say_which_connections_are_streams_of_one_transfer(end: str, tmp_path: Path) -> None:
    """Streams of rttcp also have different ports at the receiver, and were once called other connections of the
    captures. Two transfers to one port were called streams of one transfer."""
    (tmp_path / "one").mkdir()
    one = _analyse_shared(tmp_path / "one", end, _shared(2), hosts=1, transfers=(1, 1), ports=2)
    assert [flow["verdict"]["cause"] for flow in one.summary["flows"]] == ["path_rate"] * 2
    (tmp_path / "two").mkdir()
    two = _analyse_shared(tmp_path / "two", end, _shared(2), hosts=1, transfers=(1, 2))
    assert [flow["verdict"]["cause"] for flow in two.summary["flows"]] == ["cross_traffic"] * 2


@pytest.mark.parametrize("end", ["sender", "both"])
def test_what_others_carried_afterwards_does_not_count(end: str, tmp_path: Path) -> None:
    """The first flow has half of the line until the second one has ended, and then all of it."""
    found = _analyse_shared(tmp_path, end, _shared(2, last=300))
    short = found.summary["flows"][1]
    rate = re.search(r"1 other connection of the captures carried ([\d.]+) Mbit/s meanwhile", short["verdict"]["text"])
    assert rate, short["verdict"]
    came = found.segments["t_acked_ns" if end == "sender" else "t_received_ns"].to_numpy()
    of_first = found.segments["flow"].to_numpy() == found.summary["flows"][0]["flow"]
    meanwhile = of_first & (came >= short["t0_ns"]) & (came <= short["t1_ns"])
    octets = int(found.segments["len"].to_numpy()[meanwhile].sum())
    assert float(rate[1]) == pytest.approx(octets * 8e3 / short["elapsed_ns"], rel=0.005)
    assert float(rate[1]) * 1e6 + short["verdict"]["rate_bps"] <= 8 * MSS * 1000, "together more than the line carries"


@pytest.mark.parametrize(
    ("others", "waits", "outage"),
    [("pass", 0, 0), ("are lost, too", 0, 30), ("send nothing", 0, 0), ("send nothing", 200, 30), ("pass", 200, 0)],
)
def test_an_outage_is_the_silence_of_all_connections(others: str, waits: int, outage: int, tmp_path: Path) -> None:
    """One connection loses 30 packets in a row, in 60 ms. Another one of the same hosts sends meanwhile, or not. If
    not, only a pause after the packets shows that a time caused the losses, not a number of packets."""
    made = [Conversation() for _ in range(2)]
    for n, (c, gap_ms) in enumerate(zip(made, (2, 7), strict=True)):
        for number in range(600 // gap_ms):
            t = 100 + number * gap_ms
            down = 300 <= t < 360
            if n == 1 and 300 <= t < 360 + waits and others == "send nothing":
                continue
            lost = down and (n == 0 or others != "pass")
            c.send(t if t < 360 or n else t + waits, 1 + number * MSS, arrive=[] if lost else None)
    found = _analyse_shared(tmp_path, "both", made, hosts=1)
    seen = [flow["losses_seen"] for flow in found.summary["flows"]]
    assert sum(seen[0].values()) == 30 and seen[0].get("outage", 0) == outage, seen
    assert others != "are lost, too" or seen[1] == {"outage": 9}, "a few packets of its own would not show it"


def _lone(folder: Path, data_ms: list[tuple[int, int]], acks_ms: list[tuple[int, int]]) -> dict[str, Any]:
    """The summary of a connection that sends a packet a millisecond for a second over 10 ms each way, each acknowledged
    at once. The path drops what is sent in these spans."""
    c = Conversation()
    reached = 0
    for t in range(100, 1100):
        lost = any(begin <= t < end for begin, end in data_ms)
        c.send(t, 1 + (t - 100) * MSS, arrive=[] if lost else None)
        reached += not lost and reached == t - 100
        sack = (1 + (t - 100) * MSS, 1 + (t - 99) * MSS) if reached < t - 99 else None
        if not lost:
            c.ack(t + 10, 1 + reached * MSS, sack=sack, lost=any(begin <= t + 10 < end for begin, end in acks_ms))
    for number in range(reached, 1000):
        c.send(1200 + number * 0.01, 1 + number * MSS)
    c.ack(1300, 1 + 1000 * MSS)
    return c.analyse(folder)[1]


@pytest.mark.parametrize("place_ms", [0, 3, 5, 8])
@pytest.mark.parametrize("lasts_ms", [8, 12, 18])
def test_an_outage_of_both_ways_takes_acknowledgements_too(place_ms: int, lasts_ms: int, tmp_path: Path) -> None:
    """The sender keeps its pace and loses packets in a row, as in a burst of losses. An outage also drops what passes
    its place in the other direction, at most a one-way delay earlier or later."""
    begin = 600
    data = [(begin - place_ms, begin - place_ms + lasts_ms)]
    acks = [(begin - (10 - place_ms), begin - (10 - place_ms) + lasts_ms)]
    flow = _lone(tmp_path, data, acks)
    assert flow["losses_seen"] == {"outage": lasts_ms}, flow["losses_seen"]


@pytest.mark.parametrize("acks", [[], [(300, 312)], [(595, 596)]], ids=["none", "at another time", "a single one"])
def test_a_burst_of_one_way_is_no_outage(acks: list[tuple[int, int]], tmp_path: Path) -> None:
    flow = _lone(tmp_path, [(595, 607)], acks)
    assert "outage" not in flow["losses_seen"], flow["losses_seen"]


def test_bursts_of_both_ways_that_meet_by_chance_are_no_outage(tmp_path: Path) -> None:
    """Ten bursts in each direction, two of which coincide, as many as chance makes likely."""
    data = [(150 + 90 * i, 158 + 90 * i) for i in range(10)]
    acks = [(155 + 90 * i + 45 * (i not in (3, 7)), 161 + 90 * i + 45 * (i not in (3, 7))) for i in range(10)]
    assert "outage" not in _lone(tmp_path, data, acks)["losses_seen"]


@pytest.mark.parametrize("first", [100, 30])
def test_the_same_octets_lost_twice_are_no_outage(first: int, tmp_path: Path) -> None:
    """30 packets are lost in 60 ms; later their retransmissions are lost, or 30 other packets. A pause follows."""
    c = Conversation()
    for number in range(300):
        c.send(100 + 2 * number + 200 * (number >= 130), 1 + number * MSS, arrive=[] if 100 <= number < 130 else None)
    for number in range(first, first + 30):
        c.send(1000 + 2 * (number - first), 1 + number * MSS, arrive=[])
    for number in range(100, 130):
        c.send(1300 + 2 * number, 1 + number * MSS)
    c.ack(1700, 1 + 300 * MSS)
    seen = c.analyse(tmp_path)[1]["losses_seen"]
    assert ("outage" in seen) == (first == 30), seen


def test_a_bottleneck_whose_rate_changes(tmp_path: Path) -> None:
    found = _analyse_shared(tmp_path, "both", _shared(1, then_ms=3, apart_ms=2.5))
    (flow,) = found.summary["flows"]
    text = flow["verdict"]["text"]
    rates = r"between about ([\d.]+) Mbit/s and ([\d.]+) Mbit/s of payload"
    said = re.search(rates + r", and its queue was up to about ([\d.]+) ms", text)
    assert said, text
    wanted = [MSS * 8 / 3e3, MSS * 8 / 1e3]
    assert [float(rate) for rate in said.groups()[:2]] == pytest.approx(wanted, rel=0.01)
    longest_ms = (flow["max_delay_ns"] - flow["min_delay_ns"]) / 1e6
    assert float(said[3]) == pytest.approx(longest_ms, abs=3.5), "less the time for one packet"


# One capture with data both ways


def _towards(packets: list[Packet]) -> list[Packet]:
    """The packets of a connection by which 10.0.0.9 sends to 10.0.0.1."""
    ends = {("10.0.0.1", 40000): ("10.0.0.9", 50000), (B, 5010): ("10.0.0.1", 5011)}
    return [replace(p, src=ends[p.src], dst=ends[p.dst]) for p in packets]


@pytest.mark.parametrize("whole", [True, False], ids=["handshake", "mid-connection"])
@pytest.mark.parametrize("given", ["sender", "receiver"])
def test_each_connection_is_judged_by_the_end_where_its_data_were_captured(
    given: str, whole: bool, tmp_path: Path
) -> None:
    """The machine sends by one connection and receives by the other one. If the second handshake is missing, the
    machine's address says at which end the capture was taken."""
    out, back = _full_window(), _recovered()
    came = _towards(back.receiver if whole else [p for p in back.receiver if p.t_ns > at(105)])
    file = write(tmp_path, "m", out.sender + came)
    found = analyse(tmp_path / "o", f"--{given}", file)
    first, second = found.summary["flows"]
    assert found.summary["ends"] == "sender", "most data leave the machine"
    assert [first["ends"], second["ends"]] == ["sender", "receiver"]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    _, sent_alone = alone(tmp_path / "1", "sender", out.sender)
    if whole:
        _, came_alone = alone(tmp_path / "2", "receiver", came)
        assert second == came_alone | {"flow": second["flow"]}
    assert first == sent_alone
    for name in ("limits_ns", "stops", "timeouts", "max_unacknowledged_bytes", "verdict"):
        assert second[name] is None, name
    pktlogger.analysis_to_parquet(tmp_path / "o", tmp_path)
    segments = pq.read_table(tmp_path / "segments.parquet").to_pylist()
    for row in segments:
        sends = row["flow"] == first["flow"]
        assert (row["t_sent_ns"] is not None, row["t_received_ns"] is not None) == (sends, not sends), row
        assert (row["t_acked_ns"] is not None) == sends, row
    limits = pq.read_table(tmp_path / "limits.parquet")
    assert set(limits["flow"].to_pylist()) == {first["flow"]}
    text = run("analyse", f"--{given}", file, "--human").stdout
    assert "The capture was taken at the sender of 1 connection and at the receiver of 1." in text


# A line that others use, too


def test_a_base_is_no_shorter_than_the_path_where_others_have_half_of_the_line(tmp_path: Path) -> None:
    """A path of 10 ms, with a line that takes 1 ms a packet. Two flows take turns with four packets each, behind a
    queue that grows to 10 ms, so each packet of a flow takes 2 ms. The base delay was once 9 ms: a packet's delay minus
    2 ms."""
    own, other = Conversation(ids=False), Conversation(ids=False)
    for turn in range(60):
        for flow, lag in ((own, 0), (other, 4)):
            for number in range(4):
                sent_ms, left_ms = 100 + 8 * turn + lag - min(turn, 10), 101 + 8 * turn + lag + number
                flow.send(
                    sent_ms + number / 1000,
                    1 + (4 * turn + number) * MSS,
                    arrive=[(0, 1, left_ms + 10 - sent_ms - number / 1000)],
                )
                flow.ack(left_ms + 10, 1 + (4 * turn + number + 1) * MSS)
    packets = [
        own.sender + [_from_port(packet, 40002) for packet in other.sender],
        own.receiver + [_from_port(packet, 40002) for packet in other.receiver],
    ]
    snd, rcv = (write(tmp_path, name, both) for name, both in zip("sr", packets, strict=True))
    found = analyse(tmp_path / "o", "--sender", snd, "--receiver", rcv)
    bases = [[level["delay_ns"] for level in flow["base"]["data_seen"]] for flow in found.summary["flows"]]
    assert len(bases) == 2 and all(base == [pytest.approx(10e6, abs=60_000)] for base in bases), bases


def _from_port(packet: Packet, port: int) -> Packet:
    """The packet, moved to another connection of the same hosts."""
    ends = {("10.0.0.1", 40000): ("10.0.0.1", port)}
    return replace(packet, src=ends.get(packet.src, packet.src), dst=ends.get(packet.dst, packet.dst))
