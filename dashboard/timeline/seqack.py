"""Seq and Ack of both ends on one axis (lfp-1995/fig4): sent, received, acknowledged, allowed.

Between the ends is the delay box, where it was recorded. With gateways (comet-2004) the places are client, gateway in,
gateway out and server. Packets that were lost or sent again have marks of their own, one for each packet until there
are too many to see. Losses are distinguished by the cause that the box gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dashboard.core.mapping import taken
from dashboard.core.series import I64
from dashboard.core.theme import BLACK, GREEN, GREY, PURPLE, SKY, TEAL, VERMILLION, scatter
from dashboard.core.units import said
from dashboard.timeline.box import label
from dashboard.timeline.flow import FAST, NEW, PROBE, SPURIOUS, TIMEOUT
from dashboard.timeline.sheet import Later, Sheet, Trace
from dashboard.timeline.view import (
    BACK_LAST,
    MOST_MARKS,
    SEGMENT_HOVER,
    SERVER,
    Facts,
    Steps,
    View,
    facts_of,
    grouped,
    seconds,
    segment_facts,
    tally,
    thinned,
)

RESENT = {
    FAST: ("fast retransmission", GREEN, "triangle-up"),
    SPURIOUS: ("spurious retransmission", PURPLE, "triangle-down"),
    PROBE: ("tail-loss probe", SKY, "triangle-up"),
    TIMEOUT: ("retransmission after time-out", VERMILLION, "triangle-up"),
}
FATE_SYMBOLS = {"queue": "x-thin", "aqm": "x-thin", "loss": "cross-thin"}
OTHER_SYMBOL = "asterisk-open"


def add_seqack(figure: Sheet, view: View, row: int = 1) -> None:
    """Draws the panel into subplot row `row`."""
    lines: list[Trace | None] = [_window_edge(view), _sent(view), _box(view), _received(view), _acks(view)]
    server = view.timeline.server
    if server is None:
        traces = lines + _all_marks(view)
    else:
        words = BACK_LAST if server.back else SERVER
        far = replace(view, timeline=server, words=words)  # shares the list of notes
        acks = [trace | {"visible": "legendonly"} for trace in (_acks(view), _acks(far))]  # ACKs would hide the data
        traces = [*lines[:-1], _sent(far), _received(far), *acks, *_all_marks(view), *_all_marks(far)]
    for trace in traces:
        if trace is not None:
            figure.add_trace(trace, row)


def _all_marks(view: View) -> list[Trace | None]:
    resent = [trace for kind in RESENT for trace in _resent(view, kind)]  # time-outs last, on top of spurious ones
    events = [_timeouts(view), _zero_windows(view), _reductions(view)]
    return [*_marked(view), *resent, *_lost(view), *_lost_acks(view), *events]


def _step(drawn: Steps, name: str, colour: str, width: float, dash: str | None = None, **options: Any) -> Trace:
    """A step line. It has markers when few points are left, so that the pointer finds single packets."""
    return scatter(
        x=seconds(drawn.t_ns), y=drawn.value, name=name, mode="lines+markers" if drawn.size <= MOST_MARKS else "lines",
        line={"color": colour, "width": width, "shape": drawn.shape, "dash": dash},
        marker={"size": 5, "color": colour}, **options,
    )  # fmt: skip


def _window_edge(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.window_edge)
    rows = drawn.rows
    facts = Later(rows.size, lambda: facts_of(grouped(tl.ack[rows]), said("bytes", tl.window[rows])))
    return scatter(
        x=seconds(drawn.t_ns), y=drawn.value, name="window edge (ACK + window)",
        mode="lines", line={"color": GREY, "width": 1.5, "shape": drawn.shape, "dash": "dot"}, customdata=facts,
        hovertemplate="<b>window edge</b><br>ACK %{customdata[0]} + window %{customdata[1]}<extra></extra>",
    )  # fmt: skip


def _sent(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.sent_line)
    if drawn.thinned:
        view.notes.append(f"lines thinned to {view.points:,} points (zoom in for every packet)")
    return _step(drawn, view.words.sent, view.words.sent_colour, 2.5,
                 customdata=Later(drawn.size, lambda: segment_facts(tl, tl.sent_rows[NEW][drawn.rows])),
                 hovertemplate=SEGMENT_HOVER + "<extra></extra>")  # fmt: skip


def _received(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.arrived_line)
    words = view.words
    return _step(drawn, words.received, words.received_colour, 2, words.received_dash,
                 customdata=Later(drawn.size, lambda: segment_facts(tl, tl.arrived_rows[NEW][drawn.rows])),
                 hovertemplate=f"<b>{words.at_receiver}</b><br>{SEGMENT_HOVER}<extra></extra>")  # fmt: skip


def _box(view: View) -> Trace | None:
    """The line of data that has left the bottleneck inside the delay box; None without the box's record."""
    tl, box = view.timeline, view.timeline.box
    if box is None:
        return None
    drawn = view.rising(tl.box_line)

    def facts() -> Facts:
        rows = tl.box_rows[drawn.rows]
        return segment_facts(tl, rows, said("ns", box.exit_ns[rows] - box.in_ns[rows]))

    hover = "<b>out of the bottleneck</b>, %{customdata[6]} after it came<br>"
    return _step(drawn, "delay box: left the bottleneck", VERMILLION, 1.5,
                 customdata=Later(drawn.size, facts), hovertemplate=f"{hover}{SEGMENT_HOVER}<extra></extra>",
                 )  # fmt: skip


def _acks(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.acks)
    return _step(drawn, view.words.acks, view.words.ack_colour, 2.5,
                 customdata=Later(drawn.size, lambda: said("bytes", tl.window[drawn.rows])),
                 hovertemplate="<b>ACK %{y:,}</b> at %{x:.6f} s<br>window %{customdata}<extra></extra>",
                 )  # fmt: skip


