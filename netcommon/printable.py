"""Untrusted texts on a terminal: characters that would control it are shown as escapes.

A title, a path or a reason may come from a run, a capture or a peer. A terminal obeys control characters in them: it
overwrites lines, changes its title, or puts a command on the clipboard. Characters that change the direction of writing
make a text look like another one. ``nc_printable`` of netcommon/src does the same for the C tools.
"""

from __future__ import annotations

_CONTROL = (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))  # newline and tab stay
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: repr(chr(code))[1:-1] for code in (*_CONTROL, *_DIRECTION)}


def printable(text: str) -> str:
    """The text with an escape instead of each control character. Newline and tab are kept: they are harmless."""
    return text.translate(_ESCAPES)
