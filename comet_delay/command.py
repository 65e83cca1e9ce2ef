"""The command line of ``comet-delay run``, from named parameters in base units."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from comet_delay import options
from netcommon.binaries import find

Parameters = Mapping[str, int | str]


@dataclass(frozen=True)
class Port:
    """A port of the box: an interface and its namespace (process id, path or name; None: the box's own).

    The box makes a ``tap`` as a host's NIC; an ``if`` is an existing interface that it attaches to.
    """

    name: str
    netns: str | int | None = None
    kind: Literal["tap", "if"] = "tap"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" + ("" if self.netns is None else f"@{self.netns}")


def run_argv(
    a: Port,
    b: Port,
    control: Path | None = None,
    *,
    both: Parameters | None = None,
    ab: Parameters | None = None,
    ba: Parameters | None = None,
    mtu: int = 1500,
    seed: int = 1,
    record: Path | None = None,
    home: int | str | None = None,
    **box: int | str | None,
) -> list[str]:
    """Argument vector that starts a box between two ports; the box ends with its parent.

    `both`, `ab` and `ba` are the path's parameters, named as in `show` (``delay_ns``, ``rate_bps``, ``loss_ppb``, …;
    see CONTROL.md). `home`: where packets are moved (``--home``). `box` has further options of ``comet-delay run``, by
    name with a text (``memory="64MB"``) or in base units (``memory_bytes=2**26``, ``poll_ns=0``); None stands for the
    box's default. Raises netcommon's MissingBinary when the daemon is not installed, UsageError for a name that the
    daemon does not know.
    """
    known = options.installed()
    argv = [str(find("comet-delay")), "run", "--json", "--parent-death", "--a", str(a), "--b", str(b)]
    argv += ["--mtu", str(mtu), "--seed", str(seed)]
    # stays root: `set` may name a trace that only root can read, and a trial's namespaces contain no untrusted process
    argv += ["--user", "root"] if os.geteuid() == 0 and "user" not in box else []
    for option, value in (("--control", control), ("--record", record), ("--home", home)):
        argv += [] if value is None else [option, str(value)]
    named = known.box_arguments({name: value for name, value in box.items() if value is not None})
    for parameters, prefix in ((both, ""), (ab, "ab-"), (ba, "ba-")):
        named |= known.arguments(parameters or {}, prefix)
    return argv + [word for name, text in named.items() for word in (f"--{name}", text)]
