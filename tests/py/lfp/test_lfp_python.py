"""The package `lfp`: runs as tables, scenarios from Python, and the notebooks, which share one run in virtual time."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from support.synthetic_run import seqack
from support.virtual import virtual

import lfp
from scenarios.plan import params
from scenarios.plan.plan import load_plan

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "examples" / "notebooks").glob("*.py"))
MS = 10**6


def test_a_scenario_in_python_is_that_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "same.toml").write_text(
        '[scenario]\nname = "same"\n[path]\ndelay = "4ms"\n[transfer]\nbytes = "1MB"\n[flow.late]\nstart = "1s"\n'
        '[sweep]\n"path.rate" = ["10Mbit", "20Mbit"]\n'
    )
    made = lfp.Scenario(
        scenario={"name": "same"}, path={"delay": "4ms"}, transfer={"bytes": "1MB"}, flow={"late": {"start": "1s"}}
    ).set("path.rate", ["10Mbit", "20Mbit"])
    file = lfp.Scenario(tmp_path / "same.toml")
    planned = load_plan(str(tmp_path / "same.toml"), seed=0).trials
    assert made.trials() == file.trials() == [dict(params.of(trial)) for trial in planned]
    assert [trial["beside"] for trial in file.set("flow.late.congestion", "bbr").trials()] == ["bbr, from 1s"] * 2
    one = made.tables(path={"rate": "5Mbit"}).trials()
    assert [trial["rate_bps"] for trial in one] == [5_000_000], "a value in a higher layer ends the sweep"


def test_what_is_wrong_is_one_line() -> None:
    for wrong, said in (
        ({"path": {"dealy": "1ms"}, "transfer": {"bytes": 1}}, "unknown key 'path.dealy' — did you mean 'delay'?"),
        ({"transfer": {}}, "give either 'bytes' or 'duration'"),
    ):
        with pytest.raises(lfp.LfpError, match=said) as caught:
            lfp.Scenario(**wrong).plan()
        assert "\n" not in str(caught.value)
    said = r"no run of this name in the folder /.*/runs; name another folder with --runs-dir"
    with pytest.raises(lfp.LfpError, match=said):
        lfp.load("no-such-run")


def test_library_scenarios_have_a_quick_form() -> None:
    assert len(lfp.Scenario("lfp-syndrome").quick.trials()) < len(lfp.Scenario("lfp-syndrome").trials())


@pytest.mark.virtual
@virtual[1]
def test_the_notebooks_and_the_tables_of_their_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one test, because the first notebook makes the run that the others and the checks below read."""
    monkeypatch.chdir(tmp_path)
    made: dict[str, dict[str, Any]] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for notebook in NOTEBOOKS:
            made[notebook.stem] = runpy.run_path(str(notebook))
    assert len(made) == 4
    grid = made["3_heat_map"]["grid"]
    assert grid.shape == (2, 2) and (grid > 0).all()
    check_tables(lfp.load("last"))


def check_tables(run: lfp.Run) -> None:
    assert run.valid and run.results().num_rows == 4
    for trial in run.trials:
        samples, segments = trial.table("tcp_info"), trial.table("segments")
        first = {"sample": samples["t_ns"][0].as_py(), "segment": segments["t_sent_ns"][0].as_py()}
        assert 10 * MS <= first["segment"] < 40 * MS, "data follows the control connection's and its own handshake"
        assert 0 <= first["sample"] < 40 * MS
        late = trial.table("flows/second/tcp_info")
        assert 100 * MS <= late["t_ns"][0].as_py() < 220 * MS, "on the axis of the trial, not on its own"
        delays = segments["t_received_ns"].to_numpy() - segments["t_sent_ns"].to_numpy()
        assert np.nanmin(delays) >= 5 * MS  # a lost segment has no time
        assert pa.types.is_dictionary(segments["kind"].type) and "new" in segments["kind"].unique().to_pylist()
        assert len(set(segments["flow"].to_pylist())) == 1
        assert trial.table("segments", flow="all").num_rows >= segments.num_rows
    with pytest.raises(lfp.LfpError, match=r"no table 'segmens'; it has acks"):
        run.trials[0].table("segmens")
    assert set(run.table("tcp_info")["trial"].to_pylist()) == {0, 1}


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_have_the_columns_and_the_names_of_enumerations(
    tmp_path: Path, frame: Literal["pandas", "polars"]
) -> None:
    """Checks a table of one trial, one over all trials, and the results."""
    pytest.importorskip(frame, reason=f"{frame} is not installed; pip install 'lfp-testbed[notebook]'")
    run = lfp.load(seqack(tmp_path, segments=200))
    file = run.trial(0).path / "segments.parquet"
    names = {"pktlogger.names": json.dumps({"kind": ["new", "fast", "timeout", "tail"]})}
    parquet.write_table(parquet.read_table(file).replace_schema_metadata(names), file)
    arrow, framed = run.trial(0).table("segments"), run.trial(0).table("segments", frame)
    assert list(framed.columns) == arrow.column_names and len(framed) == arrow.num_rows
    assert list(framed["kind"]) == arrow["kind"].to_pylist() and "new" in set(framed["kind"])
    assert framed["t_sent_ns"][0] == arrow["t_sent_ns"][0].as_py()
    both = run.table("segments", frame)
    assert list(both.columns) == ["trial", *arrow.column_names] and len(both) == arrow.num_rows
    assert list(run.results(frame)["trial"]) == [0]


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_of_packages_that_are_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: Literal["pandas", "polars"]
) -> None:
    if frame == "polars":
        monkeypatch.setitem(sys.modules, frame, None)
    elif importlib.util.find_spec(frame):
        pytest.skip("pandas is installed, and Arrow does not look for it again")
    with pytest.raises(lfp.LfpError, match=rf"^frame = '{frame}': {frame} is not installed; pip install 'lfp-test"):
        lfp.load(seqack(tmp_path, segments=200)).results(frame)


def test_a_frame_of_another_name_is_refused(tmp_path: Path) -> None:
    run = lfp.load(seqack(tmp_path, segments=200))
    with pytest.raises(lfp.LfpError, match="frame = 'numpy': unknown; allowed: arrow, pandas, polars"):
        run.results("numpy")  # type: ignore[arg-type]
