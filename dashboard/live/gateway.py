"""A running gateway as its page sees it, and what the page may ask of it: what lft_ref/CONTROL.md offers, and nothing
else. The gateway checks values; the error that is shown is the gateway's own line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.live.numbers import numbers
from dashboard.live.watcher import Watcher
from lft_ref import Control
from netcommon.control import Answer
from netcommon.errors import UsageError

IN, OUT = "bytes_in", "bytes_out"  # counters of the relay's sockets: bytes from the hosts, and bytes to them


@dataclass(frozen=True)
class Setting:
    """A setting that may be changed. `name` as the socket spells it; `shown`: its key in `parameters`; without
    `choices` it is a limit in whole Mbit/s."""

    name: str
    shown: str
    label: str
    choices: tuple[str, ...] = ()


SETTINGS = (
    Setting("rate", "rate_bps", "Rate limit"),
    Setting("host-rate", "host_rate_bps", "Limit towards hosts"),
    Setting("rate-mode", "rate_mode", "Rate mode", ("fixed", "auto")),
    Setting("redundancy", "redundancy", "Redundant copies", ("on", "off")),
    Setting("bypass", "bypass", "Bypass", ("auto", "on", "off")),
)


@dataclass(frozen=True)
class GatewayState:
    """An answer of the gateway. `engine` is empty without an association, `contention` without another gateway."""

    uptime_ns: int
    counters: Mapping[str, int]
    parameters: Mapping[str, Any]
    tunnel: str
    peer: str
    contention: str
    bypassed: bool
    draining: bool
    engine: Mapping[str, Any]
    connections: int
    half_open: int
    streams: int
    numbers: tuple[tuple[str, int | float], ...]


GatewayWatcher = Watcher[GatewayState, Control]


def read(answer: Answer) -> GatewayState:
    """The state in an answer. KeyError or TypeError where the answer is not a gateway's."""
    relay, tunnel, parameters = answer["relay"], answer["tunnel"], answer["parameters"]
    missing = [setting.shown for setting in SETTINGS if setting.shown not in parameters]
    if missing:
        raise KeyError(missing[0])
    return GatewayState(
        uptime_ns=int(answer["uptime_ns"]),
        counters={name: int(relay[name]) for name in (IN, OUT)},
        parameters=parameters,
        tunnel=str(tunnel["status"]),
        peer=str(tunnel["peer"]),
        contention=tunnel["contention"] or "",
        bypassed=bool(answer["bypassed"]),
        draining=bool(answer["draining"]),
        engine=answer["engine"] or {},
        connections=int(relay["connections"]),
        half_open=int(relay["half_open"]),
        streams=int(answer["session"]["streams"]),
        numbers=tuple(numbers(answer)),
    )


def watch(path: Path, connect: Callable[[], Control] | None = None) -> GatewayWatcher:
    """Watches the gateway whose control socket this is. `connect`: how it is reached; directly by default."""
    return Watcher(path, connect or (lambda: Control(path)), Control.tool, read)


def text_of(setting: Setting, value: object) -> str:
    """A value of the page as the socket takes it. UsageError for what is neither a choice nor a number."""
    if setting.choices:
        if value not in setting.choices:
            raise UsageError(f"{setting.name}: {value!r} is not offered; choose {' or '.join(setting.choices)}")
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{setting.name}: not a whole number; enter the limit in Mbit/s, 0 for no limit")
    return f"{value}Mbit"


def change(watcher: GatewayWatcher, setting: Setting, value: object) -> GatewayState:
    """Sets one setting; returns the new state. ControlError with the gateway's own line when it refuses."""
    text = text_of(setting, value)
    with watcher.connect() as control:
        return watcher.understood(control.set(**{setting.name.replace("-", "_"): text}))


def stop(watcher: GatewayWatcher) -> GatewayState:
    """Ends the gateway at once."""
    with watcher.connect() as control:
        return watcher.understood(control.stop())


def drain(watcher: GatewayWatcher, within: str) -> GatewayState:
    """Ends the gateway once its connections have ended, at the latest after `within` (`10s`)."""
    with watcher.connect() as control:
        return watcher.understood(control.drain(within))
