"""lfp metrics: what Prometheus gets of running tools over HTTP."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client import parser as plain_parser
from prometheus_client.openmetrics import parser as open_parser

from lfp.commands import metrics
from netcommon.errors import UsageError
from scenarios.plan import columns

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "a-token-of-a-test"
TEXT = "# HELP lft_packets_total Packets.\n# TYPE lft_packets_total counter\nlft_packets_total 7\n"
TEXT += "# TYPE lft_up gauge\nlft_up 1\n"


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server with a gateway that answers and a box that does not."""
    for name, script in (("lft-gateway", f"cat <<'END'\n{TEXT}END"), ("comet-delay", "exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
        monkeypatch.setenv(f"LFP_{name.replace('-', '_').upper()}", str(tmp_path / name))
    sockets = {"gateway": tmp_path / "one", "box": tmp_path / "two"}
    with metrics.server(sockets, "127.0.0.1", 0, TOKEN) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join(30)


def got(address: str, *, token: str = TOKEN, accept: str = "*/*") -> tuple[str, str]:
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}", "Accept": accept})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_prometheus_text_and_openmetrics_say_the_same(address: str) -> None:
    kind, text = got(f"{address}/metrics")
    open_kind, open_text = got(f"{address}/metrics", accept="application/openmetrics-text; version=1.0.0, text/plain")
    assert kind.startswith("text/plain; version=0.0.4") and open_kind.startswith("application/openmetrics-text")
    plain, opened = (
        {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}
        for families in (
            plain_parser.text_string_to_metric_families(text),
            open_parser.text_string_to_metric_families(open_text),  # type: ignore[no-untyped-call]
        )
    )
    assert plain == opened
    assert plain == {
        ("lfp_tool_up", "gateway"): 1,
        ("lfp_tool_up", "box"): 0,
        ("lft_packets_total",): 7,
        ("lft_up",): 1,
    }


@pytest.mark.parametrize(("path", "token", "status"), [("/metrics", "another", 401), ("/", TOKEN, 404)])
def test_nothing_else_is_served(address: str, path: str, token: str, status: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        got(address + path, token=token)
    assert caught.value.code == status


def test_a_socket_must_be_named() -> None:
    done = CliRunner().invoke(metrics.command, [])
    assert isinstance(done.exception, UsageError) and "--gateway SOCKET or --box SOCKET" in str(done.exception)


def test_grafanas_dashboard_asks_for_metrics_that_are_documented() -> None:
    dashboard = json.loads((ROOT / "examples" / "grafana" / "lfp.json").read_text())
    asked = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    box, gateway = ((ROOT / tool / "CONTROL.md").read_text() for tool in ("comet_delay", "lft_ref"))
    for name in re.findall(r"comet_delay_([a-z_]+)", asked):
        assert name.removesuffix("_bucket").replace("out_", "in_") in box, name
    for name in re.findall(r"lft_(?:engine|relay)_(?!sent)([a-z_]+)", asked):
        base = re.sub("_total$|_seconds$|_ratio$|_bits_per_second$$", "", name)
        assert base in gateway, name
    assert tuple(re.findall(r"lft_engine_sent_([a-z]+)_frames_total", asked)) == columns.CLASSES
