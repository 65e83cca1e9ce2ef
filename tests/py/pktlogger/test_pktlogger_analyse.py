"""`pktlogger analyse` on conversations whose every loss, retransmission and stop is known."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from support.pktlogger_conversation import FAST, ISN_R, ISN_S, MS, MSS, NEW, SPURIOUS, TIMEOUT, Conversation, at, join
from support.pktlogger_frames import ACK, Packet, write_pcapng

import pktlogger


def events(found: pktlogger.Analysis, kind: str) -> list[dict[str, Any]]:
    wanted = found.summary["event_kinds"].index(kind)
    return [event for event in found.events.to_pylist() if event["kind"] == wanted]


def fast_retransmission(**kind: Any) -> Conversation:
    """Part 4 of 10 is lost and repaired after duplicate acknowledgements; GRO regroups the rest."""
    path = Conversation(**kind)
    path.send(30, 1, 10, [(0, 3, 10), (4, 2, 10.5), (6, 4, 11)])
    path.ack(40, 3001)
    path.ack(40.5, 3001, sack=(4001, 6001))
    path.ack(41, 3001, sack=(4001, 10001))
    path.send(51, 3001)
    path.ack(61, 10001)
    return path


KINDS = [{}, {"v6": True}, {"v6": True, "ts": True}, {"ids": False}, {"ids": False, "ts": True}]


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_joined_and_the_repair_is_fast(tmp_path: Path, kind: dict[str, bool]) -> None:
    found, flow = fast_retransmission(**kind).analyse(tmp_path)
    rows = found.segments.to_pylist()
    assert [row["seq"] for row in rows] == [1 + i * MSS for i in range(10)] + [3001]
    assert {row["len"] for row in rows} == {MSS}
    delays = [10, 10, 10, None, 10.5, 10.5, 11, 11, 11, 11, 10]
    assert [row["delay_ns"] for row in rows] == [-1 if d is None else int(d * MS) for d in delays]
    assert [row["t_received_ns"] >= 0 for row in rows] == [d is not None for d in delays]
    assert [row["kind"] for row in rows] == [NEW] * 10 + [FAST]
    assert [row["transmission"] for row in rows] == [1] * 10 + [2]
    assert rows[0]["sender_frame"] == 4 and rows[10]["sender_frame"] == 8
    assert [row["receiver_frame"] for row in rows] == [4, 4, 4, 0, 6, 6, 8, 8, 8, 8, 10]
    acks = found.acks.to_pylist()
    assert [row["ack"] for row in acks] == [1, 3001, 3001, 3001, 10001]
    assert all(row["t_received_ns"] - row["t_sent_ns"] == 10 * MS for row in acks)
    assert (flow["bytes"], flow["lost"], flow["retransmitted"]) == (10000, 1, 1)
    assert (flow["spurious"], flow["timeouts"], flow["fast_recoveries"]) == (0, 0, 1)
    assert (flow["min_rtt_ns"], flow["max_unacknowledged_bytes"]) == (20 * MS, 10000)
    assert (flow["stops"], flow["stopped_share"], flow["elapsed_ns"]) == ([], 0, 41 * MS)
    assert events(found, "loss_burst") == [], "one packet is no burst; the table losses has it"
    (repair,) = events(found, "fast_retransmit")
    assert (repair["seq"], repair["packets"], repair["t0_ns"]) == (3001, 1, at(51))
    assert events(found, "rto") == []


def collapse(queue: bool = True) -> Conversation:
    """A queue grows to 20 ms, a burst of 4 within the last 8 is lost, and silence follows until the time-out."""
    path = Conversation()
    for i in range(20):
        path.send(30 + i, 1 + i * MSS, 1, [(0, 1, 10 + (i if queue else 0))])
    for i in range(20, 28):
        path.send(30 + i, 1 + i * MSS, 1, [(0, 1, 30 if queue else 10)] if i % 2 else [])
    path.ack(80, 20001)
    for i in (21, 23, 25, 27):
        path.ack(61 + i + 0.5, 20001)
    path.send(1076, 20001)  # time-out: 1.02 s after the last lost part, which was sent at 56 ms
    path.ack(1086, 22001)
    path.send(1096, 22001)
    path.send(1096.1, 23001)  # Go-Back-N: this one had arrived
    path.ack(1107, 24001)
    path.send(1117, 24001, 1)
    path.send(1117.1, 26001, 1)
    path.ack(1128, 28001)
    return path


def test_a_stop_after_tail_drop_is_named(tmp_path: Path) -> None:
    found, flow = collapse().analyse(tmp_path)
    (stop,) = flow["stops"]
    assert (stop["t0_ns"], stop["t1_ns"], stop["cause"]) == (at(57), at(1076), "rto_after_tail_drop")
    assert stop["text"] == "retransmission time-out 1.02 s after a tail-drop burst of 4 packets (4,000 bytes)"
    assert flow["stopped_share"] == pytest.approx((1076 - 57) / (1138 - 30))
    assert (flow["lost"], flow["timeouts"], flow["retransmitted"], flow["spurious"]) == (4, 1, 5, 1)
    kinds = [row["kind"] for row in found.segments.to_pylist()]
    assert kinds == [NEW] * 28 + [TIMEOUT, TIMEOUT, SPURIOUS, TIMEOUT, TIMEOUT]
    (burst,) = events(found, "loss_burst")
    assert (burst["packets"], burst["bytes"], burst["t0_ns"], burst["t1_ns"]) == (4, 4000, at(50), at(56))
    (rto,) = events(found, "rto")
    assert (rto["t0_ns"], rto["t1_ns"], rto["seq"], rto["bytes"]) == (at(57), at(1076), 20001, 8000)


def test_loss_without_a_queue_is_not_called_tail_drop(tmp_path: Path) -> None:
    _, flow = collapse(queue=False).analyse(tmp_path)
    assert [stop["cause"] for stop in flow["stops"]] == ["rto_after_loss"]


def test_a_lost_retransmission_is_named(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1, [])
    path.send(1030, 1, 1, [])
    path.send(3030, 1, 1)
    path.ack(3040, 1001)
    found, flow = path.analyse(tmp_path)
    assert [stop["cause"] for stop in flow["stops"]] == ["rto_after_loss", "rto_after_lost_retransmission"]
    assert [row["transmission"] for row in found.segments.to_pylist()] == [1, 2, 3]
    assert (flow["timeouts"], flow["lost"]) == (2, 2)


def test_a_timeout_after_lost_acknowledgements_is_spurious(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 2)
    path.ack(40, 2001, lost=True)
    path.send(330, 1, 1)
    path.ack(340, 2001)
    found, flow = path.analyse(tmp_path)
    assert [stop["cause"] for stop in flow["stops"]] == ["rto_spurious"]
    assert (flow["lost"], flow["spurious"], flow["timeouts"]) == (0, 1, 1)
    assert [row["t_received_ns"] for row in found.acks.to_pylist()][1:] == [-1, at(350)]
    assert [row["kind"] for row in found.segments.to_pylist()] == [NEW, NEW, SPURIOUS]


def test_copies_without_identification_are_paired_by_time(tmp_path: Path) -> None:
    """IPv6 has no identification: the first copy is lost, the second arrives, and a third is needless. Only their times
    tell the copies apart."""
    path = Conversation(v6=True)
    path.send(30, 1, 1)
    path.ack(40, 1001)
    path.send(50, 1001, 1, [])
    path.send(300, 1001, 1)
    path.ack(310, 2001, lost=True)
    path.send(600, 1001, 1)
    path.ack(610, 2001)
    found, flow = path.analyse(tmp_path)
    assert [row["delay_ns"] for row in found.segments.to_pylist()] == [10 * MS, -1, 10 * MS, 10 * MS]
    assert (flow["lost"], flow["spurious"]) == (1, 1)


def answer(path: Conversation, t_ms: float, ack: int, seq: int, parts: int, arrive: list[int]) -> None:
    """The receiver sends data of its own as one super-packet, each of whose parts carries the acknowledgement. The
    parts in `arrive` reach the sender as single packets, a millisecond apart."""
    ip_id = 500 + seq // MSS if path.ids else 0
    whole = Packet(at(t_ms), path.b, path.a, ISN_R + seq, ISN_S + ack, ACK, parts * MSS, 60000, ip_id, path.stamp(t_ms))
    path.receiver.append(whole)
    for part in arrive:
        change = {
            "t_ns": whole.t_ns + (10 + part) * MS,
            "seq": whole.seq + part * MSS,
            "length": MSS,
            "ip_id": ip_id + part if path.ids else 0,
        }
        path.sender.append(Packet(**{**whole.__dict__, **change}))


@pytest.mark.parametrize("kind", KINDS)
def test_an_acknowledgement_arrives_with_the_first_part_of_its_packet(tmp_path: Path, kind: dict[str, Any]) -> None:
    """Answers in super-packets of two parts, 5 ms apart: the second answer loses its first part, the third both. No
    part of another packet is taken for a lost one, so no delay is below the path's 10 ms."""
    path = Conversation(**kind)
    path.send(30, 1, 2)
    for number, arrive in enumerate([[0, 1], [1], [], [0, 1]]):
        answer(path, 40 + 5 * number, 2001, 1 + 2 * MSS * number, 2, arrive)
    path.send(80, 2001)
    path.ack(90, 3001)
    found, flow = path.analyse(tmp_path)
    delays = [
        row["t_received_ns"] - row["t_sent_ns"] if row["t_received_ns"] >= 0 else None
        for row in found.acks.to_pylist()
        if row["ack"] == 2001
    ]
    assert delays == [10 * MS, 11 * MS, None, 10 * MS]
    assert [level["delay_ns"] for level in flow["base"]["acks"]] == [10 * MS]


