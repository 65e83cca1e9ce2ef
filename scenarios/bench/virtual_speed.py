"""``virtual.speed``: virtual seconds a wall second of whole trials, start-up and all, from boot to folder.

A claim a row: one CUBIC stream at 800 Mbit/s × RTT 200 ms with either box, ten minutes at 10 Gbit/s × 498 ms, start-up.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from scenarios.bench.registry import Bench, Place, Result, Row
from scenarios.plan import Plan, load_plan
from scenarios.virtual import boxes, engine, kernel

NETEM_LEAST, COMET_LEAST = 10.0, 1.0  # virtual seconds a wall second
STARTUP_S = 3.0  # at most, wall time
Keys = dict[str, str | int]

_STREAM: Keys = {"delay": "100ms", "rate": "800Mbit", "queue": "20MB", "mtu": 9000}
_LONG: Keys = {"delay": "249ms", "rate": "10Gbit", "queue": "600MB", "mtu": 9000}
_PAIRS, _SECONDS, _LONG_S = 5, 60, 600


def measure(place: Place) -> Iterator[Result]:
    """One result with a row a claim; none, and a line that says why, where the kernel is not built."""
    if why := kernel.missing():
        place.say(f"virtual.speed: left out: {why}")
        return
    pairs, seconds = place.pairs or _PAIRS, place.seconds or _SECONDS
    netem = _median_wall_s(place, _STREAM, seconds, "netem", pairs)
    comet_seconds = max(seconds // 6, 1)
    comet = _median_wall_s(place, _STREAM, comet_seconds, "comet", pairs)
    startup = _median_wall_s(place, _STREAM | {"rate": "1Mbit"}, 0.1, "netem", pairs)
    long_seconds = _LONG_S if place.seconds is None else min(_LONG_S, 5 * place.seconds)
    long = _median_wall_s(place, _LONG, long_seconds, "netem", 1)
    granularity = boxes.settled(_plan(place, _STREAM, comet_seconds).trials[0], "comet").setting.path.granularity
    rows = [
        Row("800 Mbit/s, 200 ms, netem", "virtual s/s", seconds / netem, NETEM_LEAST, 1e9, f"{seconds} s"),
        Row("800 Mbit/s, 200 ms, userspace box", "virtual s/s", comet_seconds / comet, COMET_LEAST, 1e9,
            f"{comet_seconds} s, granularity {(granularity or 0) / 1e3:.0f} us"),
        Row(f"{long_seconds} s at 10 Gbit/s, 498 ms, netem", "s", long, 0, long_seconds, "wall time, once"),
        Row("start-up: a trial of 0.1 s", "s", startup, 0, STARTUP_S),
    ]  # fmt: skip
    yield Result("virtual.speed", "of rows", None, rows=rows)


def _plan(place: Place, path: Keys, seconds: float) -> Plan:
    file = place.scratch / "speed.toml"
    transfer: Keys = {"duration": f"{seconds}s", "length": "1MB", "sample": "0s", "congestion": "cubic"}
    tables: dict[str, Keys] = {"scenario": {"name": "speed"}, "path": path, "transfer": transfer}
    with file.open("w", encoding="utf-8") as out:
        for name, table in tables.items():
            out.write(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    return load_plan(str(file), seed=1)


def _median_wall_s(place: Place, path: Keys, seconds: float, box: str, times: int) -> float:
    """Wall time of a trial, one at a time."""
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


BENCH = Bench("virtual.speed", "virtual seconds a wall second, start-up included; needs 'make virtual'", measure)
