"""``virtual.speed``: virtual seconds a wall second, for whole trials from boot to folder, and for the transfer alone.

Each row is a claim: start-up, and one CUBIC stream at 800 Mbit/s × RTT 200 ms with either box. The speed of the
transfer alone is the transfer's duration over the trial's wall time, less the wall time of a trial of 0.1 s at 1
Mbit/s; both are medians. ``virtual.lsr``: ten minutes at 10 Gbit/s × 498 ms, once.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from scenarios.bench.registry import Bench, Place, Result, Row
from scenarios.plan.plan import Plan, load_plan
from scenarios.virtual import boxes, engine, kernel

NETEM_LEAST, COMET_LEAST = 10.0, 1.0  # virtual seconds a wall second
STARTUP_S = 3.0  # at most, wall time
Keys = dict[str, str | int]

_STREAM: Keys = {"delay": "100ms", "rate": "800Mbit", "queue": "20MB", "mtu": 1500}
_LONG: Keys = {"delay": "249ms", "rate": "10Gbit", "queue": "600MB", "mtu": 9000}
# packets are late by at most 0.75 % of the round trip, each way
_COMET: Keys = _STREAM | {"granularity": "1500us", "poll": "1500us"}
_PAIRS, _SECONDS, _LONG_S, _STARTUP_TRIAL_S = 5, 60, 600, 0.1


def measure(place: Place) -> Iterator[Result]:
    """One result with a row for each claim. Where the kernel is not built there is no result, and a line says why."""
    if why := kernel.missing():
        place.say(f"virtual.speed: left out: {why}")
        return
    pairs, seconds = place.pairs or _PAIRS, place.seconds or _SECONDS
    startup = _median_wall_s(place, _STREAM | {"rate": "1Mbit"}, _STARTUP_TRIAL_S, "netem", pairs)
    netem = _median_wall_s(place, _STREAM, seconds, "netem", pairs)
    comet_seconds = max(seconds // 6, 1)
    comet = _median_wall_s(place, _COMET, comet_seconds, "comet", pairs)
    fine, coarse = _granularity(place, _STREAM, "netem"), _granularity(place, _COMET, "comet")
    yield Result("virtual.speed", "of rows", None, rows=[
        Row("start-up: a trial of 0.1 s", "s", startup, 0, STARTUP_S),
        _speed_row("800 Mbit/s, 200 ms, netem", seconds, netem, startup, NETEM_LEAST, fine),
        _speed_row("800 Mbit/s, 200 ms, userspace box", comet_seconds, comet, startup, COMET_LEAST, coarse),
    ])  # fmt: skip


def _granularity(place: Place, path: Keys, box: str) -> str:
    trial = boxes.settled(_plan(place, path, 1).trials[0], box)
    return f"granularity {(trial.setting.path.granularity or 0) / 1e3:.0f} us"


def measure_long(place: Place) -> Iterator[Result]:
    """Ten minutes, or ``--seconds``, on a path as long and fat as the papers' longest."""
    if why := kernel.missing():
        place.say(f"virtual.lsr: left out: {why}")
        return
    seconds = place.seconds or _LONG_S
    wall = _median_wall_s(place, _LONG, seconds, "netem", 1)
    row = Row(f"{seconds} s at 10 Gbit/s, 498 ms, netem", "s", wall, 0, seconds, "wall time, once")
    yield Result("virtual.lsr", "of rows", None, rows=[row])


def _speed_row(what: str, seconds: float, wall: float, startup: float, least: float, note: str) -> Row:
    transfer = seconds / max(wall - startup, 1e-3)
    return Row(f"{what}: transfer", "virtual s/s", transfer, least, 1e9,
               f"{seconds} s, {note}; start-up included: {seconds / wall:.1f}")  # fmt: skip


def _plan(place: Place, path: Keys, seconds: float) -> Plan:
    file = place.scratch / "speed.toml"
    transfer: Keys = {"duration": f"{seconds}s", "length": "1MB", "sample": "0s", "congestion": "cubic"}
    tables: dict[str, Keys] = {"scenario": {"name": "speed"}, "path": path, "transfer": transfer}
    with file.open("w", encoding="utf-8") as out:
        for name, table in tables.items():
            out.write(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    return load_plan(str(file), seed=1)


def _median_wall_s(place: Place, path: Keys, seconds: float, box: str, times: int) -> float:
    """The median wall time of a trial; trials run one at a time."""
    walls: list[float] = []

    def ended(one: engine.Ended) -> None:
        if one.status["state"] != "done":
            place.say(f"virtual.speed: {one.status['error']}")
        walls.append(one.wall_s if one.status["state"] == "done" else float("inf"))

    plan = _plan(place, path, seconds)
    for _ in range(times):
        run_dir = Path(place.scratch, f"run-{box}-{len(walls)}")
        (run_dir / "trials").mkdir(parents=True, exist_ok=True)
        engine.run_all(run_dir, list(plan.trials), place.ledger, 1, box, ended)
    median = statistics.median(walls)
    place.say(f"{box}, {seconds} s: {median:.1f} s of wall time (median of {times})")
    return median


BENCH = Bench("virtual.speed", "virtual seconds a wall second; needs 'make virtual'", measure)
