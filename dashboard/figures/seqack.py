"""Seq and Ack of both ends on one axis (lfp-1995/fig4): sent, received, acknowledged, allowed; what was lost or sent
again is drawn packet by packet, never thinned."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.figures.theme import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, scatter
from dashboard.figures.view import SEGMENT_HOVER, View, seconds, segment_facts
from dashboard.series import I64
from dashboard.timeline import FAST, NEW, SPURIOUS, TIMEOUT

RESENT = {
    FAST: ("fast retransmission", GREEN, "triangle-up"),
    SPURIOUS: ("spurious retransmission", PURPLE, "triangle-down"),
    TIMEOUT: ("retransmission after time-out", VERMILLION, "triangle-up"),
}


def add_seqack(figure: go.Figure, view: View, row: int = 1) -> None:
    """Draw the panel into subplot row `row`."""
    place = {"row": row, "col": 1}
    for trace in (_window_edge(view), _sent(view), _received(view), _acks(view)):
        if trace is not None:
            figure.add_trace(trace, **place)
    for kind in RESENT:  # time-outs last, over the spurious ones among them
        for trace in _resent(view, kind):
            figure.add_trace(trace, **place)
    for trace in (_lost(view), _timeouts(view), _zero_windows(view)):
        if trace is not None:
            figure.add_trace(trace, **place)


def _step(points: int, name: str, colour: str, width: float, **options: Any) -> go.Scatter | go.Scattergl:
    """A step line; with markers when few points are left, so that single packets can be pointed at."""
    return scatter(
        points, name=name, mode="lines+markers" if points <= 400 else "lines",
        line={"color": colour, "width": width, "shape": "hv"}, marker={"size": 5, "color": colour}, **options,
    )  # fmt: skip


def _window_edge(view: View) -> Any:
    tl = view.timeline
    rows = view.line(tl.ack_ns, tl.window_edge)
    facts = np.column_stack([tl.ack[rows], tl.window[rows]]).tolist()
    return scatter(
        rows.size, x=seconds(tl.ack_ns[rows]), y=tl.window_edge[rows], name="window edge (ACK + window)",
        mode="lines", line={"color": GREY, "width": 1.5, "shape": "hv", "dash": "dot"}, customdata=facts,
        hovertemplate="<b>window edge</b><br>ACK %{customdata[0]:,} + window %{customdata[1]:,} bytes<extra></extra>",
    )  # fmt: skip


def _sent(view: View) -> Any:
    tl = view.timeline
    rows = view.line_of(tl.sent_rows[NEW], tl.sent_times[NEW], tl.end)
    if rows.size == view.points:
        view.notes.append(f"lines thinned to {view.points:,} points (zoom in for every packet)")
    return _step(rows.size, "sender: new data sent", BLUE, 2.5, x=seconds(tl.sent_ns[rows]), y=tl.end[rows],
                 customdata=segment_facts(tl, rows), hovertemplate=SEGMENT_HOVER + "<extra></extra>")  # fmt: skip


def _received(view: View) -> Any:
    tl = view.timeline
    rows = view.line_of(tl.arrived_rows[NEW], tl.arrived_times[NEW], tl.end)
    return _step(rows.size, "receiver: data arrived", SKY, 2, x=seconds(tl.received_ns[rows]), y=tl.end[rows],
                 customdata=segment_facts(tl, rows),
                 hovertemplate="<b>at the receiver</b><br>" + SEGMENT_HOVER + "<extra></extra>")  # fmt: skip


def _acks(view: View) -> Any:
    tl = view.timeline
    rows = view.line(tl.ack_ns, tl.ack)
    return _step(rows.size, "sender: ACK received", ORANGE, 2.5, x=seconds(tl.ack_ns[rows]), y=tl.ack[rows],
                 customdata=tl.window[rows].tolist(),
                 hovertemplate="<b>ACK %{y:,}</b> at %{x:.6f} s<br>window %{customdata:,} bytes<extra></extra>",
                 )  # fmt: skip


def _resent(view: View, kind: int) -> list[Any]:
    """Two traces, joined in the legend: sent again (at the sender), and its arrival (at the receiver)."""
    tl = view.timeline
    name, colour, symbol = RESENT[kind]
    sent, counts = view.marks(tl.sent_rows[kind], tl.sent_times[kind], name)
    if not sent.size:
        return []
    came, came_counts = view.marks(tl.arrived_rows[kind], tl.arrived_times[kind], f"{name}, arrival")
    total = int(counts.sum())
    sender = _marks(view, sent, counts, tl.sent_ns, f"{name} ({total:,})", colour, symbol)
    receiver = _marks(view, came, came_counts, tl.received_ns, f"{name}: arrival", colour, f"{symbol}-open")
    return [sender.update(legendgroup=name), receiver.update(legendgroup=name, showlegend=False)]


def _lost(view: View) -> Any:
    tl = view.timeline
    rows, counts = view.marks(tl.lost_rows, tl.sent_ns[tl.lost_rows], "lost segments")
    if not rows.size:
        return None
    return _marks(view, rows, counts, tl.sent_ns, f"lost ({int(counts.sum()):,})", BLACK, "x-thin")


def _marks(view: View, rows: I64, counts: I64, t: I64, name: str, colour: str, symbol: str) -> Any:
    tl = view.timeline
    facts = [[*fact, many] for fact, many in zip(segment_facts(tl, rows), counts.tolist(), strict=True)]
    gathered = "<br>one of %{customdata[6]:,} gathered here" if bool((counts > 1).any()) else ""
    return scatter(
        rows.size, x=seconds(t[rows]), y=tl.end[rows], name=name, mode="markers", customdata=facts,
        marker={"color": colour, "size": 7, "symbol": symbol, "line": {"color": colour, "width": 2}},
        hovertemplate=SEGMENT_HOVER + gathered + "<extra></extra>",
    )  # fmt: skip


def _timeouts(view: View) -> Any:
    return _event_marks(view, "rto", "t1_ns", "retransmission time-out", VERMILLION, "hourglass-open")


def _zero_windows(view: View) -> Any:
    return _event_marks(view, "zero_window", "t0_ns", "zero window", BLACK, "circle-open-dot")


def _event_marks(view: View, kind: str, at: str, name: str, colour: str, symbol: str) -> Any:
    events = view.timeline.events
    t: I64 = getattr(events, at)
    own = events.of(kind)
    own = own[np.argsort(t[own], kind="stable")]
    rows, counts = view.marks(own, t[own], name)
    if not rows.size:
        return None
    lasted = (events.t1_ns[rows] - events.t0_ns[rows]) / 1e9
    size = 17 if rows.size <= 20 else 9
    return scatter(
        rows.size, x=seconds(t[rows]), y=events.seq[rows], name=f"{name} ({int(counts.sum()):,})", mode="markers",
        marker={"color": colour, "size": size, "symbol": symbol, "line": {"width": 2}}, customdata=lasted.tolist(),
        hovertemplate=f"<b>{name}</b> at %{{x:.4f}} s<br>seq %{{y:,}}<br>after %{{customdata:.3f}} s<extra></extra>",
    )  # fmt: skip
