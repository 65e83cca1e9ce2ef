"""`rttcp watch`: samples of another program's connections are what its own sockets say."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netcommon.binaries import find
from rttcp.launcher import watch_argv

RTTCP = find("rttcp")
MEMINFO, CC_INFO = 55, 26  # SO_MEMINFO, TCP_CC_INFO
# name, offset in struct tcp_info and format of fields that do not change while the connection is idle
STILL = (
    ("snd_mss", 16, "=I"),
    ("unacked", 24, "=I"),
    ("rtt_us", 68, "=I"),
    ("snd_ssthresh", 76, "=I"),
    ("snd_cwnd", 80, "=I"),
    ("pacing_rate_bytes_per_s", 104, "=Q"),
    ("bytes_acked", 120, "=Q"),
    ("notsent_bytes", 144, "=I"),
)


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket, int]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as near, server.accept()[0] as far:
            yield near, far, port


@contextmanager
def watching(port: int, samples: Path) -> Iterator[subprocess.Popen[str]]:
    argv = watch_argv(port, samples, RTTCP, sample_ns=1_000_000)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        try:
            ready = json.loads(watcher.stdout.readline())
            if ready["event"] == "error" and ready["status"] == 3:
                pytest.skip(ready["message"])
            assert ready == {"v": 1, "event": "ready", "port": port}
            yield watcher
        finally:
            watcher.kill()


def rows(file: Path) -> list[dict[str, int]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def own(sock: socket.socket) -> dict[str, int]:
    """What a socket says of itself."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
    memory = struct.unpack("=9I", sock.getsockopt(socket.SOL_SOCKET, MEMINFO, 36))
    words = sock.getsockopt(socket.IPPROTO_TCP, CC_INFO, 20)
    return (
        {name: struct.unpack_from(form, info, at)[0] for name, at, form in STILL}
        | {"queued_bytes": memory[5], "sndbuf_bytes": memory[3]}
        | {f"cc_{n}": word for n, (word,) in enumerate(struct.iter_unpack("=I", words))}
    )


def test_a_sample_is_what_the_programs_own_socket_says(tmp_path: Path) -> None:
    """A program fills its send buffer and nobody reads. If two readings of the program itself are equal, each sample
    between them is equal, too."""
    with connected() as (near, _, port), watching(port, tmp_path / "samples") as watcher:
        local = near.getsockname()[1]
        near.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                near.send(bytes(1 << 16))
        deadline, still = time.monotonic() + 30, False
        while not still and time.monotonic() < deadline:
            wanted, began_ns = own(near), time.monotonic_ns()
            time.sleep(0.05)
            ended_ns, still = time.monotonic_ns(), own(near) == wanted
        watcher.terminate()
        said = json.loads(watcher.communicate(timeout=30)[0])
    assert watcher.returncode == 0 and still
    samples = rows(tmp_path / "samples")
    assert said == {"v": 1, "event": "end", "connections": 2, "samples": len(samples), "dropped": 0, "malformed": 0}
    assert wanted["notsent_bytes"] > 0 and wanted["queued_bytes"] > 0
    between = [one for one in samples if began_ns < one["t_ns"] < ended_ns and one["local_port"] == local]
    assert between and all(one["remote_port"] == port for one in between)
    for one in between:
        assert {name: one.get(name) for name in wanted} == wanted
        assert not {"waiting_bytes", "opening_bytes"} & one.keys()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_only_connections_with_the_port_are_watched(tmp_path: Path, family: int) -> None:
    """Connections are watched at either end, in either family, from their beginning; each has its own number."""
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError as error:
        pytest.skip(str(error))
    with server, connected() as (near, _, _):
        port, other = server.getsockname()[1], near.getsockname()[1]
        with watching(port, tmp_path / "samples") as watcher, socket.create_connection((host, port)) as late:
            ports, deadline = {port, late.getsockname()[1]}, time.monotonic() + 30
            time.sleep(0.05)
            watcher.send_signal(signal.SIGINT)
            watcher.communicate(timeout=max(0, deadline - time.monotonic()))
    samples = rows(tmp_path / "samples")
    assert other not in ports
    assert {one["local_port"] for one in samples} == ports == {one["remote_port"] for one in samples}
    assert {(one["stream"], one["local_port"]) for one in samples} in (
        {(0, port), (1, (ports - {port}).pop())},
        {(1, port), (0, (ports - {port}).pop())},
    )


def test_samples_are_written_whole_or_it_says_so(tmp_path: Path) -> None:
    with connected() as (_, _, port), watching(port, Path("/dev/full")) as watcher:
        watcher.terminate()
        said = json.loads(watcher.communicate(timeout=30)[0])
    assert watcher.returncode == 1 and "--samples '/dev/full': No space left" in said["message"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--port", "1"], "want --port PORT and --samples FILE"),
        (["--samples", "x"], "want --port PORT and --samples FILE"),
        (["--port", "0", "--samples", "x"], "--port"),
        (["--port", "1", "--samples", "/nowhere/x"], "--samples '/nowhere/x': No such file"),
        (["--port", "1", "--samples", "x", "more"], "'more': not an option"),
    ],
)
def test_a_wrong_command_line_is_one_line(argv: list[str], says: str) -> None:
    done = subprocess.run([RTTCP, "watch", *argv], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """However the parent of `rttcp watch` ends, the samples taken until then are written."""
    argv = [*watch_argv(1, tmp_path / "samples", RTTCP, sample_ns=3_600_000_000_000), "--parent-death"]
    program = f"import subprocess; subprocess.Popen({argv!r}).stdout; input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        first = json.loads(parent.stdout.readline())
        parent.kill()
        if first["event"] == "error":
            pytest.skip(first["message"])
        assert [json.loads(line)["event"] for line in parent.stdout] == ["end"]
