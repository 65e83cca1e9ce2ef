"""The packets of a view as files that other programs read: CSV, and xplot's time-sequence graph as tcptrace draws it.

The colours of the graph are those of `pktlogger export --xplot` (FORMAT.md, section 5). Times are those of the capture.
"""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from dashboard.core.downsample import inside
from dashboard.core.mapping import taken
from dashboard.core.series import I64
from dashboard.timeline import one_end
from dashboard.timeline.flow import Flow, kind_words
from dashboard.timeline.messages import ENGLISH
from netcommon.errors import LfpError

MOST_ROWS = 2_000_000
Lines = NDArray[np.str_]


def segments_csv(flow: Flow, t0: int, t1: int) -> bytes:
    """Every segment that was sent in [t0, t1] (ns from the first one). Raises LfpError where that are too many."""
    rows = _rows(flow, t0, t1)
    received = taken(flow.received_ns, rows)
    table = pa.table({
        "t_sent_ns": taken(flow.sent_ns, rows) + flow.origin_ns,
        "t_received_ns": pa.array(received + flow.origin_ns, mask=received < 0),
        "seq": taken(flow.seq, rows),
        "len": taken(flow.length, rows),
        "transmission": taken(flow.transmission, rows),
        "kind": kind_words(taken(flow.kind, rows), ENGLISH),
        "lost": received == one_end.LOST,
    })  # fmt: skip
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    return text.getvalue()


def xplot(flow: Flow, t0: int, t1: int) -> bytes:
    """The view for xplot: segments white, those sent again red with R, lost ones purple with X, ACKs green, the edge
    of the window yellow, causes of stops orange."""
    rows = _rows(flow, t0, t1)
    again, lost = taken(flow.transmission, rows) > 1, taken(flow.received_ns, rows) == one_end.LOST
    at, low, high = _stamp(flow, taken(flow.sent_ns, rows)), _text(taken(flow.seq, rows)), _text(taken(flow.end, rows))
    colour = np.where(lost, "purple", np.where(again, "red", "white"))
    lines = _joined(colour, "\nline ", at, " ", low, " ", at, " ", high)
    marks = [_joined("atext ", at[again], " ", high[again], "\nR"), _joined("btext ", at[lost], " ", low[lost], "\nX")]
    acks = inside(flow.ack_ns, t0, t1)
    t, ack, window = (taken(of, acks) for of in (flow.ack_ns, flow.ack, flow.window))
    parts = [*_steps(flow, t, ack, "green"), *_steps(flow, t, ack + window, "yellow")]
    base = low[0] if low.size else "0"
    stops = [f"orange\nrtext {_stamp(flow, np.asarray([stop.t0_ns]))[0]} {base}\n{stop.text}"
             for stop in flow.stops if stop.t1_ns >= t0 and stop.t0_ns <= t1]  # fmt: skip
    head = ["timeval unsigned", "title", "time sequence graph", "xlabel", "time", "ylabel", "sequence number"]
    whole = [*head, *(line for part in (*parts, lines, *marks) for line in part.tolist()), *stops, "go", ""]
    return "\n".join(whole).encode()


def _rows(flow: Flow, t0: int, t1: int) -> slice:
    rows = inside(flow.sent_ns, t0, t1)
    if rows.stop - rows.start > MOST_ROWS:
        raise LfpError(f"{rows.stop - rows.start:,} segments in view: at most {MOST_ROWS:,} are exported; zoom in", 2)
    return rows


def _steps(flow: Flow, t: I64, value: I64, colour: str) -> tuple[Lines, ...]:
    """A step line: across at the old value, then up to the new one."""
    at, held = _stamp(flow, t), _text(value)
    across = _joined(f"{colour}\nline ", at[:-1], " ", held[:-1], " ", at[1:], " ", held[:-1])
    return across, _joined(f"{colour}\nline ", at[1:], " ", held[:-1], " ", at[1:], " ", held[1:])


def _stamp(flow: Flow, t: I64) -> Lines:
    """`seconds.nanoseconds` of the capture's clock, from integers: a double would lose the nanoseconds."""
    whole = t + flow.origin_ns
    if not whole.size:  # zfill wants a longest one
        return _text(whole)
    return _joined(_text(whole // 10**9), ".", np.char.zfill(_text(whole % 10**9), 9))


def _text(values: I64) -> Lines:
    return np.asarray(values).astype(np.str_)


def _joined(*parts: Lines | str) -> Lines:
    found = parts[0]
    for part in parts[1:]:
        found = np.char.add(found, part)
    return np.asarray(found)