def test_a_packet_duplicated_in_the_network_counts_once(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1, [(0, 1, 10), (0, 1, 15)])
    path.ack(40, 1001)
    found, flow = path.analyse(tmp_path)
    assert [row["delay_ns"] for row in found.segments.to_pylist()] == [10 * MS]
    assert flow["lost"] == 0


def test_a_closed_window_is_named(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 2)
    path.ack(40, 2001, window=0)
    path.ack(640, 2001, window=60000)
    path.send(650, 2001, 1)
    path.ack(660, 3001)
    found, flow = path.analyse(tmp_path)
    (closed,) = events(found, "zero_window")
    assert (closed["t0_ns"], closed["t1_ns"], closed["seq"]) == (at(50), at(650), 2001)
    assert [stop["cause"] for stop in flow["stops"]] == ["zero_window"]


def test_a_stop_counts_what_was_outstanding_at_its_beginning(tmp_path: Path) -> None:
    """The acknowledgement of a retransmission comes late, and its octets are outstanding until then."""
    path = Conversation()
    path.send(30, 1, 2)
    path.ack(40, 2001, lost=True)
    path.send(330, 1, 1)
    path.ack(340, 2001, lost=True)
    path.ack(700, 2001)
    path.send(900, 2001, 1)
    path.ack(910, 3001)
    _, flow = path.analyse(tmp_path)
    assert [(stop["cause"], stop["text"]) for stop in flow["stops"][1:]] == [
        ("ack_wait", "waited for acknowledgements with 2,000 bytes outstanding")
    ]


def test_an_idle_application_is_named(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 2)
    path.ack(40, 2001)
    path.send(2000, 2001, 1)
    path.ack(2010, 3001)
    found, flow = path.analyse(tmp_path)
    (idle,) = events(found, "idle")
    assert (idle["t0_ns"], idle["t1_ns"]) == (at(50), at(2000))
    assert [stop["cause"] for stop in flow["stops"]] == ["idle"]


def test_a_full_window_is_an_event(tmp_path: Path) -> None:
    path = Conversation()
    path.ack(30, 1, window=4000)
    for i in range(10):
        path.send(50 + 20 * i, 1 + 4000 * i, 4)
        path.ack(60 + 20 * i, 1 + 4000 * (i + 1), window=4000)
    found, flow = path.analyse(tmp_path)
    (full,) = events(found, "receiver_window")
    assert (full["t0_ns"], full["t1_ns"], full["bytes"]) == (at(50), at(50 + 20 * 9), 4000)
    assert (flow["max_unacknowledged_bytes"], flow["stops"]) == (4000, [])


