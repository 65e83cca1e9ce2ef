"""The laboratory for gateways (bench.gateway_lab) as tests use it:
``with lft_lab() as lab, lab.gateways(…): …``."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from bench import gateway_lab
from bench.gateway_lab import CLIENT, LAN, NOWHERE, ROUTER, SERVER, WAN, Lab, in_netns, inside
from netcommon.binaries import find

__all__ = [
    "CLIENT", "GATEWAY", "LEFT", "NOWHERE", "RIGHT", "ROUTER", "SERVER", "Lab", "in_netns", "inside", "lft_lab",
    "test_program", "until",
]  # fmt: skip
GATEWAY = LAN["near"]
LEFT, RIGHT = WAN["near"][4], WAN["far"][4]


def lft_lab(**options: str) -> AbstractContextManager[Lab]:
    """The laboratory with these options of the delay box (``delay="5ms"``); no gateway runs yet."""
    return gateway_lab.lft_lab(kind=Lab, options=options or {"delay": "5ms"})


def test_program(name: str) -> Path:
    """A program of the build for tests alone (tests/c/lft_gateway), in the folder of the gateway in use."""
    path = find("lft-gateway").resolve().parent / "test" / name
    assert path.exists(), f"{path}: not there; want a build with -DLFP_TESTS=ON"
    return path


test_program.__test__ = False  # type: ignore[attr-defined]


def until(true: Callable[[], bool], timeout_s: float, what: str) -> float:
    """Waits until ``true()``; returns how long that took, in seconds."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() < began + timeout_s, f"after {timeout_s} s: not yet {what}"
        time.sleep(0.02)
    return time.monotonic() - began
