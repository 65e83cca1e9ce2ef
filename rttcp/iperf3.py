"""One parser for iperf3's JSON document, which iperf3 prints with ``--json`` and rttcp with ``--format iperf3``.

It reads only keys that both programs write. Everything else of rttcp is under the key ``rttcp``: its `end` event, which
becomes the object ``Document.rttcp``, None when iperf3 printed the document.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rttcp.results import End

__all__ = ["Document", "Interval", "Sum", "parse"]


class _Record(BaseModel):
    """Keys that are not listed here are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Sum(_Record):
    """Bytes over a span of seconds; only a sender has ``retransmits``."""

    start: float
    end: float
    seconds: float
    bytes: int
    bits_per_second: float
    retransmits: int | None = None
    omitted: bool = False


class Interval(_Record):
    """All streams of one interval together."""

    sum: Sum


class _StreamEnd(_Record):
    sender: Sum
    receiver: Sum


class _End(_Record):
    streams: list[_StreamEnd] = []
    sum_sent: Sum
    sum_received: Sum
    cpu_utilization_percent: dict[str, float] = {}
    sender_tcp_congestion: str = ""
    receiver_tcp_congestion: str = ""


class Connected(_Record):
    """The ends of a stream's connection."""

    local_host: str
    local_port: int
    remote_host: str
    remote_port: int


class _Start(_Record):
    connected: list[Connected] = []


class _Receiver(_Record):
    """The receiver's document inside the sender's; only its intervals are read."""

    intervals: list[Interval] = []


class Document(_Record):
    """A finished transfer. ``server_output_json``: the server's document, with ``--get-server-output`` and a server
    that runs with ``--json``."""

    start: _Start = _Start()
    intervals: list[Interval]
    server_output_json: _Receiver = _Receiver()
    end: _End
    rttcp: End | None = None


def parse(text: str | bytes) -> Document:
    """Parses the document. Raises ValueError with the tool's own message when the transfer failed, or when the text is
    not such a document."""
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON document: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("not a document of iperf3: not an object")
    if "error" in document:
        raise ValueError(str(document["error"]))
    try:
        return Document.model_validate(document)
    except ValidationError as error:
        raise ValueError(f"not a document of iperf3: {error.error_count()} keys are missing or wrong") from error
