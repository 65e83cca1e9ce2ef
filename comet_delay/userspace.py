"""The daemon ``comet-delay`` as a back end: started, changed while it runs, stopped.

This is the only launcher of the daemon: Mininet's link, trials, benches and tests start it here.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from comet_delay import options
from comet_delay.command import Parameters, Port, run_argv
from comet_delay.control import Control, Refused
from netcommon.errors import UsageError
from netcommon.ledger import Ledger
from netcommon.process import Event, Tool, ToolError

# Before it is ready, the daemon prefaults its memory: 7 s per gigabyte of a virtual machine's untouched memory.
READY_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0


class UserspaceBox:
    """The daemon between two ports. It runs from `start` (or ``with``) to `stop`, and ends with the thread that started
    it.

    `both`, `ab`, `ba`, `mtu`, `seed`, `record`, `home` and `box` are as in `command.run_argv`. `control`: path of its
    socket (by default in a new folder). `log`: file for its stderr. `ledger`: keeps its process id for clean-up. Raises
    LfpError with the daemon's own line, UsageError for a name that it does not know, MissingBinary.
    """

    backend = "comet"

    def __init__(
        self, a: Port, b: Port, *, both: Parameters | None = None, ab: Parameters | None = None,
        ba: Parameters | None = None, mtu: int = 1500, seed: int = 1, record: Path | None = None,
        box: Mapping[str, int | str | None] | None = None, control: Path | None = None, log: Path | None = None,
        ledger: Ledger | None = None, home: str | None = None,
    ) -> None:  # fmt: skip
        self._folder = None if control else tempfile.TemporaryDirectory(prefix="comet-")
        self.control = control or Path(self._folder.name if self._folder else "", "control")
        self.argv = run_argv(
            a, b, self.control, both=both, ab=ab, ba=ba, mtu=mtu, seed=seed, record=record, home=home, **(box or {})
        )
        self._tool = Tool(self.argv, name="comet-delay", stderr_path=log, ledger=ledger)
        self.ready: Event = {}

    def start(self) -> UserspaceBox:
        """Starts the daemon; afterwards both ports exist and are up, and the attribute `ready` is its event."""
        self._tool.__enter__()
        try:
            self.ready = self._tool.wait_event("ready", READY_TIMEOUT_S)
        except BaseException:
            self._close()
            raise
        return self

    def __enter__(self) -> UserspaceBox:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._close()

    @property
    def pid(self) -> int:
        """Process id of the daemon; valid once started."""
        return self._tool.pid

    def running(self) -> bool:
        """True while the daemon lives."""
        return self._tool.running()

    def set(self, *, ab: Parameters | None = None, ba: Parameters | None = None) -> None:
        """Changes parameters of one direction or both: all of them or, if one is wrong, none.

        UsageError when the box refuses a value, ControlError when it does not answer.
        """
        known = options.installed()
        values = known.arguments(ab or {}, "ab-") | known.arguments(ba or {}, "ba-")
        if values:
            try:
                with Control(self.control) as control:
                    control.set(**values)
            except Refused as error:
                raise UsageError(str(error)) from error

    def show(self) -> dict[str, Any]:
        """Parameters, statistics and verdict."""
        with Control(self.control) as control:
            return control.show()

    def finish(self, timeout_s: float) -> Event:
        """Waits for the daemon to end by itself and returns its last state. ToolError when it fails or is late."""
        return self._tool.finish(timeout_s)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> Event:
        """Ends the daemon and its TAPs. Returns its last state, with the ``clock`` of `ready`: time 0 of outages and
        schedules. ToolError when it had failed before."""
        try:
            end = self._tool.stop(timeout_s)
            if end is None:
                self._tool.finish(1)  # says why there is none
                raise ToolError("comet-delay: ended without its last state")
            return end | {"clock": self.ready["clock"]}
        finally:
            self._close()

    def _close(self) -> None:
        with contextlib.suppress(ToolError):
            self._tool.__exit__(None, None, None)
        if self._folder:
            self._folder.cleanup()
