"""The data that a trial's receivers sent has its own timeline, with and without gateways, and the page offers both."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from support import synthetic_gateway, synthetic_run
from support.page_texts import texts_of_page
from support.synthetic_gateway import LINK_NS, PASSAGE_NS

from dashboard.core.runs import Run, load_run
from dashboard.server.app import Runs, make_app, page_or_problem
from dashboard.server.document import RUN_ADDRESS
from dashboard.timeline import prepare, timeline
from netcommon.errors import LfpError

RESPONSES = {"request_bytes": 100, "response_bytes": 900, "rate_bps": 10**7, "ba_rate_bps": 2 * 10**7}


def exchanging(run: Path) -> Path:
    """Makes the run one of requests and responses: the responses' tables are copies of the other direction's."""
    trial = run / "trials" / "0000"
    back = trial / "reverse"
    for folder in (trial, trial / "server") if (trial / "server").exists() else (trial,):
        target = back / folder.relative_to(trial)
        target.mkdir(parents=True)
        for file in ("segments", "acks", "events", "round_trips"):
            shutil.copy(folder / f"{file}.parquet", target)
        summary = json.loads((folder / "summary.json").read_text())
        for flow in summary["flows"]:
            flow["sender"], flow["receiver"] = flow["receiver"], flow["sender"]
        (target / "summary.json").write_text(json.dumps(summary))
    params = json.loads((trial / "params.json").read_text())
    (trial / "params.json").write_text(json.dumps(params | RESPONSES))
    return run


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(exchanging(synthetic_run.seqack(tmp_path_factory.mktemp("plain"))))


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(exchanging(synthetic_gateway.gateway(tmp_path_factory.mktemp("gateways"))))


def client(run: Run) -> FlaskClient:
    found: FlaskClient = make_app(run.path.parent).server.test_client()
    return found


def drawn(run: Run, path: str = "") -> set[str]:
    """The names of all traces in the first view of a direction."""
    found = client(run).get(f"/run/{run.name}/trial/0{path}/view?visit=whole")
    assert found.status_code == 200, found.text
    return {trace["name"] for trace in found.get_json()["data"]}


def links(part: Any) -> list[tuple[str, str]]:
    """The texts and addresses of all links of a page."""
    children = getattr(part, "children", None)
    own = [(str(children), part.href)] if getattr(part, "href", None) and isinstance(children, str) else []
    parts = children if isinstance(children, list | tuple) else [children] if children is not None else []
    return own + [link for child in parts for link in links(child)]


@pytest.mark.parametrize("which", ["plain", "gateways"])
def test_the_page_leads_to_the_other_direction_and_back(which: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(which)
    address, runs = f"/run/{run.name}/trial/0", Runs(run.path.parent)
    pages = [page_or_problem(runs, path, "") for path in (address, f"{address}/reverse")]
    assert ("responses, receiver to sender", f"{address}/reverse") in links(pages[0])
    assert ("requests, sender to receiver", address) in links(pages[1])
    for page, shown in zip(pages, ("requests, sender to receiver", "responses, receiver to sender"), strict=True):
        assert shown in " ".join(texts_of_page(page)) and shown not in dict(links(page))
    ends = " ".join(texts_of_page(pages[1]))
    assert "congestion window" not in ends or "no samples of TCP_INFO" in ends
    assert RUN_ADDRESS.match(f"{address}/reverse")
    assert f'"{address}/reverse"' in client(run).get(f"{address}/reverse").text, "the first view comes with the page"


def test_behind_gateways_responses_begin_at_the_server(gateways: Run) -> None:
    names = drawn(gateways, "/reverse")
    places = {"server: new data sent", "far gateway: data arrived", "near gateway: new data sent"}
    assert places | {"client: data arrived"} <= names and "RTT to the far gateway" in names
    assert {"server sent", "client received, new data"} <= {name.partition(" (")[0] for name in names}
    assert "client: new data sent" in drawn(gateways) and "RTT to the near gateway" in drawn(gateways)
    loaded = timeline.load(gateways, gateways.trial(0).turned())
    assert loaded.server is not None and set(loaded.through_gateways.value.tolist()) == {PASSAGE_NS}
    assert set(loaded.rtt.value.tolist()) == {2 * LINK_NS}
    assert loaded.tunnel is not None, "the frames between the gateways are of both directions"


def test_the_paths_rate_is_that_of_the_direction(plain: Run) -> None:
    forth, back = plain.trial(0), plain.trial(0).turned()
    assert [timeline.load(plain, one).params["rate_bps"] for one in (forth, back)] == [10**7, 2 * 10**7]
    assert "line rate (20 Mbit/s)" in drawn(plain, "/reverse") and "line rate (10 Mbit/s)" in drawn(plain)
    ends = back.flow_summary(back.flows[0])["sender"]
    assert ends == forth.flow_summary(forth.flows[0])["receiver"]
    assert not timeline.load(plain, back).cwnd.t_ns.size


@pytest.mark.parametrize("sampled", [True, False])
def test_the_window_of_who_sends_back_is_drawn_where_it_was_sampled(tmp_path: Path, sampled: bool) -> None:
    """The receiver's samples are under reverse/. Without them a sentence says that they are missing."""
    run = load_run(exchanging(synthetic_run.seqack(tmp_path)))
    trial, back = run.path / "trials" / "0000", run.trial(0).turned()
    ends = back.flow_summary(back.flows[0])
    local, remote = ("{address}:{port}".format_map(ends[side]) for side in ("sender", "receiver"))
    transfer = json.loads((trial / "transfer.json").read_text())
    transfer["receiver"] = {"streams": [{"stream": 0, "local": local, "remote": remote}]}
    (trial / "transfer.json").write_text(json.dumps(transfer))
    if sampled:
        shutil.copy(trial / "tcp_info.parquet", trial / "reverse")
    run = load_run(run.path)
    forth, found = (timeline.load(run, one) for one in (run.trial(0), run.trial(0).turned()))
    assert forth.cwnd.t_ns.size > 0
    assert found.cwnd.t_ns.size == (forth.cwnd.t_ns.size if sampled else 0)
    assert any("no samples of TCP_INFO" in note for note in found.notes) != sampled


