"""Trials of settings drawn at random, in virtual time, and what holds whatever happens in them: sums below the line,
shares that add up, losses that the box knows, limits from the first to the last moment, each curve of its own flow.

`LFP_DRAWS=300` draws more settings; `LFP_SEED` draws those of a failure again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from dashboard.data import timeline
from dashboard.data.runs import load_run
from scenarios.run import results
from scenarios.statistics import fairness
from scenarios.virtual import kernel

DRAWS = int(os.environ.get("LFP_DRAWS", "8"))
pytestmark = [
    pytest.mark.netns, pytest.mark.virtual, pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
    pytest.mark.timeout(300 + 60 * DRAWS),
]  # fmt: skip

ROOT = Path(__file__).resolve().parents[2]
CONTROLS = ("reno", "cubic", "bbr")
Table = dict[str, Any]


def drawn(rng: random.Random) -> dict[str, Table]:
    """The tables of a case."""
    rate, delay = rng.randint(4, 40), rng.randint(1, 30)
    path: Table = {"rate": f"{rate}Mbit", "delay": f"{delay}ms", "queue": rng.choice(["0.5 BDP", "1 BDP", "2 BDP"])}
    path["loss"] = rng.choice(["0%", "0%", "0.3%", "time:900ms-1100ms", "time:700ms-750ms,1300ms-1500ms"])
    path["aqm"] = rng.choice(["none", "none", "codel"])
    path["change"] = rng.choice(["none", "none", f"1s rate={2 * rate}Mbit", f"1s rate={rate // 2}Mbit",
                                 f"1s delay={delay + 9}ms"])  # fmt: skip
    transfer: Table = {"duration": "2s", "congestion": rng.choice(CONTROLS), "parallel": rng.choice([1, 1, 1, 3])}
    tables = {"path": path, "transfer": transfer, "capture": {"points": ["snd", "box", "rcv"]}}
    if rng.random() < 0.2:
        tables["gateway"] = {"kind": "lft", "rate": f"{max(rate // 2, 1)}Mbit"}
        tables["capture"] = {"points": ["snd", "gw1-in", "gw2-out", "rcv"]}
    for number in range(rng.randint(0, 2)):
        amount = rng.choice([{"duration": f"{rng.randint(200, 1500)}ms"}, {"bytes": f"{rng.randint(60, 900)}KB"}])
        tables[f"flow.f{number}"] = amount | {
            "start": f"{rng.randint(0, 1500)}ms", "congestion": rng.choice(CONTROLS),
            "pair": 2 if rng.random() < 0.3 else 1, "parallel": rng.choice([1, 1, 2]),
        }  # fmt: skip
    return tables


def document(cases: list[dict[str, Table]]) -> str:
    lines = ['[scenario]\nname = "drawn"', '[transfer]\nduration = "2s"\ninterval = "50ms"']
    for number, tables in enumerate(cases):
        for name, table in tables.items():
            lines.append(f"[case.d{number}.{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join([*lines, "[sweep]", f'"scenario.case" = {json.dumps([f"d{n}" for n in range(len(cases))])}', ""])


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    seed = int(os.environ.get("LFP_SEED", random.randrange(2**32)))
    print(f"LFP_SEED={seed} LFP_DRAWS={DRAWS}")
    rng, folder = random.Random(seed), tmp_path_factory.mktemp("drawn")
    (folder / "drawn.toml").write_text(document([drawn(rng) for _ in range(DRAWS)]))
    line = ["run", str(folder / "drawn.toml"), "--time", "virtual", "--seed", "1", "--runs-dir", str(folder / "runs")]
    done = subprocess.run([sys.executable, "-m", "scenarios.cli", *line], cwd=ROOT, capture_output=True, text=True,
                          timeout=120 + 60 * DRAWS)  # fmt: skip
    found = sorted(folder.glob("runs/*/trials/[0-9]*"))
    assert len(found) == DRAWS, done.stdout + done.stderr
    return found


def content(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def asked(folder: Path) -> str:
    """The settings of a trial, for whoever reads a failure."""
    params = content(folder, "params")
    names = ("case", "rate_bps", "delay_ns", "queue_bytes", "loss", "aqm", "change", "congestion", "parallel", "beside",
             "gateway", "gateway_rate_bps")  # fmt: skip
    return f"{folder}: {({name: params.get(name) for name in names})}"


def test_every_trial_ends(trials: list[Path]) -> None:
    for folder in trials:
        assert content(folder, "status")["state"] == "done", (asked(folder), content(folder, "status")["error"])


def test_sums_stay_below_the_line_and_shares_add_up(trials: list[Path]) -> None:
    for folder in trials:
        rows, why = results.rows(folder), asked(folder)
        line = fairness.line_bps(content(folder, "params"))
        assert line, why
        for row in rows:
            assert row["short_term_bps"] <= line, why
            assert row["flows_common_ns"] is None or row["flows_common_ns"] <= row["elapsed_ns"], why
        shares = [row["flow_share"] for row in rows]
        if None not in shares:
            assert sum(shares) == pytest.approx(1) and rows[0]["flows_bps"] <= line * (1 + 1e-9), why
            assert 1 / len(rows) - 1e-9 <= rows[0]["flow_jain"] <= 1 + 1e-9, why
        if len(rows) > 1:
            seconds = parquet.read_table(folder / "flows.parquet").to_pydict()
            assert max(seconds["flows_bps"]) <= line * (1 + 1e-9), why
            lasted = np.asarray(seconds["t1_ns"]) - np.asarray(seconds["t0_ns"])
            octets = (np.asarray(seconds["bps"]) * lasted).sum() / 8e9
            ends = [content(folder, "transfer"), *content(folder, "transfer")["flows"].values()]
            assert octets == pytest.approx(sum(end["summary"]["bytes"] for end in ends), rel=1e-6), why


def test_limits_last_all_the_time_and_losses_are_the_boxs(trials: list[Path]) -> None:
    for folder in trials:
        rows, why = results.rows(folder), asked(folder)
        for row in rows:
            limits = [row[name] for name in row if name.startswith("limited_")]
            if row["pair"] > 1:
                assert set(limits) == {None} and row["lost_queue"] is None, f"not captured: {why}"
            else:
                assert sum(limits) == pytest.approx(1) and min(limits) >= 0, f"{row['flow_name']}: {why}"
        drops = content(folder, "delay")["statistics"]["ab"]["drops"]
        lost = sum(row[name] or 0 for row in rows for name in row if name.startswith("lost_"))
        assert lost <= sum(drops.values()), f"{why}: {drops}"
        if "box" in content(folder, "params")["capture"] and "loss" not in (drops.keys() - {"queue", "aqm"}):
            assert sum(row["lost_chance"] or 0 for row in rows) == 0, why


def test_every_window_is_of_its_own_flow(trials: list[Path]) -> None:
    run = load_run(trials[0].parents[1])
    for folder in trials:
        trial, files = run.trial(int(folder.name)), set()
        for number in trial.flows:
            loaded, found = timeline.load(run, trial, number), trial.samples_of(number)
            assert bool(loaded.cwnd.t_ns.size) == bool(found), asked(folder)
            if found:
                table = parquet.read_table(found[0], filters=[("stream", "==", found[1])])
                windows = table["snd_cwnd"].to_numpy().astype(np.int64) * table["snd_mss"].to_numpy()
                assert (loaded.cwnd.value == windows).all(), asked(folder)
                files.add(found)
        rows = results.rows(folder)
        assert len(files) == sum(row["parallel"] for row in rows if row["pair"] == 1), asked(folder)


def test_a_recovery_is_no_longer_than_the_transfer_goes_on(trials: list[Path]) -> None:
    for folder in trials:
        file = folder / "recovery.json"
        told = json.loads(file.read_text())["flows"] if file.exists() else {}
        ends = {"main": content(folder, "transfer")} | content(folder, "transfer").get("flows", {})
        for name, outages in told.items():
            until = ends[name]["receiver"]["intervals"][-1][1]
            for one in outages:
                took = one["recovery_ns"]
                assert (took is None) == (one["why"] is not None), asked(folder)
                assert took is None or 0 <= took <= until - one["end_ns"], asked(folder)
