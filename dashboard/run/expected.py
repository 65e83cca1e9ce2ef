"""The table of a scenario's expectations and their outcomes ([[expect]] in SCENARIO.md)."""

from __future__ import annotations

from dashboard.core.parts import Table
from dashboard.core.runs import Json, Run
from netcommon import readable

HEAD = ("Expectation", "Setting", "Measured", "Wanted", "Met")
_MET = {True: "yes", False: "NO", None: "not judged"}


def expected_table(run: Run) -> Table:
    """A row for each setting of each expectation; no rows without expectations."""
    rows = [row for one in _found(run) for row in _rows(one)]
    return Table(HEAD, tuple(rows), frozenset({2}))


def expected_notes(run: Run) -> tuple[str, ...]:
    """How many expectations are met, and which are not; nothing without expectations."""
    found = _found(run)
    met = sum(one.get("met") is True for one in found)
    missed = ", ".join(str(one.get("say")) for one in found if one.get("met") is False)
    said = f"{met} of {len(found)} expectations met{f'; not met: {missed}' if missed else ''}."
    return (said,) if found else ()


def _found(run: Run) -> list[Json]:
    found = run.manifest.get("expected")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _rows(one: Json) -> list[tuple[str, ...]]:
    say, wanted = str(one.get("say")), str(one.get("wanted"))
    seen = one.get("seen") or [{"setting": "", "measured": None, "met": None}]
    return [(say, each["setting"] or "all trials", _measured(one, each), wanted, _MET[each["met"]]) for each in seen]


def _measured(one: Json, seen: Json) -> str:
    value = seen["measured"]
    if value is None or not one.get("ratio"):
        return readable.named(str(one.get("of")), value)
    return f"{readable.number(value)} ×"
