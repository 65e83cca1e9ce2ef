"""Runs iperf3 and prints the events of rttcp: `ready` when the server listens, `end` with the values of iperf3's
document.

    python -m rttcp.iperf3_tool receive --port 5010 -- -4
    python -m rttcp.iperf3_tool send -- --client HOST --port 5010 --time 30 ...

Arguments after ``--`` go to iperf3. `end` has rttcp's keys, except those whose values neither iperf3 nor the kernel
knows: iperf3 does not time the connect and does not report the window that the kernel granted. The kernel (sock_diag)
reports the TCP_INFO of a connection when it ends, so each end's `end` has it, too. With ``--samples`` the sender has
`rttcp watch` sample its data connection, which iperf3's document identifies among its two connections.

iperf3 gives its start time in whole seconds only. `receiver` has the receiver's intervals. ``t0_monotonic_ns`` of both
ends is estimated from the start and end times of the program: the test lies between them, with about as many round
trips of the control connection before it as after it. With samples, t0 also lies between the last sample without the
data connection and the first sample that shows data of it. ``t0_error_ns`` bounds the error of t0.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from netcommon import binaries, sock_diag
from netcommon.process import started
from rttcp import iperf3
from rttcp.launcher import DEFAULT_PORT, FAMILIES, watch_argv

_FULL = 0.9  # an interval is full from this share of the longest one on; the last may be very short
_ADAPTER = (sys.executable, "-m", "rttcp.iperf3_tool")
_DYING_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")  # however we end
LISTEN_S = 8.0
_ENDED_S = 1.0  # time within which the kernel reports that a connection has ended
_LISTENING = "0A"
_COOKIE_BYTES = 37  # which each connection begins with


@dataclass(frozen=True)
class Ran:
    """Start and end of the client, CLOCK_MONOTONIC. ``offset_ns``: CLOCK_REALTIME minus CLOCK_MONOTONIC. ``seen``: the
    data connection in the samples; None without samples."""

    began_ns: int
    ended_ns: int
    offset_ns: int
    seen: Seen | None = None


@dataclass(frozen=True)
class Seen:
    """The data connection in the samples: its number there, the last time at which it did not exist (0: not known), and
    the first time at which it had sent data (None: not known)."""

    stream: int
    missing_ns: int
    sent_ns: int | None


def receiver_argv(*, port: int = DEFAULT_PORT, family: int | None = None) -> list[str]:
    """Command line of a server for one transfer, which prints `ready` when clients may connect."""
    return [*_ADAPTER, "receive", "--port", str(port), "--", *FAMILIES[family]]


def sender_argv(
    host: str,
    *,
    port: int = DEFAULT_PORT,
    bytes: int | None = None,
    duration_s: int | None = None,
    length_bytes: int | None = None,
    window_bytes: int | None = None,
    congestion: str | None = None,
    nodelay: bool = False,
    family: int | None = None,
    samples: Path | None = None,
    sample_ns: int | None = None,
    watcher: Path | None = None,
) -> list[str]:
    """Command line of a client; None leaves iperf3's default. The window sets the socket buffers of both ends, of which
    the kernel offers a part. ``samples``: the file for the data connection's samples; None: no samples are taken.
    ``watcher``: the program rttcp that takes them; None: it is searched for where the client runs."""
    values = {
        "length": length_bytes,
        "congestion": congestion,
        "bytes": bytes,
        "time": duration_s,
        "window": window_bytes,
    }
    given = [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]
    flags = [*FAMILIES[family], *(["--no-delay"] if nodelay else [])]
    watched = ["--samples", str(samples), "--sample-ns", str(sample_ns)] if samples else []
    watched += ["--watcher", str(watcher)] if samples and watcher else []
    client = ["--client", host, "--port", str(port), "--get-server-output", *given, *flags]
    return [*_ADAPTER, "send", *watched, "--", *client]


def end_event(text: str, ran: Ran | None = None) -> dict[str, Any]:
    """The `end` event of a finished document; ValueError with iperf3's reason when it failed."""
    return _end(iperf3.parse(text), ran)


