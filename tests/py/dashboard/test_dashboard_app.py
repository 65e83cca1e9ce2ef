"""The listener and its commands: tokens, addresses, one-line errors; pages by address."""

from __future__ import annotations

import re
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dash import Dash
from flask import Flask
from plotly.io.json import to_json_plotly
from support import synthetic_run
from support.served_dashboard import served

from dashboard.cli import dashboard, report
from dashboard.live.live import Live
from dashboard.server import server
from dashboard.server.app import Runs, make_app, page_at
from dashboard.server.auth import is_loopback, require_token
from dashboard.server.document import Application
from dashboard.server.launch import bound
from netcommon.errors import LfpError

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    synthetic_run.sweep(parent, repeats=1)
    synthetic_run.seqack(parent)
    return parent


@pytest.mark.parametrize(
    ("host", "safe"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.9.9.9", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_only_loopback_goes_without_a_token(host: str, safe: bool) -> None:
    assert is_loopback(host) is safe


def test_every_request_needs_the_token() -> None:
    server = Flask("test")
    server.add_url_rule("/data", "data", lambda: "secret")
    require_token(server, "right-token", "cookie")
    client = server.test_client()
    assert client.get("/data").status_code == 401
    assert client.get("/data?token=wrong").status_code == 401
    assert b"secret" not in client.get("/nowhere?token=").data
    moved = client.get("/data?token=right-token&flow=1")
    assert moved.status_code == 302 and moved.headers["Location"] == "/data?flow=1"
    assert "HttpOnly" in moved.headers["Set-Cookie"]
    assert client.get("/data").data == b"secret"
    assert server.test_client().get("/data").status_code == 401


def test_pages_by_address(runs_dir: Path) -> None:
    runs = Runs(runs_dir)
    name = next(run.name for run in runs.all() if run.name.startswith("lfp-seqack"))
    for address, words in (
        ("/", "The LFP syndrome"),
        (f"/run/{name}", "Seq and Ack of one collapsed transfer"),
        (f"/run/{name}/trial/0", "tail-drop burst"),
        ("/nowhere", "no page at /nowhere"),
    ):
        assert words in str(page_at(runs, address)), address


@pytest.mark.parametrize("address", ["/run/..", "/run/%2e%2e", "/run/nothing", "/run/nothing/trial/3"])
def test_names_are_looked_up_and_never_become_paths(runs_dir: Path, address: str) -> None:
    with pytest.raises(LfpError, match="no run named"):
        page_at(Runs(runs_dir), address)


def test_the_app_serves_its_own_scripts(runs_dir: Path) -> None:
    page = make_app(runs_dir).server.test_client().get("/").text
    assert "http://" not in page and "https://" not in page


def test_a_page_brings_plotly_once_and_no_script_that_no_page_needs(runs_dir: Path) -> None:
    client = make_app(runs_dir).server.test_client()
    text = client.get("/").text
    scripts = re.findall(r'<script src="([^"]+)"', text)
    assert [one for one in scripts if "enterprise" in one or "mathjax" in one or "dash_table" in one] == []
    assert sum("plotly" in one for one in scripts) == 1, scripts
    plotly = next(one for one in scripts if "plotly" in one)
    answer = client.get(plotly)
    assert "plotly.js v" in answer.text[:100] and "immutable" in answer.headers["Cache-Control"]
    assert "immutable" not in client.get("/plotly.of-before.js").headers["Cache-Control"]


def test_report_prints_the_path_it_wrote(runs_dir: Path) -> None:
    name = next(path.name for path in runs_dir.iterdir() if path.name.startswith("lfp-seqack"))
    result = CliRunner().invoke(report, [name, "--runs-dir", str(runs_dir)])
    assert result.exit_code == 0, result.output
    assert Path(result.output.strip()).read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("command", [dashboard, report])
def test_no_run_is_status_2(tmp_path: Path, command: object) -> None:
    result = CliRunner().invoke(command, [str(tmp_path)])  # type: ignore[arg-type]
    assert isinstance(result.exception, LfpError) and result.exception.status == 2


def test_an_occupied_port_is_one_line_and_status_2(runs_dir: Path) -> None:
    run = next(runs_dir.iterdir())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(dashboard, [str(run), "--port", str(port)])
    assert isinstance(result.exception, LfpError) and result.exception.status == 2
    assert str(result.exception).startswith(f"--port {port}: in use")


def test_a_foreign_address_is_one_line_and_status_2(runs_dir: Path) -> None:
    result = CliRunner().invoke(dashboard, [str(next(runs_dir.iterdir())), "--host", "192.0.2.1", "--port", "0"])
    assert isinstance(result.exception, LfpError) and result.exception.status == 2
    assert "192.0.2.1" in str(result.exception)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_is_made_up_and_wanted(host: str, runs_dir: Path) -> None:
    """The token is needed on loopback, too, because every user of the machine reaches it, and also for requests that
    change something."""
    with served(next(runs_dir.iterdir()), "--host", host) as (url, _):
        assert "?token=" in url
        here = url.replace("0.0.0.0", "127.0.0.1")
        site = "/".join(here.split("/")[:3])
        pages = (f"{site}/{page}" for page in ("class", "_dash-update-component", "assets/style.css"))
        for address in (here.split("?")[0], *pages):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(address, b"{}" if "update" in address else None, timeout=10)
            assert caught.value.code == 401, address
            caught.value.close()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(here, timeout=10) as answer:
            assert answer.status == 200 and "token" not in answer.url


def test_whoever_asks_first_gets_every_script(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dash sets itself up in its first request. A second request at the same time once got a page without our scripts,
    which stayed empty."""
    made: list[Application] = []
    look = Dash._walk_assets_directory

    def slowly(app: Dash) -> None:
        time.sleep(0.5)
        look(app)  # type: ignore[no-untyped-call]

    def kept(*arguments: Any, **options: Any) -> Application:
        made.append(make_app(*arguments, **options))
        return made[0]

    class Announced(Exception):
        page = b""

    def announced(_: str) -> None:
        Announced.page = made[0].server.test_client().get("/?token=of-the-test", follow_redirects=True).data
        raise Announced

    monkeypatch.setattr(Dash, "_walk_assets_directory", slowly)
    monkeypatch.setattr(server, "make_app", kept)
    with pytest.raises(Announced):
        server.serve(bound("127.0.0.1", 0), runs_dir, "/", "127.0.0.1", "of-the-test", announced, live=Live())
    assert b"timeline.js" in Announced.page


def test_the_server_ends_when_what_it_prepares_has_ended(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Python ended while a thread loads Arrow, the process would abort."""
    prepared: list[bool] = []

    def prepare(*given: Any) -> None:
        ended = given[-1]
        assert ended.wait(60)
        time.sleep(0.3)
        prepared.append(True)

    class Interrupted:
        def run(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(server, "_prepare", prepare)
    monkeypatch.setattr("waitress.create_server", lambda *_, **__: Interrupted())
    server.serve(bound("127.0.0.1", 0), runs_dir, "/", "127.0.0.1", None, lambda _: None, live=Live())
    assert prepared == [True]


def test_the_server_refuses_names_that_are_not_its_own_and_ctrl_c_ends_it_in_order(runs_dir: Path) -> None:
    with served(next(runs_dir.iterdir()), "--read-only") as (url, process):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(url, timeout=10) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "evil.example"}), timeout=10)
        assert caught.value.code == 403
        caught.value.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_million_segments_open_within_two_seconds(tmp_path: Path) -> None:
    """Two seconds of processor time are generous: a loop over packets would take more than 10 s."""
    path = synthetic_run.seqack(tmp_path, segments=1_000_000, cycle_segments=10_000)
    start = time.process_time()
    page = len(to_json_plotly(page_at(Runs(tmp_path), f"/run/{path.name}/trial/0")))  # as Dash does it
    view = make_app(tmp_path).server.test_client().get(f"/run/{path.name}/trial/0/view").data
    size = page + len(view)
    elapsed = time.process_time() - start
    print(f"page of 1,000,000 segments: {elapsed:.2f} s, {size} bytes")
    assert elapsed < 8 and size < 1_000_000
