"""The options of the installed ``comet-delay``, as it prints them itself (`netcommon.options`).

So nothing here repeats the daemon's option table. A path option becomes a parameter whose name ends in its unit, as
`show` prints it (``--queue SIZE`` is ``queue_bytes``). An option that takes a model (``--loss MODEL`` is ``loss``) also
has a numeric parameter for its simplest model (``loss_ppb``).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import netcommon.options
from netcommon import quantity
from netcommon.binaries import MissingBinary, find
from netcommon.errors import UsageError
from netcommon.process import START_TIMEOUT_S

# Unit in the daemon's table → suffix of the parameter's name, unit.
_UNITS: dict[str, tuple[str, quantity.Unit]] = {
    "duration": ("_ns", quantity.DURATION),
    "rate": ("_bps", quantity.RATE),
    "size": ("_bytes", quantity.BYTES),
    "ratio": ("_ppb", quantity.RATIO),
}
# Options that take a model as text, and the unit of their simplest model, a plain number.
_SIMPLEST = {"delay": "duration", "jitter": "duration", "rate": "rate", "loss": "ratio", "loss-after": "ratio"}


# Options that the starter of the daemon sets: ports, files, and the output format.
_STARTERS = {"a", "b", "mtu", "seed", "home", "control", "record", "parent-death", "check", "human", "json"}


@dataclass(frozen=True)
class Option:
    """An option of ``comet-delay run``: its name without dashes, and the unit of a quantity (None: a text)."""

    name: str
    unit: str | None = None

    @property
    def parameter(self) -> str:
        """Name of the parameter in base units."""
        return self.name.replace("-", "_") + (_UNITS[self.unit][0] if self.unit in _UNITS else "")

    def text(self, value: int | str) -> str:
        """A parameter's value as text, as the daemon accepts and shows it; a number gets its unit."""
        if self.unit in _UNITS and isinstance(value, int):
            return quantity.format_value(_UNITS[self.unit][1], value)
        return str(value)

    def value(self, text: int | str) -> int | str:
        """A value as a user writes it (``"45Mbit"``) in base units; ValueError says what is wrong. The value of a text
        option stays as it is."""
        return quantity.parse(_UNITS[self.unit][1], text) if self.unit in _UNITS and isinstance(text, str) else text


_BASIC = (
    Option("delay", "duration"),
    Option("rate", "rate"),
    Option("queue", "size"),
    Option("loss", "ratio"),
    Option("access-rate", "rate"),
    Option("framing"),
)


@dataclass(frozen=True)
class Options:
    """`path`: options for each direction, by parameter; `box`: the others, by name."""

    path: Mapping[str, Option]
    box: Mapping[str, Option]

    def by_name(self, name: str) -> Option | None:
        """Finds a path option by its own name, written with ``_`` or ``-``. When an option has two forms, it returns
        the general one."""
        return next((o for o in reversed(list(self.path.values())) if o.name == name.replace("_", "-")), None)

    def arguments(self, parameters: Mapping[str, int | str], prefix: str = "") -> dict[str, str]:
        """Parameters → ``{"ab-delay": "4200000ns"}``. UsageError for one that this daemon does not have."""
        arguments = {}
        for name, value in parameters.items():
            if name not in self.path:
                raise UsageError(f"{name}: this comet-delay has no such parameter; it has {', '.join(self.path)}")
            arguments[prefix + self.path[name].name] = self.path[name].text(value)
        return arguments

    def box_arguments(self, given: Mapping[str, int | str]) -> dict[str, str]:
        """Options of the box itself, by name or as in base units (``poll_ns=0``) → ``{"poll": "0ns"}``.

        UsageError for one that this daemon does not have, or that only its starter sets.
        """
        ours = {option.parameter: option for name, option in self.box.items() if name not in _STARTERS}
        arguments = {}
        for name, value in given.items():
            option = ours.get(name) or next((o for o in ours.values() if o.name == name.replace("_", "-")), None)
            if option is None:
                there = ", ".join(sorted(option.name for option in ours.values()))
                raise UsageError(f"{name}: no such option of the box; it has {there}")
            arguments[option.name] = option.text(value)
        return arguments


def of(table: Mapping[str, netcommon.options.Option]) -> Options:
    """Options from the daemon's table. A path option is one that also exists with the prefix of a direction."""
    rows = {name: Option(name, row.unit) for name, row in table.items()}
    names = {name for name in rows if {f"ab-{name}", f"ba-{name}"} <= rows.keys()}
    simplest = [Option(name, unit) for name, unit in _SIMPLEST.items() if name in names]
    path = {o.parameter: o for o in (*simplest, *(rows[name] for name in rows if name in names))}
    box = {n: o for n, o in rows.items() if n not in names and not (n[:3] in ("ab-", "ba-") and n[3:] in names)}
    return Options(path, box)


def installed_or_basic() -> Options:
    """Same as `installed`. Without a daemon, the options of the netem back end."""
    try:
        return installed()
    except MissingBinary:
        return Options({o.parameter: o for o in _BASIC}, {})


def installed() -> Options:
    """Options of the daemon that `netcommon.binaries` finds; MissingBinary when there is none."""
    return of(netcommon.options.options("comet-delay", "run"))


def refusal(option: str, text: str) -> str | None:
    """Why ``comet-delay run --OPTION TEXT`` would refuse the value, without the option's name; None when it accepts the
    value, or when there is no daemon to ask."""
    try:
        binary = find("comet-delay")
        return _refusal(binary, binary.stat().st_mtime_ns, option, text)
    except (MissingBinary, FileNotFoundError):
        return None


@cache
def _refusal(binary: Path, _built: int, option: str, text: str) -> str | None:
    argv = [str(binary), "run", "--check", f"--{option}={text}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=START_TIMEOUT_S, check=False)
    if done.returncode != 2 or not done.stdout:
        return None
    message: str = json.loads(done.stdout.splitlines()[-1])["message"]
    return message.removeprefix(f"--{option}").removeprefix(":").strip()
