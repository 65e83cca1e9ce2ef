"""A made-up transfer that never stops: at the line's rate except in two dips, with losses in the deeper one.

From DIP to DIP_END it sends at a quarter of the rate, RESENT segments were lost and are sent again; from DENT to
DENT_END at 0.4 of it, without a loss. Times in s from the first segment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from support import synthetic_run
from support.synthetic_capture import EVENT_KINDS, MAIN_FLOW, Capture

MSS = 4312
RATE_BPS = 45_000_000
ONE_WAY_NS = 4_200_000
LENGTH_S = 10.0
DIP, DIP_END = 3.0, 4.5
DENT, DENT_END = 7.0, 7.5
RESENT = 14


def slow(parent: Path, *, dips: bool = True, virtual: bool = False) -> Path:
    """Write an `lfp-seqack` run of one captured trial; without `dips` at one rate from the beginning to the end."""
    run = synthetic_run.start(parent, "lfp-seqack", "", "Slow, and never stopped", "510510", virtual=virtual)
    params = synthetic_run.make_params(0, 0, "modern", 0) | {"capture": "snd,rcv", "window_bytes": None, "mtu": 4352}
    cap = _capture(dips)
    row = synthetic_run.write_trial(run, params, 0.9 * RATE_BPS, cap)
    synthetic_run.finish(run, [row | {"window_granted_bytes": None}])
    return run


def _capture(dips: bool) -> Capture:
    gap = MSS * 8e9 / (0.96 * RATE_BPS)
    sent = [0.0]
    while sent[-1] < LENGTH_S * 1e9:
        now = sent[-1] / 1e9
        share = 0.25 if DIP <= now < DIP_END else 0.4 if DENT <= now < DENT_END else 1.0
        sent.append(sent[-1] + gap / (share if dips else 1.0))
    t = synthetic_run.STARTED_NS + np.asarray(sent).astype(np.int64)
    seq = 1 + MSS * np.arange(t.size, dtype=np.int64)
    lost = np.zeros(t.size, bool)
    if dips:
        first = int(np.searchsorted(np.asarray(sent), DIP * 1e9))
        lost[first + 10 : first + 10 + RESENT] = True
    again = t[lost] + 100_000_000
    columns: dict[str, Any] = {
        "seq": np.concatenate([seq, seq[lost]]).astype(np.uint64),
        "t_sent_ns": np.concatenate([t, again]),
        "t_received_ns": np.concatenate([np.where(lost, -1, t + ONE_WAY_NS), again + ONE_WAY_NS]),
        "transmission": np.concatenate([np.ones(t.size), np.full(again.size, 2)]).astype(np.uint16),
        "kind": np.concatenate([np.zeros(t.size), np.ones(again.size)]).astype(np.uint8),
    }
    order = np.argsort(columns["t_sent_ns"], kind="stable")
    n = order.size
    segments = pa.table(
        {"flow": np.full(n, MAIN_FLOW, np.uint32), "len": np.full(n, MSS, np.uint32)}
        | {name: values[order] for name, values in columns.items()}
    )
    summary = _summary(t, int(lost.sum()))
    return Capture(segments, _acks(t, seq, lost), _no_events(), _round_trips(t[~lost]), summary, int(t[-1] - t[0]))


def _acks(t: Any, seq: Any, lost: Any) -> pa.Table:
    rows = np.flatnonzero(~lost)
    return pa.table(
        {
            "flow": np.full(rows.size, MAIN_FLOW, np.uint32),
            "ack": (seq[rows] + MSS).astype(np.uint64),
            "t_sent_ns": t[rows] + ONE_WAY_NS,
            "t_received_ns": t[rows] + 2 * ONE_WAY_NS,
            "window": np.full(rows.size, 1 << 20, np.uint32),
        }
    )


def _round_trips(sent: Any) -> pa.Table:
    return pa.table(
        {
            "flow": np.full(sent.size, MAIN_FLOW, np.uint32),
            "t_ns": sent + 2 * ONE_WAY_NS,
            "rtt_ns": np.full(sent.size, 2 * ONE_WAY_NS),
            "gap": np.zeros(sent.size, np.uint8),
        }
    )


def _no_events() -> pa.Table:
    names = {
        "t0_ns": np.int64,
        "t1_ns": np.int64,
        "kind": np.uint8,
        "seq": np.uint64,
        "bytes": np.uint64,
        "packets": np.uint32,
    }
    return pa.table({"flow": np.zeros(0, np.uint32)} | {name: np.zeros(0, kind) for name, kind in names.items()})


def _summary(t: Any, lost: int) -> dict[str, Any]:
    main = {
        "flow": MAIN_FLOW, "sender": {"address": "10.0.0.1", "port": 40001}, "bytes": MSS * t.size,
        "receiver": {"address": "10.0.3.1", "port": 5020}, "elapsed_ns": int(t[-1] - t[0]), "retransmitted": lost,
        "lost": lost, "timeouts": 0, "max_unacknowledged_bytes": 23_920_640, "stops": [], "stopped_share": 0.0,
    }  # fmt: skip
    control = main | {"flow": 0, "bytes": 48}
    return {"v": 1, "event_kinds": EVENT_KINDS, "main_flow": MAIN_FLOW, "flows": [control, main]}
