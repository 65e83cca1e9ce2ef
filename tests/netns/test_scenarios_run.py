"""A tiny scenario with real packets, and every way a run may end: done, Ctrl-C, kill -9, errors."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from lfp_process import Lfp, state_files, strays
from support.waiting import wait_until

from netcommon.binaries import find

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

TINY = """\
[scenario]
name = "tiny"
title = "a few seconds"
[path]
delay = "5ms"
rate = "20Mbit"
queue = "200KB"
[transfer]
duration = "1s"
window = "16KB"
[sweep]
"transfer.window" = ["16KB", "128KB"]
[run]
seed = 1
"""


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return str(path)


def only_run(tmp_path: Path) -> Path:
    (run_dir,) = (tmp_path / "runs").iterdir()
    return run_dir


def assert_nothing_left(lfp: Lfp, strays_before: set[str]) -> None:
    wait_until(lambda: not lfp.left(), f"processes to end: {lfp.left()}", 60)
    wait_until(lambda: strays() <= strays_before, "no strays")  # runs of other tests may leave some for a while
    assert not any(f"/{lfp.process.pid}-" in name for name in state_files())


def test_end_to_end(tiny: str, tmp_path: Path) -> None:
    before = strays()
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "capture.points=")
    assert lfp.finish() == 2, "capture.points wants a list"
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"))
    assert lfp.finish() == 0, lfp.err
    run_dir = only_run(tmp_path)
    assert f"lfp dashboard {run_dir}" in lfp.out  # by name or by path
    rows = parquet.read_table(run_dir / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done", "done"]
    for row in rows:
        assert row["rtt_min_ns"] >= 10_000_000
    slow, fast = (row["short_term_bps"] for row in rows)
    assert slow <= 16384 * 8 / 10e-3, "no more than window / least RTT, however busy the machine"
    assert [row["window_bytes"] for row in rows] == [16384, 131072]
    assert 0 < fast <= 20e6, "the line rate is the bound; test_rttcp_exact.py has window / RTT where time is exact"
    manifest = json.loads((run_dir / "manifest.json").read_text())
    assert manifest["state"] == "done"
    assert set(manifest["hashes"]) == {"comet-delay", "rttcp", "timer-witness"}
    assert (manifest["time"]["asked"], manifest["time"]["chosen"]) == ("real", "real")
    delay = json.loads((run_dir / "trials" / "0001" / "delay.json").read_text())
    assert delay["statistics"]["ab"]["out_bytes"] > 1e6
    assert set(delay["statistics"]["ab"]["drops"].values()) == {0}, "128 KB fit into the queue"
    assert_nothing_left(lfp, before)


def test_a_witness_sleeps_beside_each_trial_and_its_figures_are_in_the_record(tiny: str, tmp_path: Path) -> None:
    """The lateness limit follows from the trial. The number and order of the witness's figures do not depend on how
    late the machine is."""
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "path.delay=60ms,4ms",
              "--set", "transfer.window=64KB")  # fmt: skip
    assert lfp.finish() == 0, lfp.err
    limits = []
    for folder in sorted((only_run(tmp_path) / "trials").iterdir()):
        status = json.loads((folder / "status.json").read_text())
        witness, delay = status["witness"], json.loads((folder / "delay.json").read_text())
        transfer_ns = json.loads((folder / "transfer.json").read_text())["summary"]["elapsed_ns"]
        assert witness["count"] >= transfer_ns // witness["period_ns"], "asleep for the whole of the transfer"
        assert 0 < witness["p50_ns"] <= witness["p99_ns"] <= witness["max_ns"]
        assert 0 <= witness["steal_share"] <= 1
        assert delay["lateness_limit_ns"] == witness["limit_ns"], "the box judges by the trial's limit"
        assert (status["attempt"], len(status["verdict"]["causes"])) == (1, len(status["verdict"]["reasons"]))
        limits.append(witness["limit_ns"])
    assert limits == [1_200_000, 1_000_000]


def test_capture_gives_segments(tiny: str, tmp_path: Path) -> None:
    path = Path(tiny)
    path.write_text(TINY.replace("[run]", '[capture]\npoints = ["snd", "rcv"]\n[run]'))
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "transfer.window=64KB")
    assert lfp.finish() == 0, lfp.err
    folder = only_run(tmp_path) / "trials" / "0000"
    assert {p.name for p in (folder / "capture").iterdir()} == {"snd.pcapng", "rcv.pcapng"}
    transfer = json.loads((folder / "transfer.json").read_text())
    segments = parquet.read_table(folder / "segments.parquet")
    causes = json.loads((folder / "status.json").read_text())["verdict"]["causes"]
    dropped = any(cause["kind"] == "capture" for cause in causes)  # by captures, on a machine that is too slow for them
    assert sum(segments["len"].to_pylist()) >= transfer["summary"]["bytes"] or dropped
    assert min(t for t in segments["delay_ns"].to_pylist() if t >= 0) >= 5_000_000
    assert (folder / "events.parquet").exists()
    summary = json.loads((folder / "summary.json").read_text())
    assert 0 <= summary["flows"][0]["stopped_share"] <= 1
    assert not (folder / "analysis").exists()


def test_ctrl_c_leaves_nothing_but_finished_trials_and_resume_goes_on(tiny: str, tmp_path: Path) -> None:
    before = strays()
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "transfer.duration=3s")
    wait_until(lambda: list((tmp_path / "runs").glob("*/trials")), "the run directory")
    trials = only_run(tmp_path) / "trials"
    wait_until(
        lambda: any(p.name.isdigit() for p in trials.iterdir()) and lfp.runs("rttcp --transmit"), "the second transfer"
    )
    lfp.process.send_signal(signal.SIGINT)
    assert lfp.finish(60) == 130
    assert re.search(r"1 trials kept; continue with: \S*lfp run --resume", lfp.err)
    assert_nothing_left(lfp, before)
    assert [p.name.isdigit() for p in trials.iterdir()] == [True]
    assert json.loads((only_run(tmp_path) / "manifest.json").read_text())["state"] == "interrupted"
    again = Lfp("run", "--resume", "last", "--runs-dir", str(tmp_path / "runs"))
    assert again.finish() == 0, again.err
    assert sorted(p.name for p in trials.iterdir()) == ["0000", "0001"]
    assert_nothing_left(again, before)


@pytest.mark.one_at_a_time  # `lfp clean` of another test would take the record
def test_kill_9_takes_the_tools_along_and_clean_does_the_rest(tiny: str, tmp_path: Path) -> None:
    before = strays()
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "transfer.duration=20s")
    wait_until(lambda: lfp.runs("rttcp --transmit"), "the transfer")
    lfp.process.kill()
    lfp.finish(60)
    # rttcp shuts down in order, which may last until its time-out if the box has gone first; `lfp clean` ends it
    wait_until(lambda: not lfp.runs("comet-delay"), "the box to die with its parent", 60)
    assert any(f"/{lfp.process.pid}-" in name for name in state_files()), "the record that clean works from"
    clean = Lfp("clean")
    assert clean.finish() == 0
    assert f"{lfp.process.pid}-" in clean.out
    assert_nothing_left(lfp, before)
    assert not list((only_run(tmp_path) / "trials").glob(".*.tmp"))
    assert Lfp("clean").finish() == 0


def test_two_runs_side_by_side(tiny: str, tmp_path: Path) -> None:
    pair = [Lfp("run", tiny, "--runs-dir", str(tmp_path / f"runs{n}"), "--set", "transfer.window=64KB") for n in (1, 2)]
    assert [lfp.finish() for lfp in pair] == [0, 0], [lfp.err for lfp in pair]


def test_a_window_beyond_the_kernels_limit_is_one_line_and_status_2(tiny: str, tmp_path: Path) -> None:
    before = strays()
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), "--set", "transfer.window=1GB")
    assert lfp.finish() == 2
    (line,) = lfp.err.splitlines()
    assert "--window" in line
    assert "limit" in line or "largest" in line
    assert_nothing_left(lfp, before)


def test_a_box_that_cannot_start_is_the_runs_error(tiny: str, tmp_path: Path) -> None:
    """This box lists and checks its options, so the scenario is valid, and then it cannot start."""
    broken = tmp_path / "comet-delay"
    broken.write_text(
        f'#!/bin/sh\ncase "$*" in *--options-json*|*--check*) exec {find("comet-delay")} "$@";; esac\n'
        'echo \'{"v":1,"event":"error","status":3,"message":"no /dev/net/tun"}\'\nexit 3\n'
    )
    broken.chmod(0o755)
    before = strays()
    lfp = Lfp("run", tiny, "--runs-dir", str(tmp_path / "runs"), LFP_COMET_DELAY=str(broken))
    assert lfp.finish() == 3
    assert lfp.err.splitlines() == ["lfp: comet-delay: no /dev/net/tun"]
    assert_nothing_left(lfp, before)