def test_the_window_of_the_handshake_limits_the_first_flight(tmp_path: Path) -> None:
    """A sender of jumbo frames begins with ten segments, which are more than the 64 KB of an unscaled window."""
    path = Conversation()
    path.send(30, 1, 60)
    path.ack(40, 30001, window=60000)
    path.send(50, 60001, 30)
    _, flow = path.analyse(tmp_path)
    assert flow["limits_ns"] == {"receiver_window": at(50) - at(30)}


def test_data_outstanding_at_the_end_is_a_stop(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1, [])
    path.ack(1000, 1)
    _, flow = path.analyse(tmp_path)
    assert [stop["cause"] for stop in flow["stops"]] == ["unfinished"]


def test_random_losses_are_found_exactly(tmp_path: Path) -> None:
    """Every part's fate is drawn; arrivals are regrouped at random. Each is found, and no other."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    path, fates, seq, t_ms = Conversation(), [], 1, 30.0
    for _ in range(400):
        parts = rng.randint(1, 20)
        lost = [rng.random() < 0.05 for _ in range(parts)]
        arrive, start = [], 0
        for i in range(parts + 1):
            cut = i == parts or lost[i] or rng.random() < 0.3
            if cut and i > start:
                arrive.append((start, i - start, 10 + rng.random()))
            if cut:
                start = i + 1 if i < parts and lost[i] else i
        path.send(t_ms, seq, parts, arrive)
        fates += lost
        seq += parts * MSS
        t_ms += 0.5
    path.ack(t_ms + 50, 1)
    found, flow = path.analyse(tmp_path)
    assert [t < 0 for t in found.segments["t_received_ns"].to_pylist()] == fates
    assert flow["lost"] == sum(fates)


def test_captures_of_different_connections_have_nothing_to_join(tmp_path: Path) -> None:
    one, other = Conversation(), Conversation(v6=True)
    write_pcapng(tmp_path / "s.pcapng", one.sender)
    moved = [replace(packet, seq=packet.seq + 7, ack=packet.ack + 7) for packet in other.receiver]
    write_pcapng(tmp_path / "r.pcapng", moved)
    done = join(tmp_path, "analyse")
    assert done.returncode == 1 and "no connection in common" in done.stderr
    assert not (tmp_path / "out").exists()


def test_xplot_draws_every_loss_and_repair(tmp_path: Path) -> None:
    path = fast_retransmission()
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    done = join(tmp_path, "export", "--xplot")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "0.xpl").read_text()
    assert text.startswith("timeval unsigned\n") and text.endswith("go\n")
    assert (text.count("\nR\n"), text.count("\nX\n")) == (1, 1)
    assert "line 1700000000.030000000 3001 1700000000.030000000 4001" in text


def drawn(folder: Path, *options: str) -> list[str]:
    """Returns the lines of the xplot graph, and removes the graph."""
    done = join(folder, "export", "--xplot", *options)
    assert done.returncode == 0, done.stderr
    text = (folder / "out" / "0.xpl").read_text()
    shutil.rmtree(folder / "out")
    return [one for one in text.splitlines() if one.startswith("line ")]


def test_a_range_of_a_graph_is_the_part_of_the_whole(tmp_path: Path) -> None:
    """Segments are upright lines. The graph of a range has the same ones as the whole graph in that range, and nothing
    outside of it."""
    path = fast_retransmission()
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    whole, part = drawn(tmp_path), drawn(tmp_path, "--from", "5ms", "--to", "25ms")
    begin = int(min(one.split()[1] for one in whole if one.split()[1] == one.split()[3]).replace(".", ""))

    def times(one: str) -> list[int]:
        return [int(word.replace(".", "")) - begin for word in one.split()[1::2]]

    upright = [one for one in whole if len(set(times(one))) == 1]
    assert [one for one in part if one in whole] and len(part) < len(whole)
    assert all(5_000_000 <= t <= 25_000_000 for one in part for t in times(one))
    assert {one for one in upright if 5_000_000 <= times(one)[0] <= 25_000_000} <= set(part)
    assert join(tmp_path, "export", "--xplot", "--from", "2s", "--to", "1s").returncode == 2


def exported(folder: Path, *options: str) -> dict[str, pa.Table]:
    """The tables that `export --csv` writes, as another program reads them; their folder is removed."""
    done = join(folder, "export", "--csv", *options)
    assert done.returncode == 0, done.stderr
    tables = {file.stem: csv.read_csv(file) for file in (folder / "out").iterdir()}
    shutil.rmtree(folder / "out")
    return tables


def test_csv_has_the_tables_of_the_analysis(tmp_path: Path) -> None:
    """Every number equals the number in the columns; kinds and causes are names; a flow is one row."""
    found, _ = fast_retransmission().analyse(tmp_path)
    wanted = {name: getattr(found, name).to_pydict() for name in pktlogger.columns.TABLES}
    flow, lists = found.summary["flows"][0], found.summary
    shutil.rmtree(tmp_path / "out")
    tables = exported(tmp_path)
    named = {
        "segments": {"kind": "segment_kinds"},
        "events": {"kind": "event_kinds"},
        "limits": {"cause": "limit_causes"},
        "losses": {"cause": "loss_causes", "seen_cause": "loss_causes"},
    }
    for table, columns in named.items():
        for column, names in columns.items():
            wanted[table][column] = [lists[names][number] for number in wanted[table][column]]
    assert {name: table.to_pydict() for name, table in tables.items() if name != "flows"} == wanted
    assert len(wanted["losses"]["cause"]) == 1
    (row,) = tables["flows"].to_pylist()
    ends = {f"{end}_{part}": flow[end][part] for end in ("sender", "receiver") for part in ("address", "port")}
    values = {key: value for key, value in flow.items() if key != "box" and not isinstance(value, dict | list)}
    assert row == pytest.approx(ends | values)


def test_a_range_of_the_tables_has_the_rows_of_that_time(tmp_path: Path) -> None:
    path = fast_retransmission()
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    whole, part = exported(tmp_path), exported(tmp_path, "--from", "5ms", "--to", "25ms")
    begin = whole["flows"]["t0_ns"][0].as_py() + 5_000_000
    for name, first, last in (("segments", "t_sent_ns", "t_sent_ns"), ("limits", "t0_ns", "t1_ns")):
        rows = whole[name].to_pylist()
        rows = [row for row in rows if row[first] <= begin + 20_000_000 and row[last] >= begin]
        assert part[name].to_pylist() == rows
    assert 0 < part["segments"].num_rows < whole["segments"].num_rows
    assert part["flows"] == whole["flows"]
    done = join(tmp_path, "export")
    assert done.returncode == 2 and "--xplot, --csv and --pcap-per-flow" in done.stderr


def test_parquet_says_what_its_numbers_stand_for(tmp_path: Path) -> None:
    found, _ = fast_retransmission().analyse(tmp_path)
    target = tmp_path / "trial"
    target.mkdir()
    pktlogger.analysis_to_parquet(tmp_path / "out", target)
    names = {
        name: json.loads(pq.read_schema(target / f"{name}.parquet").metadata[b"pktlogger.names"])
        for name in ("segments", "acks", "events")
    }
    assert names["segments"] == {"kind": found.summary["segment_kinds"]} and names["acks"] == {}
    assert names["events"]["kind"][0] == "loss_burst"


def test_an_analysis_is_read_from_a_trials_folder_too(tmp_path: Path) -> None:
    found, _ = fast_retransmission().analyse(tmp_path)
    trial = tmp_path / "run" / "trials" / "0000"
    trial.mkdir(parents=True)
    pktlogger.analysis_to_parquet(tmp_path / "out", trial)
    shutil.copy(tmp_path / "out" / "summary.json", trial)
    again = pktlogger.read_analysis(trial)
    assert again.segments.to_pylist() == found.segments.to_pylist() and again.summary == found.summary
    (tmp_path / "run" / "manifest.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"is a run's folder; want a trial's, such as '.*/trials/0000'"):
        pktlogger.read_analysis(tmp_path / "run")
    with pytest.raises(FileNotFoundError, match="holds no analysis"):
        pktlogger.read_analysis(tmp_path)


def test_a_segment_has_arrived_with_its_last_piece(tmp_path: Path) -> None:
    """A middlebox cuts a segment in two, and the second half comes 2.5 ms later."""
    path = Conversation(ids=False)
    path.send(30, 1, 1, [])
    whole = path.sender[-1].__dict__
    for first, length, delay_ms in ((0, 400, 10.0), (400, 600, 12.5)):
        piece = {"t_ns": whole["t_ns"] + int(delay_ms * MS), "seq": whole["seq"] + first, "length": length}
        path.receiver.append(Packet(**{**whole, **piece}))
    path.ack(43, 1001)
    found, flow = path.analyse(tmp_path)
    (row,) = found.segments.to_pylist()
    assert (row["t_received_ns"], row["delay_ns"], row["receiver_frame"]) == (at(42.5), int(12.5 * MS), 4)
    assert (flow["lost"], flow["max_delay_ns"]) == (0, int(12.5 * MS))


def test_what_was_sent_twice_gives_no_round_trip(tmp_path: Path) -> None:
    """Karn: the acknowledgement may be of either copy, so neither 1,020 ms nor 20 ms is a sample."""
    path = Conversation()
    path.send(30, 1, 1, [])
    path.send(1030, 1, 1, [(0, 1, 15)])
    path.ack(1045, 1001)
    _, flow = path.analyse(tmp_path)
    assert (flow["min_rtt_ns"], flow["max_rtt_ns"]) == (20 * MS, 20 * MS), "the handshake's sample alone"


def test_what_a_hole_held_back_gives_no_round_trip(tmp_path: Path) -> None:
    """The first of three parts is lost. All acknowledgements are lost, too, until the repair's comes, 102 ms after the
    third part was sent. The second and third part waited for the repair, so this is no round trip."""
    path = Conversation()
    path.send(30, 1, 1, [])
    for t_ms, seq in ((30.1, 1001), (30.2, 2001)):
        path.send(t_ms, seq, 1)
        path.ack(t_ms + 10, 1, sack=(1001, seq + MSS), lost=True)
    path.send(112, 1, 1)
    path.ack(122, 3001)
    found, flow = path.analyse(tmp_path)
    assert (flow["min_rtt_ns"], flow["max_rtt_ns"]) == (20 * MS, 20 * MS), "the handshake's sample alone"
    assert set(found.rates["rtt_ns"].to_pylist()) == {-1}


def test_a_block_of_sack_is_the_first_acknowledgement_of_its_newest_part(tmp_path: Path) -> None:
    """Behind a hole SACK blocks give RTT samples, of 21 and 25 ms; the acknowledgement of the repair gives none."""
    path = Conversation()
    path.send(30, 1, 1, [])
    path.send(31, 1001, 1, [(0, 1, 11)])
    path.ack(42, 1, sack=(1001, 2001))
    path.send(32, 2001, 1, [(0, 1, 15)])
    path.ack(47, 1, sack=(1001, 3001))
    path.send(112, 1, 1)
    path.ack(122, 3001)
    found, flow = path.analyse(tmp_path, "--scales", "100us")
    samples = [row["rtt_ns"] // MS for row in found.rates.to_pylist() if row["rtt_ns"] >= 0]
    assert samples == [21, 25] and (flow["min_rtt_ns"], flow["max_rtt_ns"]) == (20 * MS, 25 * MS)


def trips(found: pktlogger.Analysis) -> list[tuple[float, int, int]]:
    """The RTT samples: arrival of the acknowledgement and RTT, ms, and how many acknowledgements before it gave
    none."""
    return [((row["t_ns"] - at(0)) / MS, row["rtt_ns"] // MS, row["gap"]) for row in found.round_trips.to_pylist()]


@pytest.mark.parametrize("sack", [True, False])
def test_each_sample_is_a_row_and_says_whether_acknowledgements_before_it_gave_none(tmp_path: Path, sack: bool) -> None:
    """The fourth of five parts is lost and sent again, and its acknowledgement gives no sample. Without SACK the
    acknowledgement before the repair may be for a part after the hole, so it gives none, either."""
    path = Conversation()
    path.send(30, 1, 1)
    path.send(31, 1001, 1)
    path.ack(41, 2001, sack=(1, 1001) if sack else None)  # a duplicate had come
    path.send(60, 2001, 1)
    path.send(61, 3001, 1, [])
    path.ack(70, 3001)
    path.send(1061, 3001, 1)
    path.ack(1071, 4001)
    path.send(1100, 4001, 1)
    path.ack(1110, 5001)
    found, flow = path.analyse(tmp_path)
    first = [(20, 20, 0), (51, 20, 0)]
    assert trips(found) == ([*first, (80, 20, 0)] if sack else first) + [(1120, 20, 1)]
    lengths = found.round_trips["rtt_ns"].to_pylist()
    assert (min(lengths), max(lengths)) == (flow["min_rtt_ns"], flow["max_rtt_ns"])


@pytest.mark.parametrize(("options", "port"), [((), 40000), (("--sender-accepted",), 5010)])
def test_where_times_do_not_tell_directions_apart_it_is_said_who_accepted(
    tmp_path: Path, options: tuple[str, ...], port: int
) -> None:
    """On a link without delay, such as behind gateways in virtual time, responses were once analysed as requests."""
    path = Conversation(way_ms=0)
    path.send(30, 1, 1)
    path.ack(30, 1001)
    answer = Packet(0, path.b, path.a, ISN_R + 1, ISN_S + 1001, ACK, 300, 60000, 9, path.stamp(31))
    path._both(31, 0, answer, forward=False)
    _, flow = path.analyse(tmp_path, *options)
    assert (flow["sender"]["port"], flow["bytes"]) == (port, 1000 if port == 40000 else 300)


def test_the_whole_time_and_every_loss_have_a_cause(tmp_path: Path) -> None:
    found, flow = collapse().analyse(tmp_path)
    limits, names = found.limits.to_pylist(), found.summary["limit_causes"]
    assert [row["t0_ns"] for row in limits[1:]] == [row["t1_ns"] for row in limits[:-1]]
    assert (limits[0]["t0_ns"], limits[-1]["t1_ns"]) == (at(30), at(1117.1))
    assert sum(flow["limits_ns"].values()) == at(1117.1) - at(30)
    (timeout,) = [row for row in limits if names[row["cause"]] == "timeout"]
    assert (timeout["t0_ns"], timeout["t1_ns"]) == (at(57), at(1117.1))
    losses = found.losses.to_pylist()
    assert [row["seq"] for row in losses] == [20001, 22001, 24001, 26001]
    assert {found.summary["loss_causes"][row["cause"]] for row in losses} == {"unknown"}, "four losses tell too little"
    assert flow["losses_by_cause"] == flow["losses_seen"] == {"unknown": 4}
    assert all(abs(row["queue_ns"] - 20 * MS) < 2 * MS for row in losses)


def test_what_the_path_cannot_have_is_no_cause(tmp_path: Path) -> None:
    """Four losses do not tell their cause. On a path that loses packets in its queue alone, they are tail drops."""
    others = "aqm,random_before,random_behind,outage,receiver,policer"
    _, flow = collapse().analyse(tmp_path)
    assert flow["losses_by_cause"] == {"unknown": 4}
    shutil.rmtree(tmp_path / "out")
    assert join(tmp_path, "analyse", "--ruled-out", others).returncode == 0
    found = pktlogger.read_analysis(tmp_path / "out").summary
    assert found["flows"][0]["losses_by_cause"] == {"tail_drop": 4}
    assert found["flows"][0]["losses_seen"] == {"unknown": 4}
    assert sorted(found["ruled_out"]) == sorted(others.split(","))


def test_a_cause_that_cannot_be_ruled_out_is_named(tmp_path: Path) -> None:
    collapse().analyse(tmp_path)
    shutil.rmtree(tmp_path / "out")
    done = join(tmp_path, "analyse", "--ruled-out", "aqm,emulator")
    assert done.returncode == 2 and "--ruled-out 'aqm,emulator': want some of tail_drop, aqm" in done.stderr


def test_what_the_receivers_capture_missed_is_not_lost(tmp_path: Path) -> None:
    """The third of four parts was acknowledged, and no copy of it is in the capture. The path lost nothing."""
    path = Conversation()
    path.send(30, 1, 4, [(0, 2, 10), (3, 1, 10)])
    path.ack(40, 4001)
    path.send(60, 4001)
    path.ack(70, 5001)
    found, flow = path.analyse(tmp_path)
    assert (flow["lost"], flow["unseen"], flow["acked_unseen_bytes"]) == (0, 1, MSS)
    assert found.segments["unseen"].to_pylist() == [0, 0, 1, 0, 0]
    assert flow["losses_by_cause"] == {"capture_loss": 1}
    assert [event["kind"] for event in found.events.to_pylist()] == []


def test_how_far_packets_were_overtaken(tmp_path: Path) -> None:
    """Of six parts the second arrives behind the fourth, and the fifth behind the sixth. Arrivals behind a gap make
    duplicate acknowledgements."""
    path = Conversation()
    for part, delay_ms in enumerate((10, 12.5, 10, 10, 11.5, 10)):
        path.send(30 + part, 1 + part * MSS, 1, [(0, 1, delay_ms)])
    for t_ms, ack in ((40, 1001), (42, 1001), (43, 1001), (43.5, 4001), (45, 4001), (45.5, 6001)):
        path.ack(t_ms, ack)
    _, flow = path.analyse(tmp_path)
    assert (flow["reordered"], flow["reordered_by_max"], flow["reordered_by_mean"]) == (2, 2, 1.5)
    assert (flow["reordered_late_max_ns"], flow["duplicate_acks"], flow["lost"]) == (MS * 3 // 2, 3, 0)


def test_rates_in_intervals_and_bursts(tmp_path: Path) -> None:
    """Bursts of 4, 2 and 2 parts at 30, 50 and 75 ms. Each is received and acknowledged within the next 20 ms."""
    path = Conversation()
    for t_ms, seq, parts in ((30, 1, 4), (50, 4001, 2), (75, 6001, 2)):
        path.send(t_ms, seq, parts)
        path.ack(t_ms + 10, seq + parts * MSS, window=50000)
    found, flow = path.analyse(tmp_path, "--scales", "10ms,1s")
    rows = [row for row in found.rates.to_pylist() if row["scale_ns"] == 10 * MS]
    assert [(row["t0_ns"] - at(30)) // MS for row in rows] == [0, 10, 20, 30, 40, 50, 60]
    assert [row["sent_packets"] for row in rows] == [4, 0, 2, 0, 2, 0, 0]
    assert [row["received_bytes"] for row in rows] == [0, 4000, 0, 2000, 0, 2000, 0]
    assert [row["acked_bytes"] for row in rows] == [0, 0, 4000, 0, 2000, 0, 2000]
    assert [row["rtt_ns"] // MS for row in rows] == [-1, -1, 20, -1, 20, -1, 20]
    assert [row["flight_bytes"] for row in rows][:3] == [4000, 0, 2000]
    (whole,) = [row for row in found.rates.to_pylist() if row["scale_ns"] == 1000 * MS]
    assert (whole["sent_bytes"], whole["received_bytes"], whole["acked_bytes"], whole["rtt_ns"]) == (
        8000,
        8000,
        8000,
        20 * MS,
    )
    fine, coarse = flow["rates"]
    assert (fine["intervals"], coarse["intervals"]) == (7, 1)
    assert fine["sent_bps"]["max"] == 4000 * 8 * 100 and coarse["received_bps"]["mean"] == 8000 * 8
    assert fine["sent_bps"]["mean"] == pytest.approx(8000 / 7 * 8 * 100)
    bursts = flow["bursts"]
    assert (bursts["bursts"], bursts["packets_max"], bursts["bytes_max"]) == (3, 4, 4000)
    assert bursts["by_packets"] == [0, 2, 1]


@pytest.mark.parametrize(("echo_ms", "until_ms"), [(30, 75), (55, 105)])
def test_a_recovery_is_over_when_a_time_stamp_shows_that_nothing_was_lost(
    tmp_path: Path, echo_ms: float, until_ms: float
) -> None:
    """Three packets of a flight overtake the first one, which is sent again. An acknowledgement of it that echoes the
    original's time stamp undoes the recovery (Eifel, RFC 3522), although data sent before it are still outstanding."""
    path = Conversation(ts=True)
    path.send(30, 1, 1, [(0, 1, 24)])
    for number in range(1, 4):
        path.send(30, 1 + 1000 * number)
    for _ in range(3):
        path.ack(40, 1)
    path.send(51, 4001, 4)
    path.send(55, 1)
    path.ack(65, 4001, echo_ms=echo_ms)
    path.send(76, 8001)
    path.ack(95, 8001)
    path.ack(105, 9001)
    path.send(116, 9001)
    path.ack(126, 10001)
    _, flow = path.analyse(tmp_path)
    assert flow["fast_recoveries"] == 1
    assert flow["limits_ns"]["fast_recovery"] == (until_ms - 55) * MS


