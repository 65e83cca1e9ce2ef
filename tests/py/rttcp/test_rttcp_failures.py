"""What may go wrong with a transfer, over loopback: each failure gives one clear line, the right status, an end within
the stated time, and partial results that are marked. tests/netns/test_rttcp_path.py tests a path that is cut.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.ports import free_port
from support.rttcp_tool import (
    BINARY,
    DEADLINE_S,
    HELLO,
    VERSION,
    Receiver,
    control_proxy,
    frame,
    read_line,
    receive_frame,
    send,
    start_long_transfer,
)

import rttcp

pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")
HOUR_NS = 3600 * 10**9
BUSY_S = 25.0  # allowance for a busy machine


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


def _last_words(process: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any], str]:
    """Waits for a sender's end; returns its status, `end` and stderr."""
    out, errors = process.communicate(timeout=DEADLINE_S)
    end = next(event for event in map(json.loads, out.splitlines()) if event["event"] == "end")
    return process.returncode, end, errors.decode()


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("parallel", [1, 3])
def test_the_end_that_survives_says_so_at_once(direction: str, parallel: int) -> None:
    """Either end is killed, whoever sends; the time-out is much longer than the other one takes to notice."""
    for victim in ("sender", "receiver"):
        server = Receiver("--once")
        sender = start_long_transfer(server.port, direction=direction, parallel=parallel, pace_bps=100_000_000)
        killed = time.monotonic()
        if victim == "sender":
            sender.kill()
            sender.communicate(timeout=DEADLINE_S)
            end, status = server.event(), server.process.wait(DEADLINE_S)
        else:
            server.process.kill()  # its session dies with it
            status, end, errors = _last_words(sender)
            assert errors.count("\n") == 1
        assert time.monotonic() - killed < 2 + BUSY_S, "last words take 2 s at most, --timeout is 60 s"
        server.stop()
        assert status == 1 and end["complete"] is False and end["error"]
        ways = [end, end["reverse"]] if direction == "both" else [end]
        for way in ways:
            assert any(way[side]["partial"] and way[side]["bytes"] > 0 for side in ("sender", "receiver"))
            assert not way["summary"]["verdict"]["valid"] and way["summary"]["ended_by"] == "error"


def _peer_of_another_version(answer: dict[str, Any]) -> tuple[int, str]:
    """Runs a sender against a receiver that answers its hello with ``answer``."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        argv = rttcp.sender_argv("127.0.0.1", BINARY, port=server.getsockname()[1])
        sender = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        server.settimeout(DEADLINE_S)
        peer, _ = server.accept()
        with peer:
            receive_frame(peer)
            peer.sendall(frame(answer))
            _, errors = sender.communicate(timeout=DEADLINE_S)
    return sender.returncode, errors.decode()


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "hello", "magic": "rttcp", "version": 2},
        {"type": "refuse", "status": 1, "reason": f"version {VERSION} is not version 2: use the same rttcp"},
    ],
)
def test_a_receiver_of_another_version(answer: dict[str, Any]) -> None:
    status, errors = _peer_of_another_version(answer)
    assert status == 1 and errors.count("\n") == 1
    assert "version 2" in errors and f"version {VERSION}" in errors and "the same rttcp" in errors


def test_a_sender_of_another_version_is_told_both(receiver: Receiver) -> None:
    with socket.create_connection(("127.0.0.1", receiver.port)) as peer:
        peer.sendall(frame({"type": "hello", "magic": "rttcp", "version": 2}))
        answer = receive_frame(peer)
    assert answer["type"] == "refuse" and answer["status"] == 1
    assert "version 2" in answer["reason"] and f"version {VERSION}" in answer["reason"]
    assert receiver.event()["event"] == "refused"


def test_the_receivers_processors_are_its_administrators_choice() -> None:
    """--cpu and an inherited CPU mask (taskset, CPUAffinity= of a unit) take precedence over --peer-cpu."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    first, second, *_ = sorted(os.sched_getaffinity(0))
    receiver = Receiver("--cpu", str(first))
    try:
        status, _, errors = send(receiver.port, "127.0.0.1", "--peer-cpu", str(second), bytes=100_000)
        assert status == 2 and f"--peer-cpu {second}" in errors and errors.count("\n") == 1
        assert receiver.event()["event"] == "refused"
        assert send(receiver.port, "127.0.0.1", "--peer-cpu", str(first), bytes=100_000)[0] == 0
    finally:
        receiver.stop()
    receiver = Receiver()
    try:
        os.sched_setaffinity(receiver.process.pid, {second})
        assert send(receiver.port, "127.0.0.1", "--peer-cpu", str(first), bytes=100_000)[0] == 2
        assert send(receiver.port, "127.0.0.1", "--peer-cpu", str(second), bytes=100_000)[0] == 0
    finally:
        receiver.stop()


