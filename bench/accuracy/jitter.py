"""delay.accuracy, jitter without reordering: order, marginal distribution (Kolmogorov–Smirnov) and autocorrelation.

Packets are sent so far apart that keeping their order moves hardly any of them. So their delays have the model's own
distribution, plus the box's error of some µs. Another row sends packets close together and counts those that arrive out
of order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.accuracy import numbered, theory
from bench.accuracy.arrivals import captured
from bench.accuracy.times import steady
from bench.registry import Place, Row
from bench.two_hosts import box
from netcommon.errors import LfpError
from scenarios.network.host_pair import MTU, Hosts

DELAY_MS = 20.0
SCALE_MS = 1.5  # half-width or standard deviation
SPACING_S = 0.015
SECONDS = 20
# A packet leaves 5 ms after the next one arrives, so a box that spins for 10 ms is awake for both. How late it wakes is
# the figure of another row: at a Pareto's sharp edge 20 us are 0.035 of the Kolmogorov–Smirnov distance.
AWAKE: dict[str, int] = {"poll_ns": 0, "spin_ns": 10_000_000}
PAYLOAD = 100
TRACE_ERROR_US = 200.0  # allowed, because the box sleeps now and then
Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]
# Jitter has mean 0: (a Pareto variable s^(-1/3) - its mean 3/2) / its standard deviation sqrt(3)/2.
_PARETO = stats.pareto(3, loc=-1.5 * SCALE_MS / np.sqrt(0.75), scale=SCALE_MS / np.sqrt(0.75))
_TABLE_MS = np.round(np.concatenate([np.linspace(-2, -1, 40), np.linspace(0, 0.5, 20), np.linspace(2, 5, 20)]), 6)


@dataclass(frozen=True)
class Model:
    """A jitter model: its text, its distribution function in ms, and its autocorrelation if it has one."""

    name: str
    text: str
    cdf: Cdf | None = None
    correlation: float | None = None


def models(place: Place) -> list[Model]:
    """The models of the table. The empirical one reads a file, which is written here."""
    file = place.scratch / "jitter-table"
    file.write_text("".join(f"{value:.6f}ms\n" for value in _TABLE_MS), encoding="ascii")
    uniform, normal = stats.uniform(-SCALE_MS, 2 * SCALE_MS), stats.norm(0, SCALE_MS)
    return [
        Model("uniform", f"{SCALE_MS}ms", uniform.cdf),
        Model("normal", f"normal:{SCALE_MS}ms", normal.cdf),
        Model("pareto", f"pareto:{SCALE_MS}ms", _PARETO.cdf),
        Model("table", f"table:{file}", _table_cdf),
        Model("normal, correlation 50 %", f"normal:{SCALE_MS}ms,50%", None, 0.5),
        Model("uniform, correlation 25 %", f"{SCALE_MS}ms,25%", None, 0.25),
    ]


def _table_cdf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The table's distribution function. The distribution consists of points, which the box's error blurs. So the
    function has half of each step at its point and is interpolated in between."""
    ordered = np.sort(_TABLE_MS)
    return np.interp(values, ordered, (np.arange(ordered.size) + 0.5) / ordered.size, left=0.0, right=1.0)


def distribution(pair: Hosts, place: Place, model: Model) -> Iterator[Row]:
    """One model's rows: packets out of order, and the distance from its distribution or its autocorrelation."""
    jitter_ms, backwards = added_ms(pair, place, model.text)
    note = f"{theory.SAYING}; {jitter_ms.size} packets"
    yield Row(f"jitter {model.name}, out of order", "packets", backwards, 0, 0, f"of {jitter_ms.size}")
    if model.cdf:
        distance = float(stats.kstest(jitter_ms, model.cdf).statistic)
        allowed = theory.largest_distance(jitter_ms.size)
        if model.cdf is _table_cdf:
            allowed += 0.5 / _TABLE_MS.size  # the distribution steps at each point, and _table_cdf has half of the step
        yield Row(f"jitter {model.name}, Kolmogorov–Smirnov", "", distance, 0, allowed, note)
    if model.correlation is not None:
        r = float(np.corrcoef(jitter_ms[:-1], jitter_ms[1:])[0, 1])
        yield Row(f"jitter {model.name}, achieved", "", r, *theory.correlation(model.correlation, jitter_ms.size), note)


def trace(pair: Hosts, place: Place) -> Iterator[Row]:
    """A trace's rows: packets out of order, and the error of delays, packet by packet."""
    wanted_ms = np.round(2 * np.sin(np.arange(97) * 0.7), 6)
    file = place.scratch / "jitter-trace"
    file.write_text("".join(f"{value:.6f}ms\n" for value in wanted_ms), encoding="ascii")
    jitter_ms, backwards = added_ms(pair, place, f"trace:{file}")
    errors_us = np.abs(jitter_ms - wanted_ms[np.arange(jitter_ms.size) % wanted_ms.size]) * 1e3
    yield Row("jitter trace, out of order", "packets", backwards, 0, 0, f"of {jitter_ms.size}")
    yield Row(
        "jitter trace, p99 error",
        "us",
        float(np.percentile(errors_us, 99)),
        0,
        TRACE_ERROR_US,
        f"{errors_us.size} packets",
    )


def order(pair: Hosts, place: Place) -> Iterator[Row]:
    """10,000 packets a second, with jitter that is far greater than their spacing."""
    seconds = min(place.seconds or 10, 10)
    path: dict[str, int | str] = {"delay_ns": int(DELAY_MS * 1e6), "jitter": "normal:2ms"}
    _, arrived, _ = steady(pair, place, 10_000, seconds, path)
    found = arrived.number_at(numbered.UDP_HEADERS)
    backwards = int((np.diff(found) < 0).sum())
    yield Row("jitter normal at 10 kpps, out of order", "packets", backwards, 0, 0, f"of {found.size}")


def added_ms(pair: Hosts, place: Place, text: str) -> tuple[NDArray[np.float64], int]:
    """Each packet's delay beyond the constant one, in order of sending, and how many packets arrived out of order."""
    count = int(min(place.seconds or SECONDS, SECONDS) / SPACING_S)
    path: dict[str, int | str] = {"delay_ns": int(DELAY_MS * 1e6), "jitter": text}
    with (
        box(pair, MTU, path, place.scratch, place.ledger, **AWAKE, seed=theory.fresh_seed()),
        captured(place, [pair.sender, pair.receiver], numbered.FILTER) as capture,
    ):
        numbered.send_spaced(pair, count, SPACING_S, PAYLOAD)
        numbered.wait_quiet(pair)
    sent, arrived = (point.number_at(numbered.UDP_HEADERS) for point in capture.points)
    backwards = int((np.diff(arrived) < 0).sum())
    _, at_sender, at_receiver = np.intersect1d(sent, arrived, return_indices=True)
    if at_sender.size != count:
        raise LfpError(f"delay.accuracy: {count} packets were sent, {at_sender.size} arrived; is the machine busy?")
    took_ns = capture.points[1].t_ns[at_receiver] - capture.points[0].t_ns[at_sender]
    added: NDArray[np.float64] = took_ns / 1e6 - DELAY_MS
    return added, backwards
