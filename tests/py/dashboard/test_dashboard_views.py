"""What the server answers to the timeline's own requests: views, hover texts, events; and what it refuses."""

from __future__ import annotations

import json
import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flask.testing import FlaskClient
from support import synthetic_run

from dashboard.core.runs import load_run
from dashboard.server.app import Runs, make_app, page_at, page_or_problem
from dashboard.timeline import prepare, timeline
from dashboard.timeline.flow import KINDS
from dashboard.timeline.messages import ENGLISH
from dashboard.timeline.store import KEPT
from dashboard.timeline.views import Asked, asked
from dashboard.trial.tables import limit_table
from scenarios.plan.causes import ALL_LIMITS


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_run.seqack(tmp_path_factory.mktemp("runs"), segments=6_000, cycle_segments=600)


@pytest.fixture(scope="module")
def client(run_path: Path) -> FlaskClient:
    found: FlaskClient = make_app(run_path.parent).server.test_client()
    return found


@pytest.fixture(scope="module")
def loaded(run_path: Path) -> timeline.Timeline:
    run = load_run(run_path)
    return timeline.load(run, run.trial(0))


def answer(client: FlaskClient, run: Path, word: str, query: str = "") -> Any:
    found = client.get(f"/run/{run.name}/trial/0/{word}?{query}")
    assert found.status_code == 200, found.text
    return found.get_json()


def test_the_first_view_is_drawn_and_its_hover_texts_come_after_it(client: FlaskClient, run_path: Path) -> None:
    view, hover = answer(client, run_path, "view"), answer(client, run_path, "hover")
    waiting = {
        row: trace["customdata"]["later"]
        for row, trace in enumerate(view["data"])
        if isinstance(trace.get("customdata"), dict)
    }
    assert waiting and {row: len(texts) for row, texts in enumerate(hover) if texts is not None} == waiting
    sent = next(row for row, trace in enumerate(view["data"]) if trace["name"] == "sender: new data sent")
    assert hover[sent][0][0] == "new data" and hover[sent][0][5].startswith(("arrived ", "LOST"))


def test_a_view_is_what_its_address_says(client: FlaskClient, run_path: Path, loaded: timeline.Timeline) -> None:
    view = answer(client, run_path, "view", "from=1.25&to=1.5&bin=0.01")
    assert view["layout"]["xaxis"]["range"] == [1.25, 1.5]
    assert any("10 ms bins" in trace["name"] for trace in view["data"])
    assert asked(loaded, 0, {"visit": "2"}).visit == 2
    assert asked(loaded, 0, {"visit": "999"}).visit == len(loaded.visits) - 1
    assert asked(loaded, 0, {"visit": "whole"}) == Asked(0, 0, loaded.duration_ns)


@pytest.mark.parametrize("query", ["from=-1e300&to=1e300", "from=5&to=1", "from=1e9&to=2e9", "from=0&to=0"])
def test_ranges_beyond_the_transfer_are_limited(client: FlaskClient, run_path: Path, query: str) -> None:
    start, end = answer(client, run_path, "view", query)["layout"]["xaxis"]["range"]
    assert start < end and end - start < 1000


@pytest.mark.parametrize("query", ["from=nan&to=1", "to=inf&from=1", "from=a&to=1", "visit=x", "flow=77", "bin=../.."])
def test_what_says_nothing_is_refused_in_one_line(client: FlaskClient, run_path: Path, query: str) -> None:
    found = client.get(f"/run/{run_path.name}/trial/0/view?{query}")
    assert found.status_code == 404
    assert query.partition("=")[0] in found.get_json()["error"] and "\n" not in found.get_json()["error"]


@pytest.mark.parametrize("path", ["/run/no-such/trial/0/view", "/run/../trial/0/view", "/run/%2e%2e/trial/0/view",
                                  "/run/..%2f..%2fetc/trial/0/view", "/run/{run}/trial/99/view"])  # fmt: skip
def test_names_that_are_no_runs_never_become_paths(client: FlaskClient, run_path: Path, path: str) -> None:
    found = client.get(path.format(run=run_path.name))
    assert found.status_code in (200, 404)
    assert b"bdata" not in found.data  # any other address leads to the page that says so


