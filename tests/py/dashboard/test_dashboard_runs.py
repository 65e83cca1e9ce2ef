"""The page of all runs: what it lists, which two runs it compares, and what it deletes for whom."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dash_ag_grid import AgGrid
from flask.testing import FlaskClient
from plotly.io.json import to_json_plotly
from support import synthetic_run
from support.page_texts import texts_of_page
from support.pressed import outputs

from dashboard.cli import tag
from dashboard.core import tags
from dashboard.core.delete import delete_run
from dashboard.core.runs import list_runs
from dashboard.run import page as run_page
from dashboard.runs.rows import run_rows
from dashboard.server.app import Runs, make_app, page_at
from dashboard.server.auth import refuse_other_sites
from netcommon.errors import LfpError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small runs: two of the same settings, one of others."""
    parent = tmp_path_factory.mktemp("made")
    synthetic_run.losses(parent).rename(parent / "comet-fig12-again")
    synthetic_run.losses(parent)
    synthetic_run.matrix(parent)
    return parent


@pytest.fixture
def runs_dir(made: Path, tmp_path: Path) -> Path:
    """The runs for one test, which may delete them: their files are links."""
    shutil.copytree(made, tmp_path / "runs", copy_function=os.link)
    return tmp_path / "runs"


def test_the_list_has_what_a_reader_searches_for(runs_dir: Path) -> None:
    rows = run_rows(list_runs(runs_dir))
    assert len(rows) == 3 and {row["state"] for row in rows} == {"done"}
    row = next(row for row in rows if row["id"].startswith("comet-fig1-"))
    assert (row["verdict"], row["trials"], row["time"], row["seed"]) == ("not valid", "36 of 36", "real", "1")
    assert row["result"].startswith("Short-term throughput ") and " to " in row["result"]
    assert synthetic_run.INVALID_REASON in row["why"]
    assert all(
        word in row["words"]
        for word in ("plain tcp", "comet-fig1-2025", "not valid", "synthetic data", "comet-2004/fig1")
    )
    (table,) = [part for part in page_at(Runs(runs_dir), "/").children if isinstance(part, AgGrid)]
    shown = [one["field"] for one in table.columnDefs if not one.get("hide")]
    assert shown == ["run", "result", "verdict", "started", "time", "seed", "build", "trials", "tags"]


def test_a_title_is_text_and_no_markdown(runs_dir: Path) -> None:
    path = next(runs_dir.glob("comet-fig1-*")) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["scenario"]["scenario"]["title"] = "[x](javascript:alert(1)) <b>"
    path.unlink()
    path.write_text(json.dumps(manifest))
    said = [row["run"] for row in run_rows(list_runs(runs_dir))]
    assert any(text.startswith("[\\[x\\]\\(javascript:alert\\(1\\)\\) \\<b\\>](/run/comet-fig1-") for text in said)


def test_two_runs_are_compared_as_lfp_compare_does(runs_dir: Path) -> None:
    first, again = sorted(path.name for path in runs_dir.glob("comet-fig12-*"))
    said = list(texts_of_page(page_at(Runs(runs_dir), f"/compare/{first}/{again}")))
    assert "Undecided at some settings." in said and "Short-term throughput by path.loss" in said
    assert any("same, 0 better, 0 worse, " in text for text in said)
    assert any(text.startswith("Margin 5 %: a cell is the same if the whole 95 % interval") for text in said)
    assert any(text.startswith("Undecided, too few repeats: ") for text in said)
    said = list(texts_of_page(page_at(Runs(runs_dir), f"/compare/{first}/{again}", "?value=elapsed_ns")))
    assert any(text.startswith("elapsed_ns: ") for text in said) and any("Less is better" in text for text in said)
    other = next(runs_dir.glob("comet-fig1-*")).name
    assert any(
        text.startswith("Not compared: ")
        for text in texts_of_page(page_at(Runs(runs_dir), f"/compare/{first}/{other}"))
    )


