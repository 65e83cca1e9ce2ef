"""`change = "trace:FILE"`: a CSV file becomes a text of changes, and what is wrong with it is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.plan import params, path_trace
from scenarios.plan.plan import load_plan
from scenarios.trial import recovery

ROOT = Path(__file__).resolve().parents[3]
MS, S = 10**6, 10**9
TRACE = """# a satellite
time,delay,ab_rate,loss,outage
0s,13ms,40Mbit,0.01%,

15s,16ms,25Mbit,,80ms
18s,17ms,,,
20s,,,0%,50ms
"""
SCENARIO = """[path]
delay = "10ms"
rate = "40Mbit"
change = "trace:leo.csv"
[transfer]
duration = "30s"
"""


def test_a_trace_becomes_changes(tmp_path: Path) -> None:
    (tmp_path / "leo.csv").write_text(TRACE)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    (trial,) = load_plan(str(tmp_path / "mine.toml")).trials
    text = (
        "0ns delay=13ms ab_rate=40Mbit loss=0.01%; 15s delay=16ms ab_rate=25Mbit loss=100%; 15.08s loss=0.01%; "
        "18s delay=17ms; 20s loss=100%; 20.05s loss=0%"
    )
    row = params.of(trial)
    assert row["change"] == text
    assert recovery.outages(row) == [(15 * S, 15 * S + 80 * MS), (20 * S, 20 * S + 50 * MS)]
    assert [change.at_ns for change in trial.setting.path.changes()][:2] == [0, 15 * S]


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        ("", "columns none; want time and keys of [path], each once"),
        ("delay\n1ms\n", "columns delay; want time and keys"),
        ("time,delay,delay\n", "columns time, delay, delay; want time and keys of [path], each once"),
        ("time,delay\n1s,1ms,5\n", "leo.csv:2: 3 cells; want 2, as the first line has"),
        ("time,delay\nsoon,1ms\n", "leo.csv:2: not a duration"),
        ("time,delay\n2s,1ms\n1s,2ms\n", "leo.csv:3: before the row above"),
        ("time,outage\n2s,500ms\n2400ms,1s\n", "leo.csv:3: before the row above or its outage has ended"),
        ("time,dealy\n1s,1ms\n", "dealy: "),
    ],
)
def test_a_wrong_trace_is_named(tmp_path: Path, trace: str, says: str) -> None:
    (tmp_path / "leo.csv").write_text(trace)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    with pytest.raises(UsageError) as caught:
        load_plan(str(tmp_path / "mine.toml"))
    assert f"{tmp_path / 'mine.toml'}:4: path.change = " in str(caught.value) and says in str(caught.value)


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    with pytest.raises(UsageError, match=r"leo\.csv: No such file or directory; want a CSV file"):
        load_plan(str(tmp_path / "mine.toml"))


def test_the_librarys_trace_is_the_generators() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools/leo-trace", "15", "60"], capture_output=True, text=True, check=True
    )
    kept = ROOT / "scenarios/library/today-leo.csv"
    assert kept.read_text() == made.stdout
    assert path_trace.changes(kept).count("loss=100%") == 3
