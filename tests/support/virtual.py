"""One function in virtual time: ``in_virtual_time(round_trips, delay="4.2ms")`` runs it in a guest of its own.

The guest has the host's files, a kernel with real TCP and TAPs, and a clock that stands while any process computes, so
the function's measurements are exact however busy this machine is. Its module is imported there: it must not be a test
module, and the function takes and returns what JSON can carry. What it starts must not spin (``--spin 0``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarios.virtual import kernel, program
from scenarios.virtual.memory import BASE_BYTES
from support.inside import RESULT

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = [str(TESTS), str(TESTS / "netns"), str(TESTS / "py")]

# Marks of a test in virtual time; it is skipped, with the reason, where the kernel is not built.
virtual = [pytest.mark.virtual, pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing()))]


def in_virtual_time(
    function: Callable[..., Any],
    *,
    seed: int = 1,
    timeout_s: float = 120,
    memory_bytes: int = BASE_BYTES,
    **arguments: Any,
) -> Any:
    """What the function returns. AssertionError with the guest's output when it fails there; LfpError when the guest
    does."""
    code = f"import sys; sys.path[:0] = {FOLDERS!r}; from support.inside import call; call(*sys.argv[1:])"
    call = [function.__module__, function.__name__, json.dumps(arguments)]
    done = program.run(
        [sys.executable, "-c", code, *call],
        folder=TESTS.parent,
        seed=seed,
        timeout_s=timeout_s,
        memory_bytes=memory_bytes,
    )
    said, _, result = done.output.rpartition(RESULT)
    assert done.status == 0 and result, f"{function.__name__} in virtual time: {done.output}"
    print(said, end="")
    return json.loads(result)