def test_settings_that_may_differ_are_offered_and_stand_in_the_address(runs_dir: Path) -> None:
    first = sorted(path.name for path in runs_dir.glob("comet-fig12-*"))[0]
    other = next(runs_dir.glob("comet-fig1-*")).name
    page = page_at(Runs(runs_dir), f"/compare/{first}/{other}")
    offered = [one["value"] for one in found_in(page, "compare-across").options]
    assert offered and found_in(page, "compare-across").value == []
    wanted = offered[0]
    page = page_at(Runs(runs_dir), f"/compare/{first}/{other}", f"?across={wanted}")
    assert found_in(page, "compare-across").value == [wanted]


def found_in(page: Any, name: str) -> Any:
    """The component of a page that has this id."""
    return next(part for part in page._traverse() if getattr(part, "id", None) == name)


def test_only_runs_can_be_deleted_and_a_link_stays_a_link(runs_dir: Path, tmp_path: Path) -> None:
    (runs_dir / "notes").mkdir()
    (runs_dir / "notes" / "kept.txt").write_text("mine")
    name = next(runs_dir.glob("comet-fig1-*")).name
    for wrong in ("notes", "..", f"../runs/{name}", "", "nothing"):
        with pytest.raises(LfpError, match="no run named"):
            delete_run(runs_dir, wrong)
    elsewhere = tmp_path / "elsewhere"
    (runs_dir / name).rename(elsewhere)
    (runs_dir / name).symlink_to(elsewhere)
    delete_run(runs_dir, name)
    assert not (runs_dir / name).exists() and (elsewhere / "manifest.json").is_file()
    again = next(runs_dir.glob("*-again")).name
    delete_run(runs_dir, again)
    (kept,) = {path.name for path in runs_dir.iterdir()} - {"notes"}
    assert kept.startswith("comet-fig12-2025") and (runs_dir / "notes" / "kept.txt").read_text() == "mine"


def asked_to_delete(client: FlaskClient, name: str, **headers: str) -> Any:
    """What the browser posts after the user has answered the question."""
    outputs = [("runs-table", "rowData"), ("runs-table", "selectedRows"), ("delete-result", "children")]
    body = {
        "output": f"..{'...'.join('.'.join(one) for one in outputs)}..",
        "outputs": [{"id": name, "property": prop} for name, prop in outputs],
        "inputs": [{"id": "delete-sure", "property": "submit_n_clicks", "value": 1}],
        "state": [{"id": "runs-table", "property": "selectedRows", "value": [{"id": name}]}],
        "changedPropIds": ["delete-sure.submit_n_clicks"],
    }
    return client.post("/_dash-update-component", json=body, headers=headers)


def client_of(runs_dir: Path, *, read_only: bool = False) -> FlaskClient:
    server = make_app(runs_dir, read_only=read_only).server
    refuse_other_sites(server, "127.0.0.1")
    client: FlaskClient = server.test_client()
    client.get("/_dash-dependencies")
    return client


def test_a_page_of_another_site_deletes_nothing(runs_dir: Path) -> None:
    client, name = client_of(runs_dir), next(runs_dir.glob("*-again")).name
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example:8050", "Origin": "http://evil.example:8050"},
    ):
        assert asked_to_delete(client, name, **headers).status_code == 403, headers
        assert (runs_dir / name / "manifest.json").is_file()
    answer = asked_to_delete(client, name, Origin="http://localhost")
    assert answer.status_code == 200 and "1 run deleted." in answer.text and name not in answer.text
    assert not (runs_dir / name).exists()


def test_read_only_hides_the_button_and_refuses_the_request(runs_dir: Path) -> None:
    name = next(runs_dir.glob("*-again")).name
    answer = asked_to_delete(client_of(runs_dir, read_only=True), name, Origin="http://localhost")
    assert "read-only" in answer.text and (runs_dir / name / "manifest.json").is_file()
    for read_only in (True, False):
        bar = page_at(Runs(runs_dir, read_only), "/").children[1]
        (button,) = [part for part in bar.children if getattr(part, "id", "") == "delete"]
        assert button.hidden is read_only


