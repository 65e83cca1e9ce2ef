"""comet-delay as a part of a path, started with the scenario's parameters of both directions."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from comet_delay import Port
from comet_delay.userspace import UserspaceBox
from netcommon import binaries
from netcommon.errors import UsageError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.plan import keys
from scenarios.plan.path import Direction, PathTable

if TYPE_CHECKING:
    from comet_delay.backend import Box

WAYS: tuple[Literal["ab"], Literal["ba"]] = ("ab", "ba")
_MEMORY_FILES = Path("/dev/shm")  # for records, which should not be written to a disk (comet_delay/RECORD.md)
BackEnd = Literal["comet", "netem", "kernel"]  # kernel: comet's code in the kernel of virtual time


def parameters(direction: Direction, framing: str) -> dict[str, int | str]:
    """Parameters of one direction under the delay box's names. Values that equal the box's defaults are omitted."""
    return direction.changed() | {"framing": framing}


def box(
    ports: tuple[Port, Port],
    control: Path,
    path: PathTable,
    *,
    seed: int = 1,
    log: Path | None = None,
    ledger: Ledger | None = None,
    back_end: BackEnd = "comet",
    record: Path | None = None,
    lateness_limit_ns: int | None = None,
) -> Box:
    """The box, not yet started. ``seed`` is used unless the path has one. ``record``: file for the record of every wire
    packet. ``lateness_limit_ns``: the p99 lateness that the box's verdict allows; None: the box's own limit."""
    ab, ba = (parameters(path.direction(which), path.framing) for which in WAYS)
    seed = seed if path.seed is None else path.seed
    if back_end == "netem":
        if record:
            raise UsageError("capture.points has 'box': the netem back end keeps no record; use the delay box itself")
        from comet_delay.netem import NetemBox  # not on top: it loads pyroute2

        return NetemBox(*ports, ab=ab, ba=ba, mtu=path.mtu, seed=seed, granularity_ns=path.granularity or 0)
    own = keys.arguments(path) | {"lateness_limit_ns": lateness_limit_ns}
    make: type[UserspaceBox] = UserspaceBox
    if back_end == "kernel":
        from comet_delay.in_kernel import KernelBox  # not on top: it loads pyroute2

        make = KernelBox
    return make(
        *ports, ab=ab, ba=ba, mtu=path.mtu, seed=seed, record=record, box=own, control=control, log=log, ledger=ledger
    )


@dataclass(frozen=True)
class Boxes:
    """The running boxes of a trial by the number of their hop; none where hosts exist with a path of their own.
    ``of_pairs``: for boxes of a pair's own path, the pair by hop; other hops are [path]'s."""

    boxes: Mapping[int, Box]
    of_pairs: Mapping[int, int] = field(default_factory=dict)

    def of_path(self) -> list[Box]:
        """The boxes that have [path]'s parameters."""
        return [box for hop, box in self.boxes.items() if hop not in self.of_pairs]

    def began_ns(self) -> int:
        """Time 0 of changes, outages and events, CLOCK_MONOTONIC; now where no box has a clock of its own."""
        ready = next((getattr(box, "ready", None) for box in self.of_path()), None)
        return int(ready["clock"]["monotonic_ns"]) if ready else time.monotonic_ns()

    def ended(self, timeout_s: float) -> bool:
        """Whether a box has ended by itself. ToolError, with the box's reason, if it failed."""
        over = [box for box in self.boxes.values() if not box.running()]
        for box in over:
            box.finish(timeout_s)
        return bool(over)

    def stop(self) -> dict[str, Any]:
        """Ends the boxes. Returns the ``end`` object of the first, with those of further hops under ``hops``. In the
        object of a pair's own path ``pair`` is the pair's number."""
        if not self.boxes:
            return {"verdict": {"valid": True, "reasons": []}, "statistics": {}}
        first, *others = (box.stop() | self._whose(hop) for hop, box in self.boxes.items())
        return first | ({"hops": others} if others else {})

    def _whose(self, hop: int) -> dict[str, int]:
        return {"pair": self.of_pairs[hop]} if hop in self.of_pairs else {}


@contextlib.contextmanager
def record_file(ledger: Ledger) -> Iterator[Path]:
    """A name for a record, in memory where the machine has such a file system. The record is removed afterwards."""
    parent = _MEMORY_FILES if os.access(_MEMORY_FILES, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="lfp-box-", dir=parent))
    ledger.add_directory(folder)
    try:
        yield folder / "record"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


def recorder(record: Path, folder: Path, log: Path, ledger: Ledger) -> Tool:
    """The tool that reads the record while the box writes it, and writes tables into ``folder``. It ends by itself when
    the box has ended."""
    argv = [str(binaries.find("pktlogger")), "record", str(record), "-o", str(folder), "--json", "--parent-death"]
    return Tool(argv, name="pktlogger record", stderr_path=log, ledger=ledger)
