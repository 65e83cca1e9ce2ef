"""`pktlogger analyse --box`: what a delay box recorded, joined with the captures of both ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pktlogger_conversation import ISN_R, ISN_S, MS, MSS, Conversation, at, join
from support.pktlogger_frames import write_pcapng

import pktlogger

FATES = ["sent", "loss", "queue", "aqm", "pace", "memory", "write", "drain", "held"]
TODAY = [*FATES[:8], "outage", "policer", "held"]  # the analysis's own numbers of fates, whatever the record's are
SENT, LOSS, QUEUE = 0, 1, 2
UNSEEN = 255
CORRUPTED, FORGED = 2, 4  # edits
NO_ACK = 2**64 - 1
COLUMNS = {
    "direction": "u1", "number": "<u8", "copy": "u1", "fate": "u1", "edits": "u1", "t_arrival_ns": "<i8",
    "t_queue_exit_ns": "<i8", "t_departure_ns": "<i8", "t_release_ns": "<i8", "t_drop_ns": "<i8", "wire_len": "<u4",
    "flow": "<u4", "dir": "u1", "seq": "<u8", "ack": "<u8", "len": "<u4", "flags": "<u2",
}  # fmt: skip


class Record:
    """A box in the middle of the path, 1 ms from the sender; its queue takes 2 ms and its delay 7 ms."""

    def __init__(self, path: Conversation) -> None:
        self.path, self.rows = path, list[dict[str, Any]]()

    def data(
        self, t_ms: float, seq: int, fate: int = SENT, *, behind: bool = False, copy: int = 0, edits: int = 0
    ) -> None:
        """A data packet that left the sender at t_ms."""
        came, passed = at(t_ms + 1), fate == SENT
        self._row(0, seq, 1, MSS, came, fate, exit_ns=came + 2 * MS if passed or behind else -1,
                  out_ns=came + 9 * MS, copy=copy, edits=edits)  # fmt: skip

    def ack(self, t_ms: float, ack: int, fate: int = SENT, late_ms: float = 0) -> None:
        """An acknowledgement that left the receiver at t_ms; it leaves the box `late_ms` after it is due."""
        came = at(t_ms + 1)
        late_ns = int(late_ms * MS)
        self._row(1, 1, ack, 0, came, fate, exit_ns=came if fate == SENT else -1, out_ns=came + 8 * MS + late_ns,
                  late_ns=late_ns)  # fmt: skip

    def _row(self, direction: int, seq: int, ack: int, length: int, came: int, fate: int, **more: int) -> None:
        out, passed = more["out_ns"], fate == SENT
        self.rows.append({
            "direction": direction, "number": len(self.rows), "copy": more.get("copy", 0), "fate": fate,
            "edits": more.get("edits", 0),
            "t_arrival_ns": came, "t_queue_exit_ns": more["exit_ns"],
            "t_departure_ns": out - more.get("late_ns", 0) if passed else -1,
            "t_release_ns": out if passed else -1, "t_drop_ns": -1 if passed else out, "wire_len": length + 54,
            "flow": 0, "dir": direction, "seq": seq, "ack": ack, "len": length, "flags": 16,
        })  # fmt: skip

    def write(self, folder: Path, **more: Any) -> Path:
        """Writes the folder as `pktlogger record -o` does. `more`: further keys of record.json."""
        folder.mkdir()
        for name, kind in COLUMNS.items():
            np.save(folder / f"{name}.npy", np.asarray([row[name] for row in self.rows], dtype=kind))
        ends = ((self.path.a, ISN_S), (self.path.b, ISN_R))
        sides = [{"address": address, "port": port, "syn": True, "isn": isn} for (address, port), isn in ends]
        flows = {"v": 1, "flows": [{"ip_version": 6 if self.path.v6 else 4, "sides": sides}]}
        (folder / "flows.json").write_text(json.dumps(flows))
        (folder / "record.json").write_text(json.dumps({"v": 1, "fates": FATES, "gaps": []} | more))
        (folder / "columns.json").write_text(json.dumps({"v": 1, "rows": len(self.rows), "columns": list(COLUMNS)}))
        return folder


def test_every_lost_packet_has_its_cause(tmp_path: Path) -> None:
    """Of ten parts one meets a full queue, one the loss before the bottleneck, one the loss after it; an ACK is lost,
    too."""
    path = Conversation()
    lost = {2: (QUEUE, False), 5: (LOSS, False), 7: (LOSS, True)}
    path.send(30, 1, 10, [(0, 2, 10), (3, 2, 10), (6, 1, 10), (8, 2, 10)])
    path.ack(40, 2001)
    path.ack(40.5, 2001, lost=True)
    path.send(60, 2001)
    path.ack(70, 5001)
    record = Record(path)
    for part in range(10):
        fate, behind = lost.get(part, (SENT, False))
        record.data(30, 1 + part * MSS, fate, behind=behind)
    record.ack(40, 2001)
    record.ack(40.5, 2001, LOSS)
    record.ack(70, 5001)
    record.data(60, 2001)
    record.data(60, 2001, copy=1)  # the box made this copy, not the sender
    found, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"))
    rows = found.segments.to_pylist()
    assert [row["box_fate"] for row in rows] == [lost.get(part, (SENT, False))[0] for part in range(10)] + [SENT]
    assert [row["t_received_ns"] < 0 for row in rows] == [part in lost for part in range(10)] + [False]
    assert [row["t_box_in_ns"] for row in rows] == [at(31)] * 10 + [at(61)]
    assert rows[5]["t_box_exit_ns"] == -1 and rows[7]["t_box_exit_ns"] == at(33), "before and behind the bottleneck"
    assert [rows[i]["t_box_out_ns"] for i in (0, 2, 10)] == [at(40), at(40), at(70)]
    acks = found.acks.to_pylist()[1:]
    assert [(row["ack"], row["t_received_ns"] < 0, row["box_fate"]) for row in acks] == [
        (2001, False, SENT),
        (2001, True, LOSS),
        (5001, False, SENT),
    ]
    assert found.summary["box"]["fates"] == TODAY
    assert {name: count for name, count in flow["box"].items() if count} == {"sent": 8, "queue": 1, "loss": 2}


def test_copies_of_one_segment_keep_their_own_fates(tmp_path: Path) -> None:
    """Two transmissions are lost for different causes and the third arrives, which no capture could show."""
    path = Conversation(v6=True)
    path.send(30, 1, 1, [])
    path.send(1030, 1, 1, [])
    path.send(3030, 1, 1)
    path.ack(3040, 1001)
    record = Record(path)
    for t_ms, fate in ((30, QUEUE), (1030, LOSS), (3030, SENT)):
        record.data(t_ms, 1, fate)
    found, _ = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"))
    assert found.segments["box_fate"].to_pylist() == [QUEUE, LOSS, SENT]


def test_what_the_box_dropped_is_not_what_arrived(tmp_path: Path) -> None:
    """A segment is sent again before it arrives, and only one copy arrives. By the captures it is the later one. The
    box dropped that one, so the first copy arrived, and the retransmission was not needed."""
    path = Conversation(v6=True)
    path.send(30, 1)
    path.send(40, 1001, 1, [(0, 1, 30)])
    path.send(55, 1001, 1, [])
    path.ack(80, 2001)
    record = Record(path)
    for t_ms, seq, fate in ((30, 1, SENT), (40, 1001, SENT), (55, 1001, QUEUE)):
        record.data(t_ms, seq, fate)
    found, _ = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"))
    rows = found.segments.to_pylist()
    assert [row["box_fate"] for row in rows] == [SENT, SENT, QUEUE]
    assert [row["t_received_ns"] for row in rows] == [at(40), at(70), -1]


def test_the_box_decides_what_was_a_tail_drop(tmp_path: Path) -> None:
    """A single packet is lost, and nothing in the captures shows a queue. Only the box's record shows a tail drop."""
    for fate, cause in ((QUEUE, "rto_after_tail_drop"), (LOSS, "rto_after_loss")):
        path = Conversation()
        path.send(30, 1, 1, [])
        path.send(1030, 1, 1)
        path.ack(1040, 1001)
        record = Record(path)
        record.data(30, 1, fate)
        record.data(1030, 1)
        folder = tmp_path / cause
        folder.mkdir()
        _, flow = path.analyse(folder, "--box", record.write(folder / "box"))
        assert [stop["cause"] for stop in flow["stops"]] == [cause]


