"""``lfp schedule``: who ran when in virtual time, and the first difference between two records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from netcommon import readable
from netcommon.errors import EXIT_FAILED
from netcommon.printable import printable
from scenarios.run.terminal import console, print_table
from scenarios.virtual import schedule
from scenarios.virtual.schedule import Records

_AROUND = 5  # records that are shown before a difference, and after it


@click.command("schedule")
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path), required=False)
@click.option("--from", "begin", type=click.IntRange(0), metavar="N", help="Print the records from the Nth on.")
@click.option("--count", type=click.IntRange(1), default=100, show_default=True, help="How many records --from prints.")
def command(record: Path, other: Path | None, begin: int | None, count: int) -> int:
    """Show who ran when in RECORD ('lfp virtual --record RECORD'), or the first difference between RECORD and OTHER.

    The exit status is 1 where they differ.
    """
    records = schedule.load(record)
    if other:
        return _compare(record, records, other, schedule.load(other))
    if begin is not None:
        click.echo(printable("\n".join(schedule.lines(records, begin, begin + count))))
        return 0
    _summary(records)
    return 0


def _summary(records: Records) -> None:
    taken_ns = int(records["now_ns"][-1]) - int(records["now_ns"][0])
    click.echo(f"{len(records)} records in {readable.duration(taken_ns)} of virtual time")
    rows = [
        (str(task.number), task.name, str(task.runs), str(task.calls), readable.duration(task.last_ns), task.most)
        for task in schedule.tasks(records)
    ]
    print_table(console(), ("thread", "name", "runs", "system calls", "last heard of", "most often"), rows)


def _compare(one: Path, records: Records, other: Path, others: Records) -> int:
    index = schedule.first_difference(records, others)
    if index is None:
        click.echo(f"equal: {len(records)} records")
        return 0
    click.echo(printable("\n".join(_difference(one, records, other, others, index))))
    return EXIT_FAILED


def _difference(one: Path, records: Records, other: Path, others: Records, index: int) -> Iterator[str]:
    later = " in time alone" if schedule.is_only_later(records, others, index) else ""
    yield f"{one} has {len(records)} records, {other} has {len(others)}; they differ{later} from record {index} on"
    yield "both:"
    yield from schedule.lines(records, index - _AROUND, index)
    for path, some in ((one, records), (other, others)):
        yield f"{path}:"
        yield from schedule.lines(some, index, index + _AROUND) or ("it has ended",)
