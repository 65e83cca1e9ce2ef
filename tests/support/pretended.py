"""A control socket without a tool behind it, which answers as the tool's CONTROL.md says."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from netcommon import quantity

Answer = dict[str, Any]
MBIT = 10**6
PARSERS: dict[str, tuple[str, Callable[[str], int | str]]] = {
    "delay": ("delay_ns", quantity.parse_duration_ns),
    "rate": ("rate_bps", quantity.parse_rate_bps),
    "loss": ("loss", lambda text: quantity.format_value(quantity.RATIO, quantity.parse_ratio_ppb(text))),
}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextmanager
def pretended(path: Path, answer: Callable[[Answer], Answer]) -> Iterator[None]:
    """A control socket whose requests ``answer`` answers. At the end it is gone, and so are its connections."""
    connections: list[socket.socket] = []

    class Client(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            connections.append(self.connection)
            with suppress(OSError):
                for line in self.rfile:
                    self.wfile.write(json.dumps(answer(json.loads(line))).encode() + b"\n")

    with _Server(str(path), Client) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            path.unlink()
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class PretendedGateway:
    """A gateway with 1 s between two answers, in which 100 Mbit/s come in from hosts and 10 Mbit/s go out to them."""

    def __init__(self) -> None:
        self.asked: list[Answer] = []
        self.state: Answer = {
            "v": 1, "ok": True, "bypassed": False, "draining": False, "uptime_ns": 0, "cpu_ns": 10**9, "router": None,
            "parameters": {"carriage": "udp", "cipher": "aes-128-gcm", "recovery": "selective", "rate_mode": "fixed",
                           "rate_bps": 800 * MBIT, "host_rate_bps": 0, "redundancy": True, "bypass": "auto"},
            "tunnel": {"status": "up", "peer": "192.0.2.1:2004", "contention": None, "mtu_search": False,
                       "rx_datagrams": 1_234_567, "handshake": {"sent": 1, "received": 1}},
            "engine": {"sent": {"data": {"frames": 5, "wire_bytes": 7500}}, "srtt_ns": 200_000_000,
                       "min_rtt_ns": 198_000_000, "rate_bps": 800 * MBIT, "loss_ppb": 100_000},
            "session": {"streams": 3}, "io": {"rx_reads": 7},
            "relay": {"connections": 4, "half_open": 0, "bytes_in": 0, "bytes_out": 0},
        }  # fmt: skip

    def answer(self, request: Answer) -> Answer:
        """The state after the request, or a refusal in the gateway's words."""
        self.asked.append(request)
        if request["op"] == "set":
            for name, text in request["values"].items():
                if error := self._set(name, text):
                    return {"v": 1, "ok": False, "error": error}
        if request["op"] == "stop":
            self.state["draining"] = True
        relay = self.state["relay"]
        relay |= {"bytes_in": relay["bytes_in"] + 12_500_000, "bytes_out": relay["bytes_out"] + 1_250_000}
        self.state["uptime_ns"] += 10**9
        return self.state

    def _set(self, name: str, text: str) -> str:
        if name in ("rate", "host-rate"):
            bps = quantity.parse_rate_bps(text)
            if bps % MBIT:
                return f"--{name} '{bps}bit': want whole Mbit/s"
            self.state["parameters"][f"{name.replace('-', '_')}_bps"] = bps
        else:
            self.state["parameters"][name.replace("-", "_")] = text == "on" if name == "redundancy" else text
            self.state["bypassed"] = self.state["parameters"]["bypass"] == "on"
        return ""


class PretendedBox:
    """A box with 1 s between two answers, in which 45 Mbit/s leave from a to b and 1 Mbit/s from b to a."""

    def __init__(self) -> None:
        self.asked: list[Answer] = []
        drops = {"loss": 12_346, "queue": 7, "memory": 0, "receive_ring": 0}
        way = {
            "in_bytes": 0,
            "out_bytes": 0,
            "queue_bytes": 61_440,
            "queue_peak_bytes": 112_640,
            "first_in_ns": 10**15,
            "drops": drops,
            "lateness": {"count": 9, "p99_ns": 41_943, "max_ns": 90_000, "histogram": [[1, 9]]},
        }
        self.parameters: dict[str, Answer] = {
            name: {"delay_ns": 4_200_000, "rate_bps": 45 * MBIT, "loss": "0%"} for name in ("ab", "ba")
        }
        self.state: Answer = {
            "v": 1,
            "ok": True,
            "parameters": self.parameters,
            "uptime_ns": 0,
            "wake_latency_ns": 50_000,
            "statistics": {"ab": dict(way), "ba": dict(way)},
            "verdict": {"valid": True, "reasons": [], "lateness_limit_ns": 10**6},
        }

    def answer(self, request: Answer) -> Answer:
        """The state, or what changed, or a refusal in the box's words."""
        self.asked.append(request)
        if request["op"] == "set":
            return self._set(request["values"])
        for way, octets in (("ab", 5_625_000), ("ba", 125_000)):
            self.state["statistics"][way]["out_bytes"] += octets
        self.state["uptime_ns"] += 10**9
        return self.state

    def _set(self, values: dict[str, str]) -> Answer:
        changed: dict[str, Answer] = {"ab": {}, "ba": {}}
        for name, text in values.items():
            prefix, _, bare = name.rpartition("-")
            key, parse = PARSERS[bare]
            try:
                value = parse(text)
            except ValueError as error:
                return {"v": 1, "ok": False, "error": f"--{name} '{text}': {error}"}
            for way in [prefix] if prefix else ["ab", "ba"]:
                changed[way] |= {key: value} if self.parameters[way][key] != value else {}
        for way, new in changed.items():
            self.parameters[way] |= new
        return {"v": 1, "ok": True, "changed": changed}