def test_a_tail_loss_probe_is_told_from_a_fast_retransmission(tmp_path: Path) -> None:
    """The last of five parts is lost and sent again alone after 45 ms of silence, before any time-out."""
    path = Conversation()
    path.send(30, 1, 5, [(0, 4, 10)])
    path.ack(40, 2001)
    path.send(95, 4001)
    path.ack(105, 5001)
    found, flow = path.analyse(tmp_path)
    assert [found.summary["segment_kinds"][kind] for kind in found.segments["kind"].to_pylist()] == [
        *["new"] * 5,
        "tail_loss_probe",
    ]
    assert (flow["timeouts"], flow["fast_recoveries"], flow["retransmitted"]) == (0, 0, 1)


def lone_packet(sack: bool, wait_ms: float) -> Conversation:
    """The only packet outstanding is lost and sent again alone; the round trip is 20 ms."""
    path = Conversation(sack=sack)
    path.send(30, 1)
    path.ack(40, 1001)
    path.send(50, 1001, 1, [])
    path.send(50 + wait_ms, 1001)
    path.ack(60 + wait_ms, 2001)
    path.send(70 + wait_ms, 2001)
    path.ack(80 + wait_ms, 3001)
    return path


@pytest.mark.parametrize(
    ("sack", "wait_ms", "total_rto", "timeouts"),
    [
        (True, 220, None, 0),  # SRTT + 200 ms, when a time-out would come at the latest
        (True, 45, None, 0),
        (True, 600, None, 1),  # longer than twice the SRTT and a delayed acknowledgement
        (False, 220, None, 1),  # RFC 8985 needs SACK
        (True, 220, 1, 1),
        (False, 600, 0, 0),
    ],
)
def test_a_lone_packet_sent_again_is_a_probe_or_a_time_out(
    tmp_path: Path, sack: bool, wait_ms: float, total_rto: int | None, timeouts: int
) -> None:
    """Samples with the kernel's own count of time-outs decide; without them RFC 8985, 7.2 does."""
    more: list[str | Path] = []
    if total_rto is not None:
        rows = [f"{at(ms)},40000,5010,0,{total_rto if ms >= 50 + wait_ms else 0}" for ms in range(0, 1000, 10)]
        samples = tmp_path / "samples.csv"
        samples.write_text("\n".join(["t_ns,local_port,remote_port,notsent_bytes,total_rto", *rows]))
        more = ["--samples", samples]
    found, flow = lone_packet(sack, wait_ms).analyse(tmp_path, *more)
    kind = found.summary["segment_kinds"][found.segments["kind"].to_pylist()[2]]
    assert (flow["timeouts"], kind) == (timeouts, "retransmission_after_timeout" if timeouts else "tail_loss_probe")
    assert flow["limits_ns"].get("timeout", 0) == (int((wait_ms + 20) * MS) if timeouts else 0)
    assert flow["limits_ns"].get("fast_recovery", 0) == (0 if timeouts else int((wait_ms + 20) * MS))
    assert len(events(found, "rto")) == timeouts


