"""Figures as PNG, SVG or PDF, by kaleido and the machine's Chromium: the extra `pictures` of pyproject.toml.

Chromium runs headless, without its background networking and without MathJax, which kaleido would fetch. kaleido runs
in a process of its own, because inside another program it sometimes hung after Chromium had exited. The process is
ended when it takes too long, and Chromium ends with its pipe. Rejected: a second set of figures for a library that
draws by itself, which would differ from the pages.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from netcommon import extras
from netcommon.errors import LfpError, MissingError

WIDTH, HEIGHT, SCALE = 1100, 620, 1.5  # a text page's width in px; SCALE gives the resolution of print
FLAGS = "CHROMIUM_FLAGS"  # environment variable that Debian's /usr/bin/chromium reads
START_S, EACH_S = 60.0, 20.0  # limits; a busy machine takes seconds to start Chromium, and one more for a picture
NO_BROWSER = 3  # exit status of the process that draws
MISSING = (
    "{option} needs {what} to draw the pictures; "
    f"{extras.install('pictures')} and apt-get install chromium{{otherwise}}"
)


def write_pictures(figures: Sequence[tuple[Path, go.Figure]], option: str, without: str = "") -> None:
    """Writes each figure to its path, in the format of the path's suffix: a PNG is 1,650 pixels wide, SVG and PDF have
    lines and text. ``option`` is the option that asked for them, ``without`` the one that leaves them out; messages
    name both. Raises MissingError without kaleido or
    Chromium, and LfpError where these fail or take minutes."""
    otherwise = f", or give {without}" if without else ""
    if not importlib.util.find_spec("kaleido"):
        raise MissingError(MISSING.format(option=option, what="kaleido", otherwise=otherwise))
    wanted = json.dumps([_picture(path, figure) for path, figure in figures])
    status, said = _run(wanted, START_S + EACH_S * len(figures))
    if status == NO_BROWSER:
        raise MissingError(MISSING.format(option=option, what="a Chromium that starts", otherwise=otherwise))
    if not all(path.exists() and path.stat().st_size for path, _ in figures):
        why = said.strip().rpartition("\n")[2] if status is not None else "it took too long"
        left_out = f"; {without} leaves them out" if without else ""
        raise LfpError(f"{option}: Chromium did not draw the pictures: {why[:200]}{left_out}")


def _run(wanted: str, timeout_s: float) -> tuple[int | None, str]:
    """The exit status of a process that draws, None where it was ended, and what it said."""
    argv = [sys.executable, "-m", __name__]
    flags = f"{os.environ.get(FLAGS, '')} --disable-background-networking"
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {FLAGS: flags},
        process_group=0,
    ) as process:
        try:
            said, _ = process.communicate(wanted, timeout_s)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            if process.returncode is None:  # the process id is not reused before that
                os.killpg(process.pid, signal.SIGKILL)


def _picture(path: Path, figure: go.Figure) -> dict[str, Any]:
    kind = path.suffix.removeprefix(".")
    size = {"width": WIDTH, "height": figure.layout.height or HEIGHT, "scale": SCALE if kind == "png" else 1}
    return {"fig": json.loads(figure.to_json()), "path": str(path), "opts": {"format": kind, **size}}


def _draw() -> int:
    """Draws what standard input lists."""
    import kaleido
    from choreographer.errors import BrowserFailedError, ChromeNotFoundError

    wanted = json.load(sys.stdin)
    try:
        kaleido.write_fig_from_object_sync(wanted, cancel_on_error=True, kopts={"mathjax": False})
    except (BrowserFailedError, ChromeNotFoundError):
        return NO_BROWSER
    return 0


if __name__ == "__main__":
    sys.exit(_draw())
