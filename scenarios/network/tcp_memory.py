"""Whether TCP ran short of memory. The machine has one account for all of TCP (net.ipv4.tcp_mem, in pages).

Above the second figure of tcp_mem the kernel does not grow buffers until usage is below the first figure again. Windows
stay small then, and nothing else shows why. Data that a killed transfer left in flight counts too (see
`netcommon.netns.end_abandoned_connections`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_COUNTER = "TCPMemoryPressures"


@dataclass(frozen=True)
class TcpMemory:
    """``short``: whether memory is short now. ``times``: how often it became short, summed over the namespaces."""

    short: bool
    times: int

    @classmethod
    def now(cls, pids: Iterable[int], proc: Path = Path("/proc")) -> TcpMemory:
        """The state of TCP's memory now, as the namespaces of these processes show it."""
        tables = [proc / str(pid) / "net" for pid in pids]
        times = sum(_times((table / "netstat").read_text(encoding="ascii")) for table in tables)
        return cls(any(_short((table / "protocols").read_text(encoding="ascii")) for table in tables), times)


def _times(netstat: str) -> int:
    """The counter in /proc/net/netstat, whose lines come in pairs: names above figures."""
    lines = netstat.splitlines()
    for names, figures in zip(lines[::2], lines[1::2], strict=True):
        if _COUNTER in names.split():
            return int(figures.split()[names.split().index(_COUNTER)])
    return 0


def _short(protocols: str) -> bool:
    """Column ``press`` of /proc/net/protocols. TCP over IPv4 and TCP over IPv6 share one account."""
    header, *rows = protocols.splitlines()
    column = header.split().index("press")
    return any(row.split()[0] == "TCP" and row.split()[column] == "yes" for row in rows)
