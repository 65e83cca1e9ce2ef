"""The panels under the Seq/Ack plot, on the same time axis: in flight and cwnd, RTT, throughput."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dashboard import units
from dashboard.figures.theme import BLACK, BLUE, GREEN, GREY, KB, ORANGE, PURPLE, SKY, scatter
from dashboard.figures.view import View, seconds
from dashboard.series import nice_bin_ns, rate_bps


def add_flight(figure: go.Figure, view: View, row: int) -> None:
    """Bytes in flight and congestion window, KB; beside them what path and queue hold, where the run says it."""
    tl = view.timeline
    rows = view.line(tl.in_flight.t_ns, tl.in_flight.value)
    figure.add_trace(scatter(
        rows.size, x=seconds(tl.in_flight.t_ns[rows]), y=tl.in_flight.value[rows] / KB, mode="lines", name="in flight",
        line={"color": BLUE, "width": 2, "shape": "hv"},
        hovertemplate="<b>in flight</b> (sent, not acknowledged)<br>%{y:.4g} KB at %{x:.4f} s<extra></extra>",
    ), row=row, col=1)  # fmt: skip
    rows = view.line(tl.cwnd.t_ns, tl.cwnd.value)
    if rows.size:
        figure.add_trace(scatter(
            rows.size, x=seconds(tl.cwnd.t_ns[rows]), y=tl.cwnd.value[rows] / KB, mode="lines", name="cwnd (TCP_INFO)",
            line={"color": PURPLE, "width": 2, "shape": "hv"},
            hovertemplate="<b>congestion window</b><br>%{y:.4g} KB at %{x:.4f} s<extra></extra>",
        ), row=row, col=1)  # fmt: skip
    _add_capacity(figure, view, row)


def _add_capacity(figure: go.Figure, view: View, row: int) -> None:
    params = view.timeline.params
    rate, queue, delay = (float(params.get(key) or 0) for key in ("rate_bps", "queue_bytes", "delay_ns"))
    if not (rate and queue):
        return
    round_trip = delay + float(params.get("ba_delay_ns") or delay)
    full = (rate * round_trip / 8e9 + queue) / KB
    figure.add_trace(go.Scatter(
        x=[view.t0 / 1e9, view.t1 / 1e9], y=[full, full], mode="lines", name=f"path and queue full ({full:.0f} KB)",
        line={"color": BLACK, "width": 1.5, "dash": "dash"}, hoverinfo="skip",
    ), row=row, col=1)  # fmt: skip


def add_rtt(figure: go.Figure, view: View, row: int) -> None:
    """Round-trip time from segments and their ACKs (Karn's rule), ms."""
    rtt = view.timeline.rtt
    rows = view.line(rtt.t_ns, rtt.value)
    figure.add_trace(scatter(
        rows.size, x=seconds(rtt.t_ns[rows]), y=rtt.value[rows] / 1e6, mode="markers", name="RTT",
        marker={"size": 4, "color": GREEN},
        hovertemplate="<b>RTT</b> %{y:.4g} ms at %{x:.4f} s<extra></extra>",
    ), row=row, col=1)  # fmt: skip


def _bin_of_packets_ns(view: View) -> float:
    """A bin that holds about ten packets at the line rate: finer ones would show packets, not a rate."""
    rate = float(view.timeline.params.get("rate_bps") or 0)
    return 10 * float(view.timeline.params.get("mtu") or 1500) * 8e9 / rate if rate else 0.0


def add_throughput(figure: go.Figure, view: View, row: int) -> None:
    """Sent (all transmissions) and newly arrived data per bin, Mbit/s; bins follow the zoom."""
    tl = view.timeline
    width = nice_bin_ns(view.t1 - view.t0, least_ns=_bin_of_packets_ns(view))
    start = view.t0 // width * width
    arrived, arrived_sum = tl.useful_arrivals
    for name, t, total, colour in (
        ("sent, all", tl.sent_ns, tl.sent_bytes_until, SKY),
        ("arrived, new to the receiver", arrived, arrived_sum, ORANGE),
    ):
        edges, rate = rate_bps(t, total, start, view.t1, width)
        line = {"color": colour, "width": 2, "shape": "hv"}
        figure.add_trace(go.Scatter(
            x=seconds(edges), y=np.round(rate / 1e6, 3), mode="lines", line=line,
            name=f"{name} ({units.duration(width)} bins)",
            hovertemplate=f"<b>{name}</b><br>%{{y:.4g}} Mbit/s from %{{x:.4f}} s<extra></extra>",
        ), row=row, col=1)  # fmt: skip
    rate_line = float(tl.params.get("rate_bps") or 0) / 1e6
    if rate_line:
        figure.add_trace(go.Scatter(
            x=[view.t0 / 1e9, view.t1 / 1e9], y=[rate_line] * 2, mode="lines", name=f"line rate ({rate_line:g} Mbit/s)",
            line={"color": GREY, "width": 1.5, "dash": "dot"}, hoverinfo="skip",
        ), row=row, col=1)  # fmt: skip
