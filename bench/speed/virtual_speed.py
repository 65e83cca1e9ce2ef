"""``virtual.speed``: how many virtual seconds pass in a second, by case of ``virtual_speed.toml``, at the defaults.

The speed of a case is the transfer's duration over the wall time of its trial, minus the wall time of the case `start`,
whose transfer is tiny. Trials of all cases take turns, and each figure is a median. The table also has the goodput of
the same transfer in real time on this machine. ``virtual.lsr``: ten minutes at 10 Gbit/s × 498 ms, once.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.registry import Bench, Place, Result, Row
from bench.speed.one_trial import Measured, in_real_time, in_virtual_time
from netcommon import readable
from netcommon.ledger import Ledger
from scenarios.plan.plan import Trial, load_plan
from scenarios.virtual import kernel

FILE = Path(__file__).with_suffix(".toml")
STARTUP_S = 3.0  # largest allowed wall time
CAPTURE_COST = 0.15  # largest allowed, as a share of the wall time without captures
_PAIRS, _SECONDS, _LONG_S = 3, 20, 600


@dataclass(frozen=True)
class Case:
    """A case of the scenario. ``least``: virtual seconds a second. ``needs``: a program that it runs."""

    name: str
    what: str
    least: float
    box: str = "auto"
    needs: str | None = None


START = Case("start", "start and end of a trial", 0)
STREAM = Case("stream", "800 Mbit/s, 200 ms, CUBIC", 10)
CAPTURED = Case("captured", "the same, captured at both ends", 0)
CASES = (
    START,
    Case("short", "2 Gbit/s, 20 ms, CUBIC", 1),
    STREAM,
    CAPTURED,
    Case("long", "10 Gbit/s, 498 ms, CUBIC, MTU 9,000", 3),
    Case("lossy", "800 Mbit/s, 200 ms, 1 % loss, BBR", 5),
    Case("userspace", "800 Mbit/s, 200 ms, CUBIC, userspace box", 2, "comet"),
    Case("gateways", "800 Mbit/s, 200 ms, both gateways", 2),
    Case("kcptun", "200 Mbit/s, 100 ms, 1 % loss, kcptun at both ends", 1, needs="kcptun-client"),
)


def measure(place: Place) -> Iterator[Result]:
    """One result with a row for each case. Without a built kernel there is no result, and a line says why."""
    if why := kernel.missing():
        place.say(f"virtual.speed: left out: {why}")
        return
    seconds = place.seconds or _SECONDS
    trials = {case: one for case, one in _trials(seconds).items() if _can_run(case, place)}
    virtual = _in_turns(trials, place.pairs or _PAIRS, "virtual time", place, _virtual)
    real = _in_turns({case: one for case, one in trials.items() if case.least}, 1, "real time", place, _real)
    walls = {case: statistics.median(one.wall_s for one in measured) for case, measured in virtual.items()}
    rows = [Row(START.what, "s", walls[START], 0, STARTUP_S)]
    rows += [
        Row(
            case.what,
            "virtual s/s",
            seconds / max(walls[case] - walls[START], 1e-3),
            case.least,
            1e9,
            f"{_said(virtual[case])}; in real time {_said(real[case])}",
        )
        for case in trials
        if case.least
    ]
    pairs = list(zip(virtual[CAPTURED], virtual[STREAM], strict=True))
    capture = statistics.median(with_.guest_s / without.guest_s - 1 for with_, without in pairs)
    cost = statistics.median(with_.wall_s / without.wall_s - 1 for with_, without in pairs)
    rows.append(Row("the capture of it, until the guest is off", "of its wall time, more", capture, -1, CAPTURE_COST))
    rows.append(Row(CAPTURED.what, "of the wall time, more", cost, -1, CAPTURE_COST, "with the tables made of it"))
    yield Result("virtual.speed", "of rows", None, rows=rows)


def measure_long(place: Place) -> Iterator[Result]:
    """Ten minutes, or ``--seconds``, on a path as long and fat as the papers' longest."""
    if why := kernel.missing():
        place.say(f"virtual.lsr: left out: {why}")
        return
    seconds = place.seconds or _LONG_S
    case = next(case for case in CASES if case.name == "long")
    wall_s = _virtual(case, _trials(seconds)[case], place.scratch, place.ledger).wall_s
    what = f"{seconds} s at 10 Gbit/s, 498 ms"
    yield Result("virtual.lsr", "of rows", None, rows=[Row(what, "s", wall_s, 0, seconds, "wall time, once")])


def _trials(seconds: int) -> dict[Case, Trial]:
    """The trial of each case. The case `start` keeps its own duration."""
    found = {}
    for case in CASES:
        sets = [f"scenario.case={case.name}"] + ([] if case is START else [f"transfer.duration={seconds}s"])
        (found[case],) = load_plan(str(FILE), overrides=sets, seed=1).trials
    return found


def _can_run(case: Case, place: Place) -> bool:
    if case.needs is None or shutil.which(case.needs):
        return True
    place.say(f"virtual.speed: left out: {case.what}: not installed: {case.needs}")
    return False


def _in_turns(
    trials: dict[Case, Trial], times: int, kind: str, place: Place, run: Callable[[Case, Trial, Path, Ledger], Measured]
) -> dict[Case, list[Measured]]:
    found: dict[Case, list[Measured]] = {case: [] for case in trials}
    for number in range(times):
        for case, one in trials.items():
            folder = place.scratch / f"{kind.partition(' ')[0]}-{case.name}-{number}"
            found[case].append(run(case, one, folder, place.ledger))
            shutil.rmtree(folder)
            place.say(f"virtual.speed: {case.what}, {kind}: {found[case][-1].wall_s:.1f} s")
    return found


def _virtual(case: Case, one: Trial, folder: Path, ledger: Ledger) -> Measured:
    return in_virtual_time(one, folder, ledger, case.box)


def _real(_: Case, one: Trial, folder: Path, ledger: Ledger) -> Measured:
    return in_real_time(one, folder, ledger)


def _said(measured: list[Measured]) -> str:
    found = [one.goodput_bps for one in measured if one.goodput_bps is not None]
    return readable.rate(statistics.median(found)) if found else "not valid"


BENCH = Bench("virtual.speed", "virtual seconds a wall second; needs 'make virtual'", measure)
