"""A band in colours: what limited the sender at each moment (data/limits.py)."""

from __future__ import annotations

import numpy as np

from dashboard.data.limits import WORDS
from dashboard.figures.sheet import Sheet
from dashboard.figures.theme import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, TEAL, VERMILLION, YELLOW, scatter
from dashboard.figures.view import View, seconds
from netcommon import readable

BINS = 500
BAND_PX = 16
COLOURS = {
    "slow_start": SKY, "congestion_avoidance": BLUE, "receiver_window": ORANGE, "zero_window": BLACK,
    "send_buffer": PURPLE, "application": GREY, "pacing": YELLOW, "path_rate": GREEN, "fast_recovery": VERMILLION,
    "timeout": "#882255", "capture_loss": "#c3cbd3", "emulator_late": "#661100",
    "path_down": "#7a1fa2",
    "ecn": TEAL, "gateway": "#8c6d31",
}  # fmt: skip


def add_limits(figure: Sheet, view: View, row: int) -> None:
    """Draws the band, a trace for each cause in view. It is too low for a legend: its colours are in the one above."""
    limits = view.timeline.limits
    if limits is None:
        return
    t0, t1, cause, gathered = limits.band(view.t0, view.t1, BINS)
    if gathered:
        view.notes.append(f"limits: the cause of most time in each of {BINS} parts of the view")
    for number in np.unique(cause):
        own = np.flatnonzero(cause == number)
        gaps = np.full(own.size, np.nan)
        x = np.column_stack([seconds(t0[own]), seconds(t1[own]), gaps]).ravel()
        lasted = [readable.duration(ns) for ns in (t1[own] - t0[own]).tolist()]
        name = limits.names[number]
        figure.add_trace(scatter(
            x=x, y=np.where(np.isnan(x), np.nan, 0.0), mode="lines", name=f"limited by {WORDS.get(name, name)}",
            legend="legend", line={"color": COLOURS.get(name, GREY), "width": BAND_PX},
            customdata=np.repeat(np.asarray(lasted, object), 3),
            hovertemplate=f"<b>limited by {WORDS.get(name, name)}</b><br>for %{{customdata}}<extra></extra>",
        ), row)  # fmt: skip
