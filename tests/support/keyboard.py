"""Ways through a page by the keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

MOST_TABS = 150
_SEEN = """one => { const style = getComputedStyle(one), box = one.getBoundingClientRect();
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
        && box.width > 0 && box.bottom > 0 && box.top < innerHeight }"""


def tab_to(page: Page, wanted: Locator, *, back: bool = False) -> None:
    """Presses Tab, or Shift+Tab to go `back`, until `wanted` has the focus. AssertionError when it never has it, or
    when it has it out of view or without an outline."""
    wanted.wait_for()
    for _ in range(MOST_TABS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            assert wanted.evaluate(_SEEN), f"{wanted} has the focus and does not show it"
            return
    raise AssertionError(f"{wanted} has no focus after {MOST_TABS} times Tab")
