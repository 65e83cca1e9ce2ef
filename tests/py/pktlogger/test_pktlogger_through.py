"""Two connections that carry the same bytes through a relay: how long bytes stay in it, and what limits the whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from support.pktlogger_conversation import MS, MSS, Conversation, at
from support.relayed_capture import leg, relayed

import pktlogger


def test_how_long_bytes_stay_in_a_relay(tmp_path: Path) -> None:
    found = relayed(tmp_path, 3)
    rows = found.passes.to_pylist()
    assert [row["seq"] for row in rows] == [1 + part * MSS for part in range(6)]
    assert {row["dwell_ns"] for row in rows} == {3 * MS}
    assert [row["t_in_ns"] for row in rows[:2]] == [at(40), at(80)]
    (flow,) = found.flows
    assert flow["dwell_ns"] == {"min": 3 * MS, "p50": 3 * MS, "p95": 3 * MS, "max": 3 * MS}
    assert (flow["held_bytes_max"], flow["never_left_bytes"]) == (0, 0)


def test_a_sender_that_waits_for_the_relay_is_limited_by_it(tmp_path: Path) -> None:
    """The far connection has nothing to send while the relay holds data, so neither path is the limit."""
    found = relayed(tmp_path, 3)
    spans = found.limits.to_pylist()
    assert all(one["t1_ns"] == two["t0_ns"] for one, two in pairwise(spans))
    assert spans[0]["t0_ns"] == at(30) and spans[-1]["t1_ns"] == at(243), "the last part leaves the relay"
    assert found.limit_causes[-1] == "gateway"
    (flow,) = found.flows
    assert flow["limits_ns"]["gateway"] > 100 * MS and sum(flow["limits_ns"].values()) == 213 * MS


def test_bytes_that_never_left_are_counted(tmp_path: Path) -> None:
    near, far = Conversation(), Conversation()
    near.send(30, 1, 5)
    near.ack(40, 5001)
    far.send(43, 1, 3)
    far.ack(53, 3001)
    analyses = []
    for name, path in (("near", near), ("far", far)):
        (tmp_path / name).mkdir()
        analyses.append(path.analyse(tmp_path / name)[0])
    (flow,) = pktlogger.through(*analyses).flows
    assert flow["never_left_bytes"] == 2 * MSS


def whole(near: list[tuple[int, int, str]], far: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The limits of the whole transfer, of one segment, with these limits on either side."""
    segment = [(1, 10, 0, 1)]
    found = pktlogger.through(leg(segment, near), leg(segment, far))
    return [(row["t0_ns"], row["t1_ns"], found.limit_causes[row["cause"]]) for row in found.limits.to_pylist()]


def test_each_connections_limits_count_as_in_its_own_verdict() -> None:
    """The far connection lost packets, and the near one did not."""
    segment = [(1, 10, 0, 1)]
    near = leg(segment, [(0, 10, "path_rate"), (10, 30, "receiver_window")])
    far = leg(segment, [(5, 30, "path_rate")])
    far.summary["flows"][0]["limits_as"] = {"path_rate": "losses"}
    (flow,) = pktlogger.through(near, far).flows
    assert flow["limits_ns"] == {"path_rate": 30} and flow["verdict_ns"] == {"path_rate": 10, "losses": 20}


def test_what_the_far_connection_limits_by_itself_is_the_gateways_limit() -> None:
    """The gateway is the sender of the far connection, so lack of data, send buffer and pacing there are the gateway's
    limits; the path's rate is not."""
    far = [(0, 10, "application"), (10, 20, "send_buffer"), (20, 30, "pacing"), (30, 40, "path_rate")]
    assert whole([(0, 40, "receiver_window")], far) == [(0, 30, "gateway"), (30, 40, "path_rate")]
    assert whole([(0, 40, "send_buffer")], far) == [(0, 40, "send_buffer")], "the client's own"


def test_a_client_that_sent_everything_at_once_leaves_all_the_time_to_the_gateway() -> None:
    """The client's connection has no span of limits. In that case the whole transfer once had no limits at all."""
    assert whole([], [(5, 50, "path_rate"), (50, 90, "application")]) == [
        (0, 5, "gateway"),
        (5, 50, "path_rate"),
        (50, 90, "gateway"),
    ]
    assert whole([], []) == [], "no time passed"