def test_racks_wait_for_reordering_is_no_time_out(tmp_path: Path) -> None:
    """The first of two parts is lost, and SACK reports the second one. The report arrives at
    50.5 ms. The sender waits for a quarter of the round trip of 20 ms, and its timer is late by two ticks of 4 ms. No
    time-out is as short as these 13.5 ms."""
    path = Conversation(sack=True)
    path.send(30, 1, 2, [(1, 1, 10)])
    path.ack(40.5, 1, sack=(1 + MSS, 1 + 2 * MSS))
    path.send(64, 1)
    path.ack(74, 1 + 2 * MSS)
    path.send(84, 1 + 2 * MSS)
    path.ack(94, 1 + 3 * MSS)
    found, flow = path.analyse(tmp_path)
    assert (flow["timeouts"], flow["fast_recoveries"], flow["retransmitted"]) == (0, 1, 1)
    assert "timeout" not in flow["limits_ns"] and events(found, "rto") == []


@pytest.mark.parametrize("counted", [False, True])
def test_a_time_out_among_duplicate_acknowledgements_is_the_kernels_word(tmp_path: Path, counted: bool) -> None:
    """Without SACK a fast retransmission is lost, and duplicate acknowledgements come until 3 ms before the time-out.
    The captures alone take the time-out for another fast retransmission."""
    path = Conversation()
    path.send(30, 1, 5, [(1, 4, 10)])
    for number in range(4):
        path.ack(40 + number / 10, 1)
    path.send(51, 1, 1, [])
    for number in range(20):
        path.send(60 + 10 * number, 5001 + number * 1000)
        path.ack(70 + 10 * number, 1)
    path.send(273, 1)
    path.ack(283, 25001)
    path.send(293, 25001)
    path.ack(303, 26001)
    rows = [f"{at(ms)},40000,5010,0,{int(counted and ms >= 273)}" for ms in range(0, 400, 10)]
    samples = tmp_path / "samples.csv"
    samples.write_text("\n".join(["t_ns,local_port,remote_port,notsent_bytes,total_rto", *rows]))
    _, flow = path.analyse(tmp_path, "--samples", samples)
    assert flow["timeouts"] == int(counted)