def test_an_outage_is_not_called_a_tail_drop(tmp_path: Path) -> None:
    """Of 62 parts two met a full queue, before the path was down."""
    fates = [*FATES[:8], "outage", "held"]
    path = Conversation()
    path.send(30, 1, 62, [])
    path.send(1030, 1, 62)
    path.ack(1040, 1 + 62 * MSS)
    record = Record(path)
    for part in range(62):
        record.data(30, 1 + part * MSS, QUEUE if part < 2 else fates.index("outage"))
        record.data(1030, 1 + part * MSS)
    _, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box", fates=fates))
    assert flow["losses_by_cause"] == {"tail_drop": 2, "outage": 60}
    (stop,) = flow["stops"]
    assert stop["cause"] == "rto_after_loss"
    assert stop["text"].endswith("after the loss of 62 packets (62,000 bytes), 60 of them to an outage")


@pytest.mark.parametrize("fates", [FATES, [*FATES[:8], "outage", "held"], TODAY], ids=["first", "outage", "today"])
def test_what_the_box_held_at_its_end_is_not_dropped(tmp_path: Path, fates: list[str]) -> None:
    """Records of different versions number the fate "held" 8, 9 and 10; each record says what its numbers mean."""
    path = Conversation()
    path.send(30, 1, 10, [(0, 4, 10)])
    path.ack(40, 1 + 4 * MSS)
    record = Record(path)
    for part in range(10):
        record.data(30, 1 + part * MSS, SENT if part < 4 else fates.index("held"))
    found, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box", fates=fates))
    assert flow["losses_by_cause"] == {}
    assert {name: count for name, count in flow["box"].items() if count} == {"sent": 4, "held": 6}
    assert found.summary["box"]["fates"] == TODAY