def test_the_transfer_lasts_until_its_last_byte_has_left_the_gateway() -> None:
    """The client has sent everything by 40, and the far connection goes on until 90."""
    near, far = [(0, 40, "path_rate")], [(5, 50, "path_rate"), (50, 90, "application")]
    assert whole(near, far) == [(0, 50, "path_rate"), (50, 90, "gateway")]
    assert whole(near, [(60, 80, "path_rate")]) == [(0, 40, "path_rate"), (40, 60, "gateway"), (60, 80, "path_rate")]


def two_messages(*acks: tuple[int, ...]) -> list[tuple[int, int, str]]:
    """The limits of three messages of 10 bytes, sent at 0, 60 and 120. Each reaches the gateway 1 later, and has left
    the gateway 30 after it was sent."""
    near = leg([(1, 10, 0, 1), (11, 10, 60, 61), (21, 10, 120, 121)], [(0, 120, "application")], acks)
    far = leg([(1, 4, 20, 21), (5, 6, 30, 31), (11, 10, 90, 91), (21, 10, 150, 151)], [(20, 150, "application")])
    found = pktlogger.through(near, far)
    return [(row["t0_ns"], row["t1_ns"], found.limit_causes[row["cause"]]) for row in found.limits.to_pylist()]


def test_each_message_that_a_peer_answers_waits_for_the_gateway() -> None:
    """The next request comes when the sender's data have left the gateways, and it acknowledges nothing new."""
    assert two_messages((2, 11), (60, 11), (60, 21), (110, 21), (120, 21), (122, 31)) == [
        (0, 1, "application"),
        (1, 30, "gateway"),
        (30, 61, "application"),
        (61, 90, "gateway"),
        (90, 120, "application"),
        (120, 150, "gateway"),
    ]


def test_an_answer_of_one_segment_is_known_by_its_data() -> None:
    """The answer acknowledges the request and carries the response; no other acknowledgement has its number."""
    gateway = [
        (0, 1, "application"),
        (1, 30, "gateway"),
        (30, 61, "application"),
        (61, 90, "gateway"),
        (90, 120, "application"),
        (120, 150, "gateway"),
    ]
    assert two_messages((60, 11, 100), (120, 21, 100), (160, 31, 100)) == gateway
    assert two_messages((2, 11, 0), (60, 11, 100), (62, 21, 0), (120, 21, 100), (160, 31, 100)) == gateway
    by_clock = [(0, 120, "application"), (120, 150, "gateway")]
    assert two_messages((60, 11, 0), (120, 21, 0), (160, 31, 0)) == by_clock
    assert two_messages((2, 11, 0), (60, 11, 0), (62, 21, 0), (120, 21, 0)) == by_clock, "a window update"
    assert two_messages((20, 5, 100), (60, 11, 0), (100, 15, 100), (120, 21, 0)) == by_clock, "it is no answer to all"


def test_a_sender_that_waits_for_no_answer_is_its_own_limit_while_the_gateways_hold_its_data() -> None:
    """The sender sends by its own clock. A window update that comes before its data have left is no answer."""
    by_clock = [(0, 120, "application"), (120, 150, "gateway")]
    assert two_messages((2, 11), (62, 21), (122, 31)) == by_clock
    assert two_messages((2, 11), (20, 11), (62, 21), (85, 21), (122, 31)) == by_clock
    assert two_messages() == by_clock, "no acknowledgement is known"


def test_bytes_are_there_when_the_first_copy_of_each_has_come() -> None:
    """100 bytes arrive at the gateway at 20. The next 900 are lost; a copy of all 1,000 arrives at 60. A short copy
    that arrives later changes nothing."""
    near = leg(
        [(1, 100, 10, 20), (101, 900, 11, -1), (1001, 500, 12, 22), (1, 1000, 50, 60), (1, 50, 80, 90)],
        [(10, 80, "path_rate")],
    )
    far = leg([(1, 100, 25, 30), (101, 900, 61, 70), (1001, 500, 62, 71)], [(25, 62, "path_rate")])
    rows = pktlogger.through(near, far).passes.to_pylist()
    assert [(row["t_in_ns"], row["dwell_ns"]) for row in rows] == [(20, 5), (60, 1), (60, 2)]
    assert [row["held_bytes"] for row in rows] == [0, 500, 0]
