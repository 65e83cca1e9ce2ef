"""`pktlogger analyse` on captures of two clocks: offset, drift and steps are found and corrected; captures by one clock
are not changed."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pktlogger_clock import retimed
from support.pktlogger_conversation import MS, MSS, Conversation, join
from support.pktlogger_frames import T0_NS, write_pcapng

import pktlogger

S = 1000 * MS
COUNTS = ("bytes", "segments", "retransmitted", "lost", "spurious", "timeouts", "fast_recoveries", "duplicate_acks",
          "in_flight_at_end", "acked_unseen_bytes", "unseen", "unresolved", "losses_by_cause",
          "max_unacknowledged_bytes", "min_rtt_ns", "max_rtt_ns")  # fmt: skip


@pytest.fixture(scope="module")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of 60 s over 10 ms each way, in which every 50th segment is lost and sent again, by one clock."""
    folder = tmp_path_factory.mktemp("transfer")
    conversation = Conversation()
    for number in range(2000):
        at_ms, seq, more_ms = 100 + 30.0 * number, 1 + number * MSS, 0.1 * (number % 7)
        lost = number % 50 == 7
        conversation.send(at_ms, seq, arrive=[] if lost else [(0, 1, 10 + more_ms)])
        if lost:
            conversation.send(at_ms + 15, seq, arrive=[(0, 1, 10)])
        conversation.ack(at_ms + (25 if lost else 10 + more_ms), seq + MSS)
    for name, packets in (("s", conversation.sender), ("r", conversation.receiver)):
        write_pcapng(folder / f"{name}.pcapng", sorted(packets, key=lambda packet: packet.t_ns))
    return folder


def _analysed(folder: Path, *options: str) -> pktlogger.Analysis:
    done = join(folder, "analyse", *options)
    assert done.returncode == 0, done.stderr
    return pktlogger.read_analysis(folder / "out")


def _with_clock(transfer: Path, folder: Path, clock: Callable[[int], int], end: str = "r") -> Path:
    for name in "sr":
        retimed(transfer / f"{name}.pcapng", folder / f"{name}.pcapng", clock if name == end else lambda t_ns: t_ns)
    return folder


def _counts(found: pktlogger.Analysis) -> dict[str, Any]:
    return {name: found.summary["flows"][0][name] for name in COUNTS}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_tables_of_one_clock_are_the_same_to_the_bit(transfer: Path, tmp_path: Path) -> None:
    tables = []
    for way in ("same", "estimate"):
        (tmp_path / way).mkdir()
        folder = _with_clock(transfer, tmp_path / way, lambda t_ns: t_ns)
        found = _analysed(folder, "--clock", way)
        assert found.summary["clock"]["clock"] == {"same": "same", "estimate": "one"}[way]
        files = _files(folder / "out")
        summary = json.loads(files.pop("summary.json"))
        del summary["clock"]
        tables.append((files, summary))
    assert tables[0] == tables[1]


NOTHING_UNDER_WAY = 3522766074  # the seed with which nothing is in flight at the clock's step
RESENT_AT_STEP = 33  # the seed with which a retransmission arrives between the step and the next compared packet


