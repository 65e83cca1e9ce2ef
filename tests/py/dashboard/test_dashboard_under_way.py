"""A run under way: the runner's reports, the page that shows them, and its updates when the run continues or ends."""

from __future__ import annotations

import json
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_run
from support.page_texts import texts_of_page
from support.scenario_runs import TINY, FakeTrials

from dashboard.core.runs import load_run
from dashboard.run import under_way_part as run_under_way
from dashboard.run.growing_figure import growing_figure
from dashboard.run.under_way import LIVE, MOST_SAMPLES, Growing, TrialUnderWay, UnderWay, under_way
from dashboard.run.under_way_table import running_table, state_line
from dashboard.server.app import Runs, make_app, page_at
from netcommon import sock_diag
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import runner
from scenarios.run.progress import ProgressFile
from scenarios.trial import connections, trial

LATER_NS = 2 * 10**9
SAMPLE = {
    "local": "10.77.0.1:40001",
    "remote": "10.77.2.2:5020",
    "sent_bytes": 0,
    "retransmits": 0,
    "cwnd_bytes": 14480,
    "rtt_ns": 20_000_000,
}


def line(t_s: float, acked_bytes: int, **others: Any) -> str:
    return json.dumps(SAMPLE | {"t_ns": round(t_s * 1e9), "acked_bytes": acked_bytes} | others) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in real time whose manifest has the state `running`, with one trial done."""
    path = synthetic_run.start(tmp_path, "lfp-syndrome", "lfp-1995/fig3", "The syndrome", "abc123")
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(manifest | {"plan": 4, "verdict": None}))
    synthetic_run.write_trial(path, synthetic_run.make_params(0, 0, "modern", 65536), 40e6)
    return path


def test_the_runner_tells_what_it_does_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    FakeTrials(monkeypatch, tmp_path)
    seen: list[UnderWay | None] = []
    fake = trial.run_trial

    def watched(*given: Any) -> dict[str, Any]:
        content = json.loads((given[2] / "progress.json").read_text())
        seen.append(under_way(given[2], content["written_realtime_ns"] + 10**6))
        return fake(*given)

    monkeypatch.setattr(trial, "run_trial", watched)
    run_dir = runner.start(make_plan(Document("tiny.toml", tomllib.loads(TINY))), tmp_path / "runs")
    assert under_way(run_dir, 0) is None
    runner.resume(run_dir)
    known = [one for one in seen if one]
    assert [one.done for one in known] == [0, 1, 2, 3] and {one.planned for one in known} == {4}
    assert sorted(one.trials[0].say for one in known) == sorted(f"transfer.window {n}KB" for n in (8, 16, 32, 64))
    assert all(one.left_s and one.trials[0].left_s <= one.left_s for one in known)
    assert under_way(run_dir, 0) is None and not (run_dir / "progress.json").exists()


def test_a_run_whose_runner_was_killed_says_how_to_go_on(run: Path) -> None:
    (run / "progress.json").write_text("{}")
    said = list(texts_of_page(page_at(Runs(run.parent), f"/run/{run.name}")))
    assert any(f"lfp run --resume {run.name}" in text for text in said)


def test_the_page_says_how_far_the_run_is_and_links_to_trials_that_are_done(run: Path) -> None:
    told = ProgressFile(run, 4)
    told.write(1, 200.0, [{"trial": 2, "say": "transfer.window 128KB", "left_s": 50.0}])
    (run / "trials" / ".0002.tmp").mkdir()
    (run / "trials" / ".0002.tmp" / LIVE).write_text(line(5, 0) + line(5.25, 1_250_000, retransmits=3))
    page = page_at(Runs(run.parent), f"/run/{run.name}")
    said = list(texts_of_page(page))
    told.close()
    assert "1 of 4 trials is done: 1 valid. 1 trial runs now. About 3 min 20 s left." in said
    assert {"40 Mbit/s", "14.14 KB", "20 ms", "transfer.window 128KB"} <= set(said)
    assert f"/run/{run.name}/trial/0" in str(page)


def test_in_virtual_time_a_trial_has_a_clock(run: Path) -> None:
    told = ProgressFile(run, 4)
    told.write(1, 90.0, [{"trial": 3, "say": "repeat 1", "left_s": 50.0, "clock_s": 12.0, "of_s": 40.0, "speed": 0.31}])
    now = under_way(run, json.loads((run / "progress.json").read_text())["written_realtime_ns"] + LATER_NS)
    told.close()
    assert now and now.left_s == 88.0
    table = running_table(now, {})
    assert table.head == ("Trial", "Settings", "Clock", "Speed", "Time left")
    assert table.rows == (("3", "repeat 1", "12 of 40 s", "0.31 virtual s/s", "48 s"),)
    assert state_line(load_run(run), now).endswith("About 88 s left.")


def test_a_page_is_made_anew_when_a_trial_has_ended(run: Path) -> None:
    before = run_under_way.seen(load_run(run))
    synthetic_run.write_trial(run, synthetic_run.make_params(1, 0, "modern", 65536), 40e6)
    after = run_under_way.seen(load_run(run))
    assert before != after
    synthetic_run.finish(run, [])
    assert run_under_way.seen(load_run(run)) != after and run_under_way.part(load_run(run)) == []


def test_a_table_that_was_damaged_meanwhile_is_said_on_the_page(run: Path) -> None:
    """If the page's update failed with status 500, the page would keep figures of a table that no longer exists."""
    client = make_app(run.parent).server.test_client()
    (run / "results.parquet").write_bytes(b"PAR1, and no more")
    look = next(one for one in client.get("/_dash-dependencies").json if "under-way-plot.hidden" in one["output"])
    values = {"under-way-clock.n_intervals": 3, "url.pathname": f"/run/{run.name}", "url.search": ""}
    names = [name.split(".") for name in look["output"].strip(".").split("...")]
    outputs = [dict(zip(("id", "property"), name, strict=True)) for name in names]
    asked = {"output": look["output"], "outputs": outputs, "changedPropIds": ["under-way-clock.n_intervals"]}
    for part in ("inputs", "state"):
        asked[part] = [one | {"value": values.get(f"{one['id']}.{one['property']}")} for one in look[part]]
    answered = client.post("/_dash-update-component", json=asked)
    assert answered.status_code == 200 and "not readable" in answered.get_data(as_text=True)


