"""Chromium for tests of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
WAIT_MS = 120_000  # a deadline for busy machines, not an expectation


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped where Chromium is not installed."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@contextmanager
def watched_page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test when the console of any page in its context reports an error. Each of these pages has
    the long deadline."""
    context = browser.new_context(viewport={"width": 1500, "height": 1300})
    context.set_default_timeout(WAIT_MS)
    errors: list[str] = []
    context.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert errors == [], f"the console of the page: {errors}"


@contextmanager
def left(page: Page) -> Iterator[None]:
    """Leaves the page at the end, before its server ends: a page asks on, and an answer that never comes is an error in
    its console."""
    try:
        yield
    finally:
        for each in page.context.pages:
            each.goto("about:blank")
