"""Two ways to make the same path: ``comet``, the userspace daemon, and ``netem``, the kernel's disciplines.

Both take the same parameters and report the same state, so that one can be checked against the other. `capabilities`
tests what each of them can do on this machine, and `choose` decides by the result. It prefers the daemon, which models
every wire packet of a super-packet, is repeatable, and audits itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol

from comet_delay import netem_kernel, options
from comet_delay.command import Parameters, Port
from comet_delay.netem import NetemBox
from comet_delay.netem_plan import DEFAULTS, NOTES
from comet_delay.userspace import UserspaceBox
from netcommon.errors import LfpError, MissingError, UsageError
from netcommon.quantity import parse_ratio_ppb

Name = Literal["comet", "netem"]
BACKENDS: tuple[Name, ...] = ("comet", "netem")
_TUN = "/dev/net/tun"

# Why netem does not support a parameter of the daemon; other parameters get a general reason.
_NETEM_CANNOT = {
    "loss": "only independent loss",
    "queue_packets": "its queue is in bytes; give queue_bytes",
    "queue_drop": "its queue drops the newest",
    "aqm": "its queue is a count of bytes, without packets to choose from",
    "channels": "it has one line",
    "balance": "it has one line",
    "only": "its models concern every packet",
    "jitter": "its jitter reorders packets, the box's does not unless asked",
    "jitter_ns": "its jitter reorders packets, the box's does not unless asked",
    "loss_after": "its loss is in front of the bottleneck",
    "loss_after_ppb": "its loss is in front of the bottleneck",
    "duplicate_ppb": "it sends the second packet through access line and loss again",
    "corrupt_ppb": "it flips bits of headers, too",
    "bunch_ns": "its slots begin with a packet, the box's openings follow the clock",
    "drain_rate_bps": "its one queue is the bottleneck's",
    "reorder_ppb": "it lets packets go early, the box holds them back",
}


class Box(Protocol):
    """A path between two ports, which exists from `start` (or ``with``) to `stop`; see NetemBox and UserspaceBox."""

    backend: str

    def start(self) -> Box: ...
    def __enter__(self) -> Box: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...
    def running(self) -> bool: ...
    def set(self, *, ab: Parameters | None = None, ba: Parameters | None = None) -> None: ...
    def show(self) -> dict[str, Any]: ...
    def finish(self, timeout_s: float) -> dict[str, Any]: ...
    def stop(self, timeout_s: float = ...) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Capabilities:
    """What a back end can do on this machine. `missing`: why it cannot be used at all, or None. `cannot`: parameter →
    reason."""

    backend: Name
    missing: str | None
    can: frozenset[str]
    cannot: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def objections(self, parameters: Iterable[str]) -> list[str]:
        """The reasons why it does not support these parameters; empty when it does."""
        if self.missing:
            return [self.missing]
        wanted = sorted(set(parameters) - self.can)
        return [f"{name}: {self.cannot.get(name, 'no such parameter')}" for name in wanted]


def capabilities(backend: Name) -> Capabilities:
    """Asks the daemon for its options, or tries the kernel's disciplines in a namespace of their own (some ms)."""
    return _comet() if backend == "comet" else _netem()


def _comet() -> Capabilities:
    try:
        known = options.installed()
    except LfpError as error:
        return Capabilities("comet", str(error), frozenset(), {})
    missing = None
    if not os.access(_TUN, os.R_OK | os.W_OK):
        missing = f"{_TUN} is missing or not ours to open; load the tun module (modprobe tun) and run as root"
    return Capabilities("comet", missing, frozenset(known.path) | {"seed"}, {})


def _netem() -> Capabilities:
    missing, heeds_seed = netem_kernel.probe()
    try:
        others = options.installed().path.keys() - DEFAULTS.keys()
    except LfpError:  # without a daemon, only netem's parameters are available
        others = set()
    others |= _NETEM_CANNOT.keys()
    cannot = {name: _NETEM_CANNOT.get(name, "not done with netem; use the box") for name in others}
    can = set(DEFAULTS)
    if heeds_seed:
        can.add("seed")
    else:
        cannot["seed"] = "this kernel's netem cannot be seeded (Linux 6.6 can), so losses are not repeatable"
    return Capabilities("netem", missing, frozenset(can), cannot, NOTES)


def choose(parameters: Iterable[str], backend: str = "auto") -> Name:
    """Returns the back end for these parameters (named as in `show`, and ``seed``): the one called `name`, or with
    ``auto`` the first that supports all of them.

    UsageError for an unknown back end or one that does not support a parameter; MissingError when none can be used.
    """
    wanted = set(parameters)
    if backend not in (*BACKENDS, "auto"):
        raise UsageError(f"backend {backend!r}: want auto, {' or '.join(BACKENDS)}")
    candidates = BACKENDS if backend == "auto" else tuple(name for name in BACKENDS if name == backend)
    reasons, usable = [], False
    for name in candidates:
        able = capabilities(name)
        objections = able.objections(wanted)
        if not objections:
            return name
        reasons.append(f"{name}: {'; '.join(objections)}")
        usable = usable or not able.missing
    raise (UsageError if usable else MissingError)(" | ".join(reasons))


def open_box(
    a: Port,
    b: Port,
    *,
    ab: Mapping[str, int | str] | None = None,
    ba: Mapping[str, int | str] | None = None,
    mtu: int = 1500,
    seed: int | None = None,
    backend: str = "auto",
    box: Mapping[str, str] | None = None,
) -> Box:
    """A running path by the back end that `choose` finds; its ports exist and are up. `box`: see `command.run_argv`.

    Without a `seed` the seed is 1, and netem is accepted even if its kernel ignores seeds.
    """
    ab, ba = _plain(ab or {}), _plain(ba or {})
    wanted = {*ab, *ba, *(() if seed is None else ("seed",))}
    number = 1 if seed is None else seed
    if choose(wanted, backend) == "comet":
        return UserspaceBox(a, b, ab=ab, ba=ba, mtu=mtu, seed=number, box=box).start()
    return NetemBox(a, b, ab=ab, ba=ba, mtu=mtu, seed=number).start()


def _plain(parameters: Mapping[str, int | str]) -> dict[str, int | str]:
    """The parameters; a loss that is a plain ratio becomes ``loss_ppb``, which both back ends know."""
    result = dict(parameters)
    with suppress(ValueError, KeyError):
        result["loss_ppb"] = parse_ratio_ppb(str(result["loss"]))
        del result["loss"]
    return result
