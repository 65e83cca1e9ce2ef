"""What happened to a flow, as rows of a table: when, what, why, and what shows it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dashboard.timeline.flow import Flow, kind_words
from dashboard.timeline.happened import EVENT, LOSS, STOP, Happened
from dashboard.timeline.messages import ENGLISH, fate_words
from netcommon import readable
from scenarios.plan.causes import loss_words

HEAD = ("At (s)", "What", "Why", "What shows it")
EVENTS = {
    "loss_burst": "burst of losses",
    "rto": "retransmission time-out",
    "fast_retransmit": "fast retransmit",
    "zero_window": "zero window",
    "receiver_window": "limited by the receiver's window",
    "idle": "nothing outstanding",
    "ecn_reduction": "window reduced for ECN marks",
}
Row = tuple[str, str, str, str]


def event_rows(flow: Flow, found: Happened, rows: slice) -> Iterator[Row]:
    """The texts of these rows."""
    at_s = np.char.mod("%.6f", found.t_ns[rows] / 1e9)
    for t, source, row in zip(at_s, found.source[rows], found.row[rows], strict=True):
        yield (str(t), *_texts(flow, int(source), int(row)))


def _texts(flow: Flow, source: int, row: int) -> tuple[str, str, str]:
    if source == STOP:
        stop = flow.stops[row]
        return "sending stopped", stop.text, f"nothing sent for {readable.duration(stop.t1_ns - stop.t0_ns)}"
    if source == EVENT:
        return _event(flow, row)
    if source == LOSS:
        return _loss(flow, row)
    (kind,) = kind_words(flow.kind[row : row + 1], ENGLISH)
    return str(kind), readable.NOTHING, f"seq {flow.seq[row]:,}, transmission {flow.transmission[row]}"


def _event(flow: Flow, row: int) -> tuple[str, str, str]:
    events = flow.events
    name = str(events.kind[row])
    lasted = readable.duration(int(events.t1_ns[row] - events.t0_ns[row]))
    packets = int(events.packets[row])
    many = f", {packets:,} packet{'' if packets == 1 else 's'}" if packets else ""
    return EVENTS.get(name, name), readable.NOTHING, f"seq {events.seq[row]:,}, for {lasted}{many}"


def _loss(flow: Flow, row: int) -> tuple[str, str, str]:
    losses = flow.losses
    if losses is None:
        segment = int(flow.lost_rows[row])
        why = fate_words(ENGLISH, flow.box.name(int(flow.box.fate[segment]))) if flow.box else "not analysed"
        return "segment lost", why, f"seq {flow.seq[segment]:,} never arrived"
    name, run, queue = losses.names[losses.cause[row]], int(losses.run[row]), int(losses.queue_ns[row])
    shown = [f"seq {losses.seq[row]:,}", f"{run:,} lost in a row" if run > 1 else "lost alone"]
    shown += [f"queueing delay {readable.duration(queue)}"] if queue >= 0 else []
    if losses.ruled_out:
        shown += ["ruled out by the path's parameters: " + ", ".join(one.replace("_", " ") for one in losses.ruled_out)]
    return "segment lost", loss_words(name), ", ".join(shown)
