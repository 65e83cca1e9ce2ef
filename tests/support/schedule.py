"""Which worker gets which test (pytest-xdist): tests of a file that share a fixture stay together, all others go one by
one to the next free worker. The largest groups begin first.

Rejected: --dist loadfile, whose longest file is the end of the run; --dist loadgroup, which pytest 9 has broken.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[2]
_SHARED = ('scope="module"', 'scope="session"')


@cache
def shares_a_fixture(file: str) -> bool:
    """Whether the test file, relative to the root, makes something once for several of its tests."""
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return any(words in text for words in _SHARED)


class Together(LoadScopeScheduling):  # type: ignore[misc]
    """Sends tests that share a fixture to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if shares_a_fixture(file) else nodeid
