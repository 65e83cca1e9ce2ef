"""`lfp show` prints a view that it kept, as long as neither the run nor the code has changed."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from lfp import cli
from lfp.commands import _show
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


def test_what_limited_a_trial_is_the_verdicts_cause() -> None:
    """The table once said "losses, 51 %" although the first line of the analysis said that others shared the line."""
    verdict = {"limits_cause": "cross_traffic", "limits_share": 0.76}
    assert _show._limited({"limited_congestion_avoidance": 0.51, **verdict}) == "cross traffic, 76 %"
    assert _show._limited({"limits_direction": "responses", **verdict}) == "responses: cross traffic, 76 %"
    assert _show._limited({"limits_cause": "receiver_window", "limits_share": None}) == "receiver window"
    assert _show._limited({"limits_cause": None, "limited_send_buffer": 0.0}) == ""
