"""When a gateway bypasses, gives up or ends, in virtual time. The gateway checks limits on connections once a second
and the health of the tunnel ten times a second; the bounds add only that and a round trip of 10 ms."""

from __future__ import annotations

import lft_measures as measure
import pytest
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, *virtual]

ROUND_TRIPS_S = 0.05  # some of 10 ms
LOOK_S = 1 + ROUND_TRIPS_S
HEALTH_S = 0.2 + ROUND_TRIPS_S  # age of the peer's last frame, plus the time until the next check


def test_bypass_comes_with_the_outage_and_goes_when_the_tunnel_is_steady() -> None:
    found = in_virtual_time(measure.dead_path)
    assert found["bypassed"] == pytest.approx(1, abs=HEALTH_S), "--dead 1s"
    assert 0.2 <= found["back"] <= 0.2 + 2 * HEALTH_S, "0.2 s of being up"
    assert found["outages"] == 2, "one at either end"


def test_a_connection_without_an_octet_is_reset_after_the_idle_limit() -> None:
    for after_s in in_virtual_time(measure.idle_reset, limit="3s"):
        assert 3 - ROUND_TRIPS_S <= after_s <= 3 + LOOK_S


def test_an_outage_that_is_too_long_resets_both_ends() -> None:
    for after_s in in_virtual_time(measure.outage_reset, limit="4s"):
        assert after_s == pytest.approx(4, abs=HEALTH_S)


def test_draining_ends_when_it_was_told_to() -> None:
    """The gateway sleeps while it waits: a wait until a time in the past would stop the virtual clock."""
    client_s, server_s, ended_s = in_virtual_time(measure.drain_reset, limit="3s")
    for after_s in (client_s, server_s, ended_s):
        assert 3 <= after_s <= 3 + 0.05 + ROUND_TRIPS_S, "50 ms to tell the peer"


def test_a_connect_without_an_answer_is_given_up_after_its_limit() -> None:
    found = in_virtual_time(measure.half_open_expired, limit="2s")
    assert 2 - ROUND_TRIPS_S <= found["expired"] <= 2 + LOOK_S and found["left"] == 0
