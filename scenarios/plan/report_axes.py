"""[report]'s x, y, value and series: names of columns of the results, checked before the run starts.

A scenario may use its own name (``path.queue``) or the results' (``queue_bytes``). The plan holds columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from netcommon.errors import UsageError
from scenarios.plan import columns
from scenarios.plan.columns import Role
from scenarios.plan.document import Document
from scenarios.plan.model import Report, Scenario

_AXIS: tuple[Role, ...] = ("setting", "identity")
# The roles that each key may have, by the kind of report: an axis, or something that was measured.
_ANY: tuple[Role, ...] = ("setting", "identity", "outcome")
_ROLES: dict[str, dict[str, tuple[Role, ...]]] = {
    "timeline": dict.fromkeys(("x", "y", "value", "series"), _ANY),
    "sweep": {"x": _AXIS, "y": ("outcome",), "value": ("outcome",), "series": _AXIS},
    "matrix": {"x": _AXIS, "y": _AXIS, "value": ("outcome",), "series": _AXIS},
}


def resolved(document: Document, report: Report, settings: Sequence[Scenario]) -> Report:
    """The report with its names replaced by columns. UsageError with file and line for an unknown name."""
    names = {}
    for key, roles in _ROLES[report.kind].items():
        text = getattr(report, key)
        if text and not (report.kind == "matrix" and key == "y" and key not in report.model_fields_set):
            names[key] = _column(document, key, text, roles, settings)
    return report.model_copy(update=names)


def _column(document: Document, key: str, text: str, roles: tuple[Role, ...], settings: Sequence[Scenario]) -> str:
    known = [name for name in columns.find(text) if columns.COLUMNS[name].role in roles]
    if not known:
        where = document.origin(("report", key))
        raise UsageError(f"{where}: report.{key} = '{text}': unknown{columns.did_you_mean(text, roles)}")
    return known[0] if len(known) == 1 or _all_numbers(text, settings) else known[1]


def _all_numbers(dotted: str, settings: Sequence[Scenario]) -> bool:
    """Whether a setting that may be either a number or a model (``path.loss``) is a number in every trial."""
    key = dotted.partition(".")[2]
    back, plain = key.startswith("ba_"), key.removeprefix("ba_").removeprefix("ab_")
    ways = (setting.path.direction("ba" if back else "ab") for setting in settings)
    return all(isinstance(way.values[plain], int) for way in ways)
