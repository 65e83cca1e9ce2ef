"""Make the pictures of README.md again: `make pictures`, or `.venv/bin/python docs/img/make.py`.

It runs the two scenarios of the demonstration in virtual time with a fixed seed, so the figures are the same on every
machine, and photographs the dashboard's pages with Debian's chromium. It writes sweep.png and timeline.png beside this
file. The runs are in a temporary folder. Of the network it needs only its own dashboard on loopback.
Rejected: pictures of runs in real time, which nobody else can make again.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import make_app
from dashboard.data.runs import load_run

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-background-networking"]
LIMIT_BYTES = 200_000
SEED = "1995"
RUN_LIMIT_S = 1800


def run(scenario: str, folder: Path) -> Path:
    """Runs a scenario of the library as `make demo` does, in virtual time. Returns its run directory."""
    click.echo(f"lfp run {scenario} --quick --time virtual --seed {SEED}")
    argv = [sys.executable, "-m", "scenarios.cli", "run", scenario, "--quick", "--time", "virtual", "--seed", SEED]
    done = subprocess.run([*argv, "--runs-dir", str(folder)], timeout=RUN_LIMIT_S, check=False)
    if done.returncode:
        raise click.ClickException(f"lfp run {scenario}: exit status {done.returncode}; its own message is above")
    return next(folder.glob(f"{scenario}-*"))


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


def shoot(page: Page, name: str, address: str, drawn: str, height: int) -> None:
    """Saves what a window of this height shows of a page, once the figure is drawn."""
    target = HERE / f"{name}.png"
    page.set_viewport_size({"width": 1400, "height": height})
    page.goto(address)
    page.wait_for_selector(drawn)
    page.wait_for_timeout(500)  # plotly's last transition
    page.screenshot(path=target)
    size = target.stat().st_size
    if size > LIMIT_BYTES:
        raise click.ClickException(f"{target}: {size} bytes, allowed {LIMIT_BYTES}; make the view smaller")
    click.echo(f"{target}: {size} bytes")


@click.command()
def main() -> None:
    """Run both scenarios and take both pictures."""
    with tempfile.TemporaryDirectory(prefix="lfp-pictures-") as name:
        folder = Path(name)
        sweep, seqack = run("lfp-syndrome", folder), run("lfp-seqack", folder)
        captured = min(load_run(seqack).captured)
        with served(folder) as base, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            page = browser.new_page()
            shoot(page, "sweep", f"{base}/run/{sweep.name}", "#sweep .legendtext", 1230)
            shoot(
                page, "timeline", f"{base}/run/{seqack.name}/trial/{captured}", "#timeline .gtitle-subtitle", 1350
            )  # fmt: skip
            browser.close()


if __name__ == "__main__":
    main()
