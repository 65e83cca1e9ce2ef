"""A trace of a path (`[path] change = "trace:FILE"`): a CSV file with a row for each moment at which the path changes,
such as a satellite's handovers. It is read once, with the scenario, and becomes a text of changes.

The first line has the names of the columns: ``time``, keys of [path], and ``outage``. Cells have units, as in a
scenario; an empty cell leaves its key as it is. ``outage``: the duration for which everything is lost from that time
on. Lines that begin with # are comments. Rejected: a mode of the delay box. Changes are exact, and a path changes a few
times a second at most; what changes with every packet is a rate_trace.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from netcommon import quantity

KIND = "trace:"
_TIME, _OUTAGE, _LOSS, _ALL = "time", "outage", "loss", "100%"


def changes(file: Path) -> str:
    """The text of ``change`` that a trace stands for. For a malformed file, ValueError names the line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text"
        raise ValueError(f"{file}: {why}; want a CSV file with a column {_TIME} and keys of [path]") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    table = csv.reader(line for _, line in numbered)
    names = [name.strip() for name in next(table, [])]
    if _TIME not in names or len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"{file}: columns {', '.join(names) or 'none'}; want {_TIME} and keys of [path], each once")
    by_time: dict[int, dict[str, str]] = {}
    loss, lost_until_ns = "0%", 0
    for (number, _), row in zip(numbered[1:], table, strict=True):
        where = f"{file}:{number}"
        if len(row) != len(names):
            raise ValueError(f"{where}: {len(row)} cells; want {len(names)}, as the first line has")
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=True) if cell.strip()}
        try:
            at_ns = quantity.parse_duration_ns(cells.pop(_TIME, ""))
            outage_ns = quantity.parse_duration_ns(cells.pop(_OUTAGE, "0"))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if by_time and at_ns < max(max(by_time), lost_until_ns):
            raise ValueError(f"{where}: before the row above or its outage has ended; want rising times")
        loss = cells.get(_LOSS, loss)
        if outage_ns:
            lost_until_ns = at_ns + outage_ns
            cells[_LOSS] = _ALL
            by_time[lost_until_ns] = {_LOSS: loss}
        by_time[at_ns] = by_time.get(at_ns, {}) | cells
    return "; ".join(_texts(by_time)) or "none"


def _texts(found: dict[int, dict[str, str]]) -> Iterator[str]:
    for at_ns, cells in sorted(found.items()):
        if cells:
            words = (f"{name}={cell}" for name, cell in cells.items())
            yield f"{quantity.format_duration(at_ns)} {' '.join(words)}"
