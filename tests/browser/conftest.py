"""The browser of a file's tests, and a page for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page
from support.chromium import chromium, watched_page


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    with watched_page(browser) as opened:
        yield opened
