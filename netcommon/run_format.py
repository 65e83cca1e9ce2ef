"""The version of the format of a run directory, recorded in manifest.json, params.json, status.json and the metadata of
results.parquet.

The version goes up when a reader of the previous version would misread a file, or would not find what it needs. Every
reader accepts all versions from `OLDEST` on; docs/reference/interfaces.md says what each of them lacks. Rejected: a
version for each file, because they are only ever read together.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from netcommon import strangers
from netcommon.errors import EXIT_USAGE, LfpError

VERSION, OLDEST = 2, 1
METADATA = b"lfp_run_format"  # of results.parquet
# The keys of a manifest that readers use if present. In an untrusted manifest their values may have another type.
KINDS: dict[str, type] = {
    "name": str, "title": str, "paper": str, "state": str, "plan": int, "seed": int,
    "started_realtime_ns": int, "ended_realtime_ns": int, "scenario": dict, "verdict": dict,
    "superseded": list, "expected": list, "hashes": dict, "commits": dict, "versions": dict,
    "clock": dict,
}  # fmt: skip
_IN_MANIFEST: dict[str, type] = {"scenario.sweep": dict, "verdict.summary": str, "enough": list}
_IN_TRIAL: dict[str, dict[str, type]] = {
    "params.json": {"trial": int, "mtu": int, "rate_bps": int, "access_rate_bps": int, "delay_ns": int,
                    "ba_delay_ns": int},
    "status.json": {"state": str, "verdict": dict, "verdict.valid": bool, "verdict.reasons": list},
    "transfer.json": {"summary": dict, "summary.bytes": int, "summary.elapsed_ns": int, "summary.retransmits": int,
                      "summary.short_term_bps": float},
    "summary.json": {"flows": list, "main_flow": int},
}  # fmt: skip
_NEVER_NULL = ("trial", "mtu", "state", "verdict.valid", "verdict.reasons", "main_flow")
_INTEGERS = 2**63
_WORDS = {str: "a text", int: "a whole number of 64 bits", float: "a number", bool: "true or false",
          dict: "an object", list: "a list"}  # fmt: skip


def check(run_dir: Path, manifest: Mapping[str, Any]) -> None:
    """Raises LfpError (status 2) for a run that this version of lfp cannot read. ``manifest``: its manifest.json;
    without a version it has version 1."""
    found = manifest.get("v", 1)
    if not isinstance(found, int) or not OLDEST <= found <= VERSION:
        raise LfpError(
            f"{run_dir}: written in format {found!r} of run directories; this lfp reads {OLDEST} to {VERSION}, so "
            "read it with the version of lfp that wrote it, or a later one",
            EXIT_USAGE,
        )
    _check(run_dir / "manifest.json", manifest, KINDS)


def damage(run_dir: Path, folders: Iterable[Path], error: Exception) -> LfpError:
    """The message when values of a manifest or of trials' files made a reader fail: the first file and key with a value
    of an unexpected type, or, if there is none, the error."""
    files = [(run_dir / "manifest.json", _IN_MANIFEST)]
    files += [(folder / name, kinds) for folder in folders for name, kinds in _IN_TRIAL.items()]
    try:
        for file, kinds in files:
            content = strangers.read_json(file)
            if content is None and file.name in ("params.json", "status.json"):
                return LfpError(f"{file}: there is no such file, which every trial has")
            if not isinstance(content, dict | None):
                return LfpError(f"{file}: damaged: one JSON object expected")
            _check(file, content or {}, kinds, _NEVER_NULL)
    except LfpError as found:
        return found
    return LfpError(f"{run_dir}: damaged: a value in its files is none that a run has ({error!r})")


def _check(file: Path, content: Mapping[str, Any], kinds: Mapping[str, type], never_null: Collection[str] = ()) -> None:
    for path, kind in kinds.items():
        value: Any = content
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not _is(value, kind) and (value is not None or path in never_null):
            said = json.dumps(value)[:40]
            raise LfpError(f"{file}: damaged: '{path}' is {said}; want {_WORDS[kind]}")


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int | float) and kind is float:
        return True
    if isinstance(value, int):
        return kind is int and abs(value) < _INTEGERS
    return isinstance(value, kind)


_OF_FLOWS = ("flows_bps", "flow_share", "flow_jain", "stream_jain")
_OF_THE_KERNEL = ("timeouts", "tcp_efficiency")
_OF_CAPTURES = ("limited_", "lost_", "seen_")


def as_meant(row: dict[str, Any], version: int) -> dict[str, Any]:
    """A row of results.parquet of that format, without values whose meaning has changed since. In format 1, sums and
    fairness of flows were computed from averages over different times; counts of several streams covered one stream
    only; and with gateways, limits and losses covered the client's connection only."""
    if version > 1:
        return row
    left = {name: value for name, value in row.items() if name not in _OF_FLOWS}
    gateways = row.get("gateway") not in (None, "none") and row.get("gateway_model") != "host"
    streams = (row.get("parallel") or 1) > 1
    for name in left:
        if (streams and name in _OF_THE_KERNEL) or ((streams or gateways) and name.startswith(_OF_CAPTURES)):
            left[name] = None
    return left
