"""Made-up run directories of what lies between the ends: a pair of gateways, and a delay box's record of each packet.

`gateway(parent)`: one trial through gateways, PASSAGE_NS from gateway in to gateway out, every DROP_EVERYth frame of
the tunnel dropped. `boxed(parent)`: synthetic_run's collapsed transfer with the box's record of each packet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support import synthetic_run
from support.synthetic_capture import EVENT_KINDS, MAIN_FLOW, Capture, capture

MSS, FAR_MSS = 1448, 1400  # the far gateway segments the stream anew, with its own MSS
SEGMENTS = 5000
LINK_NS, STEP_NS, PASSAGE_NS = 50_000, 100_000, 101_000_000
DROP_EVERY = 100
LIMIT_BPS = 120_000_000
FATES = ["sent", "loss", "queue", "aqm", "pace", "memory", "write", "drain", "held"]
LOSS, QUEUE = 1, 2
NOT_TCP = 2**32 - 1


def gateway(parent: Path, *, virtual: bool = False) -> Path:
    """Write a `comet-timeline` run of one captured trial."""
    title = "An LFT tunnel on one time axis"
    run = synthetic_run.start(parent, "comet-timeline", "comet-2004/fig12", title, "0a1b2c", virtual=virtual)
    t0, total = synthetic_run.STARTED_NS, SEGMENTS * MSS
    sent = t0 + STEP_NS * np.arange(SEGMENTS, dtype=np.int64)
    near = _leg(sent, MSS, total, ("10.77.0.1", 40001))
    ends = np.minimum((1 + np.arange(-(-total // FAR_MSS))) * FAR_MSS, total)
    carried = (ends - 1) // MSS  # the client's segment that carried the last byte
    far = _leg(sent[carried] + LINK_NS + PASSAGE_NS, FAR_MSS, total, ("10.77.0.1", 40001))
    params = synthetic_run.make_params(0, 0, "modern", 0) | {
        "case": "selective", "rtt_ns": 200_000_000, "loss": "1%", "loss_ppb": 10_000_000, "rate_bps": 800_000_000,
        "bytes": total, "capture": "snd,gw1-in,gw1-out,box,gw2-in,gw2-out,rcv", "gateway": "lft", "mtu": 1500,
        "gateway_model": "router", "gateway_rate_bps": LIMIT_BPS, "gateway_recovery": "selective",
        "gateway_cipher": "aes-128-gcm", "gateway_carriage": "udp",
    }  # fmt: skip
    row = synthetic_run.write_trial(run, params, 110e6, near) | {"cpu_gateways_ns": 20_000_000}
    folder = run / "trials" / "0000"
    (folder / "server").mkdir()
    synthetic_run.write_capture(folder / "server", far)
    pq.write_table(_tunnel(sent + LINK_NS), folder / "tunnel.parquet")
    pq.write_table(_record(sent + LINK_NS), folder / "box.parquet")
    synthetic_run.finish(run, [row])
    return run


def boxed(parent: Path) -> Path:
    """Write an `lfp-seqack` run whose losses are, in turn, at the queue, before the bottleneck, and after it."""
    run = synthetic_run.start(parent, "lfp-seqack", "lfp-1995/fig4", "With the delay box's record", "b0b0b0")
    params = synthetic_run.make_params(0, 0, "bsd-1995", 256 * 1024) | {"capture": "snd,box,rcv"}
    cap = _with_box(capture(1200, t0_ns=synthetic_run.STARTED_NS))
    synthetic_run.finish(run, [synthetic_run.write_trial(run, params, 13e6, cap)])
    return run


def _with_box(cap: Capture) -> Capture:
    sent, received = (cap.segments[name].to_numpy() for name in ("t_sent_ns", "t_received_ns"))
    lost = received < 0
    turn = np.cumsum(lost) % 3
    fate = np.where(lost, np.where(turn == 1, QUEUE, LOSS), 0).astype(np.uint8)
    passed = ~lost | (lost & (turn == 0))
    times = {
        "t_box_in_ns": sent + 100_000,
        "t_box_exit_ns": np.where(passed, sent + 300_000, -1),
        "t_box_out_ns": sent + 4_000_000,
    }
    acks_lost = np.arange(len(cap.acks)) % 50 == 0
    acks = cap.acks.set_column(
        cap.acks.column_names.index("t_received_ns"),
        "t_received_ns",
        pa.array(np.where(acks_lost, -1, cap.acks["t_received_ns"].to_numpy())),
    )
    ack_fate = np.where(acks_lost, LOSS, 0).astype(np.uint8)
    left = acks["t_sent_ns"].to_numpy() + 50_000
    return Capture(
        _added(cap.segments, {"box_fate": fate} | times),
        _added(acks, {"box_fate": ack_fate, "t_box_in_ns": left, "t_box_out_ns": left}),
        cap.events,
        cap.round_trips,
        cap.summary | {"box": {"v": 1, "fates": FATES}},
        cap.elapsed_ns,
    )


def _added(table: pa.Table, columns: dict[str, Any]) -> pa.Table:
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def _leg(sent: np.ndarray[Any, np.dtype[np.int64]], mss: int, total: int, sender: tuple[str, int]) -> Capture:
    """A connection without losses: segments as sent, each acknowledged as it comes."""
    n = sent.size
    seq = 1 + mss * np.arange(n, dtype=np.int64)
    size = np.minimum(mss, 1 + total - seq)
    flow, arrived = np.full(n, MAIN_FLOW, np.uint32), sent + LINK_NS
    segments = pa.table({
        "flow": flow, "seq": seq.astype(np.uint64), "len": size.astype(np.uint32), "t_sent_ns": sent,
        "t_received_ns": arrived, "transmission": np.ones(n, np.uint16), "kind": np.zeros(n, np.uint8),
        "delay_ns": np.full(n, LINK_NS), "sender_frame": np.arange(1, n + 1, dtype=np.uint64),
        "receiver_frame": np.arange(1, n + 1, dtype=np.uint64),
    })  # fmt: skip
    acks = pa.table(
        {
            "flow": flow,
            "ack": (seq + size).astype(np.uint64),
            "t_sent_ns": arrived,
            "t_received_ns": arrived + LINK_NS,
            "window": np.full(n, 1 << 20, np.uint32),
        }
    )
    trips = pa.table(
        {"flow": flow, "t_ns": arrived + LINK_NS, "rtt_ns": np.full(n, 2 * LINK_NS), "gap": np.zeros(n, np.uint8)}
    )
    names = {
        "t0_ns": np.int64,
        "t1_ns": np.int64,
        "kind": np.uint8,
        "seq": np.uint64,
        "bytes": np.uint64,
        "packets": np.uint32,
    }
    events = pa.table({"flow": np.zeros(0, np.uint32)} | {name: np.zeros(0, kind) for name, kind in names.items()})
    elapsed = int(arrived[-1] - sent[0])
    main = {
        "flow": MAIN_FLOW, "sender": dict(zip(("address", "port"), sender, strict=True)), "bytes": total,
        "receiver": {"address": "10.77.4.2", "port": 5020}, "t0_ns": int(sent[0]), "elapsed_ns": elapsed, "lost": 0,
        "retransmitted": 0, "timeouts": 0, "max_unacknowledged_bytes": mss, "stops": [], "stopped_share": 0.0,
    }  # fmt: skip
    control = main | {"flow": 0, "bytes": 48, "receiver": {"address": "10.77.4.2", "port": 5010}}
    summary = {"v": 1, "event_kinds": EVENT_KINDS, "main_flow": MAIN_FLOW, "flows": [control, main]}
    return Capture(segments, acks, events, trips, summary, elapsed)


def _tunnel(left: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    """Each client segment is a frame of 1,500 bytes. Every tenth is acknowledged by a frame of 100 bytes."""
    n = left.size
    came = np.delete(left + PASSAGE_NS, np.arange(0, n, DROP_EVERY))
    back = left[::10] + PASSAGE_NS
    parts = [(left, 0, 0, 1500), (came, 1, 0, 1500), (back, 1, 1, 100), (back + PASSAGE_NS, 0, 1, 100)]
    table = pa.concat_tables([
        pa.table({"t_ns": t, "bytes": np.full(t.size, size, np.uint32), "parts": np.ones(t.size, np.uint16),
                  "point": np.full(t.size, point, np.uint8), "dir": np.full(t.size, way, np.uint8)})
        for t, point, way, size in parts
    ])  # fmt: skip
    return table.sort_by("t_ns")


def _record(left: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    """The box's record of the direction to the receiver, with the columns that the dashboard reads."""
    n = left.size
    dropped = np.arange(n) % DROP_EVERY == 0
    table = pa.table(
        {
            "direction": np.zeros(n, np.uint8),
            "copy": np.zeros(n, np.uint8),
            "fate": (LOSS * dropped).astype(np.uint8),
            "t_arrival_ns": left,
            "t_release_ns": np.where(dropped, -1, left + PASSAGE_NS),
            "t_drop_ns": np.where(dropped, left, -1),
            "wire_len": np.full(n, 1500, np.uint32),
            "flow": np.full(n, NOT_TCP, np.uint32),
        }
    )
    return table.replace_schema_metadata({b"pktlogger.record": json.dumps({"v": 1, "fates": FATES}).encode()})
