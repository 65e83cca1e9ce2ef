"""Take the README's pictures again: `python docs/img/make.py SWEEP_RUN TIMELINE_RUN`, both run directories.

Writes sweep.png, timeline.png, zoom.png and report.png beside this file. Needs playwright and Debian's chromium, and
of the network only its own dashboard on loopback.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import make_app
from dashboard.data.runs import load_run
from dashboard.report import write_report

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-background-networking"]
LIMIT_BYTES = 200_000


@contextmanager
def served(runs_dir: Path) -> Iterator[str]:
    """The dashboard on a free port of loopback; gives its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, make_app(runs_dir).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)


def shoot(page: Page, name: str) -> None:
    """Save the visible part of the page; refuses pictures too large for a repository."""
    target = HERE / f"{name}.png"
    page.wait_for_timeout(500)  # plotly's last transition
    page.screenshot(path=target)
    size = target.stat().st_size
    if size > LIMIT_BYTES:
        raise click.ClickException(f"{target}: {size} bytes, allowed {LIMIT_BYTES}; make the view smaller")
    click.echo(f"{target}: {size} bytes")


def zoom_to_overshoot(page: Page) -> None:
    """Drag over the moments before the first stop, as a reader would."""
    box = page.locator("#timeline rect.nsewdrag").first.bounding_box()
    stop = page.evaluate("document.querySelector('#timeline .js-plotly-plot').layout.shapes[0].x0")
    start, end = page.evaluate("document.querySelector('#timeline .js-plotly-plot')._fullLayout.xaxis.range")
    assert box is not None
    scale, y = box["width"] / (end - start), box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 1, y)
    page.mouse.down()
    page.mouse.move(box["x"] + scale * (stop * 1.5 - start), y, steps=8)
    page.mouse.up()
    page.wait_for_timeout(3000)


@click.command()
@click.argument("sweep_run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("timeline_run", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(sweep_run: Path, timeline_run: Path) -> None:
    """Take all pictures."""
    captured = min(load_run(timeline_run).captured)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        with served(sweep_run.absolute().parent) as base:
            page.goto(f"{base}/run/{sweep_run.name}")
            page.wait_for_selector("#sweep .legendtext")
            shoot(page, "sweep")
        page.set_viewport_size({"width": 1400, "height": 1350})
        with served(timeline_run.absolute().parent) as base:
            page.goto(f"{base}/run/{timeline_run.name}/trial/{captured}")
            page.wait_for_selector("#timeline .gtitle-subtitle")
            shoot(page, "timeline")
            zoom_to_overshoot(page)
            shoot(page, "zoom")
        page.set_viewport_size({"width": 1400, "height": 1250})
        page.goto(write_report(sweep_run.absolute()).as_uri())
        page.wait_for_selector("#sweep .legendtext")
        shoot(page, "report")
        browser.close()


if __name__ == "__main__":
    main()
