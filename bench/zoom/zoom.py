"""``dashboard.zoom``: how long a trial's page takes in Chromium until its timeline is drawn, and how long each zoom
takes.

The trial is made up (columns.py): ``--packets`` segments, a million by default; a hundred million need 18 GB of memory
and 40 GB below ``/var/tmp``. ``--pairs`` zooms (default 100) go to random places and widths, from the whole transfer to
a ten-thousandth of it. A zoom's time is the time from the end of a drag to the end of drawing, in the browser. A drag
begins after the previous view is on the screen, when a reader could begin it. Chromium runs without a GPU, as on a
server. The server's memory is its own: the kernel can reclaim pages of mapped files, whose greatest size is printed
separately.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.registry import Bench, Place, Result, Row
from bench.zoom.columns import write
from netcommon.errors import LfpError

SEGMENTS, ZOOMS, SEED = 1_000_000, 100, 17
MEMORY_BYTES = 1.5e9
BOUNDS = {SEGMENTS: (1.5, 100.0), 100 * SEGMENTS: (2.0, 300.0)}  # first view in s; zooms in ms, p95
STEP_MS = 60_000
_MEMORY = re.compile(r"^Rss(Anon|File|Shmem):\s+(\d+) kB", re.MULTILINE)
DRAWN = "document.querySelector('#timeline .js-plotly-plot .gtitle-subtitle') !== null"
DURATION = """() => { const g = document.querySelector('#timeline .js-plotly-plot');
    return Math.max(...g._fullData.map(trace => trace.x[trace.x.length - 1] || 0)) }"""
ZOOM = """async ([from, to]) => {
  for (let frame = 0; frame < 2; frame++) await new Promise(shown => requestAnimationFrame(() => setTimeout(shown)));
  return await new Promise(done => {
    const graph = document.querySelector('#timeline .js-plotly-plot'), began = performance.now();
    const before = graph.layout.title.subtitle.text;
    const drawn = () => { if (graph.layout.title.subtitle.text !== before) {
        graph.removeListener('plotly_afterplot', drawn); done(performance.now() - began) } };
    graph.on('plotly_afterplot', drawn);
    dash_clientside.timeline.zoomed({'xaxis.range[0]': from, 'xaxis.range[1]': to}) }) }"""


def measure(place: Place) -> Iterator[Result]:
    """One result with a row for each claim; none where Playwright or Chromium is missing, and a line says so."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        place.say("dashboard.zoom: left out: playwright is not installed; pip install playwright")
        return
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        place.say("dashboard.zoom: left out: Chromium is not installed; apt-get install chromium")
        return
    segments, zooms = place.packets or SEGMENTS, place.pairs or ZOOMS
    place.say(f"dashboard.zoom: makes a trial of {segments} segments")
    run = write(place.scratch, segments)
    _reported(run)
    with _served(run) as (url, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1500, "height": 1300})
        page.set_default_timeout(STEP_MS)
        first_s = _first_view_s(page, f"{url}/trial/0")
        memory = [_memory(pid)]
        taken = []
        for took_ms in _zooms_ms(page, zooms):
            taken.append(took_ms)
            memory.append(_memory(pid))
        again_s = _first_view_s(page, f"{url}/trial/0")
        browser.close()
    median, p95 = np.quantile(taken, (0.5, 0.95))
    own, mapped = (max(sizes) for sizes in zip(*memory, strict=True))
    most_s, most_ms = BOUNDS[SEGMENTS if segments <= SEGMENTS else 100 * SEGMENTS]
    yield Result(
        "dashboard.zoom",
        "of rows",
        None,
        rows=[
            Row(f"first view, {segments} segments", "s", first_s, 0, most_s, f"again: {again_s:.2f} s"),
            Row(f"zoom, p95 of {zooms}", "ms", float(p95), 0, most_ms, f"median {median:.0f} ms"),
            Row("server's memory", "MB", own / 1e6, 0, MEMORY_BYTES / 1e6, f"{mapped / 1e6:.0f} MB of files mapped"),
        ],
    )


def _reported(run: Path) -> None:
    """The run's report, as at the end of each run. It makes the files from which a long timeline is read. Waits until
    they are on the disk: writing 20 GB would hold up the views."""
    subprocess.run([sys.executable, "-m", "lfp", "report", str(run)], stdout=subprocess.DEVNULL, check=True)
    os.sync()


def _first_view_s(page: Any, url: str) -> float:
    began = time.monotonic()
    page.goto(url)
    page.wait_for_function(DRAWN)
    return time.monotonic() - began


def _zooms_ms(page: Any, zooms: int) -> Iterator[float]:
    rng, whole = random.Random(SEED), float(page.evaluate(DURATION))
    for _ in range(zooms):
        width = whole * 10 ** rng.uniform(-4, 0)
        start = rng.uniform(0, whole - width)
        yield float(page.evaluate(ZOOM, [start, start + width]))


@contextmanager
def _served(run: Path) -> Iterator[tuple[str, int]]:
    """Runs `lfp dashboard` with a run; yields the run's address and the server's process id."""
    argv = [sys.executable, "-m", "lfp", "dashboard", str(run), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as child:
        try:
            line = child.stdout.readline() if child.stdout else ""
            if " http" not in line:
                raise LfpError("dashboard.zoom: lfp dashboard did not start; its own message is above")
            yield line.split()[1], child.pid
        finally:
            child.terminate()


def _memory(pid: int) -> tuple[int, int]:
    """A process's own memory now, and the pages of files that it has mapped, in bytes."""
    held = {kind: int(kb) * 1024 for kind, kb in _MEMORY.findall(Path(f"/proc/{pid}/status").read_text())}
    return held["Anon"] + held["Shmem"], held["File"]


BENCH = Bench("dashboard.zoom", "first view and zooms of a trial's timeline in Chromium", measure)