def _resent(view: View, kind: int) -> list[Trace]:
    """Two traces with one legend entry: retransmissions at the sender, and their arrival at the receiver. Where marks
    are thinned the latter are left out: at that width they lie beside the former."""
    tl = view.timeline
    name, colour, symbol = RESENT[kind]
    name += view.words.where
    sent, counts = view.marks(tl.sent_rows[kind], tl.sent_times[kind])
    if not sent.size:
        return []
    if thinned(counts):
        return [_marks(view, sent, counts, tl.sent_ns, tally(name, counts), colour, symbol)]
    came, came_counts = view.marks(tl.arrived_rows[kind], tl.arrived_times[kind])
    sender = _marks(view, sent, counts, tl.sent_ns, tally(name, counts), colour, symbol)
    receiver = _marks(view, came, came_counts, tl.received_ns, f"{name}: arrival", colour, f"{symbol}-open")
    return [sender | {"legendgroup": name}, receiver | {"legendgroup": name, "showlegend": False}]


def _marked(view: View) -> list[Trace]:
    """Segments that arrived with CE, where they did."""
    tl = view.timeline
    rows, counts = view.marks(tl.marked_rows, tl.received_ns[tl.marked_rows])
    if not rows.size:
        return []
    return [_marks(view, rows, counts, tl.received_ns, tally(f"marked CE{view.words.where}", counts), TEAL, "diamond")]


def _lost(view: View) -> list[Trace]:
    """A trace for each cause that the box gives; without the box's record one trace for all losses."""
    tl = view.timeline
    if tl.box is None:
        return _lost_of(view, tl.lost_rows, tl.lost_times, "lost", "x-thin")
    fates = tl.lost_fates
    traces = []
    for fate in np.unique(fates):
        name = tl.box.name(int(fate))
        symbol = FATE_SYMBOLS.get(name, OTHER_SYMBOL)
        own = fates == fate
        traces += _lost_of(view, tl.lost_rows[own], tl.lost_times[own], f"lost: {label(name)}", symbol)
    return traces


def _lost_of(view: View, lost: I64, times: I64, name: str, symbol: str) -> list[Trace]:
    tl = view.timeline
    rows, counts = view.marks(lost, times)
    if not rows.size:
        return []
    return [_marks(view, rows, counts, tl.sent_ns, tally(name + view.words.where, counts), BLACK, symbol)]


def _lost_acks(view: View) -> list[Trace]:
    lost = view.timeline.lost_acks
    if lost is None:
        return []
    rows, counts = view.marks(np.arange(lost.t_ns.size), lost.t_ns)
    facts = facts_of([label(name) if name else "never arrived" for name in lost.fate[rows].tolist()], counts)
    return [scatter(
        x=seconds(lost.t_ns[rows]), y=lost.ack[rows], mode="markers", customdata=facts,
        name=tally(f"lost ACK{view.words.where}", counts),
        marker={"color": GREY, "size": 7, "symbol": "y-up-open", "line": {"color": GREY, "width": 2}},
        hovertemplate="<b>ACK %{y:,} LOST</b> at %{x:.6f} s<br>%{customdata[0]}"
                      + _gathered(counts, 1) + "<extra></extra>",
    )] if rows.size else []  # fmt: skip


def _marks(view: View, rows: I64, counts: I64, t: I64, name: str, colour: str, symbol: str) -> Trace:
    tl = view.timeline
    facts = segment_facts(tl, rows, counts)
    return scatter(
        x=seconds(taken(t, rows)), y=taken(tl.end, rows), name=name, mode="markers", customdata=facts,
        marker={"color": colour, "size": 7, "symbol": symbol, "line": {"color": colour, "width": 2}},
        hovertemplate=SEGMENT_HOVER + _gathered(counts, 6) + "<extra></extra>",
    )  # fmt: skip


def _gathered(counts: I64, place: int) -> str:
    """The end of a hover text where marks are thinned. `place`: the index of the count in the mark's facts."""
    return f"<br>the first of %{{customdata[{place}]:,}} here" if thinned(counts) else ""


def _timeouts(view: View) -> Trace | None:
    name = f"retransmission time-out{view.words.where}"
    return _event_marks(view, "rto", "t1_ns", name, VERMILLION, "hourglass-open")


def _zero_windows(view: View) -> Trace | None:
    return _event_marks(view, "zero_window", "t0_ns", f"zero window{view.words.where}", BLACK, "circle-open-dot")


def _reductions(view: View) -> Trace | None:
    name = f"window reduced for ECN marks{view.words.where}"
    return _event_marks(view, "ecn_reduction", "t1_ns", name, TEAL, "triangle-left-open")


def _event_marks(view: View, kind: str, at: str, name: str, colour: str, symbol: str) -> Trace | None:
    events = view.timeline.events
    t: I64 = getattr(events, at)
    own = events.of(kind)
    own = own[np.argsort(t[own], kind="stable")]
    rows, counts = view.marks(own, t[own])
    if not rows.size:
        return None
    lasted = said("ns", events.t1_ns[rows] - events.t0_ns[rows])
    size = 17 if rows.size <= 20 else 9
    return scatter(
        x=seconds(t[rows]), y=events.seq[rows], name=tally(name, counts), mode="markers",
        marker={"color": colour, "size": size, "symbol": symbol, "line": {"width": 2}},
        customdata=facts_of(lasted, counts),
        hovertemplate=f"<b>{name}</b> at %{{x:.6f}} s<br>seq %{{y:,}}<br>after %{{customdata[0]}}"
                      + _gathered(counts, 1) + "<extra></extra>",
    )  # fmt: skip
