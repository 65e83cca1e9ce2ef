"""The table of what a scenario expects of its results, and what they showed ([[expect]] in SCENARIO.md)."""

from __future__ import annotations

from dashboard.content.parts import Table
from dashboard.data.runs import Json, Run
from netcommon import readable

HEAD = ("Expectation", "Setting", "Measured", "Wanted", "Met")
_MET = {True: "yes", False: "NO", None: "not judged"}


def expected_table(run: Run) -> Table:
    """A row for each setting of each expectation; no rows without expectations."""
    found = run.manifest.get("expected")
    rows = [row for one in found if isinstance(one, dict) for row in _rows(one)] if isinstance(found, list) else []
    return Table(HEAD, tuple(rows), frozenset({2}))


def _rows(one: Json) -> list[tuple[str, ...]]:
    say, wanted = str(one.get("say")), str(one.get("wanted"))
    seen = one.get("seen") or [{"setting": "", "measured": None, "met": None}]
    return [(say, each["setting"] or "all trials", _measured(one, each), wanted, _MET[each["met"]]) for each in seen]


def _measured(one: Json, seen: Json) -> str:
    value = seen["measured"]
    if value is None or not one.get("ratio"):
        return readable.named(str(one.get("of")), value)
    return f"{readable.number(value)} ×"
