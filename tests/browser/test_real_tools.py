"""Pages in Chromium with real tools running: a gateway, a delay box, and a transfer for a class in real time."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "netns"))
from comet_box import RIGHT, Box, in_netns, two_hosts  # noqa: E402
from lft_lab import ROUTER, lft_lab  # noqa: E402
from lft_transfer import Transfer, transfer, wait_received  # noqa: E402
from support import synthetic_run  # noqa: E402
from support.chromium import left  # noqa: E402
from support.served_dashboard import browsed  # noqa: E402

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.geteuid() != 0, reason="in real time: needs root (sudo make test-py runs it)"),
]
OCTETS, LIMIT_BPS = 3_000_000, 8_000_000


def seconds_of(flow: Transfer, octets: int) -> float:
    """The seconds until so many further octets have arrived."""
    began = time.monotonic()
    wait_received(flow, octets, 90)
    return time.monotonic() - began


def test_the_limit_that_is_set_on_the_page_is_the_throughput_of_a_real_gateway(page: Page, tmp_path: Path) -> None:
    """3 MB take less than a third of a second, and 3 s with a limit of 8 Mbit/s, once the queues have drained. On a
    slow machine the queues hold many MB, but less than 60."""
    with lft_lab(delay="2ms") as lab, lab.gateways(*ROUTER), transfer(lab, 5001) as flow:
        wait_received(flow, OCTETS, 60)
        with browsed(None, "--gateway", str(lab.folder / "near"), "--runs-dir", str(tmp_path)) as (url, _), left(page):
            page.goto(url)
            expect(page.locator("#gateway-state")).to_contain_text("The tunnel is up.")
            page.get_by_label("Rate limit").fill("8")
            page.keyboard.press("Enter")
            expect(page.locator("#gateway-said")).to_have_text("Rate limit is now 8 Mbit/s.")
            assert any(seconds_of(flow, OCTETS) > OCTETS * 8 / LIMIT_BPS / 2 for _ in range(20))
            shown = page.locator("#gateway-facts tr, #gateway-facts div").filter(has_text="From hosts into the gateway")
            expect(shown.first).to_contain_text(re.compile(r"gateway\d(\.\d+)? Mbit/s"), timeout=30_000)
        flow.check()


def test_the_delay_that_is_set_on_the_page_is_what_ping_sees(page: Page, tmp_path: Path) -> None:
    with two_hosts() as hosts, Box(hosts) as box:
        with browsed(None, "--box", str(box.socket), "--runs-dir", str(tmp_path)) as (url, _), left(page):
            page.goto(url)
            page.get_by_label("New delay").fill("40ms")
            page.get_by_role("button", name="Set").press("Enter")
            expect(page.locator("#box-said")).to_have_text("Changed: ab delay 40 ms, ba delay 40 ms.")
        told = in_netns(hosts.left, "ping", "-c", "3", "-i", "0.05", RIGHT)
        assert float(told.split("= ")[1].split("/")[0]) >= 80, told


def test_a_class_runs_a_transfer_in_real_time(page: Page, tmp_path: Path) -> None:
    with browsed(synthetic_run.losses(tmp_path)) as (url, _), left(page):
        page.goto(f"{url.split('/run/')[0]}/class")
        page.locator("#class-time").select_option("real")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("#class-last")).to_contain_text("Window", timeout=90_000)
        expect(page.locator("#class-curve .js-plotly-plot, #class-timeline .js-plotly-plot")).to_have_count(2)
        expect(page.locator("#class-why")).not_to_be_empty()
    newest = max(tmp_path.glob("*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    assert json.loads(newest.read_text())["time"]["chosen"] == "real"
