"""The segments of a view as CSV, for other programs. Times are on the capture's clock. Rejected: a graph for xplot,
too, which `pktlogger export --xplot --from --to` makes."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.csv

from dashboard.core.downsample import inside
from dashboard.core.mapping import taken
from dashboard.timeline import one_end
from dashboard.timeline.flow import Flow, kind_words
from dashboard.timeline.messages import ENGLISH
from netcommon.errors import LfpError

MOST_ROWS = 2_000_000


def segments_csv(flow: Flow, t0: int, t1: int) -> bytes:
    """Every segment that was sent in [t0, t1] (ns from the first one). Raises LfpError if there are too many."""
    rows = _rows(flow, t0, t1)
    received = taken(flow.received_ns, rows)
    table = pa.table(
        {
            "t_sent_ns": taken(flow.sent_ns, rows) + flow.origin_ns,
            "t_received_ns": pa.array(received + flow.origin_ns, mask=received < 0),
            "seq": taken(flow.seq, rows),
            "len": taken(flow.length, rows),
            "transmission": taken(flow.transmission, rows),
            "kind": kind_words(taken(flow.kind, rows), ENGLISH),
            "lost": received == one_end.LOST,
        }
    )
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    return text.getvalue()


def _rows(flow: Flow, t0: int, t1: int) -> slice:
    rows = inside(flow.sent_ns, t0, t1)
    if rows.stop - rows.start > MOST_ROWS:
        raise LfpError(f"{rows.stop - rows.start:,} segments in view: at most {MOST_ROWS:,} are exported; zoom in", 2)
    return rows
