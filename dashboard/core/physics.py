"""The physical limits in a window sweep: window ÷ RTT, the line's rate, and where path and queue are full.

A limit holds for the trials from whose path it is computed. Where series differ in the settings that a limit depends
on, each series has its own limit. A series that has different paths at different windows has none, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from dashboard.core.grouping import Group
from dashboard.core.intervals import finite
from dashboard.core.runs import Json, behind_gateway
from scenarios.plan import cells, pair_path

_RATE = ("rate_bps", "rate_trace", "pair_path")
_RTT = ("delay_ns", "ba_delay_ns", "rtt_ns", "jitter", "ba_jitter", *_RATE, "ba_rate_bps", "access_rate_bps",
        "ba_access_rate_bps", "mtu")  # fmt: skip
_KNEE = (*_RTT, "queue_bytes", "queue_packets")
# The settings that each kind of limit depends on. Trials share a limit if they agree in these settings.
MADE_OF = {"law": _RTT, "rate": _RATE, "knee": _KNEE}
NAMES = {"law": "window ÷ RTT", "rate": "line rate", "knee": "path and queue full"}


@dataclass(frozen=True)
class Guide:
    """One limit. `kind`: law (`value`: RTT in ns), rate (bit/s) or knee (bytes). `series` empty: it holds for all
    series."""

    kind: str
    series: str
    value: float


@dataclass(frozen=True)
class Measured:
    """For one series: window ÷ the median RTT of the repeats at that window, as (bytes, bit/s), up to the knee."""

    series: str
    points: tuple[tuple[int, float], ...]


def guides(groups: Sequence[Group]) -> tuple[tuple[Guide, ...], tuple[str, ...]]:
    """All limits, and sentences about those that cannot be drawn. Senders behind a gateway do not see the path's round
    trip, so they have no limit."""
    plain = [Group(group.name, own) for group in groups if (own := tuple(_plain(group.rows)))]
    guide_lines: list[Guide] = []
    notes: list[str] = []
    for kind, made_of in MADE_OF.items():
        rows = tuple(row for group in plain for row in group.rows)
        shared = len(cells.groups(rows, made_of)) == 1
        for group in [Group("", rows)] if shared else plain:
            if not shared and len(cells.groups(group.rows, made_of)) > 1:
                notes.append(f"{group.name}: no line for {NAMES[kind]}, its windows have different paths.")
            elif (value := _VALUE[kind](group.rows)) is not None:
                guide_lines.append(Guide(kind, group.name, value))
    return tuple(guide_lines), tuple(notes)


def measured(groups: Sequence[Group], lines: Sequence[Guide]) -> tuple[Measured, ...]:
    """The rates expected of window-limited transfers, from their own measured RTT."""
    found = []
    for group in groups:
        knee = next((line.value for line in lines if line.kind == "knee" and line.series in ("", group.name)), None)
        valid = [row for row in _plain(group.rows) if row.get("valid")]
        by_window = cells.groups(valid, ("window_bytes",)) if knee else {}
        points = [
            (int(window), window * 8e9 / rtt)
            for (window,), rows in sorted(by_window.items())
            if window <= (knee or 0) and (rtt := _median(rows, "rtt_median_ns"))
        ]
        if points:
            found.append(Measured(group.name, tuple(points)))
    return tuple(found)


def bottleneck(params: Json) -> tuple[float, float]:
    """The slowest of the paths that a flow crosses, [path] or its pair's own: rate in bit/s, and bytes of the queue in
    front of it. Zeros without a rate."""
    found = [[float(path.get(key) or 0) for key in ("rate_bps", "queue_bytes")] for path in pair_path.paths(params)]
    rate, queue = min((one for one in found if one[0]), default=[0.0, 0.0], key=lambda one: one[0])
    return rate, queue


def full_bytes(rate_bps: float, round_trip_ns: float, queue_bytes: float) -> float:
    """The bytes that path and queue hold together."""
    return rate_bps * round_trip_ns / 8e9 + queue_bytes


def _plain(rows: Sequence[Json]) -> list[Json]:
    return [row for row in rows if not behind_gateway(row)]


def _median(rows: Sequence[Json], column: str) -> float | None:
    return _middle(float(row[column]) for row in rows if finite(row.get(column)))


def _middle(values: Iterable[float]) -> float | None:
    known = [value for value in values if value]
    return median(known) if known else None


def _rtt(rows: Sequence[Json]) -> float | None:
    return _median(rows, "rtt_min_ns")


def _rate(rows: Sequence[Json]) -> float | None:
    return _middle(bottleneck(row)[0] for row in rows)


def _knee(rows: Sequence[Json]) -> float | None:
    """The window at which path and queue are full. None for a queue without a bound in bytes, which is never full, or
    full at a number of packets."""
    rtt, rate, queue = _rtt(rows), _rate(rows), _middle(bottleneck(row)[1] for row in rows)
    return full_bytes(rate, rtt, queue) if rtt and rate and queue else None


_VALUE = {"law": _rtt, "rate": _rate, "knee": _knee}