@pytest.mark.parametrize("seed", [NOTHING_UNDER_WAY, RESENT_AT_STEP, None])
@pytest.mark.parametrize("end", ["r", "s"])
def test_offset_drift_and_steps_are_found_and_taken_out(
    transfer: Path, tmp_path: Path, end: str, seed: int | None
) -> None:
    """The path is symmetric, so all errors are within the uncertainty that is stated for such a path. Whichever end's
    clock is wrong, the results are in the sender's time."""
    seed = random.randrange(2**32) if seed is None else seed
    print(f"seed {seed}")
    rng = random.Random(seed)
    (tmp_path / "one").mkdir()
    one = _analysed(_with_clock(transfer, tmp_path / "one", lambda t_ns: t_ns), "--clock", "same")
    for number in range(6):
        (folder := tmp_path / str(number)).mkdir()
        offset, ppm = rng.randrange(-3600 * S, 3600 * S), rng.uniform(-200, 200)
        step = rng.choice((-1, 1)) * rng.randrange(50 * MS, 5 * S) if number % 3 == 0 else 0
        step_at = T0_NS + rng.randrange(5 * S, 55 * S)

        def clock(t_ns: int, offset: int = offset, ppm: float = ppm, step: int = step, at: int = step_at) -> int:
            return t_ns + offset + round((t_ns - T0_NS) * ppm * 1e-6) + (step if t_ns >= at else 0)

        found = _analysed(_with_clock(transfer, folder, clock, end))
        got = found.summary["clock"]
        assert got["clock"] == "two" and len(got["steps"]) == (step != 0), (number, got)
        assert (
            abs(got["drift_ppm"] - (ppm if end == "r" else -ppm / (1 + ppm * 1e-6)))
            <= got["drift_uncertainty_ppm"]
            <= 2
        ), got
        assert got["uncertainty_ns"] <= 1 * MS, "a twentieth of the round trip"
        if end == "s":
            continue
        truth = offset + (got["at_ns"] - T0_NS) * ppm * 1e-6
        assert abs(got["offset_ns"] - truth) <= got["uncertainty_ns"], got
        assert _counts(found) == _counts(one), number
        drifted = got["drift_uncertainty_ppm"] * 1e-6 * 60 * S
        for table in ("segments", "acks"):
            before, after = getattr(one, table), getattr(found, table)
            received = before["t_received_ns"].to_numpy() - after["t_received_ns"].to_numpy()
            assert np.abs(received).max() <= got["uncertainty_ns"] + drifted
        if step:
            assert abs(got["steps"][0]["step_ns"] - step) <= 2 * got["uncertainty_ns"]
            assert abs(got["steps"][0]["t_ns"] - step_at) <= 60 * MS, "between two packets"
            assert got["stepped"] == "receiver"


@pytest.mark.parametrize(("offset", "ppm"), [(300 * MS, 0), (-300 * MS, 0), (0, 20.0)])
def test_clocks_of_real_sites_change_no_figure(transfer: Path, tmp_path: Path, offset: int, ppm: float) -> None:
    def clock(t_ns: int) -> int:
        return t_ns + offset + round((t_ns - T0_NS) * ppm * 1e-6)

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = _analysed(_with_clock(transfer, tmp_path / "one", lambda t_ns: t_ns))
    two = _analysed(_with_clock(transfer, tmp_path / "two", clock))
    assert _counts(one) == _counts(two)
    flows = [found.summary["flows"][0] for found in (one, two)]
    for name in ("min_delay_ns", "max_delay_ns"):
        assert abs(flows[0][name] - flows[1][name]) <= two.summary["clock"]["uncertainty_ns"]
    assert flows[0]["limits_ns"].keys() == flows[1]["limits_ns"].keys()


def test_a_clock_that_is_known_is_given(transfer: Path, tmp_path: Path) -> None:
    def clock(t_ns: int) -> int:
        return t_ns - 300 * MS + round((t_ns - T0_NS) * 20e-6)

    (tmp_path / "one").mkdir()
    one = _analysed(_with_clock(transfer, tmp_path / "one", lambda t_ns: t_ns))
    found = _analysed(_with_clock(transfer, tmp_path, clock), "--clock", "-300ms,20")
    assert found.summary["clock"]["clock"] == "given" and found.summary["clock"]["offset_ns"] == -300 * MS
    for table in ("segments", "acks"):
        difference = getattr(one, table)["t_received_ns"].to_numpy() - getattr(found, table)["t_received_ns"].to_numpy()
        assert np.abs(difference).max() <= 1


@pytest.mark.parametrize("value", ["", "300ms", "300,1", "300ms,", "300ms,x", "1ms,1e9", "other"])
def test_a_clock_that_is_none_is_refused(transfer: Path, tmp_path: Path, value: str) -> None:
    done = join(_with_clock(transfer, tmp_path, lambda t_ns: t_ns), "analyse", "--clock", value)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--clock" in done.stderr


def test_people_read_what_is_known_of_the_clocks(transfer: Path, tmp_path: Path) -> None:
    def said(clock: Callable[[int], int]) -> str:
        folder = _with_clock(transfer, tmp_path, clock)
        subprocess.run(["rm", "-rf", folder / "out"], check=True)
        lines = join(folder, "analyse", "--human").stdout.splitlines()
        return next(line for line in lines if "clock" in line)

    assert said(lambda t_ns: t_ns).startswith("The captures agree with one clock.")
    ahead = said(lambda t_ns: t_ns + 300 * MS)
    assert ahead.startswith("The receiver's clock is 300 ms ahead of the sender's, give or take")
    assert "whatever they take" in ahead and "Its drift is 0 ppm" in ahead
    stepped = said(lambda t_ns: t_ns + (S if t_ns > T0_NS + 30 * S else 0))
    assert "The receiver's clock was stepped by 1000 ms at 30." in stepped
