"""lfp report --markdown: the report's facts and tables as Markdown, and nothing half written."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support import synthetic_run
from support.waiting import wait_until

from dashboard.cli import report
from dashboard.core.runs import load_run
from dashboard.report import pictures
from dashboard.report.markdown import write_figures, write_markdown
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure
from netcommon.errors import LfpError, MissingError, UsageError
from scenarios.plan.causes import ALL_LIMITS


def test_a_matrix_is_a_grid_for_each_series_with_the_papers_values(tmp_path: Path) -> None:
    target = tmp_path / "fig1.md"
    assert write_markdown(synthetic_run.matrix(tmp_path), target, pictures=False) == [target]
    text = target.read_text()
    grid = text.split("### linux-2003\n\n")[1].split("\n\n")[0].splitlines()
    assert grid[0].endswith(" | no delay | 20 ms | 200 ms |") and grid[1] == "| ---: | ---: | ---: | ---: |"
    assert grid[2].startswith("| 0 % |") and "(40 Mbit/s)" in grid[2] and "(4 Mbit/s)" in grid[2]
    assert [line.count("|") for line in grid] == [5] * 6
    assert "1 trial failed, not valid or without a value: counted in no cell." in text
    assert "![" not in text


def test_a_sweep_has_the_numbers_of_the_report_and_the_verdict_first(tmp_path: Path) -> None:
    target = tmp_path / "fig3.md"
    write_markdown(synthetic_run.sweep(tmp_path), target, pictures=False)
    text = target.read_text()
    assert text.index("This run: not valid") < text.index("## Throughput by transfer.window")
    for words in ("3: LFP syndrome", "8 Mbit/s (LFP syndrome)", synthetic_run.INVALID_REASON, "6.1.0-test"):
        assert words in text, words


def test_what_markdown_would_take_for_a_mark_is_text(tmp_path: Path) -> None:
    run, target = synthetic_run.matrix(tmp_path), tmp_path / "odd.md"
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["scenario"]["scenario"]["title"] = "A | B <b>"
    (run / "manifest.json").write_text(json.dumps(manifest))
    write_markdown(run, target, pictures=False)
    assert target.read_text().startswith("# A \\| B &lt;b>\n")


def test_a_browser_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, noted = tmp_path / "browser", tmp_path / "process"
    # like Chromium, it exits when its pipe closes
    browser.write_text(f"#!/bin/sh\necho $$ >{noted}\nexec cat <&3 >/dev/null\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(browser))
    monkeypatch.setattr(pictures, "START_S", 10.0)
    monkeypatch.setattr(pictures, "EACH_S", 0.0)
    with pytest.raises(LfpError, match=r"^--markdown: Chromium did not draw .*it took too long; --no-pictures"):
        pictures.write_pictures([(tmp_path / "one.png", go.Figure())], "--markdown", "--no-pictures")
    line = Path(f"/proc/{noted.read_text().strip()}/cmdline")  # empty for a zombie
    wait_until(lambda: not line.exists() or not line.read_text(), "the browser's end")
    assert not (tmp_path / "one.png").exists()


def test_without_kaleido_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(MissingError, match=r"needs kaleido .*--no-pictures"):
        write_markdown(synthetic_run.matrix(tmp_path), tmp_path / "fig1.md", pictures=True)
    assert not [path for pattern in ("*.md", "*.png", ".markdown-*") for path in tmp_path.glob(pattern)]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--markdown .*/none/fig1\.md: No such file or directory; name a file"):
        write_markdown(synthetic_run.matrix(tmp_path), tmp_path / "none" / "fig1.md", pictures=False)


def test_a_run_without_a_figure_is_named(tmp_path: Path) -> None:
    run = synthetic_run.matrix(tmp_path)
    (run / "results.parquet").unlink()
    shutil.rmtree(run / "trials")
    with pytest.raises(LfpError, match=r"^--figures: .* has nothing to draw"):
        write_figures(run, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_figures_are_asked_for_alone(tmp_path: Path) -> None:
    run = synthetic_run.matrix(tmp_path)
    done = CliRunner().invoke(report, [str(run), "--figures", str(tmp_path), "--markdown", str(tmp_path / "a.md")])
    assert isinstance(done.exception, LfpError) and "--figures: cannot be combined" in str(done.exception)


def test_no_pictures_needs_markdown(tmp_path: Path) -> None:
    done = CliRunner().invoke(report, [str(synthetic_run.matrix(tmp_path)), "--no-pictures"])
    assert isinstance(done.exception, LfpError) and "--no-pictures: only with --markdown FILE" in str(done.exception)


def test_a_timeline_has_a_key_of_its_limits_and_as_a_picture_short_labels(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    folder, run = path / "trials" / "0000", load_run(path)
    origin = timeline.load(run, run.trial(0)).origin_ns
    spans = {
        "flow": np.full(2, run.trial(0).flows[0], np.uint32),
        "t0_ns": origin + np.asarray([0, 10**9]),
        "t1_ns": origin + np.asarray([10**9, 8 * 10**9]),
        "cause": np.asarray([0, 9], np.uint8),
    }
    pq.write_table(pa.table(spans), folder / "limits.parquet")
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary | {"limit_causes": list(ALL_LIMITS)}))
    os.utime(folder / "segments.parquet", ns=(1, 1))
    loaded = timeline.load(run, run.trial(0))
    page, still = (timeline_figure(loaded, loaded.first_view_ns(), still=one) for one in (False, True))
    for figure in (page, still):
        keyed = [trace for trace in figure.data if trace.yaxis == "y2"]
        words = [ALL_LIMITS[cause].words for cause in ("slow_start", "timeout")]
        assert [trace.name for trace in keyed] == [f"limited by {one}" for one in words]
        assert all(trace.showlegend is not False and trace.legend == "legend" for trace in keyed)
    assert max(len(note.text) for note in page.layout.annotations) > 30
    assert all("<br>" not in note.text and len(note.text) < 30 for note in still.layout.annotations)


def test_medians_and_ranges_of_curves_are_named(tmp_path: Path) -> None:
    target = tmp_path / "fig12.md"
    write_markdown(synthetic_run.losses(tmp_path), target, pictures=False)
    said = "Large marks are medians over the valid trials; bars reach from minimum to maximum"
    assert said in target.read_text()