def test_events_in_view_are_all_that_the_tables_have(
    client: FlaskClient, run_path: Path, loaded: timeline.Timeline
) -> None:
    """Stops, events, losses and retransmissions of random ranges, page by page, against the columns."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(5):
        width = int(loaded.duration_ns * 10 ** rng.uniform(-2, 0))
        t0 = rng.randrange(loaded.duration_ns)
        t1 = t0 + width
        query, rows, page = f"from={t0 / 1e9:.9f}&to={t1 / 1e9:.9f}", [], 0
        while True:
            found = answer(client, run_path, "events", f"{query}&page={page}")
            rows += found["rows"]
            page += 1
            if page >= found["pages"]:
                break
        seen = (loaded.sent_ns >= t0) & (loaded.sent_ns <= t1)
        resent = sum(row[1] in {ENGLISH(f"kind.{name}") for name in KINDS[1:]} for row in rows)
        lost = sum(row[1] == "segment lost" for row in rows)
        assert resent == ((loaded.kind != 0) & seen).sum(), f"seed {seed}"
        assert lost == ((loaded.received_ns < 0) & seen).sum(), f"seed {seed}"
        assert found["total"] == len(rows), f"seed {seed}"


def test_next_and_previous_event_walk_through_all_of_them(loaded: timeline.Timeline) -> None:
    times = np.unique(loaded.happened.t_ns)[:40]
    view, seen = {"from": "-0.5", "to": "-0.1"}, []
    for _ in range(20):
        found = asked(loaded, 0, view | {"event": "next"})
        seen.append((found.t0_ns + found.t1_ns) // 2)
        view = {"from": f"{found.t0_ns / 1e9:.9f}", "to": f"{found.t1_ns / 1e9:.9f}"}
    far = times[np.append(True, np.diff(times) > 2)]
    assert seen == far[:20].tolist()
    back = asked(loaded, 0, view | {"event": "previous"})
    assert (back.t0_ns + back.t1_ns) // 2 == seen[-2]
    assert "no earlier event" in asked(loaded, 0, {"from": "-2", "to": "-1", "event": "previous"}).said


def test_from_files_on_disk_a_timeline_is_the_same(
    run_path: Path, loaded: timeline.Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_run(run_path)
    trial = run.trial(0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prepare.prepare(trial, (trial.flows or [0])[0])
    monkeypatch.setattr(timeline, "STORED_FROM", 0)
    stored = timeline._load.__wrapped__(run_path, 0, False, (trial.flows or [0])[0], 0)
    assert stored.store is not None and isinstance(stored.sent_ns.base, np.memmap)
    for name in (*timeline.BASE, *KEPT):
        if name in prepare.OF_BOX + prepare.OF_GATEWAYS:
            continue
        for one, other in zip(_arrays(getattr(stored, name)), _arrays(getattr(loaded, name)), strict=True):
            assert np.array_equal(one, other), name
    assert stored.visits == loaded.visits and stored.duration_ns == loaded.duration_ns


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [value.t_ns, value.value, *value.levels.parts] if hasattr(value, "levels") else [value]


def test_what_limited_the_transfer_is_a_band_a_list_and_causes_of_losses(tmp_path: Path) -> None:
    """The trial gets the tables of today's pktlogger, with 2,000 spans; in a wide view, each place of the band shows
    the cause with the most time."""
    path = synthetic_run.seqack(tmp_path, segments=6_000, cycle_segments=600)
    folder, run = path / "trials" / "0000", load_run(path)
    old = timeline.load(run, run.trial(0))
    edges = old.origin_ns + np.linspace(0, old.duration_ns, 2001).astype(np.int64)
    flow, cause = np.full(2000, run.trial(0).flows[0], np.uint32), np.where(np.arange(2000) % 4 == 0, 0, 7)
    pq.write_table(
        pa.table({"flow": flow, "t0_ns": edges[:-1], "t1_ns": edges[1:], "cause": cause.astype(np.uint8)}),
        folder / "limits.parquet",
    )
    lost = old.lost_rows
    pq.write_table(pa.table({
        "flow": flow[: lost.size], "t_sent_ns": old.sent_ns[lost] + old.origin_ns, "seq": old.seq[lost],
        "cause": np.zeros(lost.size, np.uint8), "run": np.full(lost.size, 23), "queue_ns": np.full(lost.size, 10**7),
    }), folder / "losses.parquet")  # fmt: skip
    summary = json.loads((folder / "summary.json").read_text())
    names = {"limit_causes": list(ALL_LIMITS), "loss_causes": ["tail_drop"]}
    said = "The transfer went at 8 Mbit/s, limited for 75 % of the time by the path's rate, which was in full use."
    of_flow = next(flow for flow in summary["flows"] if flow["flow"] == run.trial(0).flows[0])
    of_flow["verdict"] = {"text": said}
    (folder / "summary.json").write_text(json.dumps(summary | names))
    os.utime(folder / "segments.parquet", ns=(1, 1))
    loaded = timeline.load(run, run.trial(0))
    assert loaded.limits is not None
    shares = {row[0]: row[3] for row in limit_table(loaded)}
    assert shares == {"path_rate": "75 %", "slow_start": "25 %"}
    t0, t1, most, gathered = loaded.limits.band(0, loaded.duration_ns, 500)
    assert gathered and most.tolist() == [7] and (int(t0[0]), int(t1[0])) == (0, loaded.duration_ns)
    _, _, each, gathered = loaded.limits.band(0, loaded.duration_ns // 100, 500)
    assert not gathered and each.tolist() == cause[:20].tolist()
    client = make_app(tmp_path).server.test_client()
    drawn = answer(client, path, "view", f"from=0&to={loaded.duration_ns / 1e11}")
    bands = [trace["name"] for trace in drawn["data"] if trace["yaxis"] == "y2"]
    assert bands == ["limited by slow start", "limited by the path's rate, which was in full use"]
    listed = answer(client, path, "events", "visit=whole")["rows"]
    assert next(row[2:] for row in listed if row[1] == "segment lost") == [
        "a full queue",
        f"seq {int(old.seq[lost[0]]):,}, 23 lost in a row, queueing delay 10 ms",
    ]
    page = str(page_at(Runs(tmp_path), f"/run/{path.name}/trial/0"))
    assert "What limited the transfer" in page and said in page, "the page says what analyse and legs say"


def test_a_run_that_is_deleted_or_damaged_while_it_is_looked_at_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path, segments=1_200)
    client = make_app(tmp_path).server.test_client()
    answer(client, path, "view")
    (path / "trials" / "0000" / "segments.parquet").write_bytes(b"PAR1 damaged")
    found = client.get(f"/run/{path.name}/trial/0/view?from=0&to=1")
    assert found.status_code == 500 and "not readable" in found.get_json()["error"]
    assert "not readable" in str(page_or_problem(Runs(tmp_path), f"/run/{path.name}/trial/0", ""))
    shutil.rmtree(path)
    found = client.get(f"/run/{path.name}/trial/0/view?from=0&to=1")
    assert found.status_code == 404 and found.get_json()["error"].startswith(f"no run named {path.name}")
    assert "no run named" in str(page_or_problem(Runs(tmp_path), f"/run/{path.name}/trial/0", ""))


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_fifty_clients_zoom_at_once_and_the_memory_comes_back(client: FlaskClient, run_path: Path) -> None:
    """Each client gets its own range, and the server frees the memory of the answers."""
    answer(client, run_path, "view", "visit=whole")
    before = resident()
    starts = [number / 10 for number in range(50)]

    def zoom(start: float) -> list[float]:
        own = client.application.test_client()
        found = own.get(f"/run/{run_path.name}/trial/0/view?from={start}&to={start + 0.3}")
        return list(found.get_json()["layout"]["xaxis"]["range"])

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(zoom, starts)) == [[start, pytest.approx(start + 0.3)] for start in starts]
    assert resident() - before < 150_000_000


def test_exports_have_what_is_in_view(client: FlaskClient, run_path: Path, loaded: timeline.Timeline) -> None:
    seen = (loaded.sent_ns >= 0) & (loaded.sent_ns <= 2 * 10**9)
    table = client.get(f"/run/{run_path.name}/trial/0/segments.csv?from=0&to=2").text.splitlines()
    assert table[0].startswith('"t_sent_ns","t_received_ns","seq"') and len(table) == 1 + seen.sum()
    assert sum(line.endswith("true") for line in table) == (seen & (loaded.received_ns < 0)).sum()


def test_marks_and_reductions_for_them_are_drawn_and_counted(tmp_path: Path) -> None:
    """Three segments arrive with CE, and the sender reduces its window once."""
    path = synthetic_run.seqack(tmp_path, segments=1_200)
    folder, run = path / "trials" / "0000", load_run(path)
    table, events = pq.read_table(folder / "segments.parquet"), pq.read_table(folder / "events.parquet")
    came = np.flatnonzero(table["t_received_ns"].to_numpy() >= 0)
    came = came[table["flow"].to_numpy()[came] == run.trial(0).flows[0]]
    ecn = np.full(table.num_rows, 2, np.uint8)
    ecn[came[:3]] = 3
    pq.write_table(table.append_column("ecn_received", pa.array(ecn)), folder / "segments.parquet")
    summary = json.loads((folder / "summary.json").read_text())
    summary["event_kinds"].append("ecn_reduction")
    reduced = events["kind"].to_numpy().copy()
    reduced[0] = len(summary["event_kinds"]) - 1
    place = events.column_names.index("kind")
    pq.write_table(events.set_column(place, "kind", pa.array(reduced)), folder / "events.parquet")
    for flow in summary["flows"]:
        flow |= {"ce_received": 3, "ece_received": 4, "ecn_reductions": 1}
    (folder / "summary.json").write_text(json.dumps(summary))
    shown = answer(make_app(tmp_path).server.test_client(), path, "view", "from=0&to=1000")["data"]
    names = [trace["name"] for trace in shown]
    assert "window reduced for ECN marks (1)" in names, names
    assert "marked CE (3)" in names
    page = str(page_at(Runs(tmp_path), f"/run/{path.name}/trial/0"))
    assert "4 ACKs with ECE, window reduced once" in page
