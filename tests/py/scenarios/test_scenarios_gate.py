"""`lfp gate`: run, compare, Markdown and an exit status, on trials that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.scenario_runs import TINY, FakeTrials

from lfp import cli
from scenarios.run import checks, plugins, runner


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTrials:
    monkeypatch.setattr(checks, "require", lambda tools, settings, virtual: None)
    monkeypatch.setattr(plugins, "after_run", lambda run_dir: [])
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    return FakeTrials(monkeypatch, tmp_path)


@pytest.fixture
def baseline(fake: FakeTrials) -> str:
    assert cli.run(["run", "tiny.toml", "--runs-dir", "base"]) == 0
    return str(next(Path("base").iterdir()))


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, Markdown, and what else was said."""
    capsys.readouterr()
    status = cli.run(["gate", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_same_gateway_passes(fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, markdown, said = gate(capsys, baseline, "tiny.toml")
    assert status == 0
    assert markdown.startswith("## lfp gate: scenario tiny passes\n")
    assert f"| run | `{Path(baseline).name}` | `tiny-" in markdown
    assert "Settings that differ: none" in markdown and "4 same, 0 better, 0 worse of 4 cells" in markdown
    assert "| 8 KB | 1 Mbit/s | 1 Mbit/s | 1 |" in markdown
    assert "4 trials, about" in said and "4/4" in said  # progress, as `lfp run` shows it


def test_a_slower_gateway_does_not(fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    fake.speed = 0.9
    status, markdown, _ = gate(capsys, baseline, "tiny.toml")
    assert status == 1
    assert "does not pass\n\n- 4 of 4 cells are undecided\n" in markdown
    assert "a rank test needs 5 or more a side that differ" in markdown
    assert markdown.count("- margin 5 %: a cell is the same if") == 1
    assert "| 64 KB | 4 Mbit/s | 3.6 Mbit/s | 0.9 |" in markdown
    status, markdown, _ = gate(capsys, baseline, "tiny.toml", "--allow-undecided")
    assert status == 0 and "4 undecided of 4 cells" in markdown


@pytest.mark.parametrize("late", [{0: 9}, dict.fromkeys(range(4), 9)])
def test_a_run_that_is_not_valid_does_not(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str], late: dict[int, int]
) -> None:
    fake.late = late
    status, markdown, _ = gate(capsys, baseline, "tiny.toml")
    assert status == 1 and f"- the run is not valid: {len(late)} of 4 trials not valid" in markdown
    which = "trial 0" if len(late) == 1 else "trials 0, 1, 2, 3"
    assert f"  - {which}: not valid: " in markdown


def test_a_setting_that_virtual_time_chooses_by_itself_may_be_swept(
    fake: FakeTrials, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tiny.toml").write_text(TINY + '"transfer.length" = ["8KB", "16KB"]\n')
    assert cli.run(["run", "tiny.toml", "--runs-dir", "base"]) == 0
    status, markdown, _ = gate(capsys, str(next(Path("base").iterdir())), "tiny.toml")
    assert status == 0 and "8 same, 0 better, 0 worse of 8 cells" in markdown


def test_a_setting_that_the_baseline_lacks_is_not_passed(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a setting cannot be compared: the scenario has a new setting, or the baseline's trials of it are not
    valid."""
    Path("tiny.toml").write_text(TINY.replace('"64KB"', '"64KB", "128KB"'))
    status, markdown, _ = gate(capsys, baseline, "tiny.toml")
    assert status == 1
    assert "- 1 of 5 settings of this run have no valid trial in the baseline; make the baseline again\n" in markdown
    Path("tiny.toml").write_text(TINY.replace(', "64KB"', ""))
    assert gate(capsys, baseline, "tiny.toml")[0] == 0  # a run may have fewer settings than the baseline


def test_an_expectation_that_is_not_met_fails(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tiny.toml").write_text(TINY + '[[expect]]\nsay = "fast"\nmin = "2Gbit"\n')
    status, markdown, _ = gate(capsys, baseline, "tiny.toml")
    assert status == 1 and "- expectation not met: fast\n  - NOT MET 'fast': " in markdown


def test_programs_and_settings_that_differ_stand_out(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "tool").write_text("another build")
    status, _, _ = gate(
        capsys,
        baseline,
        "tiny.toml",
        "--set",
        "path.delay=5ms",
        "--across",
        "path.delay",
        "--markdown",
        "gate.md",
        "--allow-undecided",
    )
    markdown = Path("gate.md").read_text()
    assert status == 0
    row = next(line for line in markdown.splitlines() if line.startswith("| rttcp | "))
    _, _, base, new, _ = (cell.strip() for cell in row.split("|"))
    assert new == f"**{new.strip('*')}**" and base != new.strip("*")
    assert "\nSettings that differ: path.delay (4.2 ms against 5 ms)\n" in markdown
    assert "| time | real | real |" in markdown  # equal values are not marked


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", "path.delay=5ms"], "differ in path.delay (4.2 ms against 5 ms); to let them differ: --across path"),
        (["--set", "path.delay=much"], "path.delay"),
        (["--across", "transfer.window"], "its trials differ in transfer.window (8 KB, 16 KB, 32 KB, 64 KB)"),
        (["--metric", "speed"], "--metric speed: not a measured column"),
        (["--margin", "much"], "--margin much: not a ratio"),
        (["--jobs", "2"], "--jobs, --box: in virtual time only"),
        (["--markdown", "no/where.md"], "--markdown no/where.md: the folder no does not exist;"),
    ],
)
def test_wrong_usage_is_found_before_anything_runs(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    fake.ran.clear()
    status, markdown, error = gate(capsys, baseline, "tiny.toml", *more)
    assert (status, markdown, error.count("\n")) == (2, "", 1) and said in error
    assert not fake.ran and not Path("runs").exists()


def test_the_kind_of_time_is_the_baselines(
    fake: FakeTrials, baseline: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(baseline) / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"virtual": {"box": "netem"}}))
    asked: list[str | None] = []

    def start(*_: object, virtual_box: str | None, **__: object) -> Path:
        asked.append(virtual_box)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "start", start)
    assert gate(capsys, baseline, "tiny.toml")[0] == 130
    assert gate(capsys, baseline, "tiny.toml", "--time", "real")[0] == 130
    assert asked == ["auto", None]