def test_a_policers_drop_has_a_cause_of_its_own(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 10, [(0, 4, 10)])
    path.ack(40, 1 + 4 * MSS)
    path.send(1030, 1 + 4 * MSS, 6)
    path.ack(1040, 1 + 10 * MSS)
    record = Record(path)
    for part in range(10):
        record.data(30, 1 + part * MSS, SENT if part < 4 else TODAY.index("policer"))
    for part in range(4, 10):
        record.data(1030, 1 + part * MSS)
    _, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box", fates=TODAY))
    assert flow["losses_by_cause"] == {"policer": 6}


def _step(bps: float | None, t_ms: float = 0, overhead: int = 38) -> dict[str, Any]:
    return {
        "t_ns": at(t_ms),
        "rate_bps": bps,
        "packets_per_s": None,
        "overhead_bytes": overhead,
        "mean": False,
        "queues_behind": False,
    }


def _windowed() -> tuple[Conversation, Record]:
    """Eight parts a round trip of 20 ms, which is what the receiver's window takes."""
    path = Conversation()
    record = Record(path)
    for turn in range(40):
        path.send(30 + 20 * turn, 1 + 8 * turn * MSS, 8)
        path.ack(40 + 20 * turn, 1 + 8 * (turn + 1) * MSS, window=8 * MSS)
        for part in range(8):
            record.data(30 + 20 * turn, 1 + (8 * turn + part) * MSS)
        record.ack(40 + 20 * turn, 1 + 8 * (turn + 1) * MSS)
    return path, record


