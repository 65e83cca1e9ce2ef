"""rttcp over loopback: real transfers, errors and exit statuses, many sessions, peers that die or talk nonsense."""

from __future__ import annotations

import json
import os
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
    REPOSITORY,
    VERSION,
    Receiver,
    frame,
    read_line,
    receive_frame,
    run,
    send,
    start_long_transfer,
)

import rttcp

pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_bytes_arrive_and_both_ends_print_both_results(receiver: Receiver, host: str) -> None:
    status, events, errors = send(receiver.port, host, bytes=20_000_000, window_bytes=65536, length_bytes=4096)
    assert status == 0, errors
    assert events[0]["event"] == "start"
    ours, theirs = events[-1], receiver.event()
    assert (ours.pop("role"), theirs.pop("role")) == ("sender", "receiver")
    assert ours == theirs
    end = rttcp.parse_end({**ours, "role": "sender"})
    # The kernel may forget the window clamp, and a busy machine may set it again too late; then the verdict says so.
    assert end.complete and all("offered a window" in reason for reason in end.summary.verdict.reasons)
    assert end.sender.bytes == end.receiver.bytes == end.summary.bytes == 20_000_000
    assert end.summary.short_term_bps == 20_000_000 * 8 * 10**9 // end.summary.elapsed_ns
    assert sum(rows[2] for rows in end.receiver.intervals) == 20_000_000
    assert end.params.length_bytes == 4096 and end.params.nodelay
    assert end.receiver.window_clamp_bytes == end.sender.window_granted_bytes == 65536
    assert end.sender.tcp_info["bytes_sent"] >= 20_000_000
    assert end.sender.remote == end.receiver.local and end.sender.local == end.receiver.remote


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_the_congestion_control_is_that_of_both_ends_and_of_every_stream(receiver: Receiver, direction: str) -> None:
    """The listening socket has the congestion control before the connection exists; otherwise DCTCP gets no ECN."""
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    wanted = "cubic" if default == "reno" else "reno"
    status, events, errors = send(receiver.port, bytes=100_000, congestion=wanted, parallel=3, direction=direction)
    assert status == 0, errors
    ways = [events[-1], *([events[-1]["reverse"]] if direction == "both" else [])]
    for side in (way[end] for way in ways for end in ("sender", "receiver")):
        assert side["congestion"] == wanted
        assert [row["congestion"] for row in side["streams"]] == [wanted] * 3
        assert {row["options"] for row in side["streams"]} == {side["tcp_info"]["options"]}


def test_duration_ends_the_transfer(receiver: Receiver) -> None:
    status, events, errors = send(receiver.port, duration_ns=400_000_000, interval_ns=100_000_000)
    assert status == 0, errors
    end = rttcp.parse_end(events[-1])
    assert end.summary.ended_by == "duration"
    assert 400_000_000 <= end.summary.elapsed_ns < 5_000_000_000
    assert sum(e["event"] == "interval" for e in events) >= 2
    assert sum(e["bytes"] for e in events if e["event"] == "interval") == end.sender.bytes


@pytest.mark.parametrize("options", [{}, {"window_bytes": 65536}, {"parallel": 3}, {"direction": "reverse"}])
def test_a_low_pace_is_kept_and_the_transfer_ends_with_its_duration(
    receiver: Receiver, options: dict[str, Any]
) -> None:
    """The kernel sends the first ten segments at once, which take minutes at this pace, and its buffer holds more."""
    status, events, errors = send(receiver.port, pace_bps=10_000, duration_ns=10**9, **options)
    assert status == 0, errors
    end = rttcp.parse_end(events[-1])
    ahead = options.get("parallel", 1) * 125  # each write of a stream is at most what the pace allows in 0.1 s
    assert end.receiver.bytes <= end.summary.elapsed_ns * 1250 // 10**9 + ahead
    assert end.receiver.bytes > 0 and end.summary.elapsed_ns < 6 * 10**9


