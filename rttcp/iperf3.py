"""One parser for iperf3's JSON document, whether iperf3 printed it (``--json``) or rttcp did (``--format iperf3``).

Only keys that both have are read. What rttcp says beyond iperf3 is under its key ``rttcp``; ``Document.rttcp`` is that
end event as an object, None with iperf3.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rttcp import End

__all__ = ["Document", "Interval", "Sum", "parse"]


class _Record(BaseModel):
    """Keys that are not listed here are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Sum(_Record):
    """Bytes over a span of seconds; ``retransmits`` of a sender only."""

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


class Document(_Record):
    """A finished transfer."""

    intervals: list[Interval]
    end: _End
    rttcp: End | None = None

    @property
    def peak_bps(self) -> float:
        """The best interval that was not omitted, as the end that printed the document saw it; 0 without intervals."""
        return max((i.sum.bits_per_second for i in self.intervals if not i.sum.omitted), default=0.0)


def parse(text: str | bytes) -> Document:
    """The document; ValueError with the tool's own words if it says that the transfer failed, or if it is none."""
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
