"""Trials of settings drawn at random, in virtual time: the invariants hold in each of them, and each curve of the
timeline belongs to its own flow. `lfp bench virtual.invariants` checks 300 of them.

`LFP_DRAWS` draws more settings, and `LFP_SEED` others.
"""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as parquet
import pytest
from support.drawn import TIMEOUT_S, complaints, drawn
from support.planted import planted

from bench.invariants.checks import CHECKS, broken
from bench.invariants.trials import Trial
from dashboard.core.runs import load_run
from dashboard.timeline import timeline
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
    pytest.mark.timeout(TIMEOUT_S),
]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return drawn(tmp_path_factory.mktemp("drawn"), 14)


def test_what_holds_in_any_trial_holds_in_these(trials: list[Trial]) -> None:
    assert not complaints(trials)


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_finds_the_fault_of_its_kind(trials: list[Trial], check: str) -> None:
    """Each check must fail for some wrong product, otherwise it would be useless. A violation does not prevent other
    checks."""
    found = [broken(planted(one, check)) for one in trials]
    assert any(check in one for one in found), check
    assert not [text for one in found for text in one.values() if "cannot be judged" in text]


def test_each_flow_has_the_congestion_window_of_its_own_samples(trials: list[Trial]) -> None:
    run = load_run(trials[0].folder.parent.parent)
    for one in trials:
        if one.gateway == "host" or one.status["state"] != "done":
            continue
        trial, files = run.trial(int(one.folder.name)), set()
        for number in trial.flows:
            loaded, found = timeline.load(run, trial, number), trial.samples_of(number)
            assert bool(loaded.cwnd.t_ns.size) == (found is not None), one.draw.file()
            if found:
                table = parquet.read_table(found[0], filters=[("stream", "==", found[1])])
                windows = table["snd_cwnd"].to_numpy().astype(np.int64) * table["snd_mss"].to_numpy()
                assert (loaded.cwnd.value == windows).all(), one.draw.file()
                files.add(found)
        own = [row for row in one.rows if row["pair"] == 1]
        assert len(files) == sum(row["parallel"] for row in own), one.draw.file()
