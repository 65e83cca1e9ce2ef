"""A gateway and a delay box at work, for the pictures of their pages: a transfer in real time through both.

It needs root. The pictures show what the tools say of themselves, so their numbers differ from machine to machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.gateway_lab import ROUTER, lft_lab
from bench.lft_lab import Lab

LASTS_NS = 60 * 10**9
PATH: dict[str, int | str] = {
    "delay_ns": 30_000_000,
    "rate_bps": 45_000_000,
    "queue_bytes": 256_000,
    "loss_ppb": 10_000_000,
    "framing": "ip",
}


@contextmanager
def at_work() -> Iterator[tuple[Path, Path]]:
    """The control sockets of the near gateway and of the box, while a transfer runs through them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lfp-pictures-")))
        lab = stack.enter_context(lft_lab(PATH, kind=Lab, folder=folder))
        stack.enter_context(lab.gateways(*ROUTER, "--rate", "40Mbit", whole_frames=True))
        stack.enter_context(lab.transferring(duration_ns=LASTS_NS))
        yield folder / "near", folder / "box"
