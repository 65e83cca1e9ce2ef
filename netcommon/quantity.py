"""Quantities with units, the same grammar as ``src/nc_quantity.h``: ``100ms``, ``0.01%``, ``45Mbit``, ``110KB``.

Everything becomes an integer in a base unit (ns, bit/s, bytes, parts per billion), so that no rounding depends on who
parsed it. Rates are decimal, sizes binary (1KB = 1024 bytes). Case matters only in ``bps``, ``Bps`` and ``B/s``: a
small b means bits and a capital one bytes. A duration, a rate and a distance have a unit, except 0. A number without a
unit is a count, a size in bytes or a fraction below 1. Only this module has distances (metres): no tool takes one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

RATIO_ONE_PPB = 1_000_000_000
_UINT64_MAX = 2**64 - 1
_MOST_DIGITS, _MOST_DECIMALS = 20, 18  # as in nc_quantity.c
_NUMBER = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<suffix>.*)", re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """One kind of quantity: the multipliers for parsing (in lower case, except ``cased``), and those that formatting
    tries, largest first."""

    name: str
    examples: str
    multipliers: dict[str, int]
    shown: tuple[tuple[str, int], ...]
    decimals: int = 3
    likely: tuple[str, ...] = ()  # units that a bare number may have meant; if there are any, a unit is required
    cased: dict[str, int] = field(default_factory=dict)  # suffixes in which case matters, except in the prefix

    def factor(self, suffix: str) -> int | None:
        """The multiplier of a suffix; None when there is none."""
        prefix, tail = suffix[:-3].lower(), suffix[-3:]
        return self.cased.get(prefix + tail) or self.multipliers.get(suffix.lower())

    def meant_by_case(self, suffix: str) -> list[str]:
        """The valid suffixes for which a suffix in the wrong case may stand."""
        known = any(suffix.lower() == one.lower() for one in self.cased)
        return [suffix[:-3] + "bit", suffix[:-3] + "B/s"] if known else []


_POWERS = {"t": 10**12, "g": 10**9, "m": 10**6, "k": 10**3, "": 1}


def _rates(suffixes: tuple[str, ...], bits: int = 1) -> dict[str, int]:
    return {prefix + suffix: bits * power for prefix, power in _POWERS.items() for suffix in suffixes}


def _sizes() -> dict[str, int]:
    table = {"": 1, "b": 1}
    for exponent, prefix in enumerate("kmgt", start=1):
        table |= dict.fromkeys((prefix + "b", prefix + "ib", prefix), 1024**exponent)
    return table


COUNT = Unit(
    "number",
    "9000 or 10K",
    {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12},
    (("", 1),),
)
DURATION = Unit(
    "duration",
    "100ms, 4.2ms, 50us or 1.5s",
    {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "": 10**9, "min": 60 * 10**9, "m": 60 * 10**9, "h": 3600 * 10**9},
    (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)),
    likely=("ms", "s"),
)
RATE = Unit(
    "rate",
    "45Mbit, 800Mbit or 10Gbit",
    _rates(("bit", "bit/s", "")),
    (("Tbit", 10**12), ("Gbit", 10**9), ("Mbit", 10**6), ("Kbit", 10**3), ("bit", 1)),
    likely=("Mbit", "bit"),
    cased=_rates(("bps",)) | _rates(("Bps", "B/s"), bits=8),
)
BYTES = Unit(
    "size",
    "9000, 110KB or 2GB (1KB = 1024 bytes)",
    _sizes(),
    (("TB", 1024**4), ("GB", 1024**3), ("MB", 1024**2), ("KB", 1024), ("", 1)),
)
RATIO = Unit(
    "ratio",
    "0.01%, 100ppm or 0.0001",
    {"%": RATIO_ONE_PPB // 100, "ppm": 1000, "ppb": 1, "": RATIO_ONE_PPB},
    (("%", RATIO_ONE_PPB // 100),),
    decimals=9,
)
DISTANCE = Unit(
    "distance",
    "1000km or 250m",
    {"m": 1, "km": 1000, "": 1},
    (("km", 1000), ("m", 1)),
    likely=("km", "m"),
)
UNITS = {unit.name: unit for unit in (COUNT, DURATION, RATE, BYTES, RATIO)}  # as option tables name them


def parse(unit: Unit, text: str, *, quoted: bool = False) -> int:
    """``text`` in the unit's base unit, exact for decimal fractions; ValueError gives the reason and examples.
    ``quoted``: examples in the error get quotation marks, as in TOML."""
    if text.startswith("-"):
        raise ValueError(f"negative; want a {unit.name} such as {unit.examples}")
    match = _NUMBER.fullmatch(text)
    assert match  # the pattern always matches, because every part of it may be empty
    whole, fraction = match["whole"], match["fraction"] or ""
    digits = (whole + fraction).lstrip("0")
    factor = unit.factor(match["suffix"])
    if factor is None and whole + fraction and (meant := unit.meant_by_case(match["suffix"])):
        number = text.removesuffix(match["suffix"])
        raise ValueError("bits or bytes? write " + " or ".join(number + suffix for suffix in meant))
    if not whole + fraction or len(digits) > _MOST_DIGITS or len(fraction) > _MOST_DECIMALS or factor is None:
        raise ValueError(f"not a {unit.name}; want for example {unit.examples}")
    mantissa, divisor = int(whole + fraction), int(10 ** len(fraction))
    value: int = (mantissa * factor + divisor // 2) // divisor
    if value > _UINT64_MAX or (value == 0 and mantissa != 0):
        raise ValueError(f"too {'large' if value else 'small'} to represent")
    if not match["suffix"] and (meant := _meant(unit, text, value)):
        raise ValueError("has no unit; write " + " or ".join(f'"{one}"' if quoted else one for one in meant))
    return value


def _meant(unit: Unit, text: str, value: int) -> list[str]:
    """The units that a number without a unit may have meant; empty if only one is possible."""
    if unit is RATIO and value >= RATIO_ONE_PPB:
        return ["1%", "100%"] if value == RATIO_ONE_PPB else [f"{text}%"]
    return [text + suffix for suffix in unit.likely] if value else []


def format_value(unit: Unit, value: int) -> str:
    """Shortest text that parses back to the same value, in the largest suitable unit: 4200000 ns is ``4.2ms``."""
    for suffix, factor in unit.shown:
        if value < factor and factor != 1 and unit is not RATIO:
            continue
        whole, rest = divmod(value, factor)
        scaled, inexact = divmod(rest * 10**unit.decimals, factor)
        if not inexact:
            fraction = f"{scaled:0{unit.decimals}d}".rstrip("0")
            return f"{whole}{'.' if fraction else ''}{fraction}{suffix}"
    return f"{value}{unit.shown[-1][0]}"


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of ``100ms``, ``1.5s``, ``2min``; only 0 needs no unit."""
    return parse(DURATION, text)


def parse_rate_bps(text: str) -> int:
    """bit/s of ``45Mbit``, ``10Gbit/s``; decimal prefixes."""
    return parse(RATE, text)


def parse_bytes(text: str) -> int:
    """Bytes of ``110KB``, ``2GiB``, ``9000``; binary prefixes."""
    return parse(BYTES, text)


def parse_ratio_ppb(text: str) -> int:
    """Parts per billion of ``0.01%``, ``100ppm``, ``0.0001``."""
    return parse(RATIO, text)


def format_duration(value_ns: int) -> str:
    """``4.2ms`` for 4200000."""
    return format_value(DURATION, value_ns)


def format_rate(value_bps: int) -> str:
    """``45Mbit`` for 45000000."""
    return format_value(RATE, value_bps)


def format_bytes(value: int) -> str:
    """``110KB`` for 112640."""
    return format_value(BYTES, value)
