"""The texts of a timeline in another language than English, in which figures, pktlogger and its causes write.

The class page's catalogs have the English phrases and their translations under `drawn.…`. A phrase is replaced wherever
it stands, the longest first; `{…}` is a number with its unit, or plotly.js's placeholder for one. Rejected: words that
are passed through every function that draws: many texts come from files that pktlogger has written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.classroom.words import DEFAULT, Words, words

PREFIX = "drawn."
VALUE = r"((?:%\{[^}]*\}|[\d.,]*\d)(?: (?:[kKMGT]?B|[nµm]?s|min|[kMG]?bit/s)(?![A-Za-z]))?)"
PLACE = re.compile(r"\\?\{(\w+)\\?\}")
LEAST_LINE = 12  # characters


def translated(figure: go.Figure, text: Words) -> go.Figure:
    """The figure with its texts in the language of `text`."""
    if text == words(DEFAULT):
        return figure
    say = translator(text)
    for trace in figure.data:
        trace.update(name=say(trace.name or ""), hovertemplate=say(trace.hovertemplate or ""))
        if trace.customdata is not None:
            trace.customdata = _facts(np.asarray(trace.customdata, object), say)
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.title.text = say(axis.title.text or "")
    for note in figure.layout.annotations:
        note.update(text=_wrapped(note.text, say), hovertext=say(note.hovertext or ""))
    return figure


def _facts(facts: np.ndarray[Any, Any], say: Callable[[str], str]) -> np.ndarray[Any, Any]:
    said = [say(value) if isinstance(value, str) else value for value in facts.ravel().tolist()]
    return np.asarray(said, object).reshape(facts.shape)


def _wrapped(label: str, say: Callable[[str], str]) -> str:
    """A label over a stop, as wide as before: a Japanese character is about as wide as two others."""
    lines = label.removeprefix("<b>").removesuffix("</b>").split("<br>")
    width = max(LEAST_LINE, max(map(len, lines)) // 2)
    return f"<b>{'<br>'.join(wrap(say(' '.join(lines)), width))}</b>"


def translator(text: Words) -> Callable[[str], str]:
    """Translates a text of a figure into the language of `text`."""
    return _translator(tuple(text[key] for key in words(DEFAULT) if key.startswith(PREFIX)))


@cache
def _translator(others: tuple[str, ...]) -> Callable[[str], str]:
    """The same; `others` are the phrases of the language, in the order of the English catalog."""
    own = [said for key, said in words(DEFAULT).items() if key.startswith(PREFIX)]
    pairs = sorted(zip(own, others, strict=True), key=lambda pair: -len(pair[0]))
    rules = [(_pattern(english), PLACE.sub(r"\\g<\1>", other)) for english, other in pairs]

    @cache
    def say(text: str) -> str:
        for pattern, other in rules:
            text = pattern.sub(other, text)
        return text

    return say


def _pattern(english: str) -> re.Pattern[str]:
    body = PLACE.sub(lambda place: f"(?P<{place[1]}>{VALUE})", re.escape(english))
    return re.compile(rf"(?<![A-Za-z]){body}(?![A-Za-z])")
