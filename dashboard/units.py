"""Numbers as people read them: SI units, thin spaces for thousands; KB is 1024 bytes (the paper's window axis)."""

from __future__ import annotations

import math

KB = 1024


def count(value: float) -> str:
    """`12 345`."""
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def rate(bps: float | None) -> str:
    """`43.7 Mbit/s` (10^6)."""
    if bps is None or not math.isfinite(bps):
        return "–"
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= factor:
            return f"{bps / factor:.3g} {unit}" if bps < 100 * factor else f"{bps / factor:.0f} {unit}"
    return f"{bps:.0f} bit/s"


def size(value: float | None) -> str:
    """`256 KB`, KB = 1024 bytes, as windows are named."""
    if value is None:
        return "–"
    return f"{value / KB:.4g} KB" if value >= KB else f"{value:.0f} B"


def data(value: float | None) -> str:
    """`80 MB`, powers of ten, as amounts of data are named."""
    if value is None:
        return "–"
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.0f} B"


def duration(ns: float | None) -> str:
    """`8.4 ms`."""
    if ns is None:
        return "–"
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= factor:
            return f"{ns / factor:.4g} {unit}"
    return f"{ns:.0f} ns"


def share(value: float | None) -> str:
    """`78 %`."""
    return "–" if value is None else f"{100 * value:.3g} %"
