"""The `end` line of rttcp as typed objects. Units are in the names: bytes, nanoseconds, bit/s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    """Fields that this version does not know are kept, because a newer tool may print more."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Verdict(_Record):
    """Whether the numbers are valid, and if not, the reasons."""

    valid: bool
    reasons: list[str] = Field(default_factory=list)


class Params(_Record):
    """The negotiated parameters; 0 means not given, so the kernel's default applies."""

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
    """One stream at one end: its congestion control, the options and the ECN mode from its TCP_INFO at the end; with
    ``verify`` its digest, and at the receiver the first wrong octet."""

    stream: int
    bytes: int
    retransmits: int
    congestion: str = ""
    options: int = 0
    ecn_mode: int = 0
    digest: str
    mismatch: bool
    mismatch_offset: int
    expected: str
    got: str


class Exchange(_Record):
    """One end's account of request and response. Latencies run from a send to the end of its response and are 0 at the
    server; a percentile is at most 3.2 % too large."""

    exchanges: int
    response_bytes: int
    elapsed_ns: int
    latency_min_ns: int
    latency_mean_ns: int
    latency_p50_ns: int
    latency_p90_ns: int
    latency_p99_ns: int
    latency_p999_ns: int
    latency_max_ns: int


class ExchangeSummary(Exchange):
    """The client's measurements over all streams."""

    request_bytes: int
    exchanges_per_s: float


class Side(_Record):
    """One end's account. In an incomplete transfer the account of the end whose results did not arrive is all zeros."""

    bytes: int
    elapsed_ns: int
    cpu_user_ns: int
    cpu_system_ns: int
    calls: int
    window_requested_bytes: int
    window_granted_bytes: int
    window_clamp_bytes: int
    window_clamp_resets: int
    """How often the kernel had forgotten the clamp and the receiver set it again (src/transfer/window.c)."""
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
    """Rows of (start_ns, end_ns, bytes); times count from t0."""
    streams: list[Stream] = Field(default_factory=list)
    drain_ns: int = 0
    exchange: Exchange | None = None
    partial: bool = False
    """True when the transfer did not run to its end, or when these are the values of the other end's last progress."""


class Summary(_Record):
    """The transfer as a whole. `short_term_bps` is bytes x 8 over the time from connect to the confirmation of the last
    byte by the receiving application."""

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
    exchange: ExchangeSummary | None = None
    verified: str = "off"
    """"off", "ok", "mismatch" or "unknown"."""


class Way(_Record):
    """One direction."""

    sender: Side
    receiver: Side
    summary: Summary


class End(_Record):
    """The `end` line of either side. Its members describe the forward direction, or the only one. In a session with
    both directions `reverse` describes the reverse direction."""

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
    """The `end` event as an object. ValueError for any other event and for an unknown version."""
    if event.get("event") != "end":
        raise ValueError(f"not an end event: {event.get('event')!r}")
    if event.get("v") != 1:
        raise ValueError(f"rttcp output version {event.get('v')!r}; version 1 is known here")
    return End.model_validate(event)
