"""Seq and Ack of both ends on one axis (lfp-1995/fig4): sent, received, acknowledged, allowed.

Between the ends is the delay box, where it was recorded. With gateways (comet-2004) the points are client, gateway in,
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
from dashboard.timeline.flow import FAST, NEW, PROBE, SPURIOUS, TIMEOUT
from dashboard.timeline.messages import fate_words
from dashboard.timeline.sheet import Later, Sheet, Trace
from dashboard.timeline.view import (
    AT,
    BACK_LAST,
    END,
    MOST_MARKS,
    SERVER,
    VALUE,
    Facts,
    Steps,
    View,
    facts_of,
    gathered,
    grouped,
    seconds,
    segment_facts,
    segment_hover,
    tally,
    thinned,
)

RESENT = {
    FAST: ("mark.fast", GREEN, "triangle-up"),
    SPURIOUS: ("mark.spurious", PURPLE, "triangle-down"),
    PROBE: ("mark.probe", SKY, "triangle-up"),
    TIMEOUT: ("mark.timeout", VERMILLION, "triangle-up"),
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
        far = replace(view, timeline=server, leg=BACK_LAST if server.back else SERVER)  # shares the list of notes
        acks = [trace | {"visible": "legendonly"} for trace in (_acks(view), _acks(far))]  # ACKs would hide the data
        traces = [*lines[:-1], _sent(far), _received(far), *acks, *_all_marks(view), *_all_marks(far)]
    for trace in traces:
        if trace is not None:
            figure.add_trace(trace, row)


def _all_marks(view: View) -> list[Trace | None]:
    resent = [trace for kind in RESENT for trace in _resent(view, kind)]  # those by time-out on top
    events = [_timeouts(view), _zero_windows(view), _reductions(view)]
    return [*_marked(view), *resent, *_lost(view), *_lost_acks(view), *events]


def _step(drawn: Steps, name: str, colour: str, width: float, dash: str | None = None, **options: Any) -> Trace:
    """A step line. It has markers when few points are in view, so that the pointer finds single packets."""
    return scatter(
        x=seconds(drawn.t_ns),
        y=drawn.value,
        name=name,
        mode="lines+markers" if drawn.size <= MOST_MARKS else "lines",
        line={"color": colour, "width": width, "shape": drawn.shape, "dash": dash},
        marker={"size": 5, "color": colour},
        **options,
    )


def _window_edge(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.window_edge)
    rows = drawn.rows
    facts = Later(rows.size, lambda: facts_of(grouped(tl.ack[rows]), said("bytes", tl.window[rows])))
    return scatter(
        x=seconds(drawn.t_ns),
        y=drawn.value,
        name=view.say("edge"),
        mode="lines",
        line={"color": GREY, "width": 1.5, "shape": drawn.shape, "dash": "dot"},
        customdata=facts,
        hovertemplate=view.say("edge.hover", ack="%{customdata[0]}", window="%{customdata[1]}") + END,
    )


def _sent(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.sent_line)
    if drawn.thinned:
        view.notes.append(view.say("note.lines", n=f"{view.points:,}"))
    return _step(
        drawn,
        view.here("sent"),
        view.leg.sent_colour,
        2.5,
        customdata=Later(drawn.size, lambda: segment_facts(view, tl.sent_rows[NEW][drawn.rows])),
        hovertemplate=segment_hover(view.say) + END,
    )


def _received(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.arrived_line)
    leg, place = view.leg, view.here("at_receiver")
    return _step(
        drawn,
        view.here("received"),
        leg.received_colour,
        2,
        leg.received_dash,
        customdata=Later(drawn.size, lambda: segment_facts(view, tl.arrived_rows[NEW][drawn.rows])),
        hovertemplate=f"<b>{place}</b><br>{segment_hover(view.say)}{END}",
    )


def _box(view: View) -> Trace | None:
    """The line of data that has left the bottleneck inside the delay box; None without the box's record."""
    tl, box = view.timeline, view.timeline.box
    if box is None:
        return None
    drawn = view.rising(tl.box_line)

    def facts() -> Facts:
        rows = tl.box_rows[drawn.rows]
        return segment_facts(view, rows, said("ns", box.exit_ns[rows] - box.in_ns[rows]))

    hover = view.say("box.hover", queued="%{customdata[6]}", segment=segment_hover(view.say))
    later = Later(drawn.size, facts)
    return _step(drawn, view.say("box"), VERMILLION, 1.5, customdata=later, hovertemplate=hover + END)


def _acks(view: View) -> Trace:
    tl = view.timeline
    drawn = view.rising(tl.acks)
    return _step(
        drawn,
        view.here("acks"),
        view.leg.ack_colour,
        2.5,
        customdata=Later(drawn.size, lambda: said("bytes", tl.window[drawn.rows])),
        hovertemplate=view.say("ack.hover", ack="%{y:,}", at=AT, window=VALUE) + END,
    )


