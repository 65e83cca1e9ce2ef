"""A run of captures that others made, in Chromium: its pages open without an error, and their figures are those of
`pktlogger analyse`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.accessible import accessible
from support.chromium import left
from support.pktlogger_numbers import renumber
from support.relayed_capture import relayed
from support.served_dashboard import browsed

from netcommon import binaries, readable
from scenarios.run import importing
from scenarios.run.importing import Wanted

pytestmark = [pytest.mark.browser]
CAPTURES = Path(__file__).parents[1] / "captures"
PAIRS = {
    "whole": ("15-full-snd", "15-full-rcv"),
    "begun late": ("15-mid-snd", "15-mid-rcv"),
    "zero window": ("06-zwp-byte-snd", "06-zwp-byte-rcv"),
    "sent again": ("06b-more-snd", "06b-more-rcv"),
    "twice": ("10-double-copy", "10-double-rcv"),
    "IPv6": ("12-srv6-snd", "12-srv6-rcv"),
    "idle": ("05-keepalive-garbage", "05-keepalive-garbage-rcv"),
}


def analysed(folder: Path, files: list[Path]) -> dict[str, Any]:
    """The connection with the most data in pktlogger's summary."""
    ends: list[str | Path] = ["--sender", files[0], "--receiver", files[1], "-o", folder]
    subprocess.run([binaries.find("pktlogger"), "analyse", *ends], check=True, capture_output=True, timeout=60)
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    found: dict[str, Any] = summary["flows"][summary["main_flow"]]
    return found


def shown(page: Page) -> dict[str, str]:
    """The facts of a page, by their names."""
    names, values = page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts()
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize("pair", PAIRS)
def test_pages_have_the_figures_of_analyse(page: Page, tmp_path: Path, pair: str) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    files = [CAPTURES / f"{name}.pcap" for name in PAIRS[pair]]
    flow = analysed(tmp_path / "direct", files)
    run = importing.make(Wanted([str(file) for file in files]), tmp_path / "runs")
    with browsed(run) as (url, _), left(page):
        page.goto(url)
        expect(page.locator("h1")).to_contain_text(f"{files[0].name}, {files[1].name}")
        assert shown(page)["Capture snd"].startswith(str(files[0]))
        accessible(page)
        page.locator("a[href$='/trial/0']").first.click()
        page.wait_for_selector("#timeline .gtitle-subtitle")
        facts = shown(page)
        assert facts["Throughput"] == readable.rate(flow["bytes"] * 8e9 / flow["elapsed_ns"])
        assert facts["Retransmissions"] == readable.count(flow["retransmitted"])
        assert facts["Lost segments"] == readable.count(flow["lost"])
        assert facts["Time-outs"] == readable.count(flow["timeouts"])
        accessible(page)
    assert not wrong, wrong


HOVERS = """word => document.querySelector('#timeline .js-plotly-plot')._fullData
    .some(trace => JSON.stringify(trace.customdata || []).includes(word))"""
ENDS = {
    "sender, whole": ("15-full-snd", "sender", "arrival not captured"),
    "sender, sent again": ("06b-more-snd", "sender", "LOST"),
    "receiver": ("15-full-rcv", "receiver", "sending not captured"),
    "receiver, zero window": ("06-zwp-byte-rcv", "receiver", "sending not captured"),
}


@pytest.mark.parametrize("which", ENDS)
def test_pages_of_one_end_alone(page: Page, tmp_path: Path, which: str) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    name, end, hover = ENDS[which]
    file = CAPTURES / f"{name}.pcap"
    run = importing.make(Wanted([str(file)]), tmp_path / "runs")
    summary = json.loads((run / "trials/0000/summary.json").read_text())
    flow = summary["flows"][summary["main_flow"]]
    with browsed(run) as (url, _), left(page):
        page.goto(f"{url}/trial/0")
        page.wait_for_selector("#timeline .gtitle-subtitle")
        facts = shown(page)
        assert facts["Throughput"] == readable.rate(flow["bytes"] * 8e9 / flow["elapsed_ns"])
        assert facts["Lost segments"] == readable.count(flow["lost"])
        expect(page.get_by_text(f"Captured at the {end} alone")).to_be_visible()
        page.get_by_role("button", name="Whole transfer").click()
        page.wait_for_function(HOVERS, arg=hover)
    assert not wrong, wrong


def test_a_gateway_that_the_captures_show_is_in_the_timeline(page: Page, tmp_path: Path) -> None:
    relayed(tmp_path, 3)
    for end in "sr":
        renumber(tmp_path / "far" / f"{end}.pcapng", 50000, 123_456_789)
    files = [str(tmp_path / side / f"{end}.pcapng") for side in ("near", "far") for end in "sr"]
    run = importing.make(Wanted(files), tmp_path / "runs")
    with browsed(run) as (url, _), left(page):
        page.goto(f"{url}/trial/0")
        page.wait_for_selector("#timeline .gtitle-subtitle")
        assert "3 ms" in shown(page)["Gateway in to gateway out: least, median, 99 %"]
