"""The thin Python layer of rttcp: command lines and the end object, without the tool."""

from __future__ import annotations

import itertools

import pytest

import rttcp


def test_sender_argv_gives_units_and_leaves_defaults_out() -> None:
    argv = rttcp.sender_argv(
        "10.0.0.2", "/x/rttcp", bytes=80 << 20, window_bytes=262144, sample_ns=10_000_000, family=4
    )
    assert argv[:4] == ["/x/rttcp", "--transmit", "10.0.0.2", "--json"]
    for option, value in (
        ("--bytes", "83886080"),
        ("--window", "262144"),
        ("--sample", "10000000ns"),
        ("--port", "5010"),
    ):
        assert argv[argv.index(option) + 1] == value
    assert "-4" in argv and "--parent-death" in argv
    assert not {"--duration", "--nodelay", "--nagle", "--length"} & set(argv)


@pytest.mark.parametrize(("nodelay", "flag"), [(True, "--nodelay"), (False, "--nagle")])
def test_nodelay_is_three_valued(nodelay: bool, flag: str) -> None:
    assert flag in rttcp.sender_argv("h", nodelay=nodelay)


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        rttcp.sender_argv("h", bytes=1, duration_ns=1)


def test_receiver_argv() -> None:
    argv = rttcp.receiver_argv(bind="10.0.0.2", once=True, key="k", parent_death=False)
    times = {("--max-idle", "1h"), ("--max-duration", "336h")}  # the longest that a sender may ask for
    assert argv[:3] == ["rttcp", "--receive", "--json"]
    assert {("--port", "5010"), ("--bind", "10.0.0.2"), ("--key", "k")} | times <= {*itertools.pairwise(argv)}
    assert "--once" in argv and "--parent-death" not in argv and len(argv) == 3 + 2 * 5 + 1


def test_an_option_is_given_by_its_name_and_unit() -> None:
    argv = rttcp.sender_argv("h", pace_burst_bytes=1 << 20, pace_bps=10**8, omit_ns=5, skip_rx_copy=True, verify=False)
    assert {("--pace-burst", "1048576"), ("--pace", "100000000bit"), ("--omit", "5ns")} <= {*itertools.pairwise(argv)}
    assert "--skip-rx-copy" in argv and "--verify" not in argv


@pytest.mark.parametrize("event", [{"event": "start", "v": 1}, {"event": "end", "v": 2}, {"event": "end", "v": 1}])
def test_what_is_no_end_event_is_refused(event: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        rttcp.parse_end(event)
