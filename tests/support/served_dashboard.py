"""`lfp dashboard` as a user starts it, for tests that ask it over HTTP or in a browser."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.signed_in import signed_in

ROOT = Path(__file__).parents[2]


@contextmanager
def served(run: Path | None, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The dashboard of a run, or of running tools alone; gives the printed URL and the process."""
    program = "import sys; from dashboard.cli import dashboard; dashboard(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *([str(run)] if run else []), "--port", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 120)
        assert ready, "no URL within 120 s"
        yield process.stdout.readline().split()[1], process
    finally:
        process.kill()
        process.wait(10)
        if process.stdout:
            process.stdout.close()


@contextmanager
def browsed(run: Path | None, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """As `served`, for tests in a browser, which gets the token. Gives the address without the token, and the
    process."""
    with served(run, *options) as (printed, process), signed_in(printed) as url:
        yield url, process
