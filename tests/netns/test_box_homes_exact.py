"""The delay box in the kernel of virtual time decides as the same code in a process does."""

from __future__ import annotations

from pathlib import Path

import box_homes
import pytest
from support.virtual import in_virtual_time, virtual

from netcommon import binaries

pytestmark = [*virtual, pytest.mark.netns]

PROGRAMS = Path(binaries.find("comet-delay")).parent / "test"
EACH = 50


@pytest.mark.parametrize("first", [1, 51, 101, 151])
def test_arrivals_are_decided_alike(first: int) -> None:
    """200 random paths: recorded arrivals that a process decides again have the same fate, the same times of exit and
    departure and the same marks, packet by packet, and everything counted is the same, to the bit."""
    found = in_virtual_time(box_homes.different, first=first, n=EACH, programs=str(PROGRAMS), timeout_s=400)
    assert not found, "\n".join(found)


def test_another_seed_is_noticed() -> None:
    """Most of the paths have a random stage, which decides otherwise with another seed."""
    found = in_virtual_time(box_homes.different, first=1, n=8, programs=str(PROGRAMS), replayed_as=1, timeout_s=400)
    assert len(found) >= 4
