"""Runs as files to take away: a tar archive of their folders, and their results as CSV.

The archive is made by tar(1) while it is sent, so a run of many gigabytes needs no room here, neither in memory nor on
disk. Left out are trials that are not complete, and timelines that older versions kept in the run.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv

from dashboard.data.runs import Run
from netcommon.errors import LfpError

_CHUNK_BYTES = 1 << 20
LEFT_OUT = ("trials/.*", "trials/*/timeline-*")  # the latter: older versions kept timelines there


def archive(runs: Sequence[Run]) -> Iterator[bytes]:
    """A tar archive with a folder for each run, piece by piece. Ends tar(1) when nobody wants more."""
    folders = [part for run in runs for part in ("-C", str(run.path.parent.resolve()), f"--add-file={run.name}")]
    left_out = (f"--exclude={name}" for name in LEFT_OUT)
    argv = ["tar", "--create", "--no-wildcards-match-slash", *left_out, *folders]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout
    try:
        while piece := process.stdout.read(_CHUNK_BYTES):
            yield piece
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def results_csv(runs: Sequence[Run]) -> bytes:
    """A row for each trial and flow of the runs, each with the run's name first. LfpError where there are no rows."""
    rows = [{"run": run.name} | row for run in runs for row in run.rows]
    if not rows:
        raise LfpError("no results yet", 2)
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: pa.array([_plain(row.get(name)) for row in rows]) for name in names})
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    return text.getvalue()


def _plain(value: object) -> str | None:
    """A value as CSV has it; a column may differ in type from one run to the other."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
