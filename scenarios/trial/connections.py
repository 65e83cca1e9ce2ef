"""The connections of a trial's senders while it runs, for people who watch: a few figures of TCP_INFO, four times a
second, in `live.jsonl` of the trial's folder.

They come from the kernel (sock_diag(7)) and not from the transfer tool, so all tools are watched in the same way. A
thread asks through a socket that was made in the sender's namespace. One query takes some 0.1 ms. The file is only for
watching and is removed when the transfer ends: tcp_info.parquet has the samples that count. Rejected: `ss`, which would
be a new process for every query. Rejected: watching in virtual time, where each reading of the clock advances it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcommon import netns, sock_diag
from scenarios.network.graph import host_names
from scenarios.network.place import Network
from scenarios.plan import flows
from scenarios.plan.model import Scenario

NAME = "live.jsonl"
_PERIOD_S = 0.25
_LEAST_BYTES = 32 * 1024  # acknowledged: a control connection has less
_MOST = 16  # connections in one query, those with the most data

_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


@contextlib.contextmanager
def followed(net: Network, setting: Scenario, folder: Path, *, wanted: bool) -> Iterator[None]:
    """While the block runs, writes the figures of the senders on this machine into ``folder``, if they are ``wanted``.
    Errors do not affect the trial."""
    with contextlib.ExitStack() as stack:
        asked = []
        with contextlib.suppress(OSError):
            senders = _senders(net, setting) if wanted else []
            asked = [stack.enter_context(netns.call_in(place, sock_diag.asking)) for place in senders]
        if not asked:
            yield
            return
        ended = threading.Event()
        arguments = (asked, _FAMILIES[setting.transfer.family], folder / NAME, ended)
        thread = threading.Thread(target=_follow, args=arguments, name="connections", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _senders(net: Network, setting: Scenario) -> list[int | str]:
    """The namespaces of the hosts that send."""
    places = (net.place(host_names(one.pair)[0]) for one in flows.of(setting))
    return list(dict.fromkeys(place.netns for place in places if place.netns is not None and not place.is_remote))


def _follow(asked: list[socket.socket], family: int, file: Path, ended: threading.Event) -> None:
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as out:
        while not ended.wait(_PERIOD_S):
            t_ns = time.monotonic_ns()
            found = [row for one in asked for row in rows(one, family)]
            found.sort(key=lambda row: int(row["acked_bytes"]), reverse=True)
            known = [row for row in found[:_MOST] if row["acked_bytes"] >= _LEAST_BYTES]
            out.write(b"".join(json.dumps({"t_ns": t_ns} | row).encode() + b"\n" for row in known))
    file.unlink(missing_ok=True)


def rows(asked: socket.socket, family: int) -> list[dict[str, Any]]:
    """The figures of the connections that send in the socket's namespace. OSError when the kernel does not answer."""
    states = sock_diag.ESTABLISHED | sock_diag.FIN_WAIT_1
    known = (one for one in sock_diag.connections(asked, family, states) if "bytes_retrans" in one.info)
    return [{"local": _text(one.local), "remote": _text(one.remote)} | _figures(one.info) for one in known]


def _text(end: tuple[str, int]) -> str:
    host, port = end
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _figures(info: dict[str, int]) -> dict[str, Any]:
    return {
        "acked_bytes": info["bytes_acked"],
        "sent_bytes": info["bytes_sent"] - info["bytes_retrans"],
        "retransmits": info["total_retrans"],
        "cwnd_bytes": info["snd_cwnd"] * info["snd_mss"],
        "rtt_ns": 1000 * info["rtt_us"],
    }
