"""Several flows, a relay and a trial that fails, in virtual time: every figure belongs to the flow and the span that it
names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest
from socat_relays import SOCAT_RELAYS

from dashboard.core import congestion
from dashboard.core.runs import load_run
from dashboard.timeline import timeline
from dashboard.timeline.flow import SPURIOUS
from scenarios.run import results
from scenarios.trial import legs
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
LINE_BPS, S, MS = 100e6, 10**9, 10**6
COMPETITOR = {
    "transfer.duration": "9s",
    "flow.rival.start": "3s",
    "flow.rival.duration": "3s",
    "flow.rival.congestion": "bbr",
}
BEHIND = f"""
[scenario]
name = "behind"
[path]
delay = "20ms"
rate = "20Mbit"
queue = "1 BDP"
[transfer]
duration = "3s"
interval = "100ms"
[gateway]
settle = "300ms"
{SOCAT_RELAYS}
[capture]
points = ["snd", "gw1-in", "gw2-out", "rcv"]
"""
DIES = (
    BEHIND.replace('name = "behind"', 'name = "dies"')
    .replace("    socat", "    timeout 2 socat", 2)
    .replace("wait\"'''", "wait; echo the licence has expired >&2; exit 7\"'''", 1)
)


def run(folder: Path, scenario: Path, status: int = 0, sets: Mapping[str, str] | None = None) -> Path:
    """A run in virtual time; gives its directory."""
    options = [word for key, value in (sets or {}).items() for word in ("--set", f"{key}={value}")]
    line = ["run", str(scenario), "--time", "virtual", "--seed", "1", "--runs-dir", str(folder), *options]
    done = subprocess.run([sys.executable, "-m", "lfp", *line], cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == status, done.stdout + done.stderr
    (found,) = folder.iterdir()
    return found


def content(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def competitor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("comp"), Path(__file__).parent / "scenarios" / "comp.toml", sets=COMPETITOR)


def test_flows_at_different_times_are_added_while_both_run(competitor: Path) -> None:
    """The flows' own averages add up to more than the line's rate. While both run, their sum is what the box let
    through."""
    folder = competitor / "trials" / "0000"
    main, rival = results.rows(folder)
    assert main["short_term_bps"] + rival["short_term_bps"] > LINE_BPS, "what was called their throughput together"
    assert main["flows_bps"] == rival["flows_bps"] <= LINE_BPS
    assert main["flow_share"] + rival["flow_share"] == pytest.approx(1)
    receiver = content(folder, "transfer")["flows"]["rival"]["receiver"]
    assert 0 <= receiver["intervals"][-1][1] - main["flows_common_ns"] < MS, "a program reads when an octet has arrived"
    assert main["flows_common_ns"] >= 3 * S
    begin = receiver["t0_monotonic_ns"] + offset_ns(folder)
    arrived = carried(folder, begin, begin + main["flows_common_ns"])
    assert main["flows_bps"] == pytest.approx(arrived.sum() * 8e9 / main["flows_common_ns"], rel=0.02)
    assert main["flow_share"] == pytest.approx(arrived[0] / arrived.sum(), abs=0.02)


def offset_ns(folder: Path) -> int:
    clock = content(folder, "status")["clock"]
    return int(clock["realtime_ns"]) - int(clock["monotonic_ns"])


def carried(folder: Path, begin_ns: int, end_ns: int) -> np.ndarray:
    """The new octets of main and of rival that, by the captures, arrived at the receiver's interface in a span."""
    table = parquet.read_table(folder / "segments.parquet")
    here = pc.and_(pc.greater_equal(table["t_received_ns"], begin_ns), pc.less(table["t_received_ns"], end_ns))
    run = load_run(folder.parents[1])
    trial, inside = run.trial(0), table.filter(pc.and_(here, pc.not_equal(table["kind"], SPURIOUS)))
    numbers = [next(n for n in trial.flows if (trial.samples_of(n) or ("", ""))[0] == file) for file in files(folder)]
    return np.asarray([pc.sum(inside.filter(pc.equal(inside["flow"], n))["len"]).as_py() for n in numbers])