def test_a_pace_of_packets_sends_full_segments_one_at_a_time(receiver: Receiver) -> None:
    status, events, errors = send(receiver.port, pace_packets=10, mss_bytes=1000, duration_ns=10**9)
    assert status == 0, errors
    end = rttcp.parse_end(events[-1])
    segment = end.sender.bytes // round(end.sender.bytes / 1000)
    assert segment <= 1000 and end.receiver.bytes <= (end.summary.elapsed_ns * 10 // 10**9 + 1) * 1000
    assert end.summary.elapsed_ns < 6 * 10**9


def test_many_sessions_at_a_time_keep_their_lines_whole(receiver: Receiver) -> None:
    argv = rttcp.sender_argv("127.0.0.1", BINARY, port=receiver.port, bytes=3_000_000, interval_ns=10_000_000)
    senders = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(24)]
    ends = [receiver.event() for _ in senders]
    mine = [json.loads(s.communicate(timeout=DEADLINE_S)[0].splitlines()[-1]) for s in senders]
    assert [s.returncode for s in senders] == [0] * len(senders)
    assert {e["session"] for e in ends} == {e["session"] for e in mine}
    assert all(e["complete"] and e["receiver"]["bytes"] == 3_000_000 for e in ends)
    status, rest, _ = receiver.stop()
    assert status == 0
    assert rest[-1]["event"] == "stopped" and rest[-1]["sessions"] == 24 and rest[-1]["failed"] == 0


def test_samples_are_json_lines_of_tcp_info(receiver: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    status, events, _ = send(receiver.port, duration_ns=300_000_000, samples=file, sample_ns=5_000_000)
    assert status == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    times = [row["t_ns"] for row in rows]
    start = events[0]["t0_monotonic_ns"]
    assert len(rows) >= 3 and times == sorted(times) and start <= times[0]
    assert {"rtt_us", "snd_cwnd", "rto_us", "bytes_acked", "snd_wnd"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("options", "streams"),
    [
        ({"direction": "reverse", "parallel": 2}, {0, 1}),
        ({"direction": "both"}, {1}),
        ({"request_bytes": 1000, "response_bytes": 100_000}, {0}),
        ({}, set()),
    ],
)
def test_a_receiver_samples_the_streams_that_it_sends_on(
    tmp_path: Path, options: dict[str, Any], streams: set[int]
) -> None:
    """A receiver started by root has become nobody in a sandbox by then, and could no longer open the file."""
    file = tmp_path / "samples.jsonl"
    server = Receiver("--once", "--samples", str(file), "--sample", "5ms")
    status, _, said = send(server.port, duration_ns=300_000_000, **options)
    end = server.event()
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert (status, end["event"], end["complete"]) == (0, "end", True), said
    assert {row["stream"] for row in rows} == streams
    side = (end["reverse"] if options.get("direction") == "both" else end)[
        "receiver" if "request_bytes" in options else "sender"
    ]
    for stream in streams:
        own = [row for row in rows if row["stream"] == stream]
        times = [row["t_ns"] for row in own]
        assert len(own) >= 3 and times == sorted(times) and side["t0_monotonic_ns"] <= times[0]
        assert own[-1]["bytes_acked"] > 0 and own[-1]["sndbuf_bytes"] > 0
        assert own[-1]["waiting_bytes"] == 0, "all was given"
        assert options.get("request_bytes") or any(row["waiting_bytes"] > 0 for row in own)
    assert server.stop()[0] == 0


def test_a_receivers_disk_that_is_full_is_a_failure(tmp_path: Path) -> None:
    server = Receiver("--once", "--samples", "/dev/full", "--sample", "1ms")
    status, events, _ = send(server.port, duration_ns=300_000_000, direction="reverse")
    assert (status, events[-1]["complete"]) == (0, True), "the sender has all it asked for"
    assert server.event()["complete"]
    status, _, said = server.stop()
    assert status == 1 and "--samples '/dev/full': No space left" in said


def test_classic_and_human_text(receiver: Receiver) -> None:
    common = ["-t", "127.0.0.1", "-p", str(receiver.port), "-n", "1MB", "-l", "4KB"]
    classic = subprocess.run([BINARY, *common, "--classic"], capture_output=True, timeout=DEADLINE_S, check=True)
    for side in ("rttcp-t", "rttcp-r"):
        assert f"{side}: buflen=4096, nbuf=256, align=4096/0" in classic.stdout.decode()
        assert f"{side}: 1048576 bytes in" in classic.stdout.decode()
    human = subprocess.run([BINARY, *common, "--human"], capture_output=True, timeout=DEADLINE_S, check=True)
    assert "short-term average" in human.stdout.decode()


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        ([], 2, "-r"),
        (["-r", "-t", "localhost"], 2, "-r"),
        (["-t", "localhost", "-n", "1KB", "-d", "1s"], 2, "--bytes and --duration"),
        (["-t", "localhost", "--window", "-3"], 2, "--window '-3'"),
        (["-t", "localhost", "--window", "2GB"], 2, "--window '2GB'"),
        (["-t", "localhost", "--window", "1GB"], 2, "--window 1GB"),
        (["-t", "localhost", "--congestion", "nonesuch"], 2, "net.ipv4.tcp_available_congestion_control"),
        (["-t", "localhost", "--congestion", "lfp_nonesuch"], 2, "lfp_cpeak"),
        (["-t", "localhost", "--congestion", "reno:x=4"], 2, "parameters only with lfp_cpeak"),
        (["-t", "localhost", "--congestion", "lfp_xys:x=0"], 2, "1 to 1024"),
        (["-t", "localhost", "--format", "iperf3", "--json"], 2, "--format and --json"),
        (["-t", "localhost", "--sample", "1ms"], 2, "--samples"),
        (["-t", "localhost", "--samples", "/nonexistent/file"], 2, "--samples '/nonexistent/file'"),
        (["-t", "localhost", "--once"], 2, "--once"),
        (["-r", "--samples", "file"], 2, "give --once, too"),
        (["-r", "--once", "--samples", "/nonexistent/file"], 2, "--samples '/nonexistent/file'"),
        (["-r", "--once", "--sample", "1ms"], 2, "--sample: needs --samples FILE"),
        (["-r", "--window", "8KB"], 2, "--window"),
        (["-r", "--bind", "192.0.2.1"], 2, "--bind '192.0.2.1'"),
        (["-t", "no.such.host.invalid"], 2, "no.such.host.invalid"),
        (["-t", "localhost", "surplus"], 2, "surplus"),
    ],
)
def test_wrong_input_is_one_line_that_names_it(argv: list[str], status: int, words: str) -> None:
    got, _, errors = run(*argv)
    assert got == status
    assert words in errors and errors.count("\n") == 1


