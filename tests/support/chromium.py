"""Chromium for tests of the dashboard.

The tests of a file share one profile, because Chromium keeps compiled scripts only within a profile: a page that it has
seen before takes 1.2 CPU seconds instead of 3.1. Rejected: a context of its own for each test, as Playwright
advises; it compiles every script again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, WebError, expect, sync_playwright

from support.signed_in import browser_of_tests

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
WAIT_MS = 120_000  # a deadline for busy machines, not an expectation


@contextmanager
def chromium() -> Iterator[BrowserContext]:
    """A browser with a new profile; the test is skipped where Chromium is not installed."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    expect.set_options(timeout=WAIT_MS)
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=ARGS, viewport={"width": 1500, "height": 1300}
        )
        context.set_default_timeout(WAIT_MS)
        yield context
        context.close()


@contextmanager
def watched_page(browser: BrowserContext) -> Iterator[Page]:
    """A page that fails the test when its console, or the console of another page of the same context, reports an
    error. At the end all of them are closed, and their cookies are deleted."""
    errors: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    def failed(error: WebError) -> None:
        errors.append(str(error.error))

    before = browser.pages
    browser.on("console", console)
    browser.on("weberror", failed)
    with browser_of_tests(browser):
        yield browser.new_page()
        for page in browser.pages:
            if page not in before:
                page.close()  # before its cookies are deleted: it may still send requests
    browser.remove_listener("console", console)
    browser.remove_listener("weberror", failed)
    assert errors == [], f"the console of the page: {errors}"


@contextmanager
def left(page: Page) -> Iterator[None]:
    """Leaves the page at the end, before its server ends: a page keeps sending requests, and a request without an
    answer is an error in its console."""
    try:
        yield
    finally:
        for each in page.context.pages:
            each.goto("about:blank")
