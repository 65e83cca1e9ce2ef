"""`lfp show` prints a view that it kept, as long as neither the run nor the code has changed."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from scenarios import cli
from scenarios.commands import _show
from scenarios.run import shown

ARCHIVE = Path(__file__).resolve().parents[2] / "data/runs/format-1.tar.gz"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path / "runs", filter="data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "runs/before-format-1"


def show(capsys: pytest.CaptureFixture[str], run: Path) -> str:
    assert cli.run(["show", str(run)]) == 0
    return capsys.readouterr().out


def test_the_second_look_is_the_first_one_again(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = show(capsys, run)
    assert "12.08 Mbit/s  valid" in first
    monkeypatch.setattr(_show, "view", lambda run_dir: pytest.fail("made again"))
    assert show(capsys, run) == first


def test_a_run_that_changed_is_looked_at_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(capsys, run)
    status = run / "trials/0000/status.json"
    content = json.loads(status.read_text())
    content["verdict"] |= {"valid": False, "reasons": ["the box was late"]}
    status.write_text(json.dumps(content))
    assert "NOT VALID: the box was late" in show(capsys, run)


def test_code_that_changed_is_asked_again(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "code/scenarios/any.py"
    module.parent.mkdir(parents=True)
    module.touch()
    monkeypatch.setattr(shown, "_CODE", tmp_path / "code")
    monkeypatch.setattr(shown, "_PACKAGES", ("scenarios",))
    show(capsys, run)
    assert shown.read(run) is not None
    os.utime(module, (1, 1))
    assert shown.read(run) is None


def test_another_user_s_cache_is_no_failure(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert show(capsys, run) == show(capsys, run)


def test_old_views_are_forgotten(run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shown, "_MOST", 2)
    for number in range(4):
        os.utime(run / "manifest.json", (number, number))
        shown.keep(run, [["line", str(number)]])
    assert len(list((tmp_path / "cache/lfp/shown").iterdir())) == 2
    assert shown.read(run) == [["line", "3"]]


def test_a_window_that_is_full_and_closed_in_turn_is_one_limit() -> None:
    metrics = {"limited_zero_window": 0.42, "limited_receiver_window": 0.15, "limited_slow_start": 0.43}
    assert _show._limited(metrics) == "receiver window, 57 %"
    assert _show._limited({"limited_zero_window": 0.42, "limited_slow_start": 0.58}) == "slow start, 58 %"


def test_losses_and_what_followed_them_are_one_limit_as_in_the_verdict() -> None:
    """The verdict says "losses and what followed them, 51 %", and not the send buffer."""
    shares = {"limited_send_buffer": 0.41, "limited_congestion_avoidance": 0.3, "limited_fast_recovery": 0.11,
              "limited_timeout": 0.1, "limited_slow_start": 0.08}  # fmt: skip
    assert _show._limited(shares) == _show._limited(shares | {"lost_queue": 0}) == "send buffer, 41 %"
    assert _show._limited(shares | {"lost_queue": 3}) == "losses, 51 %"
    back = shares | {"limits_direction": "responses", "lost_queue": 3}
    assert _show._limited(back) == "responses: send buffer, 41 %"
    assert _show._limited(back | {"reverse_lost_chance": 1}) == "responses: losses, 51 %"