def _end(document: iperf3.Document, ran: Ran | None) -> dict[str, Any]:
    sent, received, cpu = document.end.sum_sent, document.end.sum_received, document.end.cpu_utilization_percent
    elapsed_ns = round(max(sent.seconds, received.seconds) * 1e9)

    def side(octets: int, who: str) -> dict[str, Any]:
        used = {key: round(cpu.get(f"{who}_{key}", 0.0) / 100 * elapsed_ns) for key in ("user", "system")}
        return {"bytes": octets, "elapsed_ns": elapsed_ns, "cpu_user_ns": used["user"], "cpu_system_ns": used["system"]}

    controls = document.end.sender_tcp_congestion, document.end.receiver_tcp_congestion
    ends = [
        {"local": _address(one.local_host, one.local_port), "remote": _address(one.remote_host, one.remote_port)}
        for one in document.start.connected
    ]
    first = ran.seen.stream if ran and ran.seen else 0
    streams = [{"stream": n, "congestion": controls[0], **both} for n, both in enumerate(ends, first)]
    own = [{"streams": streams, **both} for both in ends[:1]]
    summary = {
        "bytes": received.bytes,
        "elapsed_ns": elapsed_ns,
        "retransmits": sent.retransmits,
        "short_term_bps": round(received.bytes * 8e9 / elapsed_ns) if elapsed_ns else 0,
        "peak_bps": _peak_bps(document),
        "complete": True,
        "verified": "off",
        "verdict": {"valid": True, "reasons": []},
    }
    return {
        "v": 1,
        "event": "end",
        "tool": "iperf3",
        "role": "sender",
        "direction": "forward",
        "complete": True,
        "sender": side(sent.bytes, "host")
        | {"congestion": controls[0], "intervals": _rows(document.intervals)}
        | dict(*own)
        | _began(document, ran),
        "receiver": side(received.bytes, "remote") | {"congestion": controls[1]} | _counted(document, ran),
        "summary": summary,
    }


def _peak_bps(document: iperf3.Document) -> int | None:
    """The rate of the receiver's best full interval, defined as in rttcp. None without the receiver's intervals: the
    sender's would count writes that only fill buffers."""
    sums = [one.sum for one in document.server_output_json.intervals if not one.sum.omitted]
    least_s = _FULL * max((one.seconds for one in sums), default=0)
    full = [one.bits_per_second for one in sums if one.seconds >= least_s]
    return round(max(full)) if full else None


def data_connection(asked: socket.socket | None, port: int) -> dict[str, Any]:
    """The kernel's TCP_INFO of the data connection, found among the connections to or from iperf3's port in this
    namespace; empty if the kernel reports none."""
    if asked is None:
        return {}
    try:
        found = [one for family in (socket.AF_INET, socket.AF_INET6) for one in sock_diag.connections(asked, family)]
    except OSError:
        return {}
    found += sock_diag.ended(asked)
    if not any(port in (one.local[1], one.remote[1]) for one in found):
        found += sock_diag.ended(asked, _ENDED_S)
    own = [one for one in found if port in (one.local[1], one.remote[1])]
    return {"tcp_info": max(own, key=lambda one: one.moved_bytes).info} if own else {}


def _asking() -> socket.socket | None:
    try:
        return sock_diag.asking(listening=True)
    except OSError:  # a kernel without sock_diag
        return None


def _rows(intervals: Sequence[iperf3.Interval]) -> list[list[int]]:
    return [[round(i.sum.start * 1e9), round(i.sum.end * 1e9), i.sum.bytes] for i in intervals]


def _counted(document: iperf3.Document, ran: Ran | None) -> dict[str, Any]:
    """The receiver's intervals, and when they began; empty without the receiver's document."""
    rows, began = _rows(document.server_output_json.intervals), _began(document, ran)
    return {"intervals": rows} | began if rows and began else {}


def _began(document: iperf3.Document, ran: Ran | None) -> dict[str, int]:
    """When the test began, on both clocks, and the bound of the error. Empty if neither the receiver's document nor
    samples of a connection with data show it."""
    rows, sent_ns = _rows(document.server_output_json.intervals), ran.seen.sent_ns if ran and ran.seen else None
    if ran is None or not (rows or sent_ns):
        return {}
    first_ns, last_ns = ran.began_ns, max(ran.ended_ns - (rows[-1][1] if rows else 0), ran.began_ns)
    if ran.seen:  # the server's clock starts when the connection is open; only then may the client send
        within = max(first_ns, ran.seen.missing_ns), min(last_ns, ran.seen.sent_ns or last_ns)
        first_ns, last_ns = within if within[0] <= within[1] else (first_ns, last_ns)
    half_ns = (last_ns - first_ns) // 2
    began_ns = first_ns + half_ns
    return {"t0_monotonic_ns": began_ns, "t0_realtime_ns": began_ns + ran.offset_ns, "t0_error_ns": half_ns}


