"""Stops, or where nothing stopped the slowest spans, as shaded bands over all panels, labelled with their cause."""

from __future__ import annotations

import re
from html import escape
from textwrap import wrap
from typing import Any
from unicodedata import east_asian_width

from dashboard.core.messages import Messages
from dashboard.core.theme import INK, ORANGE, VERMILLION
from dashboard.timeline.flow import Stop
from dashboard.timeline.sheet import Sheet
from dashboard.timeline.timeline import SLOW
from dashboard.timeline.view import View
from netcommon import readable

BAND_LIMIT = 300
FULL_LABEL_PX, SHORT_LABEL_PX = 220, 60
CHARACTER_PX = 10.5
TOGETHER = "\N{NO-BREAK SPACE}"  # replaces spaces at which a line must not end
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d])")  # the space between a number and its unit


def add_stops(figure: Sheet, view: View, label_y: float) -> None:
    """Shades the stops or spans in view. `label_y`: height of their labels in paper units (0 bottom, 1 top)."""
    stops = [stop for stop in view.timeline.visits if stop.t1_ns > view.t0 and stop.t0_ns < view.t1]
    if len(stops) > BAND_LIMIT:
        view.notes.append(view.say("note.stops", n=f"{len(stops):,}", most=BAND_LIMIT))
        stops = sorted(stops, key=lambda stop: stop.t0_ns - stop.t1_ns)[:BAND_LIMIT]
    bands = [_band(stop) for stop in stops]
    labels = [label for stop in stops if (label := _label(view, stop, label_y))]
    figure.layout |= {"shapes": bands, "annotations": labels}


def stop_text(say: Messages, stop: Stop) -> str:
    """Why nothing was sent, or what is known of a slow span."""
    return stop.text if stop.said is None else say.of(stop.said)


def _is_wide(character: str) -> bool:
    """Whether a character is about as wide as two of the Latin alphabet."""
    return east_asian_width(character) in "WF"


def _band(stop: Stop) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": stop.t0_ns / 1e9,
        "x1": stop.t1_ns / 1e9,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 0},
        "opacity": 0.12,
        "fillcolor": ORANGE if stop.cause == SLOW else VERMILLION,
    }


def _label(view: View, stop: Stop, label_y: float) -> dict[str, Any] | None:
    """A label with the stop's text where there is room for it, or with its length where there is room for that."""
    start, end = max(stop.t0_ns, view.t0), min(stop.t1_ns, view.t1)
    width_px = (end - start) / (view.t1 - view.t0) * view.width_px
    if width_px < SHORT_LABEL_PX:
        return None
    text, why = readable.duration(stop.t1_ns - stop.t0_ns, 3), escape(stop_text(view.say, stop))
    if width_px >= FULL_LABEL_PX:
        together = _UNIT.sub(TOGETHER, why)
        wide = 2 if any(map(_is_wide, why)) else 1
        line = int(min(width_px - 20, 380) / CHARACTER_PX / wide)
        text = "<br>".join(wrap(together, line)).replace(TOGETHER, " ")
    return {
        "x": (start + end) / 2e9,
        "xref": "x",
        "y": label_y,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"<b>{text}</b>",
        "hovertext": why,
        "bgcolor": "rgba(255,255,255,0.85)",
        "borderpad": 5,
        "font": {"color": INK, "size": 16},
    }
