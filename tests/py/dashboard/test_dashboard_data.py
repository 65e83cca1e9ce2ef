"""Reading runs and timelines as docs/reference/interfaces.md defines them; damaged and unfinished ones, too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support import synthetic_run

from dashboard.core.runs import Run, list_runs, load_run
from dashboard.report import first_stop
from dashboard.run import reference, sweep, tables
from dashboard.timeline import timeline
from netcommon.errors import LfpError


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(synthetic_run.sweep(tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def collapsed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(synthetic_run.seqack(tmp_path_factory.mktemp("runs")))


def test_a_directory_that_is_no_run_is_one_line_and_status_2(tmp_path: Path) -> None:
    with pytest.raises(LfpError, match="not a run directory") as caught:
        load_run(tmp_path)
    assert caught.value.status == 2 and "\n" not in str(caught.value)


def test_a_damaged_manifest_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{\n"v": 1,\n oops}')
    with pytest.raises(LfpError, match=r"manifest\.json:3"):
        load_run(tmp_path)


def test_the_list_leaves_damaged_runs_out(tmp_path: Path) -> None:
    good = synthetic_run.seqack(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    assert [run.path for run in list_runs(tmp_path)] == [good]


def test_a_missing_trial_names_those_there_are(collapsed: Run) -> None:
    with pytest.raises(LfpError, match="no trial 99; it has 0"):
        collapsed.trial(99)


def test_a_run_without_results_yet_shows_its_finished_trials(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    before = load_run(path)
    (path / "results.parquet").unlink()
    after = load_run(path)
    assert [row["short_term_bps"] for row in after.rows] == [row["short_term_bps"] for row in before.rows]
    assert sweep.build(after) is not None


def test_sweep_has_a_curve_a_profile_and_keeps_invalid_trials_out_of_medians(swept: Run) -> None:
    built = sweep.build(swept)
    assert built is not None
    assert [curve.series for curve in built.curves] == ["bsd-1995", "modern"]
    windows = len(synthetic_run.WINDOWS_KB)
    assert [len(curve.levels) for curve in built.curves] == [windows, windows]
    bad = [o for curve in built.curves for o in curve.observations if not o.valid]
    assert [(o.trial, o.reasons) for o in bad] == [(synthetic_run.INVALID_TRIAL, synthetic_run.INVALID_REASON)]
    level = next(level for level in built.curves[0].levels if level.window_bytes == bad[0].window_bytes)
    assert len(level.bps.trials) == 2


def test_the_knee_is_what_path_and_queue_hold(swept: Run) -> None:
    built = sweep.build(swept)
    assert built is not None
    knees = [guide for guide in built.guides if guide.kind == "knee"]
    assert [knee.series for knee in knees] == [""], "one for all series: they have one path"
    assert knees[0].value == pytest.approx(45e6 * 8.4e-3 / 8 + 110_000)


def test_regions_compare_slope_and_levels_with_the_paper(swept: Run) -> None:
    built = sweep.build(swept)
    assert built is not None
    own = {result.region.label[0]: result for result in built.results if result.series == "bsd-1995"}
    assert own["1"].region.slope and own["1"].measured == pytest.approx(1.0, rel=0.1)
    assert own["2"].measured == pytest.approx(43.6e6, rel=0.05)
    assert own["3"].measured == pytest.approx(13e6, rel=0.15)
    text = tables.region_table(built)
    assert "45 Mbit/s (line rate)" in [row[2] for row in text.rows]
    assert "8 Mbit/s (LFP syndrome)" in [row[2] for row in text.rows]


def test_timeline_counts_what_the_capture_holds(collapsed: Run) -> None:
    trial = collapsed.trial(0)
    loaded = timeline.load(collapsed, trial)
    table = pq.read_table(trial.path / "segments.parquet")
    assert loaded.sent_ns.size == table.num_rows - 1  # one segment belongs to the control connection
    assert loaded.lost_rows.size == trial.flow_summary(1)["lost"]
    assert loaded.sent_ns[0] == 0 and np.all(np.diff(loaded.sent_ns) >= 0)
    assert loaded.stops[0].t1_ns - loaded.stops[0].t0_ns == 1_020_000_000
    assert "tail-drop burst of 23 packets" in loaded.stops[0].text
    assert loaded.stopped_share == trial.flow_summary(1)["stopped_share"]
    assert loaded.unacknowledged.value.min() == 0
    assert loaded.rtt.value.min() == pytest.approx(8.4e6, rel=0.15)
    assert loaded.events.of("rto").size == len(loaded.stops)


def test_round_trips_are_those_of_pktloggers_table(collapsed: Run) -> None:
    """Earlier versions of pktlogger wrote no table of round trips. Their trials have none, and the page says so."""
    trial = collapsed.trial(0)
    loaded = timeline.load(collapsed, trial)
    table = pq.read_table(trial.path / "round_trips.parquet")
    assert loaded.rtt.value.tolist() == table["rtt_ns"].to_pylist()
    assert (loaded.rtt.t_ns + loaded.origin_ns).tolist() == table["t_ns"].to_pylist()
    assert (loaded.rtt_gaps + 1).tolist() == np.flatnonzero(table["gap"].to_numpy()).tolist()


def test_an_older_trial_has_no_round_trips_and_says_why(tmp_path: Path) -> None:
    run = load_run(synthetic_run.seqack(tmp_path))
    (run.trial(0).path / "round_trips.parquet").unlink()
    loaded = timeline.load(run, run.trial(0))
    assert not loaded.rtt.value.size and not loaded.rtt_gaps.size
    assert any("Round-trip times of single packets are left out" in note for note in loaded.notes)


def test_tcp_info_is_put_on_the_captures_clock(collapsed: Run) -> None:
    """TCP_INFO carries CLOCK_MONOTONIC, captures CLOCK_REALTIME; the trial's own pair joins them."""
    loaded = timeline.load(collapsed, collapsed.trial(0))
    assert loaded.cwnd.t_ns[0] == -10_400_000  # sampling began before the first segment
    assert loaded.cwnd.t_ns[-1] <= loaded.duration_ns
    assert loaded.cwnd.value[0] == 2 * 4312


