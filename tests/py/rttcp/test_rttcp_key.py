"""rttcp --key: the control connection is TLS, data connections belong to it, and an end without the key learns so."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.ports import free_port
from support.rttcp_tool import BINARY, DEADLINE_S, HELLO, VERSION, Receiver, frame, receive_frame, run, send

import rttcp

pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")


def _key(folder: Path, name: str, content: str) -> Path:
    file = folder / name
    file.write_text(content)
    file.chmod(0o600)
    return file


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return _key(tmp_path, "key", "5f" * 32 + "\n")


@pytest.fixture
def receiver(key: Path) -> Iterator[Receiver]:
    server = Receiver("--key", str(key))
    yield server
    server.stop()


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_transfers_with_a_key_are_verified_in_every_direction(receiver: Receiver, key: Path, direction: str) -> None:
    status, events, errors = send(
        receiver.port, key=key, bytes=3_000_003, direction=direction, parallel=3, verify=True, window_bytes=65536
    )
    assert status == 0, errors
    ours, theirs = events[-1], receiver.event()
    assert {**ours, "role": ""} == {**theirs, "role": ""}
    end = rttcp.parse_end(ours)
    ways: list[rttcp.End | rttcp.Way] = [end, end.reverse] if end.reverse else [end]
    for way in ways:
        assert way.summary.verified == "ok" and way.summary.complete
        assert way.receiver.bytes == 3_000_003, "the token is not counted"


def test_a_text_is_a_key_too(tmp_path: Path) -> None:
    texts = [
        _key(tmp_path, name, text) for name, text in (("a", "correct horse\n battery"), ("b", "Correct horse battery"))
    ]
    server = Receiver("--key", str(texts[0]))
    try:
        assert send(server.port, key=texts[0], bytes=100_000)[0] == 0
        status, _, errors = send(server.port, key=texts[1], bytes=100_000)
        assert status == 1 and "another key" in errors
    finally:
        server.stop()


def test_another_key_or_none_is_one_clear_line_at_either_end(receiver: Receiver, key: Path, tmp_path: Path) -> None:
    """The exit status says what to do: 2 when a --key is missing, 1 when it is another one."""
    open_server = Receiver()
    other = _key(tmp_path, "other", "5e" * 32)
    try:
        for server, given, status, said, refused in (
            (receiver, other, 1, "the receiver has another key", "the sender has another key"),
            (receiver, None, 2, "give --key FILE", "give --key FILE"),
            (open_server, key, 2, "the receiver has no key; start it with --key FILE", "this receiver has none"),
        ):
            got, events, errors = send(server.port, key=given, bytes=100_000)
            assert got == status and said in errors and errors.count("\n") == 1
            assert events[-1]["event"] == "error" and events[-1]["status"] == status
            event = server.event()
            assert event["event"] == "refused" and refused in event["message"] and event["status"] == status
        assert send(receiver.port, key=key, bytes=100_000)[0] == 0
    finally:
        _, _, errors = open_server.stop()
    assert errors.count("\n") == 1


def test_the_key_file_is_its_owners_alone(key: Path) -> None:
    for mode in (0o644, 0o640, 0o602):
        key.chmod(mode)
        for role in (["-r", "-p", str(free_port())], ["-t", "127.0.0.1"]):
            status, _, errors = run(*role, "--key", str(key))
            assert status == 2 and f"chmod 600 {key}" in errors and errors.count("\n") == 1


def test_an_older_rttcp_is_refused_with_the_version(receiver: Receiver) -> None:
    with socket.create_connection(("127.0.0.1", receiver.port)) as peer:
        peer.sendall(frame({"type": "hello", "magic": "rttcp", "version": 3}))
        answer = receive_frame(peer)
    assert answer["type"] == "refuse" and f"version 3 is not version {VERSION}" in answer["reason"]


def test_each_end_wants_the_other_role(receiver: Receiver) -> None:
    """An echo of the sender's own hello does not count as a receiver, and a receiver does not count as a sender."""
    open_server = Receiver()
    try:
        with socket.create_connection(("127.0.0.1", open_server.port)) as peer:
            peer.sendall(frame(HELLO | {"role": "serve"}))
            answer = receive_frame(peer)
        assert answer["type"] == "refuse" and "role" in answer["reason"]
    finally:
        open_server.stop()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def echo() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(frame(receive_frame(peer)))
                peer.recv(1)

        threading.Thread(target=echo, daemon=True).start()
        status, _, errors = send(server.getsockname()[1], bytes=100_000)
    assert status == 1 and "is a sender, too" in errors and errors.count("\n") == 1


