"""Make the pictures of the dashboard again: `make pictures`, or `.venv/bin/python docs/img/make.py [NAME…]`.

It runs scenarios in virtual time with a fixed seed, so the figures are the same on every machine, and photographs the
dashboard's pages with Debian's chromium, each with a run that suits the page. It writes NAME.png next to this file. The
pages of a running gateway and box need root and real time (live.py). The runs are in a temporary folder. Of the network
it needs only its own dashboard on loopback.
Rejected: pictures of runs in real time, which nobody else can make again.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
from live import at_work
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from dashboard.core.runs import load_run
from dashboard.live.live import Live, watch
from dashboard.server.app import NOTHING_LIVE, make_app
from netcommon.binaries import find

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-background-networking"]
LIMIT_BYTES = 260_000
SEED = "1995"
RUN_LIMIT_S = 1800
SETTLE_MS = 500  # plotly's last transition
WIDTH = 1400
LIVE_MS = 12_000  # so that the plot of a running tool has a dozen samples
LESS = "18Mbit"  # the limit of the build that lost a tenth of its rate (docs/tutorials/two-builds.md)


@dataclass
class Runs:
    """Runs of scenarios in `folder`, each made when it is first asked for."""

    folder: Path

    def _run(self, *arguments: str, gateway: Path | None = None) -> Path:
        """The run directory of `lfp run ARGUMENTS` in virtual time with the seed of the pictures."""
        click.echo(f"lfp run {' '.join(arguments)} --time virtual --seed {SEED}")
        before = set(self.folder.iterdir())
        argv = [sys.executable, "-m", "lfp", "run", *arguments, "--time", "virtual", "--seed", SEED]
        build = {"LFP_LFT_GATEWAY": str(gateway)} if gateway else {}
        done = subprocess.run(
            [*argv, "--runs-dir", str(self.folder)], timeout=RUN_LIMIT_S, check=False, cwd=ROOT, env=os.environ | build
        )
        if done.returncode:
            raise click.ClickException(f"lfp run {arguments[0]}: exit status {done.returncode}; its message is above")
        return next(path for path in self.folder.iterdir() if path not in before and (path / "manifest.json").is_file())

    @cached_property
    def sweep(self) -> Path:
        """The demonstration's sweep of windows."""
        return self._run("lfp-syndrome", "--quick")

    @cached_property
    def captured(self) -> Path:
        """The demonstration's captured transfer."""
        return self._run("lfp-seqack", "--quick")

    @cached_property
    def builds(self) -> tuple[Path, Path]:
        """The same scenario with two builds of a gateway."""
        worse = self.folder / "lft-gateway"
        worse.write_text(f'#!/bin/sh\nexec {find("lft-gateway")} "$@" --rate {LESS}\n')
        worse.chmod(0o755)
        return self._run("examples/gate.toml"), self._run("examples/gate.toml", gateway=worse)

    @cached_property
    def record(self) -> Path:
        """A run that has a certificate."""
        return self._run("lsr-ipv4-single", "--quick")


@dataclass(frozen=True)
class Picture:
    """A page's address, an element that exists once it is drawn, the window's height, and what to do there first."""

    address: Callable[[Runs], str]
    drawn: str
    height: int
    before: Callable[[Page], None] = lambda _: None
    live: bool = False


def _transfer(page: Page) -> None:
    """Runs the class's transfer into the collapse."""
    page.get_by_role("button", name="Set the controls").nth(2).click()
    page.get_by_role("button", name="Run", exact=True).click()


def _wait(page: Page) -> None:
    page.wait_for_timeout(LIVE_MS)


def _list(runs: Runs) -> str:
    for each in (runs.sweep, runs.captured, runs.record, *runs.builds):
        assert each.is_dir()
    return "/"


PICTURES = {
    "sweep": Picture(lambda runs: f"/run/{runs.sweep.name}", "#sweep .legendtext", 1300),
    "timeline": Picture(
        lambda runs: f"/run/{runs.captured.name}/trial/{min(load_run(runs.captured).captured)}",
        "#timeline .gtitle-subtitle",
        1350,
    ),
    "compare": Picture(
        lambda runs: "/compare/" + "/".join(run.name for run in runs.builds), "#sides .legendtext", 1300
    ),
    "history": Picture(
        lambda runs: f"/history?scenario={load_run(runs.builds[0]).manifest['name']}", "#page .js-plotly-plot", 900
    ),
    "certificate": Picture(lambda runs: f"/run/{runs.record.name}/certificate", "#records .legendtext", 1250),
    "class": Picture(lambda runs: "/class?theme=dark", "#class-timeline .js-plotly-plot", 1780, _transfer),
    "runs": Picture(_list, "#runs-table .ag-row", 560),
    "gateway": Picture(lambda _: "/gateway", "#gateway-plot .js-plotly-plot", 1250, _wait, live=True),
    "box": Picture(lambda _: "/box", "#box-plot .js-plotly-plot", 1500, _wait, live=True),
}


@contextmanager
def served(runs_dir: Path, live: Live = NOTHING_LIVE) -> Iterator[str]:
    """The dashboard on a free port of loopback; gives its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, make_app(runs_dir, live=live).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        live.close()


def shoot(name: str, address: str) -> None:
    """Saves what a window shows of the page at `address`, once the page is drawn."""
    picture, target = PICTURES[name], HERE / f"{name}.png"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": picture.height})
        page.set_default_timeout(120_000)
        page.goto(address)
        picture.before(page)
        page.wait_for_selector(picture.drawn)
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=target)
        browser.close()
    size = target.stat().st_size
    if size > LIMIT_BYTES:
        raise click.ClickException(f"{target}: {size} bytes, allowed {LIMIT_BYTES}; make the view smaller")
    click.echo(f"{target}: {size} bytes")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(PICTURES)), metavar="[NAME]…")
def main(names: tuple[str, ...]) -> None:
    """Make the pictures again: all of them, or those named."""
    wanted = names or tuple(PICTURES)
    with tempfile.TemporaryDirectory(prefix="lfp-pictures-") as folder:
        runs = Runs(Path(folder))
        with served(runs.folder) as base:
            for name in wanted:
                if not PICTURES[name].live:
                    shoot(name, base + PICTURES[name].address(runs))
        of_tools = [name for name in wanted if PICTURES[name].live]
        if of_tools:
            with at_work() as sockets, served(runs.folder, watch(*sockets)) as base:
                for name in of_tools:
                    shoot(name, base + PICTURES[name].address(runs))


if __name__ == "__main__":
    main()
