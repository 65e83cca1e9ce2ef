"""The witness: a process that sleeps at the delay box's priority during a measurement in real time (timer-witness(1)).

When the box was late, the witness's figures tell whether the machine was late too. Rejected: a thread in Python, whose
interpreter is late by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcommon import binaries
from netcommon.ledger import Ledger
from netcommon.process import Tool

TOOL = "timer-witness"
FIGURES = ("period_ns", "priority", "count", "p50_ns", "p99_ns", "max_ns")


def sleeper(ledger: Ledger, log: Path | None = None, *, period_ns: int | None = None) -> Tool:
    """The witness as a tool that is not yet started. Call `wait_event("ready", START_TIMEOUT_S)`, and at the end
    `figures` of what `stop` returns."""
    period = [] if period_ns is None else ["--period", f"{period_ns}ns"]
    argv = [str(binaries.find(TOOL)), "--json", "--parent-death", *period]
    return Tool(argv, name=TOOL, stderr_path=log / f"{TOOL}.stderr" if log else None, ledger=ledger)


def figures(end: Mapping[str, Any] | None) -> dict[str, int] | None:
    """The figures of the witness's ``end`` object under the names of FIGURES. None without such an object, or if the
    witness did not sleep once."""
    return {name: end[name] for name in FIGURES} if end and end["count"] else None
