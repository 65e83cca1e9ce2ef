"""Each end of rttcp judges by its own evidence: a peer that lies about the parameters or the results gains nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.rttcp_tool import BINARY, Receiver, control_proxy, flip_in_stream_0, send

pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


def _in(kind: str, change: Change) -> Change:
    """A change of the messages of one type."""

    def look(message: dict[str, Any]) -> None:
        if message["type"] == kind:
            change(message)

    return look


def _all_is_well(result: dict[str, Any]) -> None:
    for way in result["ways"]:
        if way:
            way["summary"] |= {"verified": "ok", "complete": True}


def test_the_receiver_does_not_believe_the_senders_verdict(receiver: Receiver) -> None:
    """The receiver finds a wrong octet; the sender's summary says that all went well."""
    port = control_proxy(receiver.port, flip_in_stream_0(1000), _in("result", _all_is_well))
    assert send(port, bytes=1_000_000, verify=True)[0] == 1
    end = receiver.event()
    assert end["summary"]["verified"] == "mismatch" and end["complete"] is False
    assert "offset 1000:" in end["error"] and not end["summary"]["verdict"]["valid"]
    assert receiver.stop()[1][-1]["failed"] == 1


def test_the_receiver_makes_the_figures_from_its_own_count(receiver: Receiver) -> None:
    def boast(result: dict[str, Any]) -> None:
        result["ways"][0]["summary"] |= {"bytes": 10**15, "short_term_bps": 10**15, "peak_bps": 10**15}

    assert send(control_proxy(receiver.port, change_sent=_in("result", boast)), bytes=1_000_000)[0] == 0
    summary = receiver.event()["summary"]
    assert summary["bytes"] == 1_000_000 and summary["complete"] is True
    assert summary["short_term_bps"] == 8 * 10**15 // summary["elapsed_ns"]
    assert summary["peak_bps"] < 10**15


@pytest.mark.parametrize(
    ("claim", "words"),
    [({"verified": "mismatch", "complete": False}, "'mismatch'"), ({"complete": False}, "incomplete")],
)
def test_the_worse_verdict_wins(receiver: Receiver, claim: dict[str, Any], words: str) -> None:
    def complain(result: dict[str, Any]) -> None:
        result["ways"][0]["summary"] |= claim

    assert send(control_proxy(receiver.port, change_sent=_in("result", complain)), bytes=100_000, verify=True)[0] == 0
    end = receiver.event()
    assert end["complete"] is False and words in end["error"]
    assert receiver.stop()[1][-1]["failed"] == 1


def _no_digest(message: dict[str, Any]) -> None:
    message["account"]["digest"] = ""


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("change", [dict.clear, _no_digest], ids=["no rows", "no digests"])
def test_without_the_other_ends_digests_nothing_is_verified(receiver: Receiver, direction: str, change: Change) -> None:
    port = control_proxy(receiver.port, _in("stream", change))
    status, events, errors = send(port, bytes=100_000, verify=True, direction=direction)
    end = next(e for e in events if e["event"] == "end")
    assert end["summary"]["verified"] == "unknown" and end["complete"] is False
    assert status == 1 and "no digest" in errors and errors.count("\n") == 1
    assert not end["summary"]["verdict"]["valid"]


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("verify", False),
        ("bytes", 1000),
        ("length_bytes", 64 << 20),
        ("align_bytes", 64 << 20),
        ("timeout_ns", 1),
        ("streams", [{"direction": "send"}] * 128),
        ("congestion", "cubic"),
        ("peer_cpu", "1"),
    ],
)
def test_an_answer_with_other_parameters_ends_the_session(receiver: Receiver, key: str, answer: object) -> None:
    def change(message: dict[str, Any]) -> None:
        message["params"][key] = answer
        if key == "streams":
            message["streams"] *= 128

    port = control_proxy(receiver.port, _in("accept", change))
    status, events, errors = send(port, bytes=100_000, verify=True, congestion="reno")
    assert status == 1 and errors.count("\n") == 1
    assert f"the receiver answered {key} " in errors
    assert [e["event"] for e in events] == ["error"], "no byte was moved"


@pytest.mark.parametrize(
    ("window", "change", "words"),
    [
        (None, lambda streams: streams[0].update(port=streams[1]["port"]), "which another stream has already"),
        (65536, lambda streams: streams[0].update(window_granted_bytes=1 << 20), "granted a window of 1048576 bytes"),
        (None, lambda streams: streams[0].update(window_granted_bytes=1 << 20), "granted a window of 1048576 bytes"),
    ],
)
def test_an_answer_with_other_ports_or_windows_ends_the_session(
    receiver: Receiver, window: int | None, change: Callable[[list[dict[str, int]]], None], words: str
) -> None:
    port = control_proxy(receiver.port, _in("accept", lambda message: change(message["streams"])))
    status, events, errors = send(port, bytes=100_000, parallel=2, window_bytes=window)
    assert status == 1 and words in errors and errors.count("\n") == 1
    assert [e["event"] for e in events] == ["error"]


def test_a_data_connection_never_goes_to_the_control_port(receiver: Receiver) -> None:
    port = 0

    def back_to_the_start(message: dict[str, Any]) -> None:
        message["streams"][0]["port"] = port

    port = control_proxy(receiver.port, _in("accept", back_to_the_start))
    status, _, errors = send(port, bytes=100_000)
    assert status == 1 and "which the control connection has already" in errors
