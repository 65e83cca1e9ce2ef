"""The panels under the Seq/Ack plot, on the same time axis: unacknowledged data and cwnd, RTT, throughput. With
gateways they also show how much data is inside the gateways and for how long, and there is a panel for the tunnel.

Panels are drawn in bytes, ns and bit/s; the timeline's figure gives each the unit that suits its view (units.py). The
rows of `PANELS` are all that the figure knows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.core.physics import bottleneck, full_bytes
from dashboard.core.runs import behind_gateway
from dashboard.core.series import Series, nice_bin_ns
from dashboard.core.theme import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, scatter
from dashboard.core.units import said
from dashboard.timeline.limits_band import add_limits
from dashboard.timeline.messages import fate_words
from dashboard.timeline.seqack import add_seqack
from dashboard.timeline.sheet import Later, Sheet
from dashboard.timeline.stream import Stream
from dashboard.timeline.tunnel import BACK, FAR, FORTH, NEAR, Tunnel
from dashboard.timeline.view import AT, END, MOST_MARKS, VALUE, View, facts_of, gathered, seconds, tally
from netcommon import readable

MOST_BINS = 2000
TUNNEL_COLOURS = {(NEAR, FORTH): BLUE, (FAR, FORTH): ORANGE, (FAR, BACK): PURPLE, (NEAR, BACK): SKY}


def add_flight(figure: Sheet, view: View, row: int) -> None:
    """Unacknowledged bytes and congestion window, with the capacity of path and queue if it is known."""
    tl = view.timeline
    if tl.server:
        hover = f"flight.inside.{'back' if tl.back else 'forth'}"
        _add_steps(figure, view, row, "bytes", tl.inside_gateways, "flight.inside", hover, GREEN)
    _add_steps(figure, view, row, "bytes", tl.unacknowledged, "flight", "flight.what", BLUE)
    if tl.cwnd.t_ns.size:
        _add_steps(figure, view, row, "bytes", tl.cwnd, "flight.cwnd", "flight.cwnd.what", PURPLE)
    if tl.box and tl.box_rows.size:
        _add_steps(figure, view, row, "bytes", tl.box_queue, "flight.queue", "flight.queue.what", VERMILLION)
    _add_capacity(figure, view, row)


def _add_steps(
    figure: Sheet, view: View, row: int, base: str, series: Series, name: str, what: str, colour: str
) -> None:
    """Draws a quantity that keeps its value until the next change. `base`: its unit; `name`, `what`: the keys of its
    name in the legend and in hover texts."""
    drawn = view.line(series)
    figure.add_trace(
        scatter(
            x=seconds(drawn.t_ns),
            y=drawn.value,
            mode="lines",
            name=view.say(name),
            line={"color": colour, "width": 2, "shape": drawn.shape},
            customdata=Later(drawn.size, lambda: said(base, drawn.value)),
            hovertemplate=view.say("steps.hover", what=view.say(what), value=VALUE, at=AT) + END,
        ),
        row,
    )


def _add_capacity(figure: Sheet, view: View, row: int) -> None:
    params = view.timeline.params
    rate, queue = bottleneck(params)
    if not (rate and queue) or behind_gateway(params):
        return
    held = full_bytes(rate, float(params.get("rtt_ns") or 0), queue)
    name = view.say("flight.full", size=readable.size(held, 3))
    figure.add_trace(
        scatter(
            x=[view.t0 / 1e9, view.t1 / 1e9],
            y=[held, held],
            mode="lines",
            name=name,
            line={"color": BLACK, "width": 1.5, "dash": "dash"},
            hoverinfo="skip",
        ),
        row,
    )


def add_rtt(figure: Sheet, view: View, row: int) -> None:
    """Draws the samples of the round-trip time, and the kernel's smoothed one. Many samples are drawn as a step line,
    which a browser draws far faster than marks. The line is broken where ACKs of new data give no sample."""
    tl = view.timeline
    if tl.srtt.t_ns.size:
        _add_steps(figure, view, row, "ns", tl.srtt, "rtt.smoothed", "rtt.smoothed.what", PURPLE)
    drawn = view.line(tl.rtt)
    marks = drawn.size <= MOST_MARKS
    t_ns, value = (drawn.t_ns, drawn.value) if marks else view.broken(drawn, tl.rtt, tl.rtt_gaps)
    figure.add_trace(
        scatter(
            x=seconds(t_ns),
            y=value,
            mode="markers" if marks else "lines",
            name=view.say(f"rtt.{'far' if tl.back else 'near'}" if behind_gateway(tl.params) else "rtt"),
            marker={"size": 4, "color": GREEN},
            line={"color": GREEN, "width": 2, "shape": drawn.shape},
            customdata=Later(value.size, lambda: said("ns", value)),
            hovertemplate=view.say("rtt.hover", value=VALUE, at=AT) + END,
        ),
        row,
    )


def add_passage(figure: Sheet, view: View, row: int) -> None:
    """Draws what `add_rtt` draws, and how long data took from the first gateway to the last, by the time of leaving."""
    add_rtt(figure, view, row)
    key = f"passage.{'back' if view.timeline.back else 'forth'}"
    _add_steps(figure, view, row, "ns", view.timeline.through_gateways, key, key, VERMILLION)


def _bin_of_packets_ns(view: View) -> float:
    """The width of a bin that holds about ten packets at the line rate. Shorter bins would show packets, not a rate."""
    rate, _ = bottleneck(view.timeline.params)
    return 10 * float(view.timeline.params.get("mtu") or 1500) * 8e9 / rate if rate else 0.0


def _bin_ns(view: View) -> int:
    """The width of bins: the one that the reader chose, unless that makes more bins than a screen can show."""
    span = view.t1 - view.t0
    if view.bin_ns and span <= MOST_BINS * view.bin_ns:
        return view.bin_ns
    if view.bin_ns:
        view.notes.append(view.say("note.bins", width=readable.duration(view.bin_ns)))
    return nice_bin_ns(span, least_ns=_bin_of_packets_ns(view))


def add_throughput(figure: Sheet, view: View, row: int) -> None:
    """Draws the rates of sent data (all transmissions) and of newly arrived data, in bins that follow the zoom."""
    tl = view.timeline
    if tl.server:
        first, last = ("server", "client") if tl.back else ("client", "server")
        _add_rate(figure, view, row, f"rate.{first}_sent", tl.sent, BLUE)
        _add_rate(figure, view, row, f"rate.{last}_got", tl.server.arrived, GREEN)
    else:
        _add_rate(figure, view, row, "rate.sent", tl.sent, SKY)
        _add_rate(figure, view, row, "rate.arrived", tl.arrived, ORANGE)
    _add_level(figure, view, row, "rate.line", bottleneck(tl.params)[0])


def add_tunnel(figure: Sheet, view: View, row: int) -> None:
    """Draws the frames between the gateways: the rate of all classes at either gateway's interface, headers included,
    and a mark for each frame that the path dropped."""
    tunnel = view.timeline.tunnel
    if tunnel is None:
        return
    for (point, way), colour in TUNNEL_COLOURS.items():
        stream, dash = tunnel.streams[point, way], "dot" if way == BACK else None
        sent = (point == NEAR) == (way == FORTH)
        key = f"tunnel.{'near' if point == NEAR else 'far'}.{'sent' if sent else 'got'}"
        _add_rate(figure, view, row, key, stream, colour, dash)
    _add_level(figure, view, row, "tunnel.limit", float(view.timeline.params.get("gateway_rate_bps") or 0))
    for fate in np.unique(tunnel.drop_fate):
        _add_drops(figure, view, row, tunnel, str(fate))


def _add_drops(figure: Sheet, view: View, row: int, tunnel: Tunnel, fate: str) -> None:
    own = np.flatnonzero(tunnel.drop_fate == fate)
    rows, counts = view.marks(own, tunnel.drop_ns[own])
    if not rows.size:
        return
    say, cause = view.say, fate_words(view.say, fate)
    ways = np.where(tunnel.drop_way[rows] == FORTH, say("tunnel.forth"), say("tunnel.back"))
    hover = say("tunnel.lost.hover", cause=cause, way="%{customdata[0]}", at=AT)
    figure.add_trace(
        scatter(
            x=seconds(tunnel.drop_ns[rows]),
            y=np.zeros(rows.size),
            mode="markers",
            name=tally(say, say("tunnel.lost", cause=cause), counts),
            customdata=facts_of(ways, counts),
            marker={"color": BLACK, "size": 7, "symbol": "x-thin", "line": {"color": BLACK, "width": 2}},
            hovertemplate=hover + gathered(say, counts, 1) + END,
        ),
        row,
    )


def _add_rate(
    figure: Sheet, view: View, row: int, key: str, moved: Stream, colour: str, dash: str | None = None
) -> None:
    """Draws a rate. `key`: the key of its name."""
    width, name = _bin_ns(view), view.say(key)
    edges, rate = moved.rate_bps(view.t0 // width * width, view.t1, width)
    figure.add_trace(
        scatter(
            x=seconds(edges),
            y=rate,
            mode="lines",
            customdata=Later(rate.size, lambda: said("bps", rate)),
            line={"color": colour, "width": 2, "shape": "hv", "dash": dash},
            name=view.say("rate", name=name, width=readable.duration(width)),
            hovertemplate=view.say("rate.hover", name=name, value=VALUE, at=AT) + END,
        ),
        row,
    )


def _add_level(figure: Sheet, view: View, row: int, key: str, bps: float) -> None:
    """Draws a horizontal line across the view; none for 0."""
    if bps:
        name = view.say("rate.level", name=view.say(key), rate=readable.rate(bps))
        figure.add_trace(
            scatter(
                x=[view.t0 / 1e9, view.t1 / 1e9],
                y=[bps] * 2,
                mode="lines",
                name=name,
                line={"color": GREY, "width": 1.5, "dash": "dot"},
                hoverinfo="skip",
            ),
            row,
        )


@dataclass(frozen=True)
class Panel:
    """One row of the figure: the key of its axis's title, which has no unit, its share of the height, the function that
    draws it, and the base unit in which it draws. Without a base unit the axis counts bytes of the stream, or, for a
    `band`, nothing."""

    title: str
    height: float
    draw: Callable[[Sheet, View, int], None]
    base: str = ""
    band: bool = False


PANELS: tuple[Panel, ...] = (
    Panel("axis.sequence", 0.5, add_seqack),
    Panel("axis.flight", 0.19, add_flight, "bytes"),
    Panel("axis.rtt", 0.13, add_rtt, "ns"),
    Panel("axis.rate", 0.18, add_throughput, "bps"),
)
LIMITS = Panel("axis.limit", 0.03, add_limits, band=True)
GATEWAY_PANELS: tuple[Panel, ...] = (
    Panel("axis.sequence", 0.42, add_seqack),
    Panel("axis.flight", 0.15, add_flight, "bytes"),
    Panel("axis.passage", 0.12, add_passage, "ns"),
    Panel("axis.rate", 0.14, add_throughput, "bps"),
    Panel("axis.tunnel", 0.17, add_tunnel, "bps"),
)