@pytest.mark.parametrize("counted", [1, 2])
def test_a_second_time_out_among_duplicate_acknowledgements_is_the_kernels_word(tmp_path: Path, counted: int) -> None:
    """The repair of the next hole is lost, too, and new packets bring duplicates until 3 ms before its time-out."""
    path = Conversation()
    path.send(30, 1, 5, [(4, 1, 10)])
    path.send(250, 1)
    path.ack(260, 1001)
    path.send(260.1, 1001, 1, [])
    for number in range(20):
        path.send(270 + 10 * number, 5001 + number * 1000)
        path.ack(280 + 10 * number, 1001)
    path.send(483, 1001)
    path.ack(493, 2001)
    path.send(493.1, 2001, 2)
    path.ack(503, 25001)
    path.send(513, 25001)
    path.ack(523, 26001)
    rows = [f"{at(ms)},40000,5010,0,{(ms >= 250) + (counted == 2 and ms >= 483)}" for ms in range(0, 600, 10)]
    samples = tmp_path / "samples.csv"
    samples.write_text("\n".join(["t_ns,local_port,remote_port,notsent_bytes,total_rto", *rows]))
    _, flow = path.analyse(tmp_path, "--samples", samples)
    assert flow["timeouts"] == counted


def test_after_a_probe_the_second_copy_is_a_time_out(tmp_path: Path) -> None:
    path = Conversation(sack=True)
    path.send(30, 1)
    path.ack(40, 1001)
    path.send(50, 1001, 1, [])
    path.send(270, 1001, 1, [])
    path.send(490, 1001)
    path.ack(500, 2001)
    found, flow = path.analyse(tmp_path)
    assert flow["timeouts"] == 1
    assert [found.summary["segment_kinds"][kind] for kind in found.segments["kind"].to_pylist()[2:]] == [
        "tail_loss_probe",
        "retransmission_after_timeout",
    ]


