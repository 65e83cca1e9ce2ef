"""Translates the arguments of a Mininet link into the box's parameters in base units, by pure functions.

An argument has a name of ``TCLink`` or a name of the box. TCLink passes its texts to tc, so tc's grammar applies to
TCLink's names: ``delay=5`` is 5 µs, and ``'5ms'`` and ``'5msec'`` are the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from comet_delay.options import Options
from netcommon import quantity
from netcommon.errors import UsageError

# The way in which tc makes a rate, and offloads of veth pairs: without meaning for a box, so they are accepted and
# ignored.
_WITHOUT_MEANING = {"use_hfsc", "use_tbf", "gro", "disable_gro", "txo", "rxo"}
_REFUSED = {
    "speedup": "rewrites the rate of switch ports; give 'bw' itself",
    "enable_red": "the box has queue disciplines of its own names",
    "enable_ecn": "the box has queue disciplines of its own names",
}
_TC_TIMES = {"": "us", "usec": "us", "usecs": "us", "msec": "ms", "msecs": "ms", "sec": "s", "secs": "s", "nsecs": "ns"}
_TC_NAMES = ("bw", "delay", "jitter", "loss", "max_queue_size", "latency_ms")


def _duration_ns(text: Any) -> int:
    number = str(text).strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = str(text).strip()[len(number) :]
    return quantity.parse_duration_ns(number.strip() + _TC_TIMES.get(unit, unit))


def _rate_bps(megabits: Any) -> int:
    return quantity.parse_rate_bps(f"{float(megabits):.6f}Mbit")


def _loss_ppb(percent: Any) -> int:
    marked = isinstance(percent, str) and "%" in percent
    return quantity.parse_ratio_ppb(percent if marked else f"{float(percent):.7f}%")


def _count(value: Any) -> int:
    if int(value) != float(value) or int(value) < 0:
        raise ValueError("want a whole number of packets")
    return int(value)


# TCLink's name → (the box's parameter, how to read its value, what to do when the box lacks the parameter).
_TRANSLATED: dict[str, tuple[str, Any, str]] = {
    "bw": ("rate_bps", _rate_bps, ""),
    "delay": ("delay_ns", _duration_ns, ""),
    "jitter": ("jitter_ns", _duration_ns, "leave it out"),
    "loss": ("loss_ppb", _loss_ppb, ""),
    "max_queue_size": ("queue_packets", _count, "give the queue in bytes, queue_bytes='150KB'"),
}


def parameters(given: Mapping[str, Any], known: Options) -> dict[str, int | str]:
    """The parameters of one direction for the keyword arguments of a link. An argument that is None counts as left out.

    Besides TCLink's names an argument may be a path option of the box, by its own name and with its unit
    (``rate='10Gbit'``, ``framing='ip'``), or a parameter in base units (``queue_bytes=110 * 1024``).
    UsageError names the argument, the value and what is allowed.
    """
    result: dict[str, int | str] = {}
    for name, value in given.items():
        if value is None or name in _WITHOUT_MEANING or (name in _REFUSED and not value):
            continue
        if name in _REFUSED:
            raise UsageError(f"{name}={value!r}: not with CometLink: {_REFUSED[name]}")
        if name == "latency_ms":
            continue  # this argument is read below, because it needs the rate
        try:
            parameter, number = _read(name, value, known)
        except (ValueError, TypeError) as error:
            raise UsageError(f"{name}={value!r}: {error}") from error
        if parameter in result:
            raise UsageError(f"{name}={value!r}: {parameter} is given twice")
        result[parameter] = number
    if given.get("latency_ms") is not None and "queue_bytes" not in result:
        if not result.get("rate_bps"):
            raise UsageError("latency_ms: the queue's length in time needs a rate; give 'bw', too")
        result["queue_bytes"] = max(int(int(result["rate_bps"]) * float(given["latency_ms"]) / 8000), 1)
    return result


def _read(name: str, value: Any, known: Options) -> tuple[str, int | str]:
    """The box's parameter that an argument sets, and the value. ValueError or TypeError when the value is wrong."""
    option = known.path.get(name) or known.by_name(name)
    if name in _TRANSLATED:
        parameter, read, instead = _TRANSLATED[name]
        if option and isinstance(value, str) and ":" in value:  # a model, which only the box can read
            return option.parameter, value
        if parameter not in known.path:
            raise UsageError(f"{name}={value!r}: this comet-delay has no '{parameter}'; {instead}")
        return parameter, read(value)
    if not option:
        own = (o.name.replace("-", "_") for o in known.path.values())
        names = [*_TC_NAMES, *own, "ab", "ba", "seed", "backend", "mtu", "box"]
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(dict.fromkeys(names))}"
        raise UsageError(f"{name}: not a parameter of CometLink; {hint}")
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"want a number in base units ({option.parameter}) or a text with its unit")
    return option.parameter, option.value(value)