def test_an_occupied_port_and_nobody_there(receiver: Receiver) -> None:
    status, events, errors = run("-r", "-p", str(receiver.port))
    assert status == 2 and "in use" in errors and events[-1]["event"] == "error" and events[-1]["status"] == 2
    status, events, errors = send(free_port())
    assert status == 1 and "refused" in errors and events[-1]["status"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give its privileges up")
def test_a_window_beyond_the_kernels_limit_without_privilege() -> None:
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    if limit > 1 << 29:
        pytest.skip("this machine's net.core.rmem_max sets no limit; tests/c/rttcp/test_window.c has the case")
    port = free_port()
    dropped: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
    argv = [*rttcp.receiver_argv(BINARY, port=port)]
    if subprocess.run([BINARY, "--help"], capture_output=True, check=False, **dropped).returncode != 0:
        pytest.skip("the build is not readable for others")
    server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, **dropped)
    try:
        assert read_line(server, time.monotonic() + DEADLINE_S)["event"] == "ready"
        status, _, errors = send(port, window_bytes=limit, bytes=1000)
        assert status == 2 and errors.count("\n") == 1
        assert "--window" in errors and "net.core.rmem_max" in errors and "the peer refused" in errors
        assert read_line(server, time.monotonic() + DEADLINE_S)["event"] == "refused"
        status, _, errors = send(port, window_bytes=limit // 4, bytes=1000)
        assert status == 0, errors
    finally:
        server.terminate()
        server.wait(DEADLINE_S)


def test_garbage_on_the_port_disturbs_nobody(receiver: Receiver) -> None:
    for octets in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\2[]",
        b"\xff" * 70000,
        b"\0\0\0\4null",
        frame({"type": "result"}),
    ):
        with socket.create_connection(("127.0.0.1", receiver.port), timeout=DEADLINE_S) as peer:
            try:
                peer.sendall(octets)
                peer.settimeout(DEADLINE_S)
                assert peer.recv(100) == b""
            except ConnectionError:
                pass
    status, events, errors = send(receiver.port, bytes=100_000)
    assert status == 0 and events[-1]["complete"], errors


@pytest.mark.parametrize("version", [1, 7, 9])
def test_another_version_is_refused_with_a_reason(receiver: Receiver, version: int) -> None:
    with socket.create_connection(("127.0.0.1", receiver.port)) as peer:
        peer.sendall(frame({"type": "hello", "magic": "rttcp", "version": version}))
        answer = receive_frame(peer)
    assert answer["type"] == "refuse" and f"version {version} is not version {VERSION}" in answer["reason"]


