"""The part of a timeline that is drawn, and its resolution; shared by the timeline's panels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.core.downsample import aggregate, inside, thin_line, visible, with_corners
from dashboard.core.levels import Points
from dashboard.core.mapping import taken
from dashboard.core.messages import Messages
from dashboard.core.series import I64, Series
from dashboard.core.theme import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from dashboard.core.units import said
from dashboard.timeline import one_end
from dashboard.timeline.flow import kind_words
from dashboard.timeline.messages import ENGLISH
from dashboard.timeline.timeline import Timeline

PLOT_WIDTH_PX = 1150  # width of the plot on a common screen
EVENT_LIMIT = 100  # more marks of one kind would touch each other, and each takes a browser 0.1 ms
EVENT_BINS = 60
CORNER_POINTS = 2  # px; where points are nearer than this, a step is drawn as a slope
MOST_MARKS = 80  # a line with more points has no marks; a browser draws the line alone far faster
Facts = NDArray[np.object_]
AT, VALUE = "%{x:.6f} s", "%{customdata}"  # what plotly.js fills into a hover text
END = "<extra></extra>"  # ends a hover text without the trace's name next to it


@dataclass(frozen=True)
class Leg:
    """One connection: the beginning of the keys of its texts, and the colours of its lines. A dash leaves the line
    below visible where the lines of two capture points coincide."""

    key: str = "plain"
    sent_colour: str = BLUE
    received_colour: str = SKY
    ack_colour: str = ORANGE
    received_dash: str | None = None


PLAIN = Leg()
CLIENT, SERVER = Leg("client", received_dash="dot"), Leg("server", PURPLE, GREEN, VERMILLION, "dot")
# What the server sends: first to the far gateway, then from the near one to the client.
BACK_FIRST, BACK_LAST = Leg("back_first", received_dash="dot"), Leg("back_last", PURPLE, GREEN, VERMILLION, "dot")


@dataclass(frozen=True)
class Steps(Points):
    """The points of a line that keeps each value until the next point. `shape`: how plotly.js joins them."""

    shape: str = "hv"
    thinned: bool = False


@dataclass
class View:
    """A span of a timeline, ns from its first segment, and the greatest number of points that a line may have.

    `notes` collects sentences that a reader must know about the drawing (thinned, aggregated).
    """

    timeline: Timeline
    t0: int
    t1: int
    points: int = 2000
    bin_ns: int = 0  # width of the bins of rates; 0: as the span needs
    width_px: int = PLOT_WIDTH_PX  # width of the plot, by which the length of a band's label is chosen
    notes: list[str] = field(default_factory=list)
    leg: Leg = PLAIN
    say: Messages = ENGLISH

    def here(self, what: str) -> str:
        """A text of this connection: `sent`, `received`, `acks`, `at_receiver`."""
        return self.say(f"{self.leg.key}.{what}")

    def marked(self, key: str, **values: object) -> str:
        """The name of marks; with two connections, also which one it is."""
        return self.say(f"{self.leg.key}.where", name=self.say(key, **values))

    def line(self, series: Series, thinned_to: int | None = None) -> Steps:
        """The points of a dense line that are drawn: all of them, or if they are more than `points`, that many and
        corners. In a thinned line the corners of steps are points of their own, but only those that a screen can show.
        That halves a browser's work: plotly.js would make a corner for every point."""
        span = visible(series.t_ns, self.t0, self.t1)
        rows = span.stop - span.start
        drawn = thin_line(series, self.t0, self.t1, thinned_to or self.points if rows > self.points else rows)
        if drawn.size == rows:
            return Steps(drawn.rows, drawn.t_ns, drawn.value)
        cornered = with_corners(drawn, CORNER_POINTS * (self.t1 - self.t0) // self.points)
        return Steps(cornered.rows, cornered.t_ns, cornered.value, "linear", thinned=True)

    def broken(self, drawn: Steps, series: Series, gaps: I64) -> tuple[I64, NDArray[np.float64]]:
        """The points of a line that is broken at each of `gaps`, if a screen can show the break. `gaps`: rows of
        `series`; the line ends after such a row and begins again at the next row. A row between two breaks is a line of
        one point's length."""
        begin, end = series.t_ns[gaps], series.t_ns[gaps + 1]
        point_ns = (self.t1 - self.t0) // self.points
        shown = (begin < self.t1) & (end > self.t0) & (end - begin > point_ns)
        begin, end, gaps = begin[shown], end[shown], gaps[shown]
        # the corner at a gap's end would draw the value before it
        outside = np.searchsorted(begin, drawn.t_ns, side="left") == np.searchsorted(end, drawn.t_ns, side="left")
        none = np.full(gaps.size, np.nan)
        alone = (gaps == 0) | np.isin(gaps - 1, gaps)
        last = gaps[gaps + 2 == series.t_ns.size] + 1
        stop = begin + np.where(alone, point_ns, 0)
        t = np.concatenate([drawn.t_ns[outside], stop, stop, end, series.t_ns[last] + point_ns])
        value = np.concatenate(
            [drawn.value[outside], series.value[gaps], none, series.value[gaps + 1], series.value[last]]
        )
        order = np.argsort(t, kind="stable")
        return t[order], value[order]

    def rising(self, series: Series) -> Steps:
        """The points of a line that only rises (see `line`). Between two points it cannot leave the rectangle between
        them, so a thinned line needs only half as many points."""
        return self.line(series, self.points // 2)

    def marks(self, rows: I64, times: I64) -> tuple[I64, I64]:
        """All of `rows` in the span, and how many packets each mark stands for. `times`: the times of `rows`, sorted.

        Beyond EVENT_LIMIT there is one mark for each bin of time, and `notes` says so: none is dropped silently.
        """
        span = inside(times, self.t0, self.t1)
        own = rows[span]
        if own.size <= EVENT_LIMIT:
            return own, np.ones(own.size, np.int64)
        first, counts = aggregate(times[span], self.t0, self.t1, EVENT_BINS)
        self.notes.append(self.say("note.marks"))
        return own[first], counts


def tally(say: Messages, name: str, counts: I64) -> str:
    """The legend's entry for marks: `lost (23)`, or `lost (1,813, thinned)` where a mark may stand for several."""
    return say(f"mark.count{'.thinned' if thinned(counts) else ''}", name=name, n=f"{int(counts.sum()):,}")


def gathered(say: Messages, counts: I64, place: int) -> str:
    """The end of a hover text where marks are thinned. `place`: the index of the count in the mark's facts."""
    return f"<br>{say('mark.gathered', n=f'%{{customdata[{place}]:,}}')}" if thinned(counts) else ""


def thinned(counts: I64) -> bool:
    """Whether some of these marks stand for more than one packet."""
    return bool((counts > 1).any())


def seconds(ns: I64) -> NDArray[np.float64]:
    """int64 ns as float seconds, for axes."""
    return ns / 1e9


def segment_facts(view: View, rows: I64, *more: NDArray[Any]) -> Facts:
    """The hover facts of segments: kind, seq, length, transmission, sending time in s, fate with one-way delay, and
    `more`. Numbers that name a packet (seq, time) have all their digits. All are texts: a number that the page still
    waits for would be shown as NaN."""
    timeline, say = view.timeline, view.say
    received, sent = taken(timeline.received_ns, rows), taken(timeline.sent_ns, rows)
    fates = _arrival(view, received, sent)
    if (lost := received == one_end.LOST).any():
        never = np.full(sent.shape, say("lost.never"), object)
        why = timeline.box.sentences(rows, say) if timeline.box else never
        fates[lost] = [say("segment.lost", why=text) for text in why[lost]]
    return facts_of(
        kind_words(taken(timeline.kind, rows), say),
        grouped(taken(timeline.seq, rows)),
        grouped(taken(timeline.length, rows)),
        taken(timeline.transmission, rows),
        np.char.mod("%.6f", sent / 1e9),
        fates,
        *more,
    )


def _arrival(view: View, received: I64, sent: I64) -> NDArray[np.object_]:
    """The words for the arrival of each segment, as far as it is known."""
    if view.timeline.ends == one_end.SENDER:
        return np.full(sent.shape, view.say("segment.no_arrival"), object)
    if view.timeline.ends == one_end.RECEIVER:
        return np.full(sent.shape, view.say("segment.no_sending"), object)
    before, after = view.say("segment.arrived", t="\0").split("\0")
    return np.asarray(before + said("ns", np.where(received < 0, 0, received - sent)) + after)


def grouped(values: NDArray[Any]) -> list[str]:
    """Whole numbers with commas between thousands."""
    return [f"{value:,}" for value in values.tolist()]


def facts_of(*columns: Any) -> Facts:
    """Columns side by side as one array. Lists of lists would be checked by plotly value by value."""
    facts = np.empty((len(columns[0]), len(columns)), object)
    for number, column in enumerate(columns):
        facts[:, number] = column
    return facts


def segment_hover(say: Messages) -> str:
    """The hover text of a point with `segment_facts`."""
    names = ("kind", "seq", "length", "transmission", "at", "fate")
    facts = {name: f"%{{customdata[{number}]}}" for number, name in enumerate(names)}
    return say("segment.hover", **facts | {"at": f"{facts['at']} s"})
