"""``virtual.cpu``: what lft-gateway's system calls cost on this machine, for a scenario's [cpu], and how accurate this
is.

In real time the processor time of both gateways is measured in each case of ``virtual_cpu.toml``. In virtual time the
same trials run three times. Without costs they give the time that readings of the clock take. With a cost for calls
alone they give the number of calls, and with a cost for bytes alone the number of bytes. The costs are those that
explain the cases FITTED best (least squares, none negative). Then all cases run in virtual time with these costs, also
the one that they were not fitted to, and their processor time is compared with real time. Rejected: counting the calls
in real time by tracing, which costs more than the calls.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

from scipy.optimize import nnls

from bench.registry import Bench, Place, Result, Row
from bench.speed.one_trial import Measured, in_real_time, in_virtual_time
from netcommon import quantity
from scenarios.plan.plan import Trial, load_plan
from scenarios.virtual import kernel

FILE = Path(__file__).with_suffix(".toml")
FITTED = ("fast", "slow", "jumbo")
LEAST, MOST = 0.8, 1.25  # bounds of virtual processor time / real processor time
_TIMES = 3
_CALL_NS, _RATE_BPS = 1000, 10**9  # costs that are set to count calls and bytes
_BYTE_NS = 8e9 / _RATE_BPS


def measure(place: Place) -> Iterator[Result]:
    """One result with a row for each case. Without a built kernel there is no result, and a line says why."""
    if why := kernel.missing():
        place.say(f"virtual.cpu: left out: {why}")
        return
    real = {case: _real_ns(one, place) for case, one in _trials(place).items()}
    looks = {case: _virtual_ns(one, place) for case, one in _trials(place).items()}
    calls = _counted(place, looks, _CALL_NS, call=f"{_CALL_NS}ns")
    moved = _counted(place, looks, _BYTE_NS, rate=f"{_RATE_BPS}bit")
    call_ns, byte_ns = _fit({case: real[case] - looks[case] for case in FITTED}, calls, moved)
    costs = {"call": f"{round(call_ns)}ns", "rate": f"{_rate_bps(byte_ns)}bit"}
    place.say(f'virtual.cpu: [cpu] call = "{costs["call"]}", rate = "{_spoken_rate(byte_ns)}"')
    rows = []
    for case, one in _trials(place, **costs).items():
        share = _virtual_ns(one, place) / real[case]
        note = f"{real[case]:.2f} ns a byte in real time; {calls[case] * 1e3:.2f} calls a KB"
        rows.append(Row(f"{case}{'' if case in FITTED else ' (not fitted)'}", "of real time", share, LEAST, MOST, note))
    extra = {"call_ns": call_ns, "byte_ns": byte_ns, "rate_bps": _rate_bps(byte_ns)}
    yield Result("virtual.cpu", "of rows", None, rows=rows, extra=extra)


def _trials(place: Place, **costs: str) -> dict[str, Trial]:
    sets = [f"cpu.{key}={value}" for key, value in costs.items()]
    sets += [f"transfer.duration={place.seconds}s"] if place.seconds else []
    return {str(one.setting.scenario.case): one for one in load_plan(str(FILE), overrides=sets, seed=1).trials}


def _counted(place: Place, looks: Mapping[str, float], price_ns: float, **costs: str) -> dict[str, float]:
    """The number of events per byte of payload that cost ``price_ns`` each in virtual time."""
    return {case: (_virtual_ns(one, place) - looks[case]) / price_ns for case, one in _trials(place, **costs).items()}


def _fit(real: Mapping[str, float], calls: Mapping[str, float], moved: Mapping[str, float]) -> tuple[float, float]:
    """The cost of a call and that of a byte, in ns. All arguments are per byte of payload; each case has the same
    weight."""
    rows = [[calls[case] / real[case], moved[case] / real[case]] for case in FITTED]
    (call_ns, byte_ns), _ = nnls(rows, [1.0] * len(FITTED))
    return float(call_ns), float(byte_ns)


def _rate_bps(byte_ns: float) -> int:
    return min(round(8e9 / byte_ns), 100 * 10**9) if byte_ns > 0 else 0


def _spoken_rate(byte_ns: float) -> str:
    return quantity.format_value(quantity.RATE, round(_rate_bps(byte_ns), -6))


def _real_ns(one: Trial, place: Place) -> float:
    """Processor time of both gateways per byte, the median of some trials."""
    return statistics.median(
        _byte_ns(in_real_time(one, place.scratch / f"real-{one.number}-{n}", place.ledger), one, place)
        for n in range(place.pairs or _TIMES)
    )


def _virtual_ns(one: Trial, place: Place) -> float:
    name = f"virtual-{one.number}-{one.setting.cpu.call}-{one.setting.cpu.rate}"
    return _byte_ns(in_virtual_time(one, place.scratch / name, place.ledger), one, place)


def _byte_ns(measured: Measured, one: Trial, place: Place) -> float:
    row = measured.row
    payload = row["short_term_bps"] * row["elapsed_ns"] / 8e9
    found: float = row["cpu_gateways_ns"] / payload
    place.say(f"virtual.cpu: {one.setting.scenario.case}: {found:.3f} ns a byte")
    return found


BENCH = Bench("virtual.cpu", "cost of a gateway's system calls, virtual against real; needs 'make virtual'", measure)
