"""Starts the two ends of a transfer: their command lines, a receiver that is ready, and how a sender finished.

Trials, benches and tests all start transfers with these functions. `rttcp.iperf3_tool` has the same for iperf3.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netcommon.errors import LfpError
from netcommon.process import START_TIMEOUT_S, Tool
from rttcp.results import End, parse_end

DEFAULT_PORT = 5010
FAMILIES: dict[int | None, list[str]] = {4: ["-4"], 6: ["-6"], None: []}


@contextlib.contextmanager
def listening(argv: Sequence[str], **options: Any) -> Iterator[Tool]:
    """Runs the receiver with this command line and waits until it is ready. ``options`` are those of
    ``netcommon.process.Tool``: where it runs, its name, its log."""
    with Tool(argv, **options) as receiver:
        receiver.wait_event("ready", START_TIMEOUT_S)
        yield receiver


def finished(sender: Tool, timeout_s: float) -> End:
    """The `end` of a running sender; LfpError when the transfer was not complete."""
    end = parse_end(sender.wait_event("end", timeout_s))
    if not end.complete:
        raise LfpError(f"rttcp: {end.error or 'incomplete'}")
    return end


def receiver_argv(
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    bind: str | None = None,
    once: bool = False,
    sessions: int | None = None,
    data_port: int | None = None,
    key: str | Path | None = None,
    samples: str | Path | None = None,
    sample_ns: int | None = None,
    family: int | None = None,
    parent_death: bool = True,
) -> list[str]:
    """Command line of a receiver, which prints `ready` when senders may connect. `family` is 4 or 6. Its senders are
    the caller's, so it has no stricter limits of time than they may ask for. `samples`, of what it sends, want
    `once`."""
    return [
        str(binary),
        "--receive",
        "--json",
        *_option("port", port),
        *_option("bind", bind),
        *_option("sessions", sessions),
        *_option("data-port", data_port),
        *_option("key", key),
        *_option("max-idle", "1h"),
        *_option("max-duration", "336h"),
        *_option("samples", samples),
        *_option("sample", sample_ns, "ns"),
        *_flag("once", once),
        *FAMILIES[family],
        *_flag("parent-death", parent_death),
    ]


def sender_argv(
    host: str,
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    bind: str | None = None,
    bytes: int | None = None,
    request_bytes: int | None = None,
    response_bytes: int | None = None,
    exchanges: int | None = None,
    duration_ns: int | None = None,
    length_bytes: int | None = None,
    window_bytes: int | None = None,
    mss_bytes: int | None = None,
    congestion: str | None = None,
    nodelay: bool | None = None,
    interval_ns: int | None = None,
    samples: str | Path | None = None,
    sample_ns: int | None = None,
    timeout_ns: int | None = None,
    family: int | None = None,
    parallel: int | None = None,
    direction: str = "forward",
    omit_ns: int | None = None,
    verify: bool = False,
    seed: int | None = None,
    zerocopy: bool = False,
    skip_rx_copy: bool = False,
    pace_bps: int | None = None,
    pace_packets: int | None = None,
    pace_burst_bytes: int | None = None,
    dscp: int | None = None,
    key: str | Path | None = None,
    parent_death: bool = True,
) -> list[str]:
    """Command line of a sender; None leaves the tool's default. `family` is 4 or 6. `nodelay=False` asks for Nagle's
    algorithm even with a window. `direction` is "forward", "reverse" (the receiver sends) or "both"."""
    if bytes is not None and duration_ns is not None:
        raise ValueError("give bytes or duration_ns, not both")
    return [
        str(binary),
        "--transmit",
        host,
        "--json",
        *_option("port", port),
        *_option("bind", bind),
        *_option("bytes", bytes),
        *_option("request", request_bytes),
        *_option("response", response_bytes),
        *_option("exchanges", exchanges),
        *_option("duration", duration_ns, "ns"),
        *_option("length", length_bytes),
        *_option("window", window_bytes),
        *_option("mss", mss_bytes),
        *_option("congestion", congestion),
        *_option("interval", interval_ns, "ns"),
        *_option("samples", samples),
        *_option("sample", sample_ns, "ns"),
        *_option("timeout", timeout_ns, "ns"),
        *_option("parallel", parallel),
        *{"forward": [], "reverse": ["--reverse"], "both": ["--bidir"]}[direction],
        *_option("omit", omit_ns, "ns"),
        *_flag("verify", verify),
        *_option("seed", seed),
        *_flag("zerocopy", zerocopy),
        *_flag("skip-rx-copy", skip_rx_copy),
        *_option("pace", pace_bps, "bit"),
        *_option("pace-packets", pace_packets),
        *_option("pace-burst", pace_burst_bytes),
        *_option("dscp", dscp),
        *_option("key", key),
        *_flag("nodelay", nodelay is True),
        *_flag("nagle", nodelay is False),
        *FAMILIES[family],
        *_flag("parent-death", parent_death),
    ]


def watch_argv(port: int, samples: str | Path, binary: str | Path = "rttcp", *, sample_ns: int) -> list[str]:
    """Command line of a program that samples the connections of others with this port, prints `ready` when it has
    looked once, and writes ``samples`` at SIGTERM."""
    options = *_option("port", port), *_option("samples", samples), *_option("sample", sample_ns, "ns")
    return [str(binary), "watch", *options]


def _option(name: str, value: object, unit: str = "") -> list[str]:
    return [] if value is None else [f"--{name}", f"{value}{unit}"]


def _flag(name: str, wanted: bool) -> list[str]:
    return [f"--{name}"] if wanted else []
