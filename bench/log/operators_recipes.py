"""The recipes of log.operators: one for each cause that operators meet. Parameters follow from cause and seed.

A recipe is a path, a world (`operators_world`), and the verdicts that are right. Two verdicts are right where both say
the same to an operator: a queue that overflows keeps the line busy all the time, or is so short that losses limit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
MTU, MSS, LATEST_S = 1500, 1460, 8.0
MOST_BYTES = 50_000_000  # the largest transfer; this bounds the time that a recipe takes
RENO = "Linux, Reno"
# Stacks that differ in what they offer and how they grow, with their sysctls. In "fixed window" the receiver's buffer
# does not grow by itself.
STACKS: dict[str, dict[str, str]] = {
    "Linux": {},
    RENO: {},
    "no time stamps": {"net.ipv4.tcp_timestamps": "0"},
    "no SACK": {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_dsack": "0"},
    "fixed window": {},
}


@dataclass(frozen=True)
class Line:
    """The path's rate and its round-trip time without queues; ``product``: both multiplied, in bytes."""

    rate_bps: int
    rtt_ms: float

    @property
    def product(self) -> int:
        return int(self.rate_bps * self.rtt_ms / 8000)

    def seconds(self) -> float:
        """How long a transfer takes: many round trips, but not too many bytes."""
        return max(min(LATEST_S, 8 * MOST_BYTES / self.rate_bps), 3.0)


@dataclass
class Recipe:
    """``right``: names of verdicts. ``says``: words that the verdict's text must contain, where the name alone is not
    enough."""

    cause: str
    stack: str
    line: Line
    right: tuple[str, ...]
    says: str = ""
    path: Json = field(default_factory=dict)
    client: Json = field(default_factory=dict)
    server: Json = field(default_factory=dict)
    world: Json = field(default_factory=dict)
    sysctl: dict[str, dict[str, str]] = field(default_factory=lambda: {"snd": {}, "rcv": {}})


# Causes that were renamed: a seed keeps what it drew under the earlier name, as published in docs/reference/causes.md.
DRAWN_AS = {"congested reverse direction": "congested way back"}


def recipe(cause: str, seed: int) -> Recipe:
    """The recipe of a cause and a seed."""
    draw = random.Random(f"{DRAWN_AS.get(cause, cause)} {seed}")
    make, right, says, least = CAUSES[cause]
    line = _line(draw, least)
    stack = draw.choice(list(STACKS))
    mixed = Recipe(cause, stack, line, right, says)
    mixed.path = {"rate": f"{line.rate_bps}bit", "delay": f"{line.rtt_ms / 2:.3f}ms", "queue": _bytes(4 * line.product)}
    mixed.client = {"kind": "bulk", "seconds": line.seconds(), "bytes": 0, "sndbuf": 0, "hello": False}
    mixed.server = {"kind": "sink", "rcvbuf": 0}
    mixed.world = {
        "others": 0,
        "backs": 0,
        "back_s": 0.0,
        "patience_s": 10.0,
        "after_s": 0.3 + line.rtt_ms / 1000,
        "control": "reno" if stack == RENO else "cubic",
    }
    for host in mixed.sysctl.values():
        host |= STACKS[stack]
    if stack == "fixed window":
        mixed.server["rcvbuf"] = 8 * line.product + 1_000_000
    make(draw, line, mixed)
    return mixed


def _line(draw: random.Random, least: Callable[[Line], bool]) -> Line:
    while True:
        rate_bps = int(round(math.exp(draw.uniform(math.log(5), math.log(200))), 1) * 1e6)
        line = Line(rate_bps, round(math.exp(draw.uniform(math.log(10), math.log(200))), 1))
        if line.product <= 1_200_000 and least(line):
            return line


def _bytes(size: float) -> str:
    return f"{max(int(size), 48_000)}B"


def _any(line: Line) -> bool:
    return line.product >= 40_000


def _short_trips(line: Line) -> bool:
    """A path whose BDP a window reaches within a small share of the transfer."""
    return _any(line) and line.rtt_ms <= 80 and line.product <= 600_000