def test_a_sender_meets_something_else() -> None:
    for octets, words in ((b"SSH-2.0-OpenSSH_9.2\r\n", "control connection"), (b"", "closed the control connection")):
        with socket.create_server(("127.0.0.1", 0)) as server:
            argv = rttcp.sender_argv("127.0.0.1", BINARY, port=server.getsockname()[1])
            sender = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            server.settimeout(DEADLINE_S)
            peer, _ = server.accept()
            with peer:
                receive_frame(peer)
                peer.sendall(octets)
                peer.shutdown(socket.SHUT_WR)
                _, errors = sender.communicate(timeout=DEADLINE_S)
        assert sender.returncode == 1 and words in errors.decode() and errors.count(b"\n") == 1


def test_a_sender_killed_in_mid_transfer(receiver: Receiver) -> None:
    sender = start_long_transfer(receiver.port)
    sender.kill()
    sender.communicate(timeout=DEADLINE_S)
    end = receiver.event()
    assert end["event"] == "end" and end["complete"] is False and end["receiver"]["bytes"] > 0
    assert end["error"] and not end["summary"]["verdict"]["valid"]
    assert send(receiver.port, bytes=100_000)[0] == 0


def test_a_receiver_killed_in_mid_transfer(receiver: Receiver) -> None:
    sender = start_long_transfer(receiver.port)
    receiver.process.kill()  # its sessions die with it
    out, errors = sender.communicate(timeout=DEADLINE_S)
    assert sender.returncode == 1 and errors.count(b"\n") == 1
    end, error = (json.loads(line) for line in out.splitlines()[-2:])
    assert end["event"] == "end" and end["complete"] is False and end["sender"]["bytes"] > 0
    assert error["event"] == "error" and error["status"] == 1


def test_interrupting_the_sender_is_orderly(receiver: Receiver) -> None:
    sender = start_long_transfer(receiver.port)
    sender.send_signal(signal.SIGINT)
    out, errors = sender.communicate(timeout=DEADLINE_S)
    end = json.loads(out.splitlines()[-1])
    assert sender.returncode == 0, errors
    assert end["event"] == "end" and end["complete"] is False and end["summary"]["ended_by"] == "signal"
    assert end["sender"]["bytes"] == end["receiver"]["bytes"] > 0


def test_stopping_the_receiver_ends_sessions_under_way(receiver: Receiver) -> None:
    sender = start_long_transfer(receiver.port)
    status, events, _ = receiver.stop()
    _, errors = sender.communicate(timeout=DEADLINE_S)
    assert status == 0 and [e["event"] for e in events] == ["end", "stopped"]
    assert events[0]["complete"] is False
    assert sender.returncode == 1 and b"stopped by a signal" in errors


def test_once_exits_with_the_sessions_status() -> None:
    server = Receiver("--once")
    with socket.create_connection(("127.0.0.1", server.port)) as peer:
        peer.sendall(b"garbage!")  # not a session
    assert send(server.port, bytes=100_000)[0] == 0
    assert server.process.wait(DEADLINE_S) == 0
    server.stop()
    server = Receiver("--once")
    sender = start_long_transfer(server.port)
    sender.kill()
    sender.communicate(timeout=DEADLINE_S)
    assert server.process.wait(DEADLINE_S) == 1
    server.stop()


def test_an_idle_peer_is_given_up() -> None:
    """A receiver that accepts everything and then reads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as control, socket.create_server(("127.0.0.1", 0)) as data:
        argv = rttcp.sender_argv(
            "127.0.0.1", BINARY, port=control.getsockname()[1], timeout_ns=500_000_000, bytes=1 << 30
        )
        sender = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        control.settimeout(DEADLINE_S)
        peer, _ = control.accept()
        with peer:
            receive_frame(peer)
            peer.sendall(frame(HELLO | {"role": "serve"}))
            params = receive_frame(peer)["params"]
            stream = {"port": data.getsockname()[1], "window_granted_bytes": 0}
            peer.sendall(frame({"type": "accept", "session": "x", "params": params, "streams": [stream]}))
            out, errors = sender.communicate(timeout=DEADLINE_S)
    assert sender.returncode == 1 and b"--timeout" in errors
    assert json.loads(out.splitlines()[-2])["complete"] is False


def test_help_and_man_page_name_every_option() -> None:
    listed = subprocess.run([BINARY, "--options-json"], capture_output=True, timeout=DEADLINE_S, check=True)
    help_text = subprocess.run([BINARY, "--help"], capture_output=True, timeout=DEADLINE_S, check=True).stdout.decode()
    page = (REPOSITORY / "rttcp" / "rttcp.1").read_text().replace("\\-", "-")
    for row in json.loads(listed.stdout)["options"]:
        assert f"--{row['name']}" in help_text
        assert f"--{row['name']}" in page, f"--{row['name']} is not in the man page"
        if row["default_text"]:
            assert row["default_text"] in page
