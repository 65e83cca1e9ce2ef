"""The daemon ``comet-delay`` as a back end: started, changed while it runs, stopped."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comet_delay import options
from comet_delay.command import Port, run_argv
from comet_delay.control import Control, ControlError
from netcommon.errors import LfpError, UsageError
from netcommon.process import Tool, ToolError

_READY_TIMEOUT_S = 15.0  # it prefaults its memory first
_OURS = {"a", "b", "control", "parent-death", "check", "human", "json", "mtu", "seed", "duration"}


class UserspaceBox:
    """A running daemon; it ends with `stop`, or with the thread that made this.

    `ab` and `ba` are named as in its `show` (``delay_ns``, ``rate_bps``, …: whatever `options.installed` lists), `box`
    are further options of ``comet-delay run`` by name, with their units (``{"memory": "64MB", "spin": "0us"}``).
    Raises LfpError with the daemon's own line, UsageError for a name it does not know, MissingBinary.
    """

    backend = "comet"

    def __init__(
        self, a: Port, b: Port, *, ab: Mapping[str, int | str] | None = None, ba: Mapping[str, int | str] | None = None,
        mtu: int = 1500, seed: int = 1, box: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._options = options.installed()
        argv = self._arguments(ab or {}, ba or {}, box or {})
        self._folder = tempfile.TemporaryDirectory(prefix="comet-")
        self._control = Path(self._folder.name, "control")
        self._tool = Tool([*run_argv(a, b, self._control, mtu=mtu, seed=seed), *argv], name="comet-delay").__enter__()
        try:
            self._tool.wait_event("ready", _READY_TIMEOUT_S)
        except BaseException:
            self._close()
            raise

    def set(self, *, ab: Mapping[str, int | str] | None = None, ba: Mapping[str, int | str] | None = None) -> None:
        """Changes some parameters of one direction or both; all of them or, if one is wrong, none."""
        values = self._options.arguments(ab or {}, "ab-") | self._options.arguments(ba or {}, "ba-")
        if values:
            try:
                with Control(self._control) as control:
                    control.set(**values)
            except ControlError as error:
                raise UsageError(str(error)) from error

    def show(self) -> dict[str, Any]:
        """Parameters, statistics and verdict."""
        try:
            with Control(self._control) as control:
                return control.show()
        except ControlError as error:
            raise LfpError(str(error)) from error

    def stop(self) -> dict[str, Any]:
        """Ends the daemon and its TAPs; its last state. LfpError when it had failed before."""
        try:
            end = self._tool.stop()
            if end is None:
                self._tool.finish(1)  # says why there is none
                raise ToolError("comet-delay: ended without its last state")
            return end
        finally:
            self._close()

    def _close(self) -> None:
        self._tool.__exit__(None, None, None)
        self._folder.cleanup()

    def _arguments(
        self, ab: Mapping[str, int | str], ba: Mapping[str, int | str], box: Mapping[str, str]
    ) -> list[str]:  # fmt: skip
        known = self._options.box.keys() - _OURS
        for name in box.keys() - known:
            raise UsageError(f"{name}: no such option of the box; it has {', '.join(sorted(known))}")
        named = dict(box) | self._options.arguments(ab, "ab-") | self._options.arguments(ba, "ba-")
        return [word for name, text in named.items() for word in (f"--{name}", text)]
