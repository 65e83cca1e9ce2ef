"""Browsers that have the tokens of all running dashboards, as if each printed address had been opened once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

_BROWSERS: list[BrowserContext] = []
_TOKENS: dict[str, str] = {}  # by the address of the dashboard


@contextmanager
def signed_in(printed: str) -> Iterator[str]:
    """Takes the token out of a printed address and gives it to all browsers, also to those that come later. Returns the
    address without it."""
    url, _, token = printed.partition("?token=")
    _TOKENS[url] = token
    for browser in _BROWSERS:
        _add(browser, url)
    try:
        yield url
    finally:
        del _TOKENS[url]


@contextmanager
def browser_of_tests(browser: BrowserContext) -> Iterator[None]:
    """During a test a browser has all tokens."""
    _BROWSERS.append(browser)
    for url in _TOKENS:
        _add(browser, url)
    try:
        yield
    finally:
        _BROWSERS.remove(browser)
        browser.clear_cookies()


def _add(browser: BrowserContext, url: str) -> None:
    site = "/".join(url.split("/")[:3])
    browser.add_cookies([{"name": f"lfp-token-{urlsplit(url).port}", "value": _TOKENS[url], "url": site}])
