"""Several transfers between two hosts: where they share a queue, it is judged by the packets of all of them."""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pktlogger_conversation import MS, join
from support.pktlogger_frames import ACK, SYN, T0_NS, A, B, Packet, options, write_pcapng

import pktlogger

MSS, WAY_NS, PART_NS, END_NS = 1448, 10 * MS, 400_000, 4_000 * MS  # 30 Mbit/s with headers
QUEUE_PARTS = 60
PORT = 40000


@dataclass
class Flow:
    """A sender that sends a part now and then, faster every round trip, and more slowly once it knows of a loss."""

    number: int
    gap_ns: float
    next_seq: int = 0
    lost: list[int] = field(default_factory=list)  # to be sent again
    slowed_ns: int = -1
    got: set[int] = field(default_factory=set)
    acked: int = 0


@dataclass
class Line:
    """What both captures see of flows through one queue of ``QUEUE_PARTS`` (``fair``: each flow has a half of the line
    and a queue of its own), and the queue that each lost part met."""

    fair: bool
    sender: list[Packet] = field(default_factory=list)
    receiver: list[Packet] = field(default_factory=list)
    dropped: dict[tuple[int, int], int] = field(default_factory=dict)  # (port, time sent) → the queue, ns
    free_ns: dict[int, int] = field(default_factory=dict)

    def both(self, t_ns: int, arrived_ns: int | None, packet: dict[str, Any], forth: bool = True) -> None:
        first, second = (self.sender, self.receiver) if forth else (self.receiver, self.sender)
        first.append(Packet(t_ns=T0_NS + t_ns, **packet))
        if arrived_ns is not None:
            second.append(Packet(t_ns=T0_NS + arrived_ns, **packet))

    def exit_ns(self, flow: Flow, t_ns: int) -> int | None:
        """When a part leaves the bottleneck; None: its queue is full."""
        own, part_ns = (flow.number, 2 * PART_NS) if self.fair else (0, PART_NS)
        free_ns = max(self.free_ns.get(own, 0), t_ns)
        full = QUEUE_PARTS // (1 + 3 * flow.number) if self.fair else QUEUE_PARTS
        if free_ns - t_ns > (full - 1) * part_ns:
            self.dropped[PORT + flow.number, T0_NS + t_ns] = free_ns - t_ns
            return None
        self.free_ns[own] = free_ns + part_ns
        return self.free_ns[own]


def ran(seed: int, starts_ms: list[int], fair: bool = False) -> Line:
    rng, path = random.Random(seed), Line(fair)
    flows = [Flow(n, PART_NS * len(starts_ms) * rng.uniform(1.5, 2.5)) for n in range(len(starts_ms))]
    events: list[tuple[int, int, str, int, int]] = []

    def later(t_ns: float, what: str, flow: Flow, seq: int = 0) -> None:
        heapq.heappush(events, (int(t_ns), len(events) + rng.randrange(10**6), what, flow.number, seq))

    for flow, start in zip(flows, starts_ms, strict=True):
        ends = {"src": (A, PORT + flow.number), "dst": (B, 5010)}
        back = {"src": ends["dst"], "dst": ends["src"]}
        opening = {"options": options(MSS, 7, True), "window": 60000}
        t_ns = start * MS
        path.both(t_ns, t_ns + WAY_NS, {**ends, **opening, "seq": 0, "flags": SYN})
        path.both(t_ns + WAY_NS, t_ns + 2 * WAY_NS, {**back, **opening, "seq": 0, "ack": 1, "flags": SYN | ACK}, False)
        path.both(t_ns + 2 * WAY_NS, t_ns + 3 * WAY_NS, {**ends, "seq": 1, "ack": 1, "window": 60000})
        later(t_ns + 2 * WAY_NS + 1, "send", flow)
    while events:
        t_ns, _, what, number, seq = heapq.heappop(events)
        flow = flows[number]
        ends = {"src": (A, PORT + number), "dst": (B, 5010)}
        if what == "send":
            again = flow.lost.pop(0) if flow.lost else None
            seq = flow.next_seq if again is None else again
            flow.next_seq += again is None
            exit_ns = path.exit_ns(flow, t_ns)
            packet = {**ends, "seq": 1 + seq * MSS, "ack": 1, "length": MSS, "window": 60000}
            path.both(t_ns, None if exit_ns is None else exit_ns + WAY_NS, packet)
            if exit_ns is None:
                later(max(path.free_ns.values()) + 2 * WAY_NS, "lost", flow, seq)
            else:
                later(exit_ns + WAY_NS, "arrive", flow, seq)
            if t_ns < END_NS or flow.lost:
                later(t_ns + flow.gap_ns * rng.uniform(0.7, 1.3), "send", flow)
        elif what == "arrive":
            flow.got.add(seq)
            while flow.acked in flow.got:
                flow.acked += 1
            flow.gap_ns /= 1 + 0.004 / len(flows)
            packet = {"src": ends["dst"], "dst": ends["src"], "seq": 1, "ack": 1 + flow.acked * MSS, "window": 60000}
            path.both(t_ns, t_ns + WAY_NS, packet, False)
        else:
            flow.lost.append(seq)
            if t_ns > flow.slowed_ns:
                flow.gap_ns *= 1.6
                flow.slowed_ns = t_ns + 4 * WAY_NS
            if t_ns >= END_NS:
                later(t_ns, "send", flow)
    path.sender.sort(key=lambda packet: packet.t_ns)
    path.receiver.sort(key=lambda packet: packet.t_ns)
    return path


