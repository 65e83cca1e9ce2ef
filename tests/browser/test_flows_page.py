"""A trial with several flows in Chromium: the curves that are drawn are those of the flows that their legends name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support import synthetic_competitor
from support.accessible import accessible
from support.served_dashboard import served

pytestmark = [pytest.mark.browser]
DRAWN = """id => document.querySelector(`#${id} .js-plotly-plot, #${id}.js-plotly-plot`)._fullData
    .filter(trace => trace.visible === true)
    .map(trace => ({name: trace.name, colour: trace.line.color, x: [...trace.x], y: [...trace.y]}))"""
TIMELINE_CWND = """() => { const plot = document.querySelector('#timeline .js-plotly-plot');
    const cwnd = plot && plot._fullData && plot._fullData.find(trace => trace.name === 'cwnd (TCP_INFO)');
    return cwnd ? Math.max(...cwnd.y) : null }"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    run = synthetic_competitor.competitor(tmp_path_factory.mktemp("runs"))
    with served(run) as (url, _):
        yield f"{url.split('/run/')[0]}/run/{run.name}/trial/0{'?' + url.split('?')[1] if '?' in url else ''}"


def drawn(page: Page, figure: str) -> dict[str, dict[str, Any]]:
    expect(page.locator(f"#{figure} .scatterlayer .trace").first).to_be_attached(timeout=60_000)
    return {trace["name"]: trace for trace in page.evaluate(DRAWN, figure)}


def test_each_curve_is_of_its_flow(page: Page, address: str) -> None:
    page.goto(address)
    windows = drawn(page, "congestion")
    for name, flow in (("main, reno", "main"), ("rival, bbr", "rival")):
        low, high = synthetic_competitor.WINDOWS[flow]
        assert (min(windows[name]["y"]), max(windows[name]["y"])) == (low, high)
    rates = drawn(page, "flows")
    assert max(rates["all flows together"]["y"]) <= 45, "Mbit/s: the line's rate"
    assert rates["rival, bbr"]["x"] == pytest.approx([2, 3, 4])
    for name in ("main, reno", "rival, bbr"):
        assert windows[name]["colour"] == rates[name]["colour"], "one flow has one colour on the page"
    accessible(page)


def test_the_timeline_of_another_connection_has_its_own_window(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_function(f"() => ({TIMELINE_CWND})() !== null", timeout=60_000)
    first = page.evaluate(TIMELINE_CWND)
    separator = "&" if "?" in address else "?"
    page.goto(f"{address}{separator}flow=1")
    page.wait_for_function(
        f"() => {{ const most = ({TIMELINE_CWND})(); return most !== null && most !== {first} }}", timeout=60_000
    )
    assert page.evaluate(TIMELINE_CWND) > 5 * first