@pytest.mark.parametrize("given", ["record", "file", "turned"])
def test_the_rate_that_is_possible_is_the_lines(given: str, tmp_path: Path) -> None:
    """The rate counts payload, without headers and framing, in the direction of the data. Where the line's rate
    changed, it is the average."""
    line = {"ab": [_step(60e6), _step(30e6, 430)], "ba": [_step(1e6)]}
    path, record = _windowed()
    more = {"line": line} if given == "record" else {}
    options: list[str | Path] = ["--box", record.write(tmp_path / "box", **more)]
    if given != "record":
        file = tmp_path / "line.json"
        file.write_text(json.dumps(line if given == "file" else {"ab": line["ba"], "ba": line["ab"]}))
        options += ["--line", file]
    _, flow = path.analyse(tmp_path, *options)
    verdict, share = flow["verdict"], MSS / (MSS + 40 + 38)
    assert verdict["cause"] == "receiver_window"
    if given == "turned":  # a line of 1 Mbit/s, which cannot have carried this
        assert verdict["possible_bps"] is None
        return
    early = (at(430) - flow["t0_ns"]) / flow["elapsed_ns"]
    assert verdict["possible_bps"] == pytest.approx((60e6 * early + 30e6 * (1 - early)) * share, rel=1e-6)
    assert "which carries between 27.8 Mbit/s and 55.7 Mbit/s of payload." in verdict["text"]


def test_what_the_hosts_take_bounds_what_is_possible(tmp_path: Path) -> None:
    path, record = _windowed()
    file = tmp_path / "line.json"
    file.write_text(json.dumps({"ab": [_step(60e6)], "ba": [_step(60e6)], "hosts_bps": 35e6}))
    _, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"), "--line", file)
    assert flow["verdict"]["possible_bps"] == 35e6


def test_a_line_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path) -> None:
    path, record = _windowed()
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    file = tmp_path / "line.json"
    for text in ("[]", "{", '{"ab": [{"t_ns": 0, "rate_bps": -1}]}'):
        file.write_text(text)
        done = join(tmp_path, "analyse", "--line", file)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--line" in done.stderr, done.stderr
    box = record.write(tmp_path / "box", line={"ab": [{"t_ns": "x"}]})
    done = join(tmp_path, "analyse", "--box", box)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "record.json" in done.stderr, done.stderr


def test_a_part_that_the_box_corrupted_is_lost_to_corruption(tmp_path: Path) -> None:
    """A corrupted part is in the receiver's capture, but the receiver's TCP dropped it, so the retransmission is not
    spurious. A forged part, whose checksum is right, is not lost."""
    path = Conversation()
    path.send(30, 1, 6)
    for seen_ms in (40, 40.1, 40.2):
        path.ack(seen_ms, 2001)
    path.send(50.2, 2001)
    path.ack(60.2, 6001)
    record = Record(path)
    for part in range(6):
        record.data(30, 1 + part * MSS, edits={2: CORRUPTED, 4: FORGED}.get(part, 0))
    record.data(50.2, 2001)
    found, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"))
    rows = found.segments.to_pylist()
    assert [row["t_received_ns"] < 0 for row in rows] == [part == 2 for part in range(7)]
    assert all(row["receiver_frame"] > 0 and row["box_fate"] == SENT for row in rows)
    assert [found.summary["loss_causes"][cause] for cause in found.losses["cause"].to_pylist()] == ["corrupted"]
    assert (flow["lost"], flow["spurious"], flow["fast_recoveries"]) == (1, 0, 1)
    assert flow["losses_by_cause"] == {"corrupted": 1}


def test_a_late_box_is_what_limited_the_sender(tmp_path: Path) -> None:
    """An acknowledgement is due 10 ms after it left, and the box releases it 30 ms late. So the box, not the sender,
    causes the wait. The same wait without lateness in the record is not the box's."""
    for late_ms in (30.0, 0.0):
        path = Conversation()
        record = Record(path)
        for turn in range(4):
            path.send(30 + 20 * turn, 1 + turn * MSS)
            path.ack(40 + 20 * turn, 1 + (turn + 1) * MSS)
            record.data(30 + 20 * turn, 1 + turn * MSS)
            record.ack(40 + 20 * turn, 1 + (turn + 1) * MSS)
        path.send(110, 1 + 4 * MSS)
        path.ack(120, 1 + 5 * MSS, lost=True)
        path.sender.append(replace(path.receiver[-1], t_ns=at(160)))
        record.data(110, 1 + 4 * MSS)
        record.ack(120, 1 + 5 * MSS, late_ms=late_ms)
        path.send(160, 1 + 5 * MSS)
        path.ack(170, 1 + 6 * MSS)
        folder = tmp_path / str(late_ms)
        folder.mkdir()
        found, flow = path.analyse(folder, "--box", record.write(folder / "box"))
        last = found.summary["limit_causes"][found.limits["cause"].to_pylist()[-1]]
        assert (last == "emulator_late") == bool(late_ms)
        assert flow["limits_ns"].get("emulator_late", 0) == (50 * MS if late_ms else 0)


