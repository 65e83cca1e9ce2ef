"""Starts the two ends of a transfer: makes their command lines, waits for the receiver to be ready, and returns the
sender's result.

Trials, benches and tests all start transfers with these functions. `rttcp.iperf3_tool` has the same functions for
iperf3.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netcommon.errors import LfpError
from netcommon.options import command_words
from netcommon.process import START_TIMEOUT_S, Tool
from rttcp.results import End, parse_end

DEFAULT_PORT = 5010
FAMILIES: dict[int | None, list[str]] = {4: ["-4"], 6: ["-6"], None: []}


@contextlib.contextmanager
def listening(argv: Sequence[str], **options: Any) -> Iterator[Tool]:
    """Runs the receiver with this command line and waits until it is ready. ``options`` go to
    ``netcommon.process.Tool``: where it runs, its name, its log."""
    with Tool(argv, **options) as receiver:
        receiver.wait_event("ready", START_TIMEOUT_S)
        yield receiver


def finished(sender: Tool, timeout_s: float) -> End:
    """Waits for a running sender and returns its `end`; LfpError when the transfer was not complete."""
    end = parse_end(sender.wait_event("end", timeout_s))
    if not end.complete:
        raise LfpError(f"rttcp: {end.error or 'incomplete'}")
    return end


def receiver_argv(
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    family: int | None = None,
    parent_death: bool = True,
    **options: object,
) -> list[str]:
    """Command line of a receiver, which prints `ready` when senders may connect. `family` is 4 or 6. The caller also
    starts its senders, so the receiver's time limits allow whatever they may ask for. `samples`, taken of the streams
    that it sends on, need `once`. For ``options`` see ``sender_argv``."""
    limits = {"max_idle": "1h", "max_duration": "336h"}
    own = command_words({"port": port, **options, **limits, "parent_death": parent_death})
    return [str(binary), "--receive", "--json", *own, *FAMILIES[family]]


def sender_argv(
    host: str,
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    nodelay: bool | None = None,
    family: int | None = None,
    direction: str = "forward",
    parent_death: bool = True,
    **options: object,
) -> list[str]:
    """Command line of a sender. `family` is 4 or 6. `nodelay=False` switches Nagle's algorithm on even with a window.
    `direction` is "forward", "reverse" (the receiver sends) or "both". ``options`` are rttcp's options by name, with
    the unit in the name of a quantity: ``bytes=1000, duration_ns=10**9, window_bytes=65536, pace_bps=10**8,
    verify=True``; None leaves the tool's default. rttcp refuses a name that it does not know."""
    if options.get("bytes") is not None and options.get("duration_ns") is not None:
        raise ValueError("give bytes or duration_ns, not both")
    both = {"nodelay": nodelay is True, "nagle": nodelay is False, "parent_death": parent_death}
    way = {"forward": [], "reverse": ["--reverse"], "both": ["--bidir"]}[direction]
    own = command_words({"port": port, **options, **both})
    return [str(binary), "--transmit", host, "--json", *own, *way, *FAMILIES[family]]


def watch_argv(port: int, samples: str | Path, binary: str | Path = "rttcp", *, sample_ns: int) -> list[str]:
    """Command line of a program that samples other programs' connections with this port, prints `ready` after the first
    sample, and writes ``samples`` at SIGTERM."""
    return [str(binary), "watch", *command_words({"port": port, "samples": samples, "sample_ns": sample_ns})]