def test_a_probe_is_sooner_where_the_round_trip_is_short(tmp_path: Path) -> None:
    """Next to a gateway a probe leaves 3.7 ms after the last data, because the kernel waits for twice its smoothed RTT
    and two ticks. The receiver delays its acknowledgement by 40 ms; everything had arrived, and nothing hinted at a
    loss."""
    path = Conversation(way_ms=0.1)
    path.send(30, 1, 3)
    path.ack(30.1, 1001)
    path.send(33.9, 2001)
    path.ack(70.1, 3001)
    path.send(70.3, 3001)
    path.ack(70.4, 4001)
    found, flow = path.analyse(tmp_path)
    assert (flow["timeouts"], flow["fast_recoveries"], flow["retransmitted"], flow["spurious"]) == (0, 0, 1, 1)
    assert "fast_recovery" not in flow["limits_ns"] and events(found, "fast_retransmit") == []


def test_the_answer_to_a_probe_in_vain_is_no_hint_at_a_loss(tmp_path: Path) -> None:
    """The receiver delays acknowledgements, so all probed data had arrived. It reports the first probe as a duplicate
    (RFC 2883) and acknowledges everything; data sent afterwards are probed, too."""
    path = Conversation(way_ms=0.1, sack=True)
    for turn in range(3):
        began_ms, first = 30 + 50 * turn, 1 + 3 * MSS * turn
        path.send(began_ms, first, 3)
        path.send(began_ms + 16, first + 2 * MSS)
        path.ack(began_ms + 16.2, first + 3 * MSS, sack=(first + 2 * MSS, first + 3 * MSS))
    path.send(180, 1 + 9 * MSS)
    path.ack(180.2, 1 + 10 * MSS)
    found, flow = path.analyse(tmp_path)
    assert (flow["fast_recoveries"], flow["timeouts"], flow["retransmitted"], flow["spurious"]) == (0, 0, 3, 3)
    assert "fast_recovery" not in flow["limits_ns"] and events(found, "fast_retransmit") == []


def test_captures_begun_in_mid_connection_are_analysed_in_the_direction_of_the_data(tmp_path: Path) -> None:
    """Neither capture has a SYN. The sender's begins with an acknowledgement, and the receiver's 50 ms later: so
    acknowledgements seem to appear at the sender long before data do."""
    path = Conversation()
    for part in range(200):
        path.send(30 + part, 1 + part * MSS)
        path.ack(40.3 + part, 1 + (part + 1) * MSS)
    path.sender = [packet for packet in path.sender if packet.t_ns >= at(100.2)]
    path.receiver = [packet for packet in path.receiver if packet.t_ns >= at(150.2)]
    assert path.sender and min(path.sender, key=lambda packet: packet.t_ns).length == 0
    found, flow = path.analyse(tmp_path)
    assert (flow["sender"]["port"], flow["receiver"]["port"]) == (40000, 5010)
    assert flow["bytes"] == (230 - 101) * MSS
    came = found.segments["t_received_ns"].to_numpy() >= 0
    assert came.sum() >= (230 - 141) and set(found.segments["delay_ns"].to_numpy()[came]) == {10 * MS}


