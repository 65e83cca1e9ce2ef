"""The command line of ``comet-delay run``, from named parameters in base units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netcommon.binaries import find

# Parameter names as the box's `show` prints them → option name and the suffix that makes the number unambiguous.
_OPTIONS = {
    "delay_ns": ("delay", "ns"),
    "jitter": ("jitter", ""),
    "jitter_order": ("jitter-order", ""),
    "rate_trace": ("rate-trace", ""),
    "rate_bps": ("rate", "bit"),
    "queue_bytes": ("queue", "B"),
    "queue_packets": ("queue-packets", ""),
    "queue_drop": ("queue-drop", ""),
    "aqm": ("aqm", ""),
    "loss": ("loss", ""),
    "loss_ppb": ("loss", "ppb"),  # independent, as a number
    "loss_after": ("loss-after", ""),
    "loss_after_ppb": ("loss-after", "ppb"),  # independent, as a number
    "duplicate_ppb": ("duplicate", "ppb"),
    "corrupt_ppb": ("corrupt", "ppb"),
    "forge_ppb": ("forge", "ppb"),
    "reorder_ppb": ("reorder", "ppb"),
    "reorder_by_ns": ("reorder-by", "ns"),
    "pace_bps": ("pace", "bit"),
    "pace_packets": ("pace-packets", ""),
    "pace_buffer_bytes": ("pace-buffer", "B"),
    "harmonize_bps": ("harmonize", "bit"),
    "access_rate_bps": ("access-rate", "bit"),
    "framing": ("framing", ""),
}


def parameters_of(option: str) -> tuple[str, ...]:
    """Names in `show` of a path option (``queue`` → ``queue_bytes``); two when a model has a plain number as well."""
    return tuple(name for name, (own, _) in _OPTIONS.items() if own == option)


@dataclass(frozen=True)
class Port:
    """A TAP of the box: its name and the namespace it is made in (process id, path or name; None: the box's own)."""

    name: str
    netns: str | int | None = None

    def __str__(self) -> str:
        return f"tap:{self.name}" + ("" if self.netns is None else f"@{self.netns}")


def direction_options(parameters: Mapping[str, int | str], prefix: str = "") -> list[str]:
    """Options for one direction (`prefix` ``ab-`` or ``ba-``) or, with no prefix, for both.

    `parameters` are named as in `show` (``delay_ns``, ``rate_bps``, ``queue_bytes``, ``loss_ppb``, …; see
    CONTROL.md). Raises KeyError on any other name.
    """
    options: list[str] = []
    for name, value in parameters.items():
        option, suffix = _OPTIONS[name]
        options += [f"--{prefix}{option}", f"{value}{suffix}"]
    return options


def run_argv(
    a: Port,
    b: Port,
    control: Path | None = None,
    *,
    both: Mapping[str, int | str] | None = None,
    ab: Mapping[str, int | str] | None = None,
    ba: Mapping[str, int | str] | None = None,
    mtu: int = 1500,
    seed: int = 1,
    poll_ns: int | None = None,
    spin_ns: int | None = None,
    granularity_ns: int | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
    record: Path | None = None,
    record_memory_bytes: int | None = None,
) -> list[str]:
    """Argument vector that starts a box between two ports; it ends with its parent.

    Raises netcommon's MissingBinary when the daemon is nowhere to be found.
    """
    argv = [str(find("comet-delay")), "run", "--json", "--parent-death", "--a", str(a), "--b", str(b)]
    argv += ["--mtu", str(mtu), "--seed", str(seed)]
    if control is not None:
        argv += ["--control", str(control)]
    for option, value, suffix in (
        ("--poll", poll_ns, "ns"),
        ("--spin", spin_ns, "ns"),
        ("--granularity", granularity_ns, "ns"),
        ("--memory", memory_bytes, "B"),
        ("--threads", threads, ""),
        ("--record-memory", record_memory_bytes, "B"),
    ):
        if value is not None:
            argv += [option, f"{value}{suffix}"]
    if record is not None:
        argv += ["--record", str(record)]
    for parameters, prefix in ((both, ""), (ab, "ab-"), (ba, "ba-")):
        argv += direction_options(parameters or {}, prefix)
    return argv