def test_one_flow_of_several_is_kept_apart(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    folder = path / "trials" / "0000"
    rows = {}
    for name in ("segments", "acks", "events"):
        table = pq.read_table(folder / f"{name}.parquet")
        flow = np.zeros(table.num_rows, np.uint32)
        flow[1::2] = 1
        pq.write_table(table.set_column(0, "flow", [flow]), folder / f"{name}.parquet")
        rows[name] = table.num_rows
    run = load_run(path)
    sizes = [timeline.load(run, run.trial(0), flow).sent_ns.size for flow in (0, 1)]
    assert sizes == [(rows["segments"] + 1) // 2, rows["segments"] // 2]


def test_a_rewritten_capture_is_read_again(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    run = load_run(path)
    file = path / "trials" / "0000" / "segments.parquet"
    before = timeline.load(run, run.trial(0)).sent_ns.size
    table = pq.read_table(file).slice(1, 100)
    file.unlink()
    pq.write_table(table, file)
    assert (before, timeline.load(run, run.trial(0)).sent_ns.size) == (before, 100)


def test_the_first_stop_stands_beside_the_papers(collapsed: Run) -> None:
    measured = first_stop.measured(timeline.load(collapsed, collapsed.trial(0)))
    assert measured is not None
    assert measured.seq_rate_bps == pytest.approx(65e6, rel=0.05)
    assert measured.ack_rate_bps == pytest.approx(45e6, rel=0.05)
    assert measured.stop_ends_s - measured.stop_begins_s == pytest.approx(1.02)
    facts = reference.facts(collapsed)
    assert facts["seq_rate_bps"][0] == 65e6
    assert "65 Mbit/s" in [row[1] for row in first_stop.fact_table(facts, measured).rows]


def test_reference_names_never_become_paths(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["scenario"]["report"]["reference"] = ["../../etc/passwd"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert reference.points(load_run(path)) == () and reference.facts(load_run(path)) == {}