def test_a_proposal_that_would_take_too_much_memory_is_refused() -> None:
    """The receiver allocates nothing for such a proposal, and serves ordinary transfers whatever the limit. One address
    may use a quarter of the memory."""
    server = Receiver("--memory", "300MB")
    try:
        status, _, errors = send(server.port, "127.0.0.1", "--length", "64MB", "--parallel", "2", "--reverse", bytes=1)
        assert status == 3 and errors.count("\n") == 1, errors
        assert "--length" in errors and "131080KB" in errors and "75MB of its --memory 300MB" in errors
        assert server.event()["event"] == "refused"
        for extra in (("--length", "64MB", "--reverse"), ("--verify",)):
            assert send(server.port, "127.0.0.1", *extra, bytes=100_000)[0] == 0
    finally:
        server.stop()


class Intruder:
    """Connects to the data port before the sender does, and sends its octets."""

    def __init__(self, octets: bytes, stays: bool) -> None:
        self.octets, self.stays = octets, stays
        self.socket: socket.socket | None = None

    def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] != "accept":
            return
        self.socket = socket.create_connection(("127.0.0.1", message["streams"][0]["port"]), timeout=DEADLINE_S)
        self.socket.sendall(self.octets)
        if not self.stays:
            self.socket.close()


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100_000, b""])
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("octets_sent", [1000, 50_000_000])
def test_garbage_on_the_data_port(receiver: Receiver, octets: bytes, stays: bool, octets_sent: int) -> None:
    """The first connection is taken for the stream. The transfer fails, but neither end hangs or reports success."""
    intruder = Intruder(octets, stays)
    began = time.monotonic()
    port = control_proxy(receiver.port, intruder)
    status, events, errors = send(port, bytes=octets_sent, timeout_ns=1_000_000_000)
    assert time.monotonic() - began < 1 + 2 + BUSY_S, "--timeout, and 2 s for last words"
    with contextlib.closing(intruder.socket) if intruder.socket else contextlib.nullcontext():
        theirs = receiver.event()
    end = next(event for event in events if event["event"] == "end")
    assert status == 1 and errors.count("\n") == 1
    assert "data port" in errors or "--timeout" in errors
    for side in (end, theirs):
        assert not side["complete"] and side["error"] and not side["summary"]["verdict"]["valid"]
    assert send(receiver.port, bytes=100_000)[0] == 0, "the next one is served"


def _say_hello(port: int) -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
    peer.sendall(frame(HELLO))
    return peer


@pytest.mark.parametrize(("strangers", "bind"), [(20, "127.0.0.1"), (80, "127.0.0.2")])
def test_sessions_that_do_not_begin_make_room_for_one_that_does(strangers: int, bind: str) -> None:
    """Silent strangers hold all 20 sessions, and 60 others connect before the sender. A silent session ends after 3 s,
    or after 1 s if its address has too many and the sender has another address. The sender waits 30 s."""
    server = Receiver("--sessions", "20")
    with contextlib.ExitStack() as held:
        peers = [held.enter_context(_say_hello(server.port)) for _ in range(strangers)]
        for peer in peers[:20]:
            assert receive_frame(peer)["type"] == "hello"
        status, _, errors = send(server.port, bind=bind, bytes=100_000)
        assert status == 0, errors
    _, events, _ = server.stop()
    assert [event["event"] for event in events] == ["end", "stopped"] and events[-1]["failed"] == 0


def test_idle_sessions_of_one_address_make_room_for_another() -> None:
    """One address has three of six sessions, which are idle, and another address has three that transfer data."""
    server = Receiver("--sessions", "6")
    idle = [start_long_transfer(server.port, timeout_ns=HOUR_NS) for _ in range(3)]
    try:
        for one in idle:
            one.send_signal(signal.SIGSTOP)
        others = [start_long_transfer(server.port, bind="127.0.0.2", pace_bps=10**7) for _ in range(3)]
        status, _, errors = send(server.port, bind="127.0.0.3", bytes=100_000)
        assert status == 0, errors
        assert all(other.poll() is None for other in others), "those that are at work go on"
    finally:
        for one in (*idle, *others):
            one.kill()
            one.communicate(timeout=DEADLINE_S)
    _, _, said = server.stop()
    assert "is idle, and its origin has half of the places" in said and said.count("dropped") == 1