def _scaling_off(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.sysctl[draw.choice(["snd", "rcv"])]["net.ipv4.tcp_window_scaling"] = "0"


def _send_buffer(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.client["sndbuf"] = max(int(line.product * draw.uniform(0.1, 0.3)), 10_000)


def _receive_buffer(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.server["rcvbuf"] = max(int(line.product * draw.uniform(0.15, 0.5)), 10_000)


def _slow_reader(draw: random.Random, line: Line, mixed: Recipe) -> None:
    read = draw.choice([16_384, 65_536, 262_144])
    rate = line.rate_bps / 8 * draw.uniform(0.1, 0.5)
    mixed.server |= {"kind": "slow", "read": read, "rest_s": read / rate}
    if mixed.stack == "fixed window":
        mixed.server["rcvbuf"] = int(line.product * draw.uniform(1.5, 4))


def _random_loss(draw: random.Random, line: Line, mixed: Recipe) -> None:
    target_bps = line.rate_bps * draw.uniform(0.05, 0.25)
    p = (8 * MSS * 1.22 / (line.rtt_ms / 1000 * target_bps)) ** 2
    mixed.path |= {"ab_loss": f"{100 * min(max(p, 0.002), 0.03):.4f}%", "queue": _bytes(8 * line.product)}


def _policer(draw: random.Random, line: Line, mixed: Recipe) -> None:
    rate_bps = int(line.rate_bps / draw.uniform(3, 8))
    burst = max(int(rate_bps / 8 * draw.uniform(0.01, 0.1)), 10 * MTU)
    mixed.world["policer"] = {"rate_bps": rate_bps, "burst": burst}


def _full_queue(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.path["queue"] = _bytes(line.product * draw.uniform(0.2, 1))


def _answers(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.client |= {"kind": "ask", "message": draw.choice([16_384, 32_768, 65_536])}
    mixed.server |= {"kind": "answer"}


def _nagle(draw: random.Random, line: Line, mixed: Recipe) -> None:
    pieces = [draw.randrange(100, 700) for _ in range(draw.choice([2, 2, 3]))]
    mixed.client |= {"kind": "pieces", "pieces": pieces}
    mixed.server |= {"kind": "answer"}


def _path_mtu(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.client |= {"hello": draw.random() < 0.8, "seconds": 6.0}
    mixed.path |= {"loss": "100%", "only": f"tcp,min-size={draw.randrange(1294, 1500)}"}
    mixed.world["patience_s"] = 0.1


def _way_back(draw: random.Random, line: Line, mixed: Recipe) -> None:
    back_bps = int(line.rate_bps * draw.uniform(0.1, 0.5))
    mixed.path |= {"ba_rate": f"{back_bps}bit", "ba_queue": _bytes(back_bps / 8 * draw.uniform(0.3, 0.8))}
    mixed.server["rcvbuf"] = int(line.product * draw.uniform(1.2, 2))
    mixed.world |= {"backs": draw.choice([2, 3, 4]), "back_s": draw.uniform(0.3, 0.6)}


def _cross_traffic(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.world["others"] = draw.choice([1, 2, 3, 5])
    mixed.path["queue"] = _bytes(line.product * draw.uniform(0.5, 2))


def _gateway(draw: random.Random, line: Line, mixed: Recipe) -> None:
    read = draw.choice([16_384, 65_536])
    rate = line.rate_bps / 8 * draw.uniform(0.1, 0.5)
    mixed.server |= {"kind": "relay", "read": read, "rest_s": read / rate, "rcvbuf": draw.choice([32_768, 131_072])}


def _nothing(draw: random.Random, line: Line, mixed: Recipe) -> None:
    mixed.path["queue"] = _bytes(line.product * draw.uniform(2, 4))


Made = Callable[[random.Random, Line, Recipe], None]
# The function that makes the cause, the right verdicts, words that their text must contain, and the lines on which the
# cause can be seen.
CAUSES: dict[str, tuple[Made, tuple[str, ...], str, Callable[[Line], bool]]] = {
    "window scaling off": (
        _scaling_off,
        ("receiver_window",),
        "Window scaling is off",
        lambda line: line.product >= 150_000,
    ),
    "small send buffer": (_send_buffer, ("send_buffer",), "", lambda line: line.product >= 120_000),
    "small receive buffer": (_receive_buffer, ("receiver_window",), "", lambda line: line.product >= 100_000),
    "slow reader": (_slow_reader, ("slow_reader",), "", _any),
    "random loss": (_random_loss, ("losses",), "chance", lambda line: line.product >= 100_000),
    "policer": (_policer, ("policer",), "", lambda line: line.rate_bps >= 20_000_000),
    "full queue": (_full_queue, ("path_rate", "losses"), "", _short_trips),
    "request and response": (_answers, ("request_response",), "", lambda line: line.product >= 150_000),
    "Nagle and delayed acknowledgements": (_nagle, ("nagle",), "", _any),
    "path-MTU black hole": (_path_mtu, ("path_mtu",), "", _any),
    "congested reverse direction": (
        _way_back,
        ("way_back",),
        "",
        lambda line: line.product >= 60_000 and line.rtt_ms <= 80,
    ),
    "cross traffic": (_cross_traffic, ("cross_traffic",), "", _short_trips),
    "a gateway's buffer": (_gateway, ("gateway",), "", _any),
    "nothing wrong": (_nothing, ("path_rate",), "", _short_trips),
}
