"""A running delay box as its page sees it, and what the page may ask of it (comet_delay/CONTROL.md). The box checks
values; the error that is shown is the box's own line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comet_delay import Control
from dashboard.live.numbers import numbers
from dashboard.live.watcher import Watcher
from netcommon.control import Answer, ControlError
from netcommon.errors import UsageError

WAYS = ("ab", "ba")
_NO_AMOUNTS = ("first_in_ns", "last_out_ns")  # points in time


@dataclass(frozen=True)
class Parameter:
    """A parameter that the page changes. `name` as `set` takes it; `shown`: its key in the answer to `show`."""

    name: str
    shown: str
    label: str
    example: str


PARAMETERS = (
    Parameter("delay", "delay_ns", "Delay", "100ms"),
    Parameter("rate", "rate_bps", "Rate", "45Mbit, 0: none"),
    Parameter("loss", "loss", "Loss", "0.1%"),
)


@dataclass(frozen=True)
class Direction:
    """One direction of the box: its parameters, packets dropped by cause, queue and lateness."""

    parameters: Mapping[str, Any]
    drops: Mapping[str, int]
    queue_bytes: int
    queue_peak_bytes: int
    late_p99_ns: int | None
    late_max_ns: int | None


@dataclass(frozen=True)
class BoxState:
    """An answer of the box. `counters`: bytes in and out of each direction (`ab.in_bytes`)."""

    uptime_ns: int
    counters: Mapping[str, int]
    directions: Mapping[str, Direction]
    valid: bool
    reasons: tuple[str, ...]
    numbers: tuple[tuple[str, int | float], ...]


BoxWatcher = Watcher[BoxState, Control]


def read(answer: Answer) -> BoxState:
    """The state in an answer. KeyError or TypeError where the answer is not a box's."""
    statistics, verdict = answer["statistics"], answer["verdict"]
    all_numbers = (pair for pair in numbers(statistics) if not pair[0].endswith(_NO_AMOUNTS))
    return BoxState(
        uptime_ns=int(answer["uptime_ns"]),
        counters={f"{way}.{name}": int(statistics[way][name]) for way in WAYS for name in ("in_bytes", "out_bytes")},
        directions={way: _direction(answer["parameters"][way], statistics[way]) for way in WAYS},
        valid=bool(verdict["valid"]),
        reasons=tuple(map(str, verdict["reasons"])),
        numbers=tuple(all_numbers),
    )


def _direction(parameters: Mapping[str, Any], statistics: Mapping[str, Any]) -> Direction:
    lateness = statistics["lateness"]
    return Direction(
        parameters={one.shown: parameters[one.shown] for one in PARAMETERS},
        drops=dict(statistics["drops"]),
        queue_bytes=int(statistics["queue_bytes"]),
        queue_peak_bytes=int(statistics["queue_peak_bytes"]),
        late_p99_ns=lateness["p99_ns"],
        late_max_ns=lateness["max_ns"],
    )


def watch(path: Path, connect: Callable[[], Control] | None = None) -> BoxWatcher:
    """Watches the box whose control socket this is. `connect`: how it is reached; directly by default."""
    return Watcher(path, connect or (lambda: Control(path)), Control.tool, read)


def change(watcher: BoxWatcher, way: str, values: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Sets parameters by name, for one direction or for both (`way` is empty): all of them or none. Returns what has
    another value now, by direction. ControlError with the box's own line when it refuses."""
    if way not in ("", *WAYS):
        raise UsageError(f"direction {way!r}: not offered; choose ab, ba or both")
    if not values:
        raise UsageError(f"nothing to set: enter a value for {' or '.join(one.name for one in PARAMETERS)}")
    with watcher.connect() as control:
        answer = control.set(**{f"{way}_{name}" if way else name: text for name, text in values.items()})
    found = answer.get("changed")
    if not isinstance(found, dict):
        raise ControlError(
            f"{watcher.path}: the answer does not say what changed; give the control socket of comet-delay"
        )
    return found
