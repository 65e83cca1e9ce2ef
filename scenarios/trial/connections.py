"""The connections of a trial's senders while it runs, for those who watch: a few figures of TCP_INFO, four times a
second, in `live.jsonl` of the trial's folder.

The kernel tells them (sock_diag(7)), so the transfer tool has no part in it, and every tool is watched alike. A thread
asks through a socket that was made in the sender's namespace. One look takes some 0.1 ms. The file is for
reading along only and goes when the transfer ends: tcp_info.parquet has the samples that count. Rejected: `ss`, a new
process at every look; and all of this in virtual time, where each reading of the clock moves it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcommon import netns
from scenarios.network.graph import host_names
from scenarios.network.place import Network
from scenarios.plan import flows
from scenarios.plan.model import Scenario

NAME = "live.jsonl"
_PERIOD_S = 0.25
_LEAST_BYTES = 32 * 1024  # acknowledged: a control connection has less
_MOST = 16  # connections at a look, those with most data

_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_INFO = 2  # the attribute with struct tcp_info, which bit 1 of a request asks for
_STATES = 1 << 1 | 1 << 4  # ESTABLISHED, FIN-WAIT-1
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_ID_AT, _MESSAGE_BYTES = 4, 72  # in struct inet_diag_msg: the ports and addresses, and where its attributes begin
# struct tcp_info of <linux/tcp.h>: name, offset, format.
_FIELDS = (
    ("snd_mss", 16, "=I"), ("rtt_us", 68, "=I"), ("snd_cwnd", 80, "=I"), ("total_retrans", 100, "=I"),
    ("bytes_acked", 120, "=Q"), ("bytes_sent", 200, "=Q"), ("bytes_retrans", 208, "=Q"),
)  # fmt: skip
_LEAST_INFO_BYTES = 216


@contextlib.contextmanager
def followed(net: Network, setting: Scenario, folder: Path, *, wanted: bool) -> Iterator[None]:
    """Writes the figures of the senders on this machine into ``folder`` until the end, if they are ``wanted``. What
    hinders it, hinders no trial."""
    with contextlib.ExitStack() as stack:
        asked = []
        with contextlib.suppress(OSError):
            senders = _senders(net, setting) if wanted else []
            asked = [stack.enter_context(netns.call_in(place, asking)) for place in senders]
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


def asking() -> socket.socket:
    """A socket that asks about the connections of this namespace."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG)
    made.settimeout(1.0)
    return made


def _follow(asked: list[socket.socket], family: int, file: Path, ended: threading.Event) -> None:
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as out:
        while not ended.wait(_PERIOD_S):
            t_ns = time.monotonic_ns()
            found = [row for one in asked for row in connections(one, family)]
            found.sort(key=lambda row: int(row["acked_bytes"]), reverse=True)
            known = [row for row in found[:_MOST] if row["acked_bytes"] >= _LEAST_BYTES]
            out.write(b"".join(json.dumps({"t_ns": t_ns} | row).encode() + b"\n" for row in known))
    file.unlink(missing_ok=True)


def connections(asked: socket.socket, family: int) -> list[dict[str, Any]]:
    """The TCP connections of the socket's namespace. OSError when the kernel does not answer."""
    body = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, _STATES)
    asked.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
    found: list[dict[str, Any]] = []
    while True:
        data, at = asked.recv(1 << 18), 0
        while at + _HEADER.size <= len(data):
            length, kind = _HEADER.unpack_from(data, at)[:2]
            if kind in (_DONE, _ERROR) or length < _HEADER.size:
                return found
            found += _row(data[at + _HEADER.size : at + length], family)
            at += length + -length % 4


def _row(message: bytes, family: int) -> list[dict[str, Any]]:
    """The figures of one connection; none where the kernel gives no TCP_INFO of today's length."""
    at = _MESSAGE_BYTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if kind == _INFO and length - _ATTRIBUTE.size >= _LEAST_INFO_BYTES:
            start = at + _ATTRIBUTE.size
            info = {name: struct.unpack_from(form, message, start + offset)[0] for name, offset, form in _FIELDS}
            return [_ends(message, family) | _figures(info)]
        at += max(length + -length % 4, _ATTRIBUTE.size)
    return []


def _ends(message: bytes, family: int) -> dict[str, Any]:
    ports, size = struct.unpack_from("!HH", message, _ID_AT), 4 if family == socket.AF_INET else 16
    starts = (_ID_AT + 4, _ID_AT + 20)
    hosts = [socket.inet_ntop(family, message[start : start + size]) for start in starts]
    local, remote = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                     for host, port in zip(hosts, ports, strict=True))  # fmt: skip
    return {"local": local, "remote": remote}


def _figures(info: dict[str, int]) -> dict[str, Any]:
    return {
        "acked_bytes": info["bytes_acked"],
        "sent_bytes": info["bytes_sent"] - info["bytes_retrans"],
        "retransmits": info["total_retrans"],
        "cwnd_bytes": info["snd_cwnd"] * info["snd_mss"],
        "rtt_ns": 1000 * info["rtt_us"],
    }
