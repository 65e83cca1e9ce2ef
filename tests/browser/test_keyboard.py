"""The keyboard alone: Tab to a control, Enter, Space or arrow keys to use it, and a visible focus all the time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support import synthetic_run
from support.keyboard import tab_to
from support.pretended import PretendedGateway, pretended
from support.served_dashboard import browsed

pytestmark = [pytest.mark.browser]
RANGE = "() => document.querySelector('#timeline .js-plotly-plot')._fullLayout.xaxis.range"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run, and the gateway's socket."""
    parent = tmp_path_factory.mktemp("runs")
    synthetic_run.seqack(parent, segments=6_000, cycle_segments=600)
    return parent


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    gateway = PretendedGateway()
    with (
        pretended(folder / "socket", gateway.answer),
        browsed(None, "--gateway", str(folder / "socket"), "--runs-dir", str(folder)) as (url, _),
    ):
        yield url.removesuffix("/gateway")


def test_from_the_runs_to_a_packet(page: Page, base: str) -> None:
    """Search, open a run in the grid, open its trial in the table, zoom and walk in its timeline."""
    page.goto(base)
    expect(page.locator("#runs-table .ag-row")).to_have_count(1)
    tab_to(page, page.get_by_label("Search all columns"))
    page.keyboard.type("seqack")
    tab_to(page, page.locator("#runs-table .ag-header-cell").first)
    for _ in range(3):  # the filters below the column headers are a row, too
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.locator("#runs-table .ag-row-selected")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/*")
    expect(page.get_by_role("heading", name="What was run")).to_be_visible()
    tab_to(page, page.get_by_role("link", name="Seq/Ack").first)
    page.keyboard.press("Enter")
    page.wait_for_url("**/trial/*")
    page.wait_for_selector("#timeline .gtitle-subtitle")
    tab_to(page, page.get_by_role("button", name="Zoom in", exact=True).first)
    before = page.evaluate(RANGE)
    page.keyboard.press("Enter")
    page.wait_for_function(f"before => ({RANGE})()[0] > before[0] && ({RANGE})()[1] < before[1]", arg=before)
    near = page.evaluate(RANGE)
    tab_to(page, page.get_by_role("button", name="Later ›"))
    page.keyboard.press("Enter")
    page.wait_for_function(f"near => ({RANGE})()[0] > near[0]", arg=near)
    later = page.evaluate(RANGE)
    assert later[1] - later[0] == pytest.approx(near[1] - near[0])
    tab_to(page, page.get_by_role("button", name="Next event ›"), back=True)
    page.keyboard.press("Enter")
    page.wait_for_function(f"later => ({RANGE})()[0] !== later[0]", arg=later)
    tab_to(page, page.locator("#timeline-events button").first)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"[?&]from=[\d.]+&to=[\d.]+$"))


def test_the_title_and_the_language_are_those_of_the_page(page: Page, base: str) -> None:
    page.goto(base)
    expect(page).to_have_title("Runs · TCP over long fat pipes")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    tab_to(page, page.get_by_role("link", name="Class", exact=True))
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("^TCP over a long fat pipe, in class"))
    tab_to(page, page.get_by_role("link", name="日本語"))
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("授業用"))
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    page.goto("about:blank")


def test_a_demonstration_is_chosen_and_started(page: Page, base: str) -> None:
    """The result does not matter here: the page announces the start or its error."""
    page.goto(f"{base}/class")
    tab_to(page, page.get_by_label("Window", exact=True))
    page.keyboard.press("ArrowRight")
    window = page.get_by_role("slider", name="Window", exact=True)
    expect(window).to_have_attribute("aria-valuetext", "32 KB")
    tab_to(page, page.get_by_role("button", name="Set the controls").nth(1))
    page.keyboard.press("Enter")
    expect(window).to_have_attribute("aria-valuetext", "128 KB")
    tab_to(page, page.get_by_role("button", name="Run", exact=True), back=True)
    page.keyboard.press("Enter")
    expect(page.locator("#class-state")).to_contain_text(re.compile("Running: window 128 KB|No result: "))
    page.goto("about:blank")


def test_the_gateways_limit_and_bypass_are_changed(page: Page, base: str) -> None:
    page.goto(f"{base}/gateway")
    tab_to(page, page.get_by_label("Rate limit"))
    page.keyboard.press("Control+A")
    page.keyboard.type("250")
    page.keyboard.press("Enter")
    expect(page.locator("#gateway-said")).to_have_text("Rate limit is now 250 Mbit/s.")
    tab_to(page, page.get_by_role("group", name="Bypass").get_by_role("radio", checked=True))
    page.keyboard.press("ArrowRight")
    tab_to(page, page.get_by_role("button", name="Set bypass"))
    page.keyboard.press("Space")
    expect(page.locator("#gateway-said")).to_have_text("Bypass is now on.")
    page.goto("about:blank")