def test_samples_are_read_on_and_stay_when_the_transfer_has_ended(run: Path) -> None:
    growing, folder = Growing(), run / "trials" / ".0001.tmp"
    assert growing.look(run, 1) == []
    folder.mkdir()
    file = folder / LIVE
    file.write_text(line(1, 1000) + line(2, 2000)[:-9])
    assert [one.t_s.tolist() for one in growing.look(run, 1)] == [[0.0]]
    file.write_text(line(1, 1000) + line(2, 2000) + "not JSON\n" + line(2, 9000, local="10.77.0.1:40002"))
    second, first = growing.look(run, 1)
    assert first.t_s.tolist() == [0.0, 1.0] and first.goodput_bps().tolist()[1:] == [8000.0]
    assert second.name == "10.77.0.1:40002 → 10.77.2.2:5020" and second.t_s.tolist() == [1.0]
    file.unlink()
    assert len(growing.look(run, 1)) == 2
    file.write_text(line(9, 500))
    assert [one.figures["acked_bytes"].tolist() for one in growing.look(run, 1)] == [[500.0]]


def test_the_goodput_now_is_of_the_connections_that_still_run(run: Path) -> None:
    """The last rate of an ended connection was once added, so a competitor that had ended still seemed to send."""
    (run / "trials" / ".0001.tmp").mkdir()
    rival = [line(t, 8_000_000 * t, local="10.77.0.1:40002") for t in (1, 2)]
    main = [line(t, 1_000_000 * t, cwnd_bytes=t << 10) for t in (1, 2, 3)]
    (run / "trials" / ".0001.tmp" / LIVE).write_text("".join([*rival, *main]))
    now = UnderWay(2, 0, None, (TrialUnderWay(1, "", 1.0, None, None, None),))
    (row,) = running_table(now, {1: Growing().look(run, 1)}).rows
    assert row[2:4] == ("8 Mbit/s", "3 KB"), "of the one that runs, though the other one has more data"


def test_a_long_trial_is_kept_whole_and_coarser(run: Path) -> None:
    (run / "trials" / ".0001.tmp").mkdir()
    (run / "trials" / ".0001.tmp" / LIVE).write_text("".join(line(n / 4, n) for n in range(MOST_SAMPLES + 100)))
    (one,) = Growing().look(run, 1)
    assert one.t_s.size < MOST_SAMPLES and one.t_s[0] == 0 and one.t_s[-1] == (MOST_SAMPLES + 99) / 4
    assert all(len(trace["x"]) <= 600 for trace in growing_figure([one])["data"])


def test_the_growing_timeline_has_a_panel_for_each_figure_and_marks_what_was_sent_again(run: Path) -> None:
    (run / "trials" / ".0001.tmp").mkdir()
    lines = [line(1, 0, sent_bytes=2048), line(2, 1 << 20, sent_bytes=2 << 20), line(3, 2 << 20, retransmits=7)]
    (run / "trials" / ".0001.tmp" / LIVE).write_text("".join(lines))
    figure = growing_figure(Growing().look(run, 1))
    titles = [figure["layout"][name]["title"]["text"] for name in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert titles == ["Sequence (MB)", "Goodput (Mbit/s)", "Unacked, cwnd (MB)", "RTT (ms)"]
    (marks,) = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    assert list(marks["x"]) == [2.0] and marks["customdata"] == ["7"]
    assert growing_figure([])["data"] == []


def test_the_kernel_tells_of_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, sock_diag.asking() as asked:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(server.getsockname()) as sender, server.accept()[0] as receiver:
            sender.sendall(bytes(40_000))
            receiver.recv(40_000, socket.MSG_WAITALL)
            own = f"127.0.0.1:{sender.getsockname()[1]}"
            (row,) = [row for row in connections.rows(asked, socket.AF_INET) if row["local"] == own]
    assert row["remote"] == there
    assert row["sent_bytes"] == 40_000 and 0 < row["acked_bytes"] <= 40_001  # the SYN counts
    assert row["cwnd_bytes"] > 0 and row["rtt_ns"] > 0
