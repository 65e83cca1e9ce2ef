"""Trials of settings drawn at random, for tests in virtual time: always the same ones, which give the same result to
the bit. `LFP_SEED` draws others, and `LFP_DRAWS` says how many.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.invariants import trials
from bench.invariants.checks import broken
from bench.invariants.draws import SPACE, Space, draws
from bench.invariants.trials import Trial

SEED = 303
DRAWS = int(os.environ.get("LFP_DRAWS", "0"))  # 0: as many as the test draws by itself
TIMEOUT_S = 300 + 60 * DRAWS


def drawn(folder: Path, count: int, space: Space = SPACE) -> list[Trial]:
    """Runs draws of a space, and prints the variables that draw them again."""
    seed, count = int(os.environ.get("LFP_SEED", SEED)), DRAWS or count
    print(f"LFP_SEED={seed} LFP_DRAWS={count}")
    return trials.run(draws(seed, count, space), folder / "runs")


def complaints(found: list[Trial], *checks: str) -> str:
    """The violations of these checks (of any, if none is named), each with the scenario file of its trial."""
    return "\n".join(
        f"{trial.folder}: {name}: {text}\n{trial.draw.file()}"
        for trial in found
        for name, text in broken(trial).items()
        if not checks or name in checks
    )
