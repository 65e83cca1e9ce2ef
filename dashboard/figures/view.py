"""What part of a timeline is drawn, and how finely; shared by the timeline's panels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.downsample import aggregate, inside, thin, visible
from dashboard.figures.theme import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from dashboard.series import I64
from dashboard.timeline import KINDS, Timeline

EVENT_LIMIT = 20_000
EVENT_BINS = 2_000


@dataclass(frozen=True)
class Words:
    """What the lines of one connection are called, and their colours. `where` is added to the names of marks; a dash
    lets the line below be seen where two places are too near each other to tell apart."""

    sent: str = "sender: new data sent"
    received: str = "receiver: data arrived"
    acks: str = "sender: ACK received"
    at_receiver: str = "at the receiver"
    where: str = ""
    sent_colour: str = BLUE
    received_colour: str = SKY
    ack_colour: str = ORANGE
    received_dash: str | None = None


PLAIN = Words()
CLIENT = Words(
    "client: new data sent", "gateway in: data arrived", "client: ACK received", "at the near gateway",
    received_dash="dot",
)  # fmt: skip
SERVER = Words(
    "gateway out: new data sent", "server: data arrived", "gateway out: ACK received", "at the server",
    " (server side)", PURPLE, GREEN, VERMILLION, "dot",
)  # fmt: skip


@dataclass
class View:
    """A span of a timeline, ns from its first segment, and the greatest number of points a line may have.

    `notes` collects what a reader must know about the drawing (thinned, aggregated), in words.
    """

    timeline: Timeline
    t0: int
    t1: int
    points: int = 2000
    notes: list[str] = field(default_factory=list)
    words: Words = PLAIN

    def line(self, t: I64, y: NDArray[Any]) -> I64:
        """Rows of a dense line to draw."""
        return thin(t, y, self.t0, self.t1, self.points)

    def line_of(self, rows: I64, times: I64, y: NDArray[Any]) -> I64:
        """The same for a line made of some rows of the timeline; `times` are theirs, sorted."""
        span = visible(times, self.t0, self.t1)
        own = rows[span]
        return np.asarray(own[self.line(times[span], y[own])], dtype=np.int64)

    def marks(self, rows: I64, times: I64, what: str) -> tuple[I64, I64]:
        """All of `rows` in the span (`times` are theirs, sorted), and how many packets each mark stands for.

        Beyond EVENT_LIMIT they are gathered in EVENT_BINS spans, and `notes` says so: none is silently dropped.
        """
        span = inside(times, self.t0, self.t1)
        own = rows[span]
        if own.size <= EVENT_LIMIT:
            return own, np.ones(own.size, np.int64)
        first, counts = aggregate(times[span], self.t0, self.t1, EVENT_BINS)
        self.notes.append(f"{own.size:,} × {what} gathered in {first.size:,} marks (zoom in for single ones)")
        return own[first], counts


def seconds(ns: I64) -> NDArray[np.float64]:
    """int64 ns as float seconds, for axes."""
    return ns / 1e9


def segment_facts(timeline: Timeline, rows: I64) -> list[list[Any]]:
    """Hover facts of segments: kind, seq, length, transmission, sending time in s, fate with one-way delay."""
    received, sent = timeline.received_ns[rows], timeline.sent_ns[rows]
    delay = np.char.mod("arrived %.3f ms later", (received - sent) / 1e6)
    why = timeline.box.sentences(rows) if timeline.box else "never arrived"
    columns = (
        np.asarray(KINDS)[np.minimum(timeline.kind[rows], len(KINDS) - 1)],
        timeline.seq[rows],
        timeline.length[rows],
        timeline.transmission[rows],
        np.char.mod("%.6f", sent / 1e9),
        np.where(received < 0, np.char.add("LOST: ", why), delay),
    )
    return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


SEGMENT_HOVER = (
    "<b>%{customdata[0]}</b><br>seq %{customdata[1]:,}, %{customdata[2]:,} bytes, transmission %{customdata[3]}"
    "<br>sent at %{customdata[4]} s<br>%{customdata[5]}"
)
