"""Clients at work next to all attacks at once: the bench attack.load for half a minute, in virtual time."""

from __future__ import annotations

import pytest
from support.virtual import virtual

from bench.attack import load

pytestmark = [pytest.mark.netns, pytest.mark.timeout(900), *virtual]

CLIENTS, ALONE_S, SECONDS = 20, 10, 30


def test_an_hour_next_to_streams_that_are_not_read() -> None:
    assert not [row for row in load.day_rows(1) if not row.within]


def test_nothing_is_lost_and_nobody_waits_next_to_attacks() -> None:
    found = load.measured(CLIENTS, ALONE_S, SECONDS, 800)
    print(found)
    assert found["alone"]["lost"] == 0 and found["beside"]["connections"] == CLIENTS * SECONDS // 10
    assert not [row for row in load.rows(found) if not row.within]
    assert found["seen"]["attacks that ended"] == 0, "an attack ended before the clients did"