def files(folder: Path) -> list[Path]:
    return [folder / "tcp_info.parquet", folder / "flows" / "rival" / "tcp_info.parquet"]


def test_no_second_is_above_the_line(competitor: Path) -> None:
    seconds = parquet.read_table(competitor / "trials" / "0000" / "flows.parquet")
    assert pc.max(seconds["flows_bps"]).as_py() <= LINE_BPS
    both = seconds.filter(pc.is_valid(seconds["flow_jain"]))
    assert set(both["flow_name"].to_pylist()) == {"main", "rival"} and 0.5 <= pc.min(both["flow_jain"]).as_py() < 0.95


def test_every_window_is_that_of_its_own_flow(competitor: Path) -> None:
    """BBR's window is far above CUBIC's on the same line. Both figures once had CUBIC's window under BBR's name."""
    run, folder = load_run(competitor), competitor / "trials" / "0000"
    own = [parquet.read_table(file)["snd_cwnd"].to_numpy() for file in files(folder)]
    drawn = congestion.of_flows(run, 0)
    assert [one.name for one in drawn] == ["main, cubic", "rival, bbr"]
    for control, windows in zip(drawn, own, strict=True):
        assert (control.cwnd == windows).all()
    assert drawn[1].t_s[0] == pytest.approx(3.0, abs=0.3)
    trial = run.trial(0)
    for number in trial.flows:
        loaded, samples = timeline.load(run, trial, number), trial.samples_of(number)
        assert (loaded.cwnd.t_ns.size > 0) == (samples is not None)
        if samples:
            assert loaded.cwnd.value.max() == 1448 * parquet.read_table(samples[0])["snd_cwnd"].to_numpy().max()


def test_every_flow_has_its_own_limits_and_losses(competitor: Path) -> None:
    folder = competitor / "trials" / "0000"
    rows, box = results.rows(folder), content(folder, "delay")["statistics"]["ab"]["drops"]
    for row in rows:
        assert sum(row[name] for name in row if name.startswith("limited_")) == pytest.approx(1)
    assert sum(row["lost_queue"] for row in rows) == box["queue"] > 0


def test_through_relays_the_limits_are_those_of_the_whole(tmp_path: Path) -> None:
    scenario = tmp_path / "behind.toml"
    scenario.write_text(BEHIND)
    folder = run(tmp_path / "runs", scenario) / "trials" / "0000"
    row, whole = results.row(folder), legs.of_trial(folder)["limits_ns"]
    lasted = sum(whole.values())
    assert lasted >= 3 * S and row["limited_gateway"] == pytest.approx(whole.get("gateway", 0) / lasted)
    run_of = load_run(folder.parents[1])
    loaded = timeline.load(run_of, run_of.trial(0))
    assert loaded.limits is not None and loaded.limits_whole
    assert dict(zip(loaded.limits.names, loaded.limits.until[:, -1].tolist(), strict=True)).items() >= whole.items()


def test_a_trial_whose_gateway_dies_is_analysed_so_far_and_names_it(tmp_path: Path) -> None:
    scenario = tmp_path / "dies.toml"
    scenario.write_text(DIES)
    folder = run(tmp_path / "runs", scenario, 1) / "trials" / "0000"
    status = content(folder, "status")
    assert status["state"] == "failed"
    assert "near-gateway: ended during the transfer, exit status 7 (the licence has expired)" in status["error"]
    captured = parquet.read_table(folder / "segments.parquet")
    assert captured.num_rows > 100 and parquet.read_table(folder / "tcp_info.parquet").num_rows > 100
    assert (folder / "delay.json").exists()
    assert results.row(folder)["stopped_share"] is not None, "what its captures say"
