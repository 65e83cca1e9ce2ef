"""Figures as PNG, by kaleido and the machine's Chromium: the extra `pictures` of pyproject.toml.

Chromium runs headless, without its background networking and without MathJax, which kaleido would fetch.
Rejected: a second set of figures for a library that draws by itself, which would differ from the pages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from netcommon.errors import MissingError

WIDTH, HEIGHT, SCALE = 1100, 620, 1.5  # of a page of text, at the resolution of print
FLAGS = "CHROMIUM_FLAGS"  # read by Debian's /usr/bin/chromium
MISSING = (
    "--markdown: {what} is missing, which draws the pictures; "
    "pip install 'lfp[pictures]' and apt-get install chromium, or give --no-pictures"
)


def write_pictures(figures: Sequence[tuple[Path, go.Figure]]) -> None:
    """Writes each figure to its path as a PNG, 1,650 pixels wide. Raises MissingError without kaleido or Chromium."""
    try:
        import kaleido
        from choreographer.errors import BrowserFailedError, ChromeNotFoundError
    except ImportError as error:
        raise MissingError(MISSING.format(what="kaleido")) from error
    before = os.environ.get(FLAGS)
    os.environ[FLAGS] = f"{before or ''} --disable-background-networking"
    try:
        wanted = [_picture(*each) for each in figures]
        kaleido.write_fig_from_object_sync(wanted, cancel_on_error=True, kopts={"mathjax": False})
    except (BrowserFailedError, ChromeNotFoundError) as error:
        raise MissingError(MISSING.format(what="a Chromium that starts")) from error
    finally:
        if before is None:
            del os.environ[FLAGS]
        else:
            os.environ[FLAGS] = before


def _picture(path: Path, figure: go.Figure) -> dict[str, object]:
    size = {"width": WIDTH, "height": figure.layout.height or HEIGHT, "scale": SCALE}
    return {"fig": figure, "path": str(path), "opts": {"format": "png", **size}}