@contextlib.contextmanager
def watching(port: int, samples: Path | None, sample_ns: int, watcher_binary: Path | None) -> Iterator[None]:
    """Samples the connections with this port while the block runs, and then writes the samples. Without sock_diag in
    the kernel it does nothing. Sampling is not part of the host's work, so its system calls are not charged to the
    host's processor (`started`)."""
    if samples is None:
        yield
        return
    binary = watcher_binary or binaries.find("rttcp")
    argv = [*_DYING_WITH_US, *watch_argv(port, samples, binary, sample_ns=sample_ns)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        watcher.stdout.readline()  # the watcher has taken one sample, or reports why it cannot
        try:
            yield
        finally:
            watcher.terminate()
            watcher.communicate()
    if watcher.returncode:
        samples.unlink(missing_ok=True)


def keep(samples: Path, local: str) -> Seen | None:
    """Keeps only the lines of the connection from this address in a file of samples, and returns what they show.
    Removes the file when no line remains. A sample's time is the end of its poll, so a connection that it does not show
    did not exist when the previous poll ended."""
    kept, wanted = samples.with_name(f"{samples.name}.kept"), f'"local_port":{local.rpartition(":")[2]},'
    seen, looks = None, (0, 0, 0)  # the times of the last three polls
    with samples.open() as every, kept.open("w") as kept_lines:
        for line in every:
            is_own = wanted in line
            if is_own:
                kept_lines.write(line)
            if seen is None or (is_own and seen.sent_ns is None):
                sample = json.loads(line)
                looks = looks if sample["t_ns"] == looks[2] else (*looks[1:], sample["t_ns"])
                if is_own:
                    sent = sample.get("bytes_sent", 0) - sample.get("bytes_retrans", 0) > _COOKIE_BYTES
                    seen = seen or Seen(sample["stream"], looks[0], None)
                    seen = replace(seen, sent_ns=sample["t_ns"] if sent else None)
    kept.replace(samples)
    if seen is None:
        samples.unlink()
    return seen


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _print(event: dict[str, Any]) -> None:
    click.echo(json.dumps(event))


def _fail(message: str, status: int = 1) -> None:
    _print({"v": 1, "event": "error", "status": status, "message": message})
    sys.exit(status)


def _listens(port: int) -> bool:
    """True when a process of this network namespace listens on the port. iperf3 flushes no line that would report
    this."""
    wanted = f":{port:04X} "
    lines = [line for name in ("tcp", "tcp6") for line in Path("/proc/self/net", name).read_text("ascii").splitlines()]
    return any(wanted in line and line.split()[3] == _LISTENING for line in lines[1:])


@click.group()
def main() -> None:
    """Runs iperf3 with the events of rttcp."""


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), required=True)
@click.argument("arguments", nargs=-1)
def receive(port: int, arguments: tuple[str, ...]) -> None:
    """A server for one transfer."""
    server_argv = ["iperf3", "--server", "--one-off", "--json", "--port", str(port), *arguments]
    argv, asked = [*_DYING_WITH_US, *started(server_argv)], _asking()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + LISTEN_S
        while not _listens(port):
            if server.poll() is not None or time.monotonic() > deadline:
                server.terminate()
                _fail(f"iperf3: does not listen on port {port}", 3 if server.wait() == 127 else 1)
            time.sleep(0.01)
        _print({"v": 1, "event": "ready", "port": port})
        status = server.wait()
    if status:
        _fail(f"iperf3: the server ended with status {status}")
    _print({"v": 1, "event": "end", "tool": "iperf3", "role": "receiver", "receiver": data_connection(asked, port)})


@main.command()
@click.option("--samples", type=click.Path(path_type=Path))
@click.option("--sample-ns", type=int, default=10_000_000)
@click.option("--watcher", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1)
def send(samples: Path | None, sample_ns: int, watcher: Path | None, arguments: tuple[str, ...]) -> None:
    """A client; prints `end`."""
    asked, port = _asking(), int(arguments[arguments.index("--port") + 1])
    with watching(port, samples, sample_ns, watcher):
        began_ns = time.monotonic_ns()
        with subprocess.Popen(
            [*_DYING_WITH_US, *started(["iperf3", "--json", *arguments])], stdout=subprocess.PIPE, text=True
        ) as client:
            text, _ = client.communicate()
        ended_ns = time.monotonic_ns()
    ran = Ran(began_ns, ended_ns, time.time_ns() - time.monotonic_ns())
    if client.returncode == 127:
        _fail("iperf3 is missing; apt-get install iperf3", 3)
    try:
        document = iperf3.parse(text)
        if samples and samples.exists() and document.start.connected:
            data = document.start.connected[0]
            ran = replace(ran, seen=keep(samples, _address(data.local_host, data.local_port)))
        end = _end(document, ran)
        end["sender"] |= data_connection(asked, port)
        _print(end)
    except ValueError as error:
        _fail(f"iperf3: {error}")


if __name__ == "__main__":
    main()
