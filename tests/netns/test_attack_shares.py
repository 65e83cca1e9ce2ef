"""A greedy source leaves all others at least half of their fair share: the bench attack.shares, smaller."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.virtual import virtual

from bench.attack import page, streams
from bench.attack.share import Share
from bench.attack.shares import LEAST, in_guest

pytestmark = pytest.mark.netns


def judge(share: Share) -> None:
    print(share.said)
    assert share.worst >= LEAST, share.said
    assert share.took > 0 or share.unit == "Mbit/s", "the one source took nothing, so nothing was tried"


ROWS: list[tuple[str, str, dict[str, int]]] = [
    ("gateways", "sessions", {"places": 16}),
    ("gateways", "half_open", {"places": 16}),
    ("gateways", "names", {"places": 16}),
    ("gateways", "descriptors", {"limit": 150}),
    ("gateways", "handshakes", {"copies": 50}),
    ("gateways", "processor", {"connections": 8}),
    ("receiver", "sessions", {"places": 8}),
    ("receiver", "memory", {"sessions": 8}),
    ("receiver", "descriptors", {"limit": 40}),
]


@pytest.mark.parametrize(
    ("module", "name", "sizes"), [pytest.param(*row, marks=virtual, id="-".join(row[:2])) for row in ROWS]
)
def test_others_get_half_of_their_share(module: str, name: str, sizes: dict[str, int]) -> None:
    judge(in_guest(module, name, **sizes))


def test_streams_that_are_not_read_leave_memory() -> None:
    judge(streams.memory(1000, 6))


def test_idle_connections_leave_the_page_to_others(tmp_path: Path) -> None:
    judge(page.connections(tmp_path, wanted=100, others=18))
