"""Ports of loopback that no other test takes meanwhile."""

from __future__ import annotations

import itertools
import os
import socket

# Below the kernel's own ports (32768 on), which any connection may have; each worker of pytest-xdist has its own part.
_FIRST, _PART = 12_000, 1_000
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 20
_numbers = itertools.cycle(range(_FIRST + _worker * _PART, _FIRST + (_worker + 1) * _PART))


def free_port() -> int:
    """A port that nobody listens on; each call returns another one."""
    for number in itertools.islice(_numbers, _PART):
        with socket.socket(socket.AF_INET6) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("::", number))
            except OSError:
                continue
            return number
    raise AssertionError(f"no free port in {_PART} from {_FIRST + _worker * _PART}")
