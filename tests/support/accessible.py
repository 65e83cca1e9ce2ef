"""What axe-core says of a page in a browser: WCAG 2.1, levels A and AA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

LEVELS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
_OPTIONS = {"runOnly": {"type": "tag", "values": LEVELS}, "resultTypes": ["violations"]}
_AXE = Axe()


def accessible(page: Page) -> None:
    """Fails when the page as it stands breaks a rule of `LEVELS`, with a line for each element that does.

    The whole page is checked, plots included. Folded parts are opened first. What axe-core cannot decide
    alone, such as contrast inside a plot, does not count as a failure.
    """
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    found = _AXE.run(page, options=_OPTIONS).response["violations"]
    lines = [line for violation in found for line in _lines(violation)]
    assert not lines, f"{page.url} breaks {len(lines)} rules of WCAG 2.1 AA:\n" + "\n".join(lines)


def _lines(violation: dict[str, Any]) -> Iterator[str]:
    """`rule (impact) at selector: what to do`, for each element."""
    for node in violation["nodes"]:
        todo = " ".join(str(node.get("failureSummary") or violation["help"]).split())
        yield f"{violation['id']} ({node.get('impact') or violation['impact']}) at {_selector(node['target'])}: {todo}"


def _selector(target: list[Any]) -> str:
    """The element's CSS selector; inside a frame or a shadow tree, one for each step."""
    return " > ".join(" ".join(step) if isinstance(step, list) else str(step) for step in target)