def judged(path: Line, folder: Path) -> list[tuple[str, int, int]]:
    """Of each lost part: its cause, the queue by the analysis, and the queue that it met."""
    write_pcapng(folder / "s.pcapng", path.sender)
    write_pcapng(folder / "r.pcapng", path.receiver)
    done = join(folder, "analyse")
    assert done.returncode == 0, done.stderr
    found = pktlogger.read_analysis(folder / "out")
    ports = {flow["flow"]: flow["sender"]["port"] for flow in found.summary["flows"]}
    names = found.summary["loss_causes"]
    return [
        (names[row["cause"]], row["queue_ns"], path.dropped.get((ports[row["flow"]], row["t_sent_ns"]), -1))
        for row in found.losses.to_pylist()
    ]


@pytest.mark.parametrize("starts_ms", [[0, 0], [0, 700], [0, 300, 900, 1500]])
def test_drops_of_a_queue_that_transfers_share_are_tail_drops(starts_ms: list[int], tmp_path: Path) -> None:
    """Each alone meets a full queue now and then: nine of ten drops had no cause, and a transfer that began while a
    queue stood took that queue for the path."""
    for seed in range(3):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        path = ran(seed, starts_ms)
        losses = judged(path, folder)
        assert len(losses) == len(path.dropped) > 20, f"seed {seed}"
        assert {cause for cause, _, _ in losses} <= {"tail_drop", "unknown"}, f"seed {seed}"
        assert sum(cause == "tail_drop" for cause, _, _ in losses) >= 0.95 * len(losses), f"seed {seed}"
        assert all(abs(queue - truth) <= 2 * PART_NS for _, queue, truth in losses if queue >= 0), f"seed {seed}"


def test_transfers_with_queues_of_their_own_are_not_taken_for_one(tmp_path: Path) -> None:
    """One flow's queue is four times as long as the other's, so the other's losses would look like queue management."""
    for seed in range(3):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        path = ran(seed, [0, 300], fair=True)
        losses = judged(path, folder)
        assert len(losses) > 20, f"seed {seed}"
        assert {cause for cause, _, _ in losses} <= {"tail_drop", "unknown"}, f"seed {seed}"
        longest = max(truth for _, _, truth in losses)
        short = [queue for _, queue, truth in losses if truth < longest / 2]
        assert short and max(short) <= 2 * longest / 3, f"seed {seed}: the other flow's queue"


def recorded(path: Line, folder: Path, lag_ns: int = MS) -> Path:
    """The record of a box in front of the queue, in which nothing waits."""
    rows = [packet for packet in path.sender if packet.length]
    ends = [((A, port), (B, 5010)) for port in sorted({packet.src[1] for packet in rows})]
    folder.mkdir()
    columns = {
        "number": ("<u8", list(range(len(rows)))),
        "flow": ("<u4", [packet.src[1] - PORT for packet in rows]),
        "seq": ("<u8", [packet.seq for packet in rows]),
        "ack": ("<u8", [packet.ack for packet in rows]),
        "len": ("<u4", [packet.length for packet in rows]),
        "wire_len": ("<u4", [packet.length + 66 for packet in rows]),
        "flags": ("<u2", [ACK for _ in rows]),
        "t_drop_ns": ("<i8", [-1 for _ in rows]),
    }  # fmt: skip
    columns |= {name: ("u1", [0 for _ in rows]) for name in ("direction", "copy", "fate", "edits", "dir")}
    columns |= {
        f"t_{name}_ns": ("<i8", [packet.t_ns + lag_ns for packet in rows])
        for name in ("arrival", "queue_exit", "departure", "release")
    }
    for name, (kind, values) in columns.items():
        np.save(folder / f"{name}.npy", np.asarray(values, dtype=kind))
    flows = [
        {
            "ip_version": 4,
            "sides": [{"address": address, "port": port, "syn": True, "isn": 0} for address, port in pair],
        }
        for pair in ends
    ]
    (folder / "flows.json").write_text(json.dumps({"v": 1, "flows": flows}))
    (folder / "record.json").write_text(json.dumps({"v": 1, "fates": ["sent"], "gaps": []}))
    (folder / "columns.json").write_text(json.dumps({"v": 1, "rows": len(rows), "columns": list(columns)}))
    return folder


@pytest.mark.parametrize("starts_ms", [[0, 0], [0, 700]])
def test_a_queue_behind_the_box_that_transfers_share_is_no_longer_path(starts_ms: list[int], tmp_path: Path) -> None:
    """The record shows no wait in the box, so all of the queue is in the rest of the path. A transfer
    studied by itself took the other's packets in that queue for a longer path."""
    path = ran(1, starts_ms)
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    done = join(tmp_path, "analyse", "--box", recorded(path, tmp_path / "box"))
    assert done.returncode == 0, done.stderr
    for flow in pktlogger.read_analysis(tmp_path / "out").summary["flows"]:
        delays = [level["delay_ns"] for level in flow["base"]["data"]]
        assert max(delays) <= WAY_NS + 2 * PART_NS, f"flow {flow['flow']}: {delays}"
