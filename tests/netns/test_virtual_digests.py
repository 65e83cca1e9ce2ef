"""The captures of trials in virtual time are analysed while other guests still run, and several at a time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.waiting import wait_until

from netcommon.binaries import find
from netcommon.ledger import Ledger
from scenarios.plan.plan import Trial, load_plan
from scenarios.trial import trial
from scenarios.trial.ended import Ended
from scenarios.virtual import engine, kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
[scenario]
name = "captured"
[path]
delay = "5ms"
rate = "10Mbit"
[transfer]
duration = "500ms"
[run]
repeat = 2
[capture]
points = ["snd", "rcv"]
"""
# A pktlogger that notes its process and never ends its analysis
ENDLESS = """#!/bin/sh
[ "$1" = analyse ] || exec {pktlogger} "$@"
echo $$ >>{noted}
exec sleep 600
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "captured.toml"
    path.write_text(SCENARIO)
    return path


def test_two_trials_are_analysed_at_a_time(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many guests at a time, one analysis after another would take longer than the guests."""
    both, digest = threading.Barrier(2, timeout=60), trial.digest

    def waits(one: Trial, folder: Path, ledger: Ledger) -> None:
        both.wait()
        digest(one, folder, ledger)

    monkeypatch.setattr(trial, "digest", waits)
    (tmp_path / "trials").mkdir()
    ended: list[Ended] = []
    with Ledger.open() as ledger:
        engine.run_all(tmp_path, list(load_plan(str(scenario), seed=1).trials), ledger, 2, "auto", ended.append)
        assert not ledger.processes and not ledger.directories
    assert [one.status["state"] for one in ended] == ["done", "done"]
    assert len(list(tmp_path.glob("trials/*/segments.parquet"))) == 2


def test_an_interruption_ends_analyses_at_once_and_the_run_goes_on(scenario: Path, tmp_path: Path) -> None:
    fake, noted, runs = tmp_path / "pktlogger", tmp_path / "noted", tmp_path / "runs"
    fake.write_text(ENDLESS.format(pktlogger=shlex.quote(str(find("pktlogger"))), noted=shlex.quote(str(noted))))
    fake.chmod(0o755)
    lfp = [sys.executable, "-m", "lfp", "run"]
    argv = [*lfp, str(scenario), "--time", "virtual", "--jobs", "2", "--runs-dir", str(runs)]
    with subprocess.Popen(argv, cwd=ROOT, env=dict(os.environ) | {"LFP_PKTLOGGER": str(fake)}) as process:
        try:
            wait_until(lambda: noted.exists() and len(noted.read_text().split()) == 2, "two analyses")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
    analyses = noted.read_text().split()
    assert len(analyses) == 2, "an analysis that is ended is not begun again"
    assert not [pid for pid in analyses if Path(f"/proc/{pid}").exists()]
    (run,) = runs.iterdir()
    assert not list(run.glob("trials/*")) and not list(run.glob("trials/.*"))
    done = subprocess.run([*lfp, "--resume", str(run)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and len(list(run.glob("trials/*/segments.parquet"))) == 2, done.stdout + done.stderr