def test_tags_are_kept_searched_and_removed(runs_dir: Path) -> None:
    name = next(runs_dir.glob("*-again")).name
    said = CliRunner().invoke(tag, [name, "thesis", "réseau/2", "--runs-dir", str(runs_dir)])
    assert said.output == "réseau/2 thesis\n"
    (row,) = [row for row in run_rows(list_runs(runs_dir)) if row["tags"]]
    assert row["id"] == name and row["tags"] == "réseau/2 thesis" and "thesis" in row["words"]
    assert CliRunner().invoke(tag, [name, "thesis", "--remove", "--runs-dir", str(runs_dir)]).output == "réseau/2\n"
    assert CliRunner().invoke(tag, [name, "--remove", "--runs-dir", str(runs_dir)]).output == "\n"
    for wrong in ("", "two words", "<b>", "x" * 41):
        with pytest.raises(LfpError, match="want 1 to 40"):
            tags.change(runs_dir / name, add=[wrong])
    (runs_dir / name / "tags.json").write_text('{"tags": [1]}')
    assert tags.read(runs_dir / name) == ()


def asked_to_tag(runs_dir: Path, name: str, *, read_only: bool = False, **headers: str) -> Any:
    client = client_of(runs_dir, read_only=read_only)
    known = json.loads(client.get("/_dash-dependencies").text)
    output = next(one["output"] for one in known if "tag-said" in one["output"])
    body = {
        "output": output,
        "outputs": outputs(output),
        "changedPropIds": ["tag-add.n_clicks"],
        "inputs": [
            {"id": one, "property": "n_clicks", "value": 1 if one == "tag-add" else None}
            for one in ("tag-add", "tag-remove")
        ],
        "state": [
            {"id": "tag-words", "property": "value", "value": "fast, good"},
            {"id": "runs-table", "property": "selectedRows", "value": [{"id": name}]},
        ],
    }
    return client.post("/_dash-update-component", json=body, headers=headers)


def test_only_a_page_of_ours_that_may_write_gives_tags(runs_dir: Path) -> None:
    run = next(runs_dir.glob("*-again"))
    assert asked_to_tag(runs_dir, run.name, Origin="http://evil.example").status_code == 403
    assert "read-only" in asked_to_tag(runs_dir, run.name, read_only=True).text
    assert "no run named .." in asked_to_tag(runs_dir, "..").text and tags.read(run) == ()
    assert "fast, good: given to 1 run." in asked_to_tag(runs_dir, run.name).text and tags.read(run) == ("fast", "good")


def test_runs_are_exported_as_an_archive_and_as_a_table(runs_dir: Path) -> None:
    client, names = client_of(runs_dir), sorted(path.name for path in runs_dir.iterdir())[:2]
    (runs_dir / names[0] / "trials" / ".0099.tmp").mkdir()
    query = "&".join(f"run={name}" for name in names)
    with tarfile.open(fileobj=io.BytesIO(client.get(f"/export/runs.tar?{query}").data)) as tar:
        found = {member.name for member in tar.getmembers() if not member.isdir()}
    there = {str(file.relative_to(runs_dir)) for name in names for file in (runs_dir / name).rglob("*")}
    assert found == {name for name in there if (runs_dir / name).is_file()} and len(found) > 20
    rows = list(csv.DictReader(io.StringIO(client.get(f"/export/results.csv?{query}").text)))
    assert {row["run"] for row in rows} == set(names) and float(rows[0]["short_term_bps"]) > 0
    for wrong in ("runs.tar", "runs.tar?run=..", "results.csv?run=nothing", f"other?{query}"):
        assert client.get(f"/export/{wrong}").status_code == 404, wrong
    (runs_dir / names[0] / "secret").symlink_to("/etc/hostname")
    assert client.get(f"/export/runs.tar?{query}").status_code == 404


@pytest.mark.parametrize(("route", "linked"), [({"points": []}, False), ({"points": [{}, {}]}, True), (None, False)])
def test_only_a_run_with_a_route_leads_to_a_certificate(made: Path, route: Any, linked: bool) -> None:
    """A manifest has every table of a scenario, so it may have a route without points."""
    run = list_runs(made)[0]
    with_route = dataclasses.replace(run, manifest=run.manifest | {"scenario": run.scenario | {"route": route}})
    assert ("Land Speed Record" in to_json_plotly(run_page.page(with_route))) is linked
