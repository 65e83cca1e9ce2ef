"""What fits on a screen, and what can be read from the back of a room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from support import synthetic_run
from support.pretended import PretendedBox, PretendedGateway, pretended
from support.served_dashboard import browsed

pytestmark = [pytest.mark.browser]
CLASS_PX = 26  # docs/how-to/class.md
PAGES = {
    "/": "#runs-table .ag-row",
    "/run/{run}": "h1",
    "/run/{run}/trial/0": "#timeline .gtitle-subtitle",
    "/history": "h1",
    "/class": "#class-state",
    "/gateway": "#gateway-facts *",
    "/box": "#box-facts *",
}
TOO_WIDE = """() => [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, .ag-root, .early, svg'))
    .filter(one => getComputedStyle(one).visibility !== 'hidden')
    .map(one => one.tagName + '#' + one.id + '.' + one.className)"""
SMALL = """least => [...document.querySelectorAll('.class-page *')]
    .filter(one => !one.closest('svg') && [...one.childNodes].some(part => part.nodeType === 3 && part.data.trim()))
    .filter(one => parseFloat(getComputedStyle(one).fontSize) < least)
    .map(one => one.tagName + ' ' + one.textContent)"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The dashboard's address, with a run, a gateway and a box; and the run's name."""
    folder = tmp_path_factory.mktemp("runs")
    run = synthetic_run.seqack(folder, segments=6_000, cycle_segments=600)
    sockets = ("--gateway", str(folder / "gateway"), "--box", str(folder / "box"))
    with (
        pretended(folder / "gateway", PretendedGateway().answer),
        pretended(folder / "box", PretendedBox().answer),
        browsed(None, *sockets, "--runs-dir", str(folder)) as (url, _),
    ):
        yield url.removesuffix("/gateway").rstrip("/"), run.name


@pytest.mark.parametrize("width", [1280, 1920])
def test_no_page_is_wider_than_the_screen(page: Page, base: tuple[str, str], width: int) -> None:
    address, run = base
    page.set_viewport_size({"width": width, "height": 900})
    for name, there in PAGES.items():
        page.goto(address + name.format(run=run))
        page.locator(there).first.wait_for(state="attached")
        assert not page.evaluate(TOO_WIDE), name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_all_text_for_a_class_is_large(page: Page, base: tuple[str, str], lang: str) -> None:
    page.goto(f"{base[0]}/class?lang={lang}")
    page.locator("#class-state").wait_for(state="attached")
    assert page.evaluate(SMALL, CLASS_PX) == []
