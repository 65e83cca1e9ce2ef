"""Runs one program in a guest of its own, forwards its output as it comes, and returns how it ended."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.virtual import init, kernel, memory, schedule
from scenarios.virtual.guest import Guest, environment_of_tools
from scenarios.virtual.machine import Machine

_LOOK_S = 0.02


@dataclass(frozen=True)
class Result:
    """What a program in a guest returned: exit status, stdout and stderr together, and its virtual time.
    ``computed``: the programs whose computing took virtual time (`Guest.computed`)."""

    status: int
    output: str
    taken_ns: int
    computed: tuple[str, ...]


def run(
    argv: list[str],
    *,
    folder: Path,
    memory_bytes: int = memory.BASE_BYTES,
    seed: int = 1,
    timeout_s: float = 60,
    environment: Mapping[str, str] | None = None,
    machine: Machine | None = None,
    said: Callable[[bytes], None] | None = None,
    ledger: Ledger | None = None,
    record: Path | None = None,
) -> Result:
    """Runs a program in a guest of its own. ``machine``: its environment (`machine.Machine`); None: the host's files,
    read-only, and no network. ``said`` is called with stdout and stderr as they come. ``record``: the file that gets
    the record of who ran when (`schedule`), once it is whole. LfpError when the guest fails or takes longer than
    ``timeout_s`` of wall time."""
    with ExitStack() as stack:
        share = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lfp-share-")))
        own = environment_of_tools() | dict(environment or {})
        job = {"command": argv, "folder": str(folder), "machine": machine, "environment": own}
        partial = stack.enter_context(_partial(record)) if record else None
        guest = Guest(kernel.require(), share, memory_bytes, seed, job, partial, alone=True)
        if ledger:
            for path in (share, guest.folder):
                ledger.add_directory(path)
                stack.callback(ledger.drop_directory, path)
        with guest:
            output = _follow(guest, argv, timeout_s, said or (lambda _: None))
            guest.check()
            if not (share / init.STATUS).exists():
                raise LfpError(f"the guest ended before the program did: {guest.said().strip().splitlines()[-1:]}")
            if partial and record:
                if not schedule.is_whole(partial):
                    raise LfpError(f"--record {record}: it could not be written whole; make room on its disk")
                partial.rename(record)
            end = json.loads((share / init.STATUS).read_text(encoding="ascii"))
            return Result(int(end["status"]), output, int(end["taken_ns"]), tuple(guest.computed()))


@contextmanager
def _partial(file: Path) -> Iterator[Path]:
    """A temporary file next to ``file``, which is removed unless it has been renamed to ``file``."""
    partial = file.with_name(f".{file.name}.partial")
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def _follow(guest: Guest, argv: list[str], timeout_s: float, said: Callable[[bytes], None]) -> str:
    """Waits for the guest's end. Returns all that the program said."""
    deadline, all_of_it = time.monotonic() + timeout_s, b""
    with (guest.share / init.OUTPUT).open("rb") as output:
        ended = False
        while not ended:
            ended = guest.ended()
            if more := output.read():
                said(more)
                all_of_it += more
            if not ended and time.monotonic() > deadline:
                clock = f"its clock came to {round(guest.virtual_s())} s"
                raise LfpError(f"the guest takes longer than {round(timeout_s)} s, {clock}: {' '.join(argv)}")
            time.sleep(0 if ended else _LOOK_S)
    return all_of_it.decode(errors="replace")
