"""lft.streams: two sessions under random interleavings: every stream ends and no memory is left in use.

The program is the test that `make test` runs with one seed (tests/sim/lft_ref/stream_model.c). It prints what it did,
and on a finding the step and the state. The seeds are 1, 2, 3 and so on, so a bench can be repeated.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import find
from netcommon.errors import LfpError

SEEDS, STEPS = 100, 1_000_000
TIMEOUT_S = 600
COUNTS = ("steps", "streams", "whole", "reset", "failed", "refused", "restarts", "no_memory")


def program() -> Path:
    """The model's program, which a build with tests places next to the tools."""
    path = find("lft-sim").resolve().parent / "test" / "lft-stream-model"
    if not path.exists():
        raise LfpError(f"lft.streams: {path} is not there; want a build with -DLFP_TESTS=ON")
    return path


def counts(output: str) -> dict[str, int]:
    """The program's own account of what it did."""
    found = {name: re.search(rf"\b{name} (\d+)", output) for name in COUNTS}
    return {name: int(match[1]) for name, match in found.items() if match}


def _run(path: Path, seed: int) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LFP_SEED": str(seed), "LFP_STEPS": str(STEPS)}
    return subprocess.run([str(path)], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)


def measure(place: Place) -> Iterator[Result]:
    """One result. ``pairs`` is the number of seeds."""
    seeds, path = range(1, (place.pairs or SEEDS) + 1), program()
    good, totals = 0, dict.fromkeys(COUNTS, 0)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for seed, done in zip(seeds, pool.map(lambda seed: _run(path, seed), seeds), strict=True):
            if done.returncode:
                place.say(f"seed {seed}: {done.stderr.strip()}")
                continue
            good += 1
            for name, count in counts(done.stdout).items():
                totals[name] += count
    place.say(", ".join(f"{name} {count}" for name, count in totals.items()))
    note = f"{totals['streams']} streams, {totals['restarts']} restarts"
    rows = [Row(f"seeds of {STEPS} steps without a finding", "", good, len(seeds), len(seeds), note)]
    method = "Random interleavings, late frames and restarts of two sessions, seeds from 1 on."
    yield Result("lft.streams", "within bounds", None, rows=rows, method=method, extra=totals)


BENCH = Bench("lft.streams", "every stream ends, whatever comes when: a model test of two sessions, 100 seeds", measure)
