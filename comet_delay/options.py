"""What the installed ``comet-delay`` can do, asked of itself (``comet-delay run --options-json``).

So nothing here has to follow the daemon's table of options: a path option becomes a parameter whose name ends in its
unit, as `show` prints it (``--queue SIZE`` → ``queue_bytes``), whatever options the daemon gains. One that takes a
model (``--loss MODEL`` → ``loss``) has its simplest form under its number's name (``loss_ppb``) as well.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netcommon import quantity
from netcommon.binaries import MissingBinary, find
from netcommon.errors import LfpError, UsageError

# Kind of value as the daemon names it → suffix of the parameter's name, unit.
_KINDS: dict[str, tuple[str, quantity.Unit]] = {
    "DURATION": ("_ns", quantity.DURATION),
    "RATE": ("_bps", quantity.RATE),
    "SIZE": ("_bytes", quantity.BYTES),
    "RATIO": ("_ppb", quantity.RATIO),
}
# Options that take a model as a text, and what the simplest model is: its number can be given as a parameter, too.
_PLAIN = {"delay": "DURATION", "jitter": "DURATION", "rate": "RATE", "loss": "RATIO", "loss-after": "RATIO"}


@dataclass(frozen=True)
class Option:
    """An option of ``comet-delay run``: its name without dashes, the kind of its value, its help."""

    name: str
    kind: str
    help: str = ""

    @property
    def parameter(self) -> str:
        """Name of the parameter in base units."""
        return self.name.replace("-", "_") + (_KINDS[self.kind][0] if self.kind in _KINDS else "")

    def text(self, value: int | str) -> str:
        """A parameter's value as the daemon takes it and will show it; a number gets a unit."""
        if self.kind in _KINDS and isinstance(value, int):
            return quantity.format_value(_KINDS[self.kind][1], value)
        return str(value)

    def value(self, text: int | str) -> int | str:
        """A value as a user writes it (``"45Mbit"``) in base units; ValueError says why not. No unit: as it is."""
        return quantity.parse(_KINDS[self.kind][1], text) if self.kind in _KINDS and isinstance(text, str) else text


_BASIC = (
    Option("delay", "DURATION"), Option("rate", "RATE"), Option("queue", "SIZE"), Option("loss", "RATIO"),
    Option("access-rate", "RATE"), Option("framing", "l2|ethernet|ip"),
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """`path`: what can be set of each direction, by parameter; `box`: the others, by name."""

    path: Mapping[str, Option]
    box: Mapping[str, Option]

    def by_name(self, name: str) -> Option | None:
        """A path option by its own name, written with ``_`` or ``-``; the general form of one that has two."""
        return next((o for o in reversed(list(self.path.values())) if o.name == name.replace("_", "-")), None)

    def arguments(self, parameters: Mapping[str, int | str], prefix: str = "") -> dict[str, str]:
        """Parameters → ``{"ab-delay": "4200000ns"}``. UsageError for one that this daemon does not have."""
        arguments = {}
        for name, value in parameters.items():
            if name not in self.path:
                raise UsageError(f"{name}: this comet-delay has no such parameter; it has {', '.join(self.path)}")
            arguments[prefix + self.path[name].name] = self.path[name].text(value)
        return arguments


def parse(text: str) -> Options:
    """Options from the daemon's own list of them. A path option is one that there is for each direction, too."""
    rows = {row["name"]: Option(row["name"], row["value"], row["help"]) for row in json.loads(text)}
    names = {name for name in rows if {f"ab-{name}", f"ba-{name}"} <= rows.keys()}
    plain = [Option(name, kind) for name, kind in _PLAIN.items() if name in names]
    path = {o.parameter: o for o in (*plain, *(rows[name] for name in rows if name in names))}
    box = {n: o for n, o in rows.items() if n not in names and not (n[:3] in ("ab-", "ba-") and n[3:] in names)}
    return Options(path, box)


def installed_or_basic() -> Options:
    """As `installed`; where there is no daemon, what the netem back end does."""
    try:
        return installed()
    except MissingBinary:
        return Options({o.parameter: o for o in _BASIC}, {})


def installed() -> Options:
    """Of the daemon that `netcommon.binaries` finds; MissingBinary when there is none."""
    binary = find("comet-delay")
    return _ask(binary, binary.stat().st_mtime_ns)


@cache
def _ask(binary: Path, _built: int) -> Options:
    done = subprocess.run([binary, "run", "--options-json"], capture_output=True, text=True, timeout=10, check=False)
    if done.returncode != 0:
        raise LfpError(f"{binary}: cannot list its options: {done.stderr.strip()}")
    return parse(done.stdout)


def refusal(option: str, text: str) -> str | None:
    """Why ``comet-delay run --OPTION TEXT`` would refuse the value, without the option's name; None when it takes it,
    or when there is no daemon to ask."""
    try:
        binary = find("comet-delay")
        return _refusal(binary, binary.stat().st_mtime_ns, option, text)
    except (MissingBinary, FileNotFoundError):
        return None


@cache
def _refusal(binary: Path, _built: int, option: str, text: str) -> str | None:
    argv = [str(binary), "run", "--check", f"--{option}={text}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    if done.returncode != 2 or not done.stdout:
        return None
    message: str = json.loads(done.stdout.splitlines()[-1])["message"]
    return message.removeprefix(f"--{option}").removeprefix(":").strip()