def _resent(view: View, kind: int) -> list[Trace]:
    """Two traces with one legend entry: retransmissions at the sender, and their arrival at the receiver. Where marks
    are thinned the latter are left out: at that resolution they coincide with the former."""
    tl = view.timeline
    key, colour, symbol = RESENT[kind]
    name = view.marked(key)
    sent, counts = view.marks(tl.sent_rows[kind], tl.sent_times[kind])
    if not sent.size:
        return []
    if thinned(counts):
        return [_marks(view, sent, counts, tl.sent_ns, tally(view.say, name, counts), colour, symbol)]
    came, came_counts = view.marks(tl.arrived_rows[kind], tl.arrived_times[kind])
    sender = _marks(view, sent, counts, tl.sent_ns, tally(view.say, name, counts), colour, symbol)
    arrival = view.say("mark.arrival", name=name)
    receiver = _marks(view, came, came_counts, tl.received_ns, arrival, colour, f"{symbol}-open")
    return [sender | {"legendgroup": name}, receiver | {"legendgroup": name, "showlegend": False}]


def _marked(view: View) -> list[Trace]:
    """Marks at the arrival of segments that arrived with CE."""
    tl = view.timeline
    rows, counts = view.marks(tl.marked_rows, tl.received_ns[tl.marked_rows])
    if not rows.size:
        return []
    name = tally(view.say, view.marked("mark.ce"), counts)
    return [_marks(view, rows, counts, tl.received_ns, name, TEAL, "diamond")]


def _lost(view: View) -> list[Trace]:
    """A trace for each cause that the box gives; without the box's record one trace for all losses."""
    tl = view.timeline
    if tl.box is None:
        return _lost_of(view, tl.lost_rows, tl.lost_times, view.marked("mark.lost"), "x-thin")
    fates = tl.lost_fates
    traces = []
    for fate in np.unique(fates):
        name = tl.box.name(int(fate))
        symbol = FATE_SYMBOLS.get(name, OTHER_SYMBOL)
        own = fates == fate
        lost = view.marked("mark.lost_by", cause=fate_words(view.say, name))
        traces += _lost_of(view, tl.lost_rows[own], tl.lost_times[own], lost, symbol)
    return traces


def _lost_of(view: View, lost: I64, times: I64, name: str, symbol: str) -> list[Trace]:
    tl = view.timeline
    rows, counts = view.marks(lost, times)
    if not rows.size:
        return []
    return [_marks(view, rows, counts, tl.sent_ns, tally(view.say, name, counts), BLACK, symbol)]


def _lost_acks(view: View) -> list[Trace]:
    lost = view.timeline.lost_acks
    if lost is None:
        return []
    rows, counts = view.marks(np.arange(lost.t_ns.size), lost.t_ns)
    say = view.say
    whys = [fate_words(say, name) if name else say("lost.never") for name in lost.fate[rows].tolist()]
    return (
        [
            scatter(
                x=seconds(lost.t_ns[rows]),
                y=lost.ack[rows],
                mode="markers",
                customdata=facts_of(whys, counts),
                name=tally(say, view.marked("mark.lost_ack"), counts),
                marker={"color": GREY, "size": 7, "symbol": "y-up-open", "line": {"color": GREY, "width": 2}},
                hovertemplate=say("mark.lost_ack.hover", ack="%{y:,}", at=AT, why="%{customdata[0]}")
                + gathered(say, counts, 1)
                + END,
            )
        ]
        if rows.size
        else []
    )


def _marks(view: View, rows: I64, counts: I64, t: I64, name: str, colour: str, symbol: str) -> Trace:
    tl = view.timeline
    facts = segment_facts(view, rows, counts)
    return scatter(
        x=seconds(taken(t, rows)),
        y=taken(tl.end, rows),
        name=name,
        mode="markers",
        customdata=facts,
        marker={"color": colour, "size": 7, "symbol": symbol, "line": {"color": colour, "width": 2}},
        hovertemplate=segment_hover(view.say) + gathered(view.say, counts, 6) + END,
    )


def _timeouts(view: View) -> Trace | None:
    return _event_marks(view, "rto", "t1_ns", VERMILLION, "hourglass-open")


def _zero_windows(view: View) -> Trace | None:
    return _event_marks(view, "zero_window", "t0_ns", BLACK, "circle-open-dot")


def _reductions(view: View) -> Trace | None:
    return _event_marks(view, "ecn_reduction", "t1_ns", TEAL, "triangle-left-open")


def _event_marks(view: View, kind: str, at: str, colour: str, symbol: str) -> Trace | None:
    events = view.timeline.events
    t: I64 = getattr(events, at)
    own = events.of(kind)
    own = own[np.argsort(t[own], kind="stable")]
    rows, counts = view.marks(own, t[own])
    if not rows.size:
        return None
    lasted = said("ns", events.t1_ns[rows] - events.t0_ns[rows])
    size = 17 if rows.size <= 20 else 9
    name = view.marked(f"mark.{kind}")
    return scatter(
        x=seconds(t[rows]),
        y=events.seq[rows],
        name=tally(view.say, name, counts),
        mode="markers",
        marker={"color": colour, "size": size, "symbol": symbol, "line": {"width": 2}},
        customdata=facts_of(lasted, counts),
        hovertemplate=view.say("mark.hover", name=name, at=AT, seq="%{y:,}", lasted="%{customdata[0]}")
        + gathered(view.say, counts, 1)
        + END,
    )