def test_packets_that_the_record_skipped_are_unseen(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 3)
    path.ack(40, 3001)
    record = Record(path)
    record.data(30, 1)
    record.data(30, 2001)
    found, flow = path.analyse(tmp_path, "--box", record.write(tmp_path / "box"))
    assert found.segments["box_fate"].to_pylist() == [SENT, UNSEEN, SENT]
    assert found.segments["t_box_in_ns"].to_pylist() == [at(31), -1, at(31)]
    assert flow["box"]["unseen"] == 1


def test_without_a_box_the_tables_have_no_such_columns(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1)
    found, flow = path.analyse(tmp_path)
    assert not [name for name in found.segments.column_names + found.acks.column_names if "box" in name]
    assert found.summary["box"] is None and flow["box"] is None


def test_a_folder_that_is_no_record_is_refused_in_one_line(tmp_path: Path) -> None:
    path = Conversation()
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    record = Record(path)
    record.data(30, 1)
    damages: dict[str, Callable[[Path], object]] = {
        "rows": lambda box: np.save(box / "seq.npy", np.zeros(7, np.uint64)),
        "type": lambda box: np.save(box / "seq.npy", np.zeros(1, np.uint32)),
        "file": lambda box: (box / "fate.npy").write_bytes(b"x" * 200),
        "gone": lambda box: (box / "ack.npy").unlink(),
        "json": lambda box: (box / "flows.json").write_text("{"),
        "flow": lambda box: (box / "flows.json").write_text('{"flows":[{"ip_version":4,"sides":[]}]}'),
    }
    for name, damage in damages.items():
        damage(record.write(tmp_path / name))
        done = join(tmp_path, "analyse", "--box", tmp_path / name)
        assert done.returncode == 2, name
        assert done.stderr.count("\n") == 1 and "--box" in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()


def test_pairs_of_connections_through_gateways() -> None:
    """Connections are matched by end points where gateways keep them, else by port and order, else by order."""

    def flow(number: int, sender: tuple[str, int], receiver: tuple[str, int], t0_ns: int) -> dict[str, Any]:
        ends = {
            "sender": dict(zip(("address", "port"), sender, strict=True)),
            "receiver": dict(zip(("address", "port"), receiver, strict=True)),
        }
        return {"flow": number, "t0_ns": t0_ns} | ends

    client, gateway, server = "10.0.0.1", "10.0.1.1", "10.0.2.1"
    near = {"flows": [flow(0, (client, 1000), (server, 80), 5), flow(1, (client, 1001), (server, 80), 3)]}
    kept = {"flows": [flow(0, (client, 1001), (server, 80), 9), flow(1, (client, 1000), (server, 80), 4)]}
    assert pktlogger.pair_flows(near, kept) == {0: 1, 1: 0}
    relayed = {"flows": [flow(0, (gateway, 7), (server, 80), 9), flow(1, (gateway, 8), (server, 80), 4)]}
    assert pktlogger.pair_flows(near, relayed) == {1: 1, 0: 0}, "the one that began first belongs to the first"
    other = {"flows": [flow(4, (gateway, 7), (server, 443), 9)]}
    assert pktlogger.pair_flows(near, other) == {1: 4}
    assert pktlogger.pair_flows({}, {}) == {}
    sent_back = {"flows": [flow(0, (server, 80), (gateway, 7), 3), flow(1, (server, 443), (gateway, 8), 5)]}
    at_client = {"flows": [flow(0, (gateway, 443), (client, 8), 1), flow(1, (gateway, 80), (client, 1001), 9)]}
    assert pktlogger.pair_flows(sent_back, at_client) == {0: 1, 1: 0}, "the port that both have is the senders'"
