"""comet-delay as a part of a path: started from the scenario's model of both directions."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

from comet_delay import Port, run_argv
from comet_delay.netem import NetemBox
from netcommon import binaries
from netcommon.errors import UsageError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.model import Direction, PathTable

WAYS: tuple[Literal["ab"], Literal["ba"]] = ("ab", "ba")
_MEMORY_FILES = Path("/dev/shm")  # where a record belongs (comet_delay/RECORD.md): nothing writes it to a disk
READY_TIMEOUT_S = 90.0  # it prefaults its memory first: 7 s a gigabyte where a virtual machine first uses it


BackEnd = Literal["comet", "netem"]


class DelayBox(Protocol):
    """What a trial needs of a path: the daemon as a `Tool`, or `NetemPath`."""

    def __enter__(self) -> DelayBox: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...
    def wait_event(self, name: str, timeout_s: float) -> dict[str, Any]: ...
    def running(self) -> bool: ...
    def finish(self, timeout_s: float) -> dict[str, Any]: ...
    def stop(self, timeout_s: float = 5) -> dict[str, Any] | None: ...


class NetemPath:
    """The kernel's disciplines in the place of the daemon: there once entered, gone once left."""

    def __init__(
        self, ports: tuple[Port, Port], ab: dict[str, int | str], ba: dict[str, int | str], mtu: int, seed: int,
        granularity_ns: int,
    ) -> None:  # fmt: skip
        self._arguments = ports, ab, ba, mtu, seed, granularity_ns
        self._box: NetemBox | None = None

    def __enter__(self) -> NetemPath:
        ports, ab, ba, mtu, seed, granularity_ns = self._arguments
        self._box = NetemBox(*ports, ab=ab, ba=ba, mtu=mtu, seed=seed, granularity_ns=granularity_ns)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def wait_event(self, name: str, timeout_s: float) -> dict[str, Any]:
        """At once: it is up when made."""
        return {"event": name}

    def running(self) -> bool:
        """Always: there is no process that could end."""
        return True

    def finish(self, timeout_s: float) -> dict[str, Any]:
        """The same as `stop`."""
        return self.stop()

    def stop(self, timeout_s: float = 5) -> dict[str, Any]:
        """Takes the path away; its last state."""
        assert self._box
        return self._box.stop()


def parameters(direction: Direction, framing: str) -> dict[str, int | str]:
    """A direction as the box names it; what is as the box has it by itself is left out."""
    return direction.changed() | {"framing": framing}


def box(
    ports: tuple[Port, Port], control: Path, path: PathTable, *, seed: int = 1, log: Path | None = None,
    ledger: Ledger | None = None, back_end: BackEnd = "comet", record: Path | None = None,
) -> DelayBox:  # fmt: skip
    """The box as a tool not yet started; its ``ready`` means that both ports exist and are up. ``seed`` holds unless
    the path has one. ``record``: file for its record of every wire packet."""
    ab, ba = (parameters(path.direction(which), path.framing) for which in WAYS)
    seed = seed if path.seed is None else path.seed
    if back_end == "netem":
        if record:
            raise UsageError("capture.points has 'box': the netem back end keeps no record; use the delay box itself")
        return NetemPath(ports, ab, ba, path.mtu, seed, path.granularity or 0)
    argv = run_argv(
        *ports, control, ab=ab, ba=ba, mtu=path.mtu, seed=seed, poll_ns=path.poll, spin_ns=path.spin,
        granularity_ns=path.granularity, memory_bytes=path.memory,
    )  # fmt: skip
    argv += ["--record", str(record)] if record else []
    return Tool(argv, name="comet-delay", stderr_path=log, ledger=ledger)


@contextlib.contextmanager
def record_file(ledger: Ledger) -> Iterator[Path]:
    """A name for a record, in memory where the machine has such a file system; gone afterwards."""
    parent = _MEMORY_FILES if os.access(_MEMORY_FILES, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="lfp-box-", dir=parent))
    ledger.add_directory(folder)
    try:
        yield folder / "record"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


def recorder(record: Path, folder: Path, log: Path, ledger: Ledger) -> Tool:
    """What reads along while the box writes its record, into ``folder``; it ends by itself when the box has ended."""
    argv = [str(binaries.find("pktlogger")), "record", str(record), "-o", str(folder), "--json", "--parent-death"]
    return Tool(argv, name="pktlogger record", stderr_path=log, ledger=ledger)
