"""Numbers as people read them: a unit that a person would choose, three or four digits, no exponent below 1e15.

Every number on a page or in a report, a table or an error is formatted here. ``quantity`` is for texts that must parse
back to the same value; here values are rounded. Rates are decimal, sizes binary (1 KB = 1024 bytes), as in scenario
files. ``–`` stands for a value that was not measured. Rejected: ``:.4g`` in each caller, which writes 2.336e+04 KB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

NOTHING = "–"
DIGITS = 4
KB = 1024
_MOST_DIGITS = 20  # more digits than any 64-bit value has
_EXPONENT_FROM = Decimal(10) ** 15

Scale = tuple[tuple[float, str], ...]
_RATES: Scale = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s"))
_SIZES: Scale = ((KB**4, "TB"), (KB**3, "GB"), (KB**2, "MB"), (KB, "KB"), (1, "B"))
_DURATIONS: Scale = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_DISTANCES: Scale = ((1e3, "km"), (1, "m"))
_COUNTS: Scale = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
_PACKET_RATES: Scale = ((1e9, "Gpps"), (1e6, "Mpps"), (1e3, "kpps"), (1, "pps"))

_SHARES: Scale = ((0.01, "%"),)
_RATIOS_PPB: Scale = ((1e7, "%"),)
_AXES: dict[str, Scale] = {
    "bps": _RATES,
    "bytes": _SIZES,
    "ns": _DURATIONS,
    "pps": _PACKET_RATES,
    "share": _SHARES,
    "ppb": _RATIOS_PPB,
    "m": _DISTANCES,
}

_LONG: Scale = ((86400e9, "d"), (3600e9, "h"), (60e9, "min"))
_LONG_FROM_NS = 120e9  # 119 s is easier to read than 1.983 min
_PLAIN_BYTES = 10 * KB  # 1500 B is easier to read than 1.465 KB
_PLAIN_COUNT = 10_000


@dataclass(frozen=True)
class Unit:
    """The unit of an axis or column: its size in the base unit, and its name (empty for bare numbers)."""

    size: float
    name: str

    def title(self, text: str) -> str:
        """``Throughput (Gbit/s)``."""
        return f"{text} ({self.name})" if self.name else text


def unit(name: str, greatest: float) -> Unit:
    """The unit for values with the unit of ``name`` in base units (``rate_bps``, ``queue_bytes``): the largest in which
    ``greatest`` is at least 1."""
    scale = _AXES.get(name.rsplit("_", 1)[-1], ((1, ""),))
    return Unit(*next((step for step in scale if abs(greatest) >= step[0]), scale[-1]))


def number(value: float | None, digits: int = DIGITS) -> str:
    """``43.71``: at most ``digits`` significant digits, no trailing zeros, no exponent below 1e15."""
    if value is None or not math.isfinite(value):
        return NOTHING
    rounded = Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(str(value)))
    if abs(rounded) >= _EXPONENT_FROM:
        return f"{rounded.normalize():.{digits - 1}e}"
    text = f"{rounded:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def signed(value: float | None, digits: int = DIGITS) -> str:
    """``+0.4``, ``-1``, ``0``."""
    return ("+" if value is not None and value > 0 else "") + number(value, digits)


def rate(bps: float | None, digits: int = DIGITS) -> str:
    """``43.71 Mbit/s``; 1 Mbit/s = 10^6 bit/s."""
    return _scaled(bps, _RATES, digits)


def size(value: float | None, digits: int = DIGITS) -> str:
    """``256 KB``, ``22.81 MB``, ``1500 B``; bytes, 1 KB = 1024 bytes."""
    if value is not None and abs(value) < _PLAIN_BYTES and value % KB:
        return f"{number(value, digits)} B"
    return _scaled(value, _SIZES, digits)


def duration(ns: float | None, digits: int = DIGITS) -> str:
    """``8.4 ms``; from two minutes on ``10 min``, ``2.5 h``."""
    long = ns is not None and math.isfinite(ns) and abs(ns) >= _LONG_FROM_NS
    return _scaled(ns, _LONG + _DURATIONS if long else _DURATIONS, digits)


def seconds(ns: float) -> str:
    """`1.02 s`: seconds with two decimals, as pktlogger writes them."""
    return f"{ns / 1e9:.2f} s"


def distance(metres: float | None, digits: int = DIGITS) -> str:
    """``880 km``; ``15770 km``: the digits before the point are all shown."""
    whole = len(str(int(abs(metres) / 1000))) if metres is not None and math.isfinite(metres) else 0
    return _scaled(metres, _DISTANCES, max(digits, whole))


def count(value: float | None, digits: int = DIGITS) -> str:
    """``1813``; from 10,000 on ``29.84 M``."""
    if value is not None and abs(value) < _PLAIN_COUNT:
        return number(value, max(digits, DIGITS))
    return _scaled(value, _COUNTS, digits)


def packet_rate(pps: float | None, digits: int = DIGITS) -> str:
    """``69.5 kpps``: packets a second."""
    return _scaled(pps, _PACKET_RATES, digits)


def share(value: float | None, digits: int = DIGITS) -> str:
    """``78.1 %`` of 0.781."""
    text = number(None if value is None else 100 * value, digits)
    return text if text == NOTHING else f"{text} %"


def ratio_ppb(value: float | None, digits: int = DIGITS) -> str:
    """``0.01 %`` of 100,000 parts per billion."""
    return share(None if value is None else float(Decimal(str(value)) / 10**9), digits)


# The last word of a name is its unit, and decides the format.
_BY_SUFFIX: dict[str, Callable[[float | None, int], str]] = {
    "bps": rate,
    "bytes": size,
    "ns": duration,
    "ppb": ratio_ppb,
    "share": share,
    "pps": packet_rate,
    "m": distance,
}


def _round_trip(ns: float | None, digits: int = DIGITS) -> str:
    """The round-trip time that a path adds. 0 is "no delay", because no packet takes 0 ns."""
    return "no delay" if ns == 0 else duration(ns, digits)


_BY_NAME: dict[str, Callable[[float | None, int], str]] = {
    "rtt_ns": _round_trip,
    "bytes": size,
    "mtu": size,
    "pace_packets": packet_rate,
    "trial": number,
    "repeat": number,
    "seed": number,
}
_EXACT = ("trial", "repeat", "seed")  # names, not amounts


def named(name: str, value: object, digits: int = DIGITS) -> str:
    """A value formatted by the unit in its name (``rate_bps``, ``queue_bytes``, ``loss_ppb``, …); texts stay as they
    are."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return NOTHING
    if not isinstance(value, int | float):
        return str(value)
    formatter = _BY_NAME.get(name) or _BY_SUFFIX.get(name.rsplit("_", 1)[-1])
    if name in _EXACT and isinstance(value, int):
        return str(value)
    if formatter is None:
        formatter = count if isinstance(value, int) or float(value).is_integer() else number
    return formatter(value, digits)


def distinct(name: str, values: Iterable[object]) -> list[str]:
    """Texts for values of one name, with as many digits as are needed to distinguish different values."""
    listed: Sequence[object] = list(values)
    wanted = len(dict.fromkeys(listed))
    texts: list[str] = []
    for digits in range(DIGITS, _MOST_DIGITS + 1):
        texts = [named(name, value, digits) for value in listed]
        if len(set(texts)) == wanted:
            break
    return texts


def spoken(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _scaled(value: float | None, scale: Scale, digits: int) -> str:
    """``value`` in the largest unit of ``scale`` in which its rounded amount is at least 1."""
    if value is None or not math.isfinite(value):
        return NOTHING
    smallest_factor, smallest = scale[-1]
    for factor, name in scale:
        if abs(value) < factor / 2:  # an amount this small cannot round up to 1, so the slow rounding is skipped
            continue
        text = number(value / factor, digits)
        if abs(float(text)) >= 1:
            return f"{text} {name}".rstrip()
    return f"{number(value / smallest_factor, digits)} {smallest}".rstrip()