def test_a_receiver_has_its_own_limits_of_idle_and_whole_time() -> None:
    server = Receiver("--max-idle", "1s")
    sender = start_long_transfer(server.port, timeout_ns=HOUR_NS)
    sender.send_signal(signal.SIGSTOP)
    ended = server.event()
    assert not ended["complete"] and "for 1s (--timeout)" in ended["error"]
    sender.kill()
    sender.communicate(timeout=DEADLINE_S)
    server.stop()
    server = Receiver("--max-duration", "3s")
    whole = start_long_transfer(server.port, bytes=1 << 50, duration_ns=None, pace_bps=10**7, timeout_ns=HOUR_NS)
    status, _, errors = _last_words(whole)
    assert status == 1 and "--max-duration" in errors and errors.count("\n") == 1
    assert "--max-duration" in server.event()["error"]
    status, _, errors = send(server.port, duration_ns=10_000_000_000)
    assert status == 2 and "--duration and --omit: 10s together, and the receiver allows 3s" in errors
    server.stop()


def test_a_receiver_that_started_with_its_machine_is_as_patient() -> None:
    """The receiver's clock begins at 0, as in every trial in virtual time. A hello that the path loses comes a second
    later, and the receiver checks four times a second for peers that have been silent for too long."""
    port, clock_s = free_port(), int(time.monotonic()) - 1
    argv = ["unshare", "--map-root-user", "--time", f"--monotonic=-{clock_s}", "--"]
    argv += rttcp.receiver_argv(BINARY, port=port)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, bufsize=0) as young:
        try:
            assert read_line(young, time.monotonic() + DEADLINE_S)["event"] == "ready"
            with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as peer:
                time.sleep(0.8)
                peer.sendall(frame(HELLO))
                assert receive_frame(peer)["type"] == "hello"
        finally:
            young.terminate()


def test_a_receiver_out_of_descriptors_serves_the_next_one() -> None:
    """The receiver does not spin until some of the silent connections are too old."""
    receiver = Receiver(*(["--user", "root"] if os.geteuid() == 0 else []))  # so that its limits may be changed
    resource.prlimit(receiver.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    with contextlib.ExitStack() as held:
        for _ in range(60):  # silent connections, more than the receiver has descriptors
            held.enter_context(socket.create_connection(("127.0.0.1", receiver.port), timeout=DEADLINE_S))
        status, _, errors = send(receiver.port, bytes=100_000)
        assert status == 0, errors
    user, system = Path(f"/proc/{receiver.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]
    receiver.stop()
    assert (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") < 2, "processor seconds"


def test_a_receivers_output_to_a_full_disk_is_a_failure_too() -> None:
    port = free_port()
    argv = rttcp.receiver_argv(BINARY, port=port, once=True)
    with Path("/dev/full").open("wb") as full:
        server = subprocess.Popen(argv, stdout=full, stderr=subprocess.PIPE)
    deadline = time.monotonic() + DEADLINE_S
    status, errors = 1, ""
    while status != 0 and time.monotonic() < deadline:  # it cannot print that it is ready
        status, _, errors = send(port, bytes=1_000_000)
    assert status == 0, errors
    _, said = server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 1 and b"No space left" in said


@pytest.mark.parametrize("form", ["--human", "--classic", "--format=iperf3"])
def test_every_form_of_output_to_a_full_disk_is_a_failure(receiver: Receiver, form: str) -> None:
    argv = [BINARY, "-t", "127.0.0.1", "-p", str(receiver.port), "-n", "1MB", *form.split("=")]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_receiver_that_freezes_is_given_up_after_the_timeout(receiver: Receiver, direction: str) -> None:
    sender = start_long_transfer(receiver.port, direction=direction, timeout_ns=1_000_000_000)
    server = receiver.process.pid
    sessions = [int(pid) for pid in Path(f"/proc/{server}/task/{server}/children").read_text().split()]
    assert len(sessions) == 1
    os.kill(sessions[0], signal.SIGSTOP)
    try:
        frozen = time.monotonic()
        status, end, errors = _last_words(sender)
        assert time.monotonic() - frozen < 1 + 2 + BUSY_S
    finally:
        os.kill(sessions[0], signal.SIGCONT)
    assert status == 1 and "(--timeout)" in errors and errors.count("\n") == 1
    ours = "sender" if direction == "forward" else "receiver"
    assert end["complete"] is False and end[ours]["partial"] and end[ours]["bytes"] > 0
    assert receiver.event()["complete"] is False
