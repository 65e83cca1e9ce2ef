"""Where the program ``lfp`` starts: a shell that asks for completion is answered before click is loaded."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Console script."""
    instruction = os.environ.get("_LFP_COMPLETE", "")
    if instruction.endswith("_complete"):
        from lfp.commands import _complete

        sys.stdout.write(_complete.answer(instruction))
        return
    from lfp import cli

    cli.main()
