"""Synthetic records of when each task ran: how they are read, described and compared (scenarios.virtual.schedule)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lfp.commands.schedule import command
from netcommon.errors import UsageError
from scenarios.virtual import schedule
from scenarios.virtual.schedule import Kind, Records

SECOND_NS = 10**9
GETPPID, RECVFROM, NONE = 110, 45, 9999


def made(*rows: tuple[int, int, Kind, int, bytes | int]) -> Records:
    """Records of time, task, kind, call, and a name or a result; the beginning and the end are added."""
    last_ns = rows[-1][0] if rows else 0
    all_rows = [(0, 1, Kind.BEGIN, 0, b"init"), *rows, (last_ns, 1, Kind.END, 0, 0)]
    records = np.zeros(len(all_rows), schedule._RECORD)
    for one, (now_ns, task, kind, call, rest) in zip(records, all_rows, strict=True):
        one["now_ns"], one["task"], one["kind"], one["call"] = SECOND_NS + now_ns, task, kind, call
        one["name" if isinstance(rest, bytes) else "result"] = rest
    return records


def written(folder: Path, name: str, records: Records) -> Path:
    path = folder / name
    path.write_bytes(records.tobytes())
    return path


ROWS = (
    (256, 7, Kind.SWITCH, 0, b"first"),
    (512, 7, Kind.CALL, GETPPID, 1),
    (512, 0, Kind.SWITCH, 0, b"swapper"),
    (SECOND_NS, 8, Kind.SWITCH, 0, b"second"),
    (SECOND_NS, 8, Kind.CALL, RECVFROM, -11),
    (SECOND_NS, 8, Kind.CALL, NONE, -512),
    (SECOND_NS, 8, Kind.CALL, RECVFROM, 0x7FFF_0000_1000),
)


def test_each_record_is_told_in_words() -> None:
    assert schedule.lines(made(*ROWS), 0, 99) == [
        "0.000000000 s  the record begins",
        "0.000000256 s  first (7) runs",
        "0.000000512 s  first (7)  getppid = 1",
        "0.000000512 s  everybody waits",
        "1.000000000 s  second (8) runs",
        "1.000000000 s  second (8)  recvfrom = EAGAIN",
        "1.000000000 s  second (8)  system call 9999 = ERESTARTSYS",
        "1.000000000 s  second (8)  recvfrom = 0x7fff00001000",
        "1.000000000 s  the guest ends",
    ]


def test_threads_have_their_runs_and_calls() -> None:
    second, first, init = schedule.tasks(made(*ROWS))
    assert (second.number, second.name, second.runs, second.calls, second.most) == (8, "second", 1, 3, "recvfrom")
    assert (first.name, first.calls, first.last_ns) == ("first", 1, 512)
    assert (init.name, init.calls) == ("init", 0)


@pytest.mark.parametrize("at", range(len(ROWS)))
@pytest.mark.parametrize("field", ["now_ns", "task", "call", "result"])
def test_whatever_differs_is_found_where_it_does(at: int, field: str) -> None:
    one, other = made(*ROWS), made(*ROWS)
    assert schedule.first_difference(one, other) is None
    other[at + 1][field] += 1
    assert schedule.first_difference(one, other) == at + 1
    assert schedule.is_only_later(one, other, at + 1) == (field == "now_ns")


def test_a_difference_beyond_what_is_compared_at_a_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_AT_ONCE", 2)
    one, other = made(*ROWS), made(*ROWS)
    other[5]["result"] += 1
    assert schedule.first_difference(one, other) == 5


def test_the_longer_of_two_goes_on_where_the_other_has_ended(tmp_path: Path) -> None:
    whole, short = made(*ROWS), made(*ROWS[:3])
    done = CliRunner().invoke(command, [str(written(tmp_path, "a", whole)), str(written(tmp_path, "b", short))])
    assert "differ from record 4 on" in done.output and "second (8) runs" in done.output


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    for name, content in (("text", b"no record at all"), ("cut", made(*ROWS)[:-1].tobytes())):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="not a"):
            schedule.load(tmp_path / name)
    with pytest.raises(UsageError, match="not a record"):
        schedule.load(tmp_path / "none")
