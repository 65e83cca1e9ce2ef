"""Memory-to-memory TCP transfers: command lines for the C tool `rttcp`, and its `end` line as typed objects.

The caller chooses the namespace in which an end runs. Units are in the names: bytes, nanoseconds, bit/s. PROTOCOL.md in
this folder is the specification.
"""

from rttcp.launcher import DEFAULT_PORT, finished, listening, receiver_argv, sender_argv
from rttcp.results import End, Exchange, ExchangeSummary, Params, Side, Stream, Summary, Verdict, Way, parse_end

__all__ = [
    "DEFAULT_PORT",
    "End",
    "Exchange",
    "ExchangeSummary",
    "Params",
    "Side",
    "Stream",
    "Summary",
    "Verdict",
    "Way",
    "finished",
    "listening",
    "parse_end",
    "receiver_argv",
    "sender_argv",
]
