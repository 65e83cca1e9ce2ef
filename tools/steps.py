"""Shared by programs of this folder that take minutes: steps with a common time budget, and how they end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

TAIL_LINES, END_S = 200, 20.0


class Trouble(Exception):
    """The reason why the program ends early: one line for the user, and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Steps:
    """Runs commands, each with a line of progress, within a common time budget; their output goes to one log."""

    def __init__(self, log: Path, budget_s: float) -> None:
        self._log, self._began_s, self._budget_s = log, time.monotonic(), budget_s

    def run(
        self, what: str, argv: list[str], environment: Mapping[str, str] | None = None, status: Path | None = None
    ) -> None:
        """Runs a command. Trouble when it fails or the budget is used up; the end of its output is shown then.
        ``environment``: the command's; None: ours. ``status``: a file with the exit status, for a command whose own is
        always 0."""
        began_s, left_s = time.monotonic(), self.say(what)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"== {what}: {' '.join(argv)}\n")
            log.flush()
            start = log.tell()
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
            try:
                returned = process.wait(max(left_s, 1))
            except subprocess.TimeoutExpired:
                self._show(start)
                raise Trouble(
                    f"{what}: not done after {self._budget_s:.0f} s in all; allow more: --budget", 1
                ) from None
            finally:
                _end(process)
        if status and not returned:
            returned = int(status.read_text(encoding="ascii")) if status.exists() else 1
        if returned:
            self._show(start)
            raise Trouble(f"{what}: failed with status {returned}", 1)
        print(f"   {time.monotonic() - began_s:.0f} s{self._last_line(start)}", flush=True)

    def say(self, what: str) -> float:
        """Prints the line of a step, and returns the seconds that are left."""
        left_s = self._budget_s - (time.monotonic() - self._began_s)
        print(f"== {what} ({left_s / 60:.0f} min left)", flush=True)
        return left_s

    def _show(self, start: int) -> None:
        print("\n".join(self._lines(start)[-TAIL_LINES:]), flush=True)

    def _last_line(self, start: int) -> str:
        lines = [line for line in self._lines(start) if "passed" in line]
        return f"; {lines[-1].strip('= ')}" if lines else ""

    def _lines(self, start: int) -> list[str]:
        return self._log.read_bytes()[start:].decode(errors="replace").splitlines()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that still runs. It has some seconds to clean up after itself."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