def test_a_sender_may_name_its_own_host(receiver: Receiver, key: Path) -> None:
    """This is not a reflection (tests/netns/test_rttcp_reflected.py tests one)."""
    for address in ("127.0.0.1", "127.0.0.2"):
        assert send(receiver.port, address, key=key, bytes=100_000)[0] == 0


def test_an_older_receiver_closes_and_the_sender_says_what_to_do(key: Path) -> None:
    """Version 3 takes the first octets of TLS for a wrong length and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        results: list[tuple[int, str]] = []

        def transmit() -> None:
            status, _, errors = send(server.getsockname()[1], key=key, bytes=100_000)
            results.append((status, errors))

        sender = threading.Thread(target=transmit)
        sender.start()
        server.settimeout(DEADLINE_S)
        peer, _ = server.accept()
        with peer:
            peer.recv(5, socket.MSG_WAITALL)
        sender.join(DEADLINE_S)
    ((status, errors),) = results
    assert status == 1 and errors.count("\n") == 1
    assert "use the same rttcp at both ends" in errors or "Connection reset" in errors


def _tap(receiver_port: int, look: Callable[[bytes], None]) -> int:
    """Forwards one connection and calls a function with all octets before they arrive. Returns its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                look(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve() -> None:
        sender, _ = server.accept()
        with sender, server, socket.create_connection(("127.0.0.1", receiver_port)) as receiver:
            back = threading.Thread(target=pump, args=(receiver, sender), daemon=True)
            back.start()
            pump(sender, receiver)
            back.join(DEADLINE_S)

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])


def test_an_observer_reads_no_parameter_and_no_result(receiver: Receiver, key: Path) -> None:
    seen = bytearray()
    status, _, errors = send(_tap(receiver.port, seen.extend), key=key, bytes=100_000, seed=4711, verify=True)
    assert status == 0, errors
    assert len(seen) > 2000, "the tap saw the control connection"
    for word in (b"hello", b"propose", b"accept", b"verify", b"4711", b"digest", b"result"):
        assert word not in seen


def test_one_altered_octet_ends_the_session(receiver: Receiver, key: Path) -> None:
    """Alters a message after the handshake, which an earlier proof of the parameters did not cover."""
    server = socket.create_server(("127.0.0.1", 0))

    def alter() -> None:
        sender, _ = server.accept()
        with sender, server, socket.create_connection(("127.0.0.1", receiver.port)) as onward:
            threading.Thread(target=lambda: _copy(sender, onward, 0), daemon=True).start()
            _copy(onward, sender, 700)

    def _copy(source: socket.socket, sink: socket.socket, alter_at: int) -> None:
        done = 0
        with contextlib.suppress(OSError):
            while data := bytearray(source.recv(65536)):
                if alter_at and done <= alter_at < done + len(data):
                    data[alter_at - done] ^= 1
                done += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    threading.Thread(target=alter, daemon=True).start()
    status, _, errors = send(server.getsockname()[1], key=key, bytes=100_000)
    assert status == 1 and "control connection: TLS: " in errors and errors.count("\n") == 1


def test_strangers_at_the_data_port_do_not_become_the_stream(key: Path) -> None:
    """The strangers connect before the sender knows the port, from the sender's own address: silent ones, one with half
    a token and one with another token."""
    data_port = free_port()
    server = Receiver("--key", str(key), "--data-port", str(data_port))
    strangers: list[socket.socket] = []

    def knock(_: bytes) -> None:
        with contextlib.suppress(OSError):  # the port is open from the proposal on
            for octets in (b"", b"rttcp\n\0\0" + b"?" * 32, b"rttcp\n", b"GET / HTTP/1.1\r\n\r\n", b""):
                strangers.append(socket.create_connection(("127.0.0.1", data_port), timeout=DEADLINE_S))
                strangers[-1].sendall(octets)

    try:
        status, events, errors = send(_tap(server.port, knock), key=key, bytes=100_000, verify=True)
        assert len(strangers) >= 5
        assert status == 0 and events[-1]["complete"] and events[-1]["summary"]["verified"] == "ok", errors
    finally:
        server.stop()
        for peer in strangers:
            peer.close()
