"""Who ran when in a guest: reads the record that ``lfp virtual --record`` keeps, and finds the first difference between
two records.

The guest's kernel writes it (patches/7/who-ran-when.patch): each switch to another task and each system call with its
result, with the time on the guest's clock. Tasks are threads; task 0 means that all of them wait. Two runs of one seed
have equal records, so the first difference between two records is where two runs began to differ.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from system_calls import NoSuchSystemCall, syscalls

from netcommon.errors import UsageError


class Kind(IntEnum):
    """The kinds of records. BEGIN is the first and END the last."""

    BEGIN, SWITCH, CALL, END = 1, 2, 3, 4


_BYTES = 32
# `name` is in SWITCH and BEGIN: the name of the task that runs from there on. `call` and `result` are a CALL's.
_RECORD = np.dtype(
    {
        "names": ["now_ns", "task", "kind", "call", "name", "result"],
        "formats": ["<u8", "<u4", "<u2", "<u2", "S16", "<i8"],
        "offsets": [0, 8, 12, 14, 16, 16],
        "itemsize": _BYTES,
    }
)
_WORDS = _BYTES // 8
_AT_ONCE = 1 << 20  # records that are compared at a time
_NOBODY = 0
_IN_KERNEL = {512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 516: "ERESTART_RESTARTBLOCK"}
_LEAST_ERROR = -4095

Records = NDArray[Any]


@dataclass(frozen=True)
class Task:
    """A thread of a record. ``runs``: how often it got the processor; ``calls``: how many system calls it made;
    ``most``: the system call that it made most often; ``last_ns``: the time of its last entry, since the record's
    beginning."""

    number: int
    name: str
    runs: int
    calls: int
    most: str
    last_ns: int


def load(path: Path) -> Records:
    """The records of a file, mapped instead of read. UsageError where it is not a whole record of a guest."""
    size = path.stat().st_size if path.is_file() else 0
    if size < 2 * _BYTES or size % _BYTES:
        raise UsageError(f"{path}: not a record of who ran when; make one: lfp virtual --record {path} -- COMMAND")
    records: Records = np.memmap(path, _RECORD, "r")
    if records["kind"][0] != Kind.BEGIN or records["kind"][-1] != Kind.END:
        raise UsageError(f"{path}: not a whole record of who ran when; make it again with lfp virtual --record")
    return records


def is_whole(path: Path) -> bool:
    """Whether a file is the record of a guest, up to the guest's end."""
    try:
        load(path)
    except UsageError:
        return False
    return True


def tasks(records: Records) -> list[Task]:
    """All threads of a record, those with the most system calls first."""
    calls = records[records["kind"] == Kind.CALL]
    switches = _switches(records)
    names = dict(zip(switches["task"].tolist(), switches["name"].tolist(), strict=True))  # each task's last name
    runs, made = _counts(switches["task"]), _counts(calls["task"])
    last_ns = dict(zip(records["task"].tolist(), records["now_ns"].tolist(), strict=True))
    began_ns = int(records["now_ns"][0])
    heard = [
        Task(
            number,
            names.get(number, b"?").decode(errors="replace"),
            runs.get(number, 0),
            made.get(number, 0),
            _most(calls["call"][calls["task"] == number]),
            int(last_ns[number]) - began_ns,
        )
        for number in sorted(last_ns)
        if number != _NOBODY
    ]
    return sorted(heard, key=lambda task: -task.calls)


def _switches(records: Records) -> Records:
    """The records at which another task begins to run."""
    found: Records = records[(records["kind"] == Kind.SWITCH) | (records["kind"] == Kind.BEGIN)]
    return found


def _counts(values: NDArray[Any]) -> dict[int, int]:
    numbers, counts = np.unique(values, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _most(calls: NDArray[Any]) -> str:
    return call_name(int(np.bincount(calls).argmax())) if len(calls) else ""


def first_difference(one: Records, other: Records) -> int | None:
    """The index of the first record in which two records differ, in time or in anything else; None: they are equal.
    Where one is the beginning of the other, the index is its length."""
    shorter = min(len(one), len(other))
    for begin in range(0, shorter, _AT_ONCE):
        end = min(begin + _AT_ONCE, shorter)
        differs = (_words(one[begin:end]) != _words(other[begin:end])).any(axis=1)
        if differs.any():
            return begin + int(differs.argmax())
    return shorter if len(one) != len(other) else None


def _words(records: Records) -> NDArray[np.uint64]:
    return np.frombuffer(records.tobytes(), np.uint64).reshape(-1, _WORDS)


def is_only_later(one: Records, other: Records, index: int) -> bool:
    """Whether two records do the same at an index and only the clock differs."""
    if index >= min(len(one), len(other)):
        return False
    return bool((_words(one[index : index + 1]) == _words(other[index : index + 1]))[0, 1:].all())


def lines(records: Records, begin: int, end: int) -> list[str]:
    """The records from ``begin`` up to ``end`` in words, one a line, with the time since the record's beginning."""
    began_ns = int(records["now_ns"][0])
    begin, end = max(begin, 0), min(end, len(records))
    running = _names_before(records, end)
    return [f"{_seconds(int(one['now_ns']) - began_ns)} s  {_told(one, running)}" for one in records[begin:end]]


def _seconds(ns: int) -> str:
    """The time in seconds with all nine digits after the point, because two records may differ in the last one."""
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def _names_before(records: Records, end: int) -> dict[int, str]:
    switches = _switches(records[:end])
    names, first = np.unique(switches["task"][::-1], return_index=True)
    latest = switches["name"][::-1][first]
    return {int(task): name.decode(errors="replace") for task, name in zip(names, latest, strict=True)}


def _told(one: Any, names: dict[int, str]) -> str:
    task = int(one["task"])
    who = f"{names.get(task, '?')} ({task})"
    match int(one["kind"]):
        case Kind.SWITCH:
            return f"{one['name'].decode(errors='replace')} ({task}) runs" if task else "everybody waits"
        case Kind.CALL:
            return f"{who}  {call_name(int(one['call']))} = {_result(int(one['result']))}"
        case Kind.BEGIN:
            return "the record begins"
        case Kind.END:
            return "the guest ends"
    return f"{who}  a record of unknown kind {int(one['kind'])}"


def _result(value: int) -> str:
    if _LEAST_ERROR <= value < 0:
        return errno.errorcode.get(-value) or _IN_KERNEL.get(-value, str(value))
    return str(value) if abs(value) < 2**31 else hex(value)  # the latter is an address


@cache
def call_name(number: int) -> str:
    """The name of a system call of x86-64; for an unknown number, the number in words."""
    try:
        return str(syscalls().get_name(number, "x86_64"))
    except NoSuchSystemCall:
        return f"system call {number}"