def test_every_answer_of_a_timeline_exists_for_both(plain: Run) -> None:
    for word in ("view", "hover", "events", "segments.csv"):
        forth, back = (client(plain).get(f"/run/{plain.name}/trial/0{way}/{word}") for way in ("", "/reverse"))
        assert forth.status_code == back.status_code == 200, word


def test_a_direction_that_is_not_there_is_said_in_a_line(tmp_path: Path) -> None:
    run = load_run(synthetic_run.seqack(tmp_path))
    with pytest.raises(LfpError, match="trial 0 has no tables of what its receivers sent"):
        run.trial(0).turned()
    page = page_or_problem(Runs(tmp_path), f"/run/{run.name}/trial/0/reverse", "")
    assert "no tables of what its receivers sent" in " ".join(texts_of_page(page))
    assert client(run).get(f"/run/{run.name}/trial/0/reverse/view").status_code == 404
    page = page_or_problem(Runs(tmp_path), f"/run/{run.name}/trial/0", "")
    assert not any("reverse" in address for _, address in links(page))


def test_a_long_trial_keeps_both_apart(plain: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    trial = plain.trial(0)
    for one in (trial, trial.turned()):
        prepare.prepare(one, one.flows[0])
        own, _ = timeline.stores_of(one, one.flows[0])
        assert own.done and np.array_equal(own.array("trip_rtt_ns"), timeline.load(plain, one).trip_rtt_ns)
    folders = {timeline.stores_of(one, one.flows[0])[0].folder for one in (trial, trial.turned())}
    assert len(folders) == 2
