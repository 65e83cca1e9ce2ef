"""The version of what a run directory holds. manifest.json, params.json, status.json and the metadata of
results.parquet say it.

A version goes up when a reader of the version before would misread a file, or would miss what it needs. Every reader
takes all versions from `OLDEST` on; docs/reference/interfaces.md says what each of them lacks. Rejected: a version for
each file, because they are only ever read together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcommon.errors import EXIT_USAGE, LfpError

VERSION, OLDEST = 2, 1
METADATA = b"lfp_run_format"  # of results.parquet
# What readers ask of a manifest, where it is there. A stranger may have written another kind of value.
KINDS: dict[str, type] = {
    "name": str, "title": str, "paper": str, "state": str, "plan": int, "seed": int,
    "started_realtime_ns": int, "ended_realtime_ns": int, "scenario": dict, "verdict": dict,
    "superseded": list, "expected": list, "hashes": dict, "commits": dict, "versions": dict,
    "clock": dict,
}  # fmt: skip
_INTEGERS = 2**63
_WORDS = {str: "a text", int: "a whole number of 64 bits", dict: "an object", list: "a list"}


def check(run_dir: Path, manifest: Mapping[str, Any]) -> None:
    """Raises LfpError (status 2) for a run that this version of lfp cannot read. ``manifest``: its manifest.json; one
    without a version is of the first."""
    found = manifest.get("v", 1)
    if not isinstance(found, int) or not OLDEST <= found <= VERSION:
        raise LfpError(
            f"{run_dir}: written in format {found!r} of run directories; this lfp reads {OLDEST} to {VERSION}, so "
            "read it with the version of lfp that wrote it, or a later one",
            EXIT_USAGE,
        )
    for key, kind in KINDS.items():
        if (value := manifest.get(key)) is not None and not _is(value, kind):
            said = json.dumps(value)[:40]
            raise LfpError(f"{run_dir}/manifest.json: damaged: '{key}' is {said}; want {_WORDS[kind]}")


def _is(value: object, kind: type) -> bool:
    if isinstance(value, int):
        return kind is int and not isinstance(value, bool) and abs(value) < _INTEGERS
    return isinstance(value, kind)


_OF_FLOWS = ("flows_bps", "flow_share", "flow_jain", "stream_jain")
_OF_THE_KERNEL = ("timeouts", "tcp_efficiency")
_OF_CAPTURES = ("limited_", "lost_", "seen_")


def as_meant(row: dict[str, Any], version: int) -> dict[str, Any]:
    """A row of results.parquet of that format, without the values that its columns no longer mean. In format 1, sums
    and fairness of flows were computed from averages over different times. Counts of several streams covered one stream
    only. With gateways, limits and losses covered the client's connection only."""
    if version > 1:
        return row
    left = {name: value for name, value in row.items() if name not in _OF_FLOWS}
    gateways = row.get("gateway") not in (None, "none") and row.get("gateway_model") != "host"
    streams = (row.get("parallel") or 1) > 1
    for name in left:
        if (streams and name in _OF_THE_KERNEL) or ((streams or gateways) and name.startswith(_OF_CAPTURES)):
            left[name] = None
    return left
