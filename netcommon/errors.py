"""Errors that users see: one line, and an exit status with the same meaning for every command."""

from __future__ import annotations

from netcommon.printable import printable

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_MISSING = 3
EXIT_INTERRUPTED = 130


class LfpError(Exception):
    """An error that ends a command. ``str(error)`` is one line that says what to do; ``status`` is the exit status."""

    def __init__(self, message: str, status: int = EXIT_FAILED) -> None:
        super().__init__(printable(" ".join(message.split())))
        self.status = status


class UsageError(LfpError):
    """The user's input is wrong: names the option or ``file:line``, the value and what is allowed (status 2)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_USAGE)


class MissingError(LfpError):
    """The machine lacks something, for example a privilege: names it and says how to get it (status 3)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_MISSING)
