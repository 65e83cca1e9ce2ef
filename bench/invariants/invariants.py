"""`virtual.invariants`: checks what must hold in any trial, on settings drawn at random, in virtual time.

If a trial that is called valid breaks a check, a user would have believed a wrong number. For each draw that breaks
one, two scenario files are left: the draw itself, and a plainer one (`shrink.py`).
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.invariants import shrink, trials
from bench.invariants.checks import CHECKS, JUDGED, broken
from bench.invariants.draws import Draw, draws
from bench.registry import Bench, Place, Result, Row

DRAWS, SEED, AT_ONCE = 300, 1, 30
BROKEN = Path("invariants-broken")  # folder for the scenario files of draws that violate a check
MOST_SHRUNK = 5  # draws shrunk per bench; each takes a trial for each dimension


def measure(place: Place) -> Iterator[Result]:
    """Runs the draws and checks them. ``pairs``: how many draws."""
    count, seed = place.pairs or DRAWS, int(os.environ.get("LFP_SEED", SEED))
    place.say(f"virtual.invariants: {count} settings at random, LFP_SEED={seed}")
    found, valid = Counter[str](), 0
    for first in range(0, count, AT_ONCE):
        drawn = draws(seed, min(AT_ONCE, count - first), first=first)
        for trial in trials.run(drawn, place.scratch / "runs", jobs=1):
            valid += bool(trial.rows[0]["valid"])
            for name, text in broken(trial).items():
                place.say(f"virtual.invariants: {trial.draw.name}: {name}: {text}")
                _save(place, trial.draw, name, shrinks=found.total() < MOST_SHRUNK)
                found[name] += 1
        shutil.rmtree(place.scratch / "runs")
    rows = [Row(name, "trials", found[name], 0, 0) for name in (JUDGED, *CHECKS)]
    rows.append(Row("valid trials", "trials", valid, count / 2, count))
    method = f"{count} settings drawn with seed {seed}, one trial each, virtual time"
    yield Result("virtual.invariants", "within bounds", None, rows=rows, method=method)


def _save(place: Place, draw: Draw, check: str, *, shrinks: bool) -> None:
    """Leaves the scenario file of a draw that breaks a check, and of the plainer one that still does."""
    BROKEN.mkdir(exist_ok=True)
    (BROKEN / f"{draw.name}.toml").write_text(draw.file(), encoding="utf-8")
    if shrinks:
        plainer = shrink.shrunk(draw, lambda one: check in broken(trials.run([one], place.scratch / "shrink")[0]))
        (BROKEN / f"{draw.name}-plainer.toml").write_text(plainer.file(), encoding="utf-8")
    place.say(f"virtual.invariants: its scenario is in {BROKEN}/{draw.name}*.toml")


BENCH = Bench("virtual.invariants", "what holds in any trial, on 300 settings drawn at random", measure)
