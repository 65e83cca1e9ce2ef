"""A band in colours: what limited the sender at each moment (limits.py)."""

from __future__ import annotations

import numpy as np

from dashboard.core.theme import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, TEAL, VERMILLION, YELLOW, scatter
from dashboard.timeline.messages import limit_words
from dashboard.timeline.sheet import Sheet
from dashboard.timeline.view import END, VALUE, View, seconds
from netcommon import readable
from scenarios.plan.causes import ALL_LIMITS

BINS = 500
BAND_PX = 16
# The colours of a role, for its causes in the order of pktlogger's table; the last one is for all that follow.
SHADES = {
    "congestion": (SKY, BLUE, TEAL, "#3a6ea5"),
    "host": (ORANGE, BLACK, PURPLE, GREY, "#a0522d"),
    "pacing": (YELLOW, "#c9b037"),
    "path": (GREEN, "#7a1fa2", "#2f6b4f"),
    "recovery": (VERMILLION, "#882255", "#b3446c"),
    "unknown": ("#c3cbd3",),
    "emulator": ("#661100",),
    "gateway": ("#8c6d31",),
}


def _colours() -> dict[str, str]:
    found: dict[str, str] = {}
    for role, shades in SHADES.items():
        own = [cause.name for cause in ALL_LIMITS.values() if cause.role == role]
        found |= {name: shades[min(number, len(shades) - 1)] for number, name in enumerate(own)}
    return found


COLOURS = _colours()


def add_limits(figure: Sheet, view: View, row: int) -> None:
    """Draws the band, a trace for each cause in view. The band is too low for a legend, so the legend of the panel
    above has its colours."""
    limits = view.timeline.limits
    if limits is None:
        return
    t0, t1, cause, gathered = limits.band(view.t0, view.t1, BINS)
    if gathered:
        view.notes.append(view.say("note.limits", n=BINS))
    for number in np.unique(cause):
        own = np.flatnonzero(cause == number)
        gaps = np.full(own.size, np.nan)
        x = np.column_stack([seconds(t0[own]), seconds(t1[own]), gaps]).ravel()
        lasted = [readable.duration(ns) for ns in (t1[own] - t0[own]).tolist()]
        name = limits.names[number]
        words = limit_words(view.say, name)
        figure.add_trace(
            scatter(
                x=x,
                y=np.where(np.isnan(x), np.nan, 0.0),
                mode="lines",
                name=view.say("limited", cause=words),
                legend="legend",
                line={"color": COLOURS.get(name, GREY), "width": BAND_PX},
                customdata=np.repeat(np.asarray(lasted, object), 3),
                hovertemplate=view.say("limited.hover", cause=words, time=VALUE) + END,
            ),
            row,
        )