@pytest.mark.parametrize("opened", [False, True])
def test_a_connection_the_other_way_does_not_turn_captures_of_mid_connection_round(
    tmp_path: Path, opened: bool
) -> None:
    """Two connections between two hosts, captured from 100 ms on: one carries data from the sender's host, and the
    other, with less data, carries data to it. If the captures were taken for each other's, data of the second would
    arrive before they were sent, as with two clocks. `opened`: a third connection shows which host is the sender's, and
    the second one carries more data than the first."""
    path, other = Conversation(), Conversation()
    for part in range(200):
        path.send(30 + part, 1 + part * MSS)
        path.ack(40.3 + part, 1 + (part + 1) * MSS)
    size = 4 if opened else 1
    for part in range(150):
        other.send(30.1 + part, 1 + part * size * MSS, size)
        other.ack(40.4 + part, 1 + (part + 1) * size * MSS)
    opening = [
        [
            replace(packet, src=(packet.src[0], packet.src[1] + 7), dst=(packet.dst[0], packet.dst[1] + 7))
            for packet in end[:3]
            if opened
        ]
        for end in (path.sender, path.receiver)
    ]
    turned = {path.a: (path.b[0], 40001), path.b: (path.a[0], 5011)}
    back = [
        [replace(packet, src=turned[packet.src], dst=turned[packet.dst]) for packet in end]
        for end in (other.receiver, other.sender)
    ]
    for name, own, more, first in zip("sr", (path.sender, path.receiver), back, opening, strict=True):
        late = [packet for packet in [*own, *more] if packet.t_ns >= at(100.2)]
        write_pcapng(tmp_path / f"{name}.pcapng", sorted([*first, *late], key=lambda packet: packet.t_ns), "<")
    done = join(tmp_path, "analyse")
    assert done.returncode == 0, done.stderr
    found = pktlogger.read_analysis(tmp_path / "out")
    assert found.summary["clock"]["clock"] == "one"
    ports = {flow["sender"]["port"] for flow in found.summary["flows"] if flow["bytes"]}
    assert ports == {40000}
    came = found.segments["t_received_ns"].to_numpy() >= 0
    assert set(found.segments["delay_ns"].to_numpy()[came]) == {10 * MS}


@pytest.mark.parametrize("kind", KINDS)
def test_super_packets_of_mid_connection_are_taken_apart(tmp_path: Path, kind: dict[str, Any]) -> None:
    """No SYN gives the MSS. The sender's capture has super-packets of ten parts. The receiver's capture has wire
    packets, except for two parts that its interface has merged. Each of ten super-packets loses its fifth part, which
    is sent again. Each counts as one lost packet, not as an outage or as missed by the receiver's capture. Marks count
    per wire packet."""
    path = Conversation(**kind)
    for number in range(10):
        t_ms, first = 30 + 60 * number, 1 + 10 * MSS * number
        path.send(t_ms, first, 10, [*((part, 1, 10 + part / 10) for part in range(4)),
                                    *((part, 1, 10 + part / 10) for part in range(5, 8)),
                                    *([(8, 2, 10.9)] if number == 5 else [(8, 1, 10.8), (9, 1, 10.9)])],
                  ecn=2, ces=(0,))  # fmt: skip
        for part in range(5, 10):
            path.ack(t_ms + 10 + part / 10, first + 4 * MSS, sack=(first + 5 * MSS, first + (part + 1) * MSS))
        path.send(t_ms + 25, first + 4 * MSS)
        path.ack(t_ms + 35, first + 10 * MSS)
    path.sender = [packet for packet in path.sender if packet.t_ns >= at(29)]
    path.receiver = [packet for packet in path.receiver if packet.t_ns >= at(30)]
    found, flow = path.analyse(tmp_path)
    assert (flow["segments"], flow["lost"], flow["retransmitted"], flow["acked_unseen_bytes"]) == (110, 10, 10, 0)
    assert (flow["mss_in_use"], flow["timeouts"], flow["unseen"]) == (None, 0, 0)
    assert not {"outage", "capture_loss"} & set(flow["losses_by_cause"]) and "path_down" not in flow["limits_ns"]
    assert set(found.segments["len"].to_pylist()) == {MSS} and flow["ce_received"] == 10


def _shrunk(small: int) -> Conversation:
    """The path's MTU shrinks, so a router refuses a super-packet of three parts of ``MSS``. The sender repeats it, each
    part as ``small`` octets and the rest, and from then on sends super-packets of four parts of ``small`` octets.
    None of these is lost."""
    path = Conversation()
    packet: dict[str, Any] = {"src": path.a, "dst": path.b, "ack": ISN_R + 1, "flags": ACK, "window": 60000}
    seq, t_ms = 1, 30.0

    def moved(length: int, parts: list[int], arrives: bool = True, start: int | None = None) -> None:
        nonlocal seq, t_ms
        begin = seq if start is None else start
        path.sender.append(
            Packet(t_ns=at(t_ms), seq=ISN_S + begin, length=length, ip_id=path.next_id % 65536, **packet)
        )
        for n, part in enumerate(parts):
            before = sum(parts[:n])
            if arrives:
                path.receiver.append(Packet(t_ns=at(t_ms + 10), seq=ISN_S + begin + before, length=part,
                                            ip_id=(path.next_id + n) % 65536, **packet))  # fmt: skip
        path.next_id += len(parts)
        seq = max(seq, begin + length)
        t_ms += 1

    for _ in range(10):
        moved(4 * MSS, 4 * [MSS])
    refused = seq
    moved(3 * MSS, 3 * [MSS], arrives=False)
    t_ms += 2
    for n in range(3):
        moved(MSS, [small, MSS - small], start=refused + n * MSS)
    for _ in range(20):
        moved(4 * small, 4 * [small])
    path.ack(t_ms + 20, seq)
    return path


def test_super_packets_follow_an_mtu_that_shrinks(tmp_path: Path) -> None:
    """The receiver's packets show the wire's size after the change. The SYNs' MSS gave wrong borders and counts."""
    small = MSS - 200
    found, flow = _shrunk(small).analyse(tmp_path)
    table = found.segments
    assert table["len"].to_pylist() == 43 * [MSS] + 3 * [small, 200] + 80 * [small]
    assert (flow["segments"], flow["mss_in_use"]) == (129, small)
    assert found.losses.num_rows == 3
