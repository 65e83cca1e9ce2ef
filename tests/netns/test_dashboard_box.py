"""The dashboard's page of a delay box, with a real box: what the page sets is what ping sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from comet_box import RIGHT, Box, in_netns, two_hosts
from support.pressed import pressed, said
from support.waiting import wait_until

from dashboard.live import live
from dashboard.live.box import BoxState
from dashboard.server.app import make_app

pytestmark = pytest.mark.netns
OUTPUT = "..box-said.children...box-delay.value...box-rate.value...box-loss.value.."
INPUTS = {"box-set": "n_clicks", "box-delay": "n_submit", "box-rate": "n_submit", "box-loss": "n_submit"}


def least_ms(ping: str) -> float:
    """The least round-trip time of ping's summary."""
    found = re.search(r"= ([0-9.]+)/", ping)
    assert found, ping
    return float(found[1])


def delay_ns(state: BoxState) -> object:
    return state.directions["ba"].parameters["delay_ns"]


def test_the_delay_set_on_the_page_is_what_ping_sees(tmp_path: Path) -> None:
    with two_hosts() as hosts, Box(hosts) as box:
        watched = live.watch(None, box.socket)
        server = make_app(tmp_path, live=watched).server
        fields: dict[str, object] = {"box-way": "both", "box-delay": "35ms", "box-rate": "", "box-loss": ""}
        try:
            answer = pressed(server, OUTPUT, INPUTS, fields, "box-set")
            assert said(answer, "box-said") == "Changed: ab delay 35 ms, ba delay 35 ms."
            assert least_ms(in_netns(hosts.left, "ping", "-c", "3", "-i", "0.05", RIGHT)) >= 70
            refused = pressed(server, OUTPUT, INPUTS, fields | {"box-delay": "long"}, "box-set")
            assert "--delay 'long'" in said(refused, "box-said")
            refused = pressed(server, OUTPUT, INPUTS, fields | {"box-delay": "", "box-loss": "1"}, "box-set")
            assert said(refused, "box-said") == "--loss: '1': has no unit; write 1% or 100%"
            assert watched.box
            seen = watched.box.seen
            wait_until(lambda: (now := seen().state) and delay_ns(now) == 35_000_000, "the delay on the page")
        finally:
            watched.close()
