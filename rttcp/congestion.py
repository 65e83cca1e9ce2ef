"""Loads a congestion control of rttcp/cc for the duration of a block: ``with congestion("lfp_xys", x=4, y=16): …``.

The algorithm is in the kernel while a process holds it. The holding process ends with the block, and also when this
process ends for any reason. Other processes that want the same algorithm meanwhile share it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from netcommon import binaries
from netcommon.errors import LfpError
from netcommon.process import START_TIMEOUT_S


@dataclass(frozen=True)
class Congestion:
    """One algorithm and its state in the kernel. ``parameters``: the loaded parameters by name."""

    name: str
    source: str
    loaded: bool
    holders: int
    parameters: Mapping[str, float]


def _congestion(row: Mapping[str, Any]) -> Congestion:
    return Congestion(row["name"], row["source"], row["loaded"], row["holders"], row["parameters"])


@contextmanager
def congestion(name: str, **parameters: float) -> Iterator[Congestion]:
    """Holds ``name`` in the kernel. The status of an LfpError is 1 when the algorithm is in use with other parameters,
    2 for an unknown name or parameter, 3 when the machine lacks something."""
    argv = [str(binaries.find("rttcp")), "cc", "hold", name, "--json", "--parent-death"]
    for key, value in parameters.items():
        argv += ["--set", f"{key}={value}"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout
        first = json.loads(process.stdout.readline() or '{"event":"error","status":1,"message":"rttcp cc hold ended"}')
        if first["event"] != "ready":
            raise LfpError(first["message"], first["status"])
        yield _congestion(first)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
