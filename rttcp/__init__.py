"""Memory-to-memory TCP transfers: command lines for the C tool `rttcp`, and its `end` line as typed objects.

Nothing here starts a process; the caller runs the argument vectors in whatever namespace it likes and hands back the
JSON lines. Units are in the names: bytes, nanoseconds, bit/s. Specification: PROTOCOL.md beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "DEFAULT_PORT",
    "End",
    "Params",
    "Side",
    "Stream",
    "Summary",
    "Verdict",
    "Way",
    "parse_end",
    "receiver_argv",
    "sender_argv",
]

DEFAULT_PORT = 5010


class _Record(BaseModel):
    """Fields that this version does not know are kept: the tool may say more."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Verdict(_Record):
    """Whether the numbers may be believed, and if not, why."""

    valid: bool
    reasons: list[str] = Field(default_factory=list)


class Params(_Record):
    """The transfer as negotiated; 0 means not given (the kernel's choice)."""

    bytes: int
    duration_ns: int
    length_bytes: int
    window_bytes: int
    mss_bytes: int
    interval_ns: int
    timeout_ns: int
    nodelay: bool
    congestion: str


class Stream(_Record):
    """One stream at one end; with ``verify`` its digest, and at the receiver the first wrong octet."""

    stream: int
    bytes: int
    retransmits: int
    digest: str
    mismatch: bool
    mismatch_offset: int
    expected: str
    got: str


class Side(_Record):
    """One end's account; all zeros for the end that was not heard of in an incomplete transfer."""

    bytes: int
    elapsed_ns: int
    cpu_user_ns: int
    cpu_system_ns: int
    calls: int
    window_requested_bytes: int
    window_granted_bytes: int
    window_clamp_bytes: int
    sndbuf_bytes: int
    rcvbuf_bytes: int
    mss_bytes: int
    congestion: str
    local: str
    remote: str
    t0_monotonic_ns: int
    t0_realtime_ns: int
    tcp_info: dict[str, int] = Field(default_factory=dict)
    intervals: list[tuple[int, int, int]] = Field(default_factory=list)
    """(start_ns, end_ns, bytes) from t0."""
    streams: list[Stream] = Field(default_factory=list)
    drain_ns: int = 0
    partial: bool = False
    """Did not run to its end, or is all that the other end last said before it went away."""


class Summary(_Record):
    """The transfer as a whole. `short_term_bps` is bytes x 8 over connect to last byte confirmed by the application."""

    bytes: int
    connect_ns: int
    first_byte_ns: int
    short_term_bps: int
    peak_bps: int
    elapsed_ns: int
    retransmits: int
    complete: bool
    ended_by: str
    verdict: Verdict
    steady_bps: int = 0
    drain_ns: int = 0
    verified: str = "off"
    """"off", "ok", "mismatch" or "unknown"."""


class Way(_Record):
    """One direction."""

    sender: Side
    receiver: Side
    summary: Summary


class End(_Record):
    """The `end` line of either side. Its own members are of the forward direction, or of the only one; `reverse` is the
    other one of a session with both."""

    v: int
    session: str
    role: str
    params: Params
    sender: Side
    receiver: Side
    summary: Summary
    complete: bool
    error: str | None = None
    direction: str = "forward"
    reverse: Way | None = None


def parse_end(event: Mapping[str, Any]) -> End:
    """The `end` event as an object; raises ValueError for any other event or a version not known here."""
    if event.get("event") != "end":
        raise ValueError(f"not an end event: {event.get('event')!r}")
    if event.get("v") != 1:
        raise ValueError(f"rttcp output version {event.get('v')!r}; version 1 is known here")
    return End.model_validate(event)


def receiver_argv(
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    bind: str | None = None,
    once: bool = False,
    sessions: int | None = None,
    data_port: int | None = None,
    parent_death: bool = True,
) -> list[str]:
    """Command line of a receiver. It prints `ready` when senders may connect."""
    return [
        str(binary),
        "--receive",
        "--json",
        *_option("port", port),
        *_option("bind", bind),
        *_option("sessions", sessions),
        *_option("data-port", data_port),
        *_flag("once", once),
        *_flag("parent-death", parent_death),
    ]


def sender_argv(
    host: str,
    binary: str | Path = "rttcp",
    *,
    port: int = DEFAULT_PORT,
    bind: str | None = None,
    bytes: int | None = None,
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
    pace_bps: int | None = None,
    pace_packets: int | None = None,
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
        *_option("pace", pace_bps),
        *_option("pace-packets", pace_packets),
        *_option("dscp", dscp),
        *_option("key", key),
        *_flag("nodelay", nodelay is True),
        *_flag("nagle", nodelay is False),
        *({4: ["-4"], 6: ["-6"], None: []}[family]),
        *_flag("parent-death", parent_death),
    ]


def _option(name: str, value: object, unit: str = "") -> list[str]:
    return [] if value is None else [f"--{name}", f"{value}{unit}"]


def _flag(name: str, wanted: bool) -> list[str]:
    return [f"--{name}"] if wanted else []
