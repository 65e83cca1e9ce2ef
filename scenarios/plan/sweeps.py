"""[sweep], [case] and [quick]: tables that name keys of other tables. Unknown names in them are errors, even in a case
that no trial has, and in [quick] without ``--quick``.
"""

from __future__ import annotations

from typing import Any

from netcommon.errors import UsageError
from scenarios.plan.document import EXCLUSIVE, Document, Key
from scenarios.plan.messages import shown, suggest, unknown_key
from scenarios.plan.model import NAMED, SWEEPABLE, Scenario, allowed_keys

_EXAMPLE = 'want for example "path.delay" = ["10ms", "100ms"]'


def of(document: Document) -> dict[str, list[Any]]:
    """The sweep: TABLE.KEY and its values. UsageError with file and line when it is wrong."""
    sweep = document.values.get("sweep", {})
    if not isinstance(sweep, dict):
        raise UsageError(f"{document.origin(('sweep',))}: sweep = {shown(sweep)}: not a table of lists; {_EXAMPLE}")
    for dotted, values in sweep.items():
        _check(document, dotted, values)
    for group in EXCLUSIVE:
        rivals = [dotted for dotted in sweep if tuple(dotted.split(".")) in group]
        if len(rivals) > 1:
            where = document.origin(("sweep", rivals[1]))
            said = shown(sweep[rivals[1]])
            raise UsageError(
                f"{where}: sweep '{rivals[1]}' = {said}: '{rivals[0]}' is swept too, and only one of "
                "them can hold; drop one of them"
            )
    return sweep


def _check(document: Document, dotted: str, values: Any) -> None:
    where = document.origin(("sweep", dotted))
    table, dot, key = dotted.partition(".")
    if isinstance(values, dict):
        raise UsageError(
            f"{where}: sweep '{dotted}' = {shown(values)}: a table; write TABLE.KEY in quotation marks: {_EXAMPLE}"
        )
    if table not in SWEEPABLE:
        hint = f"{suggest(table, SWEEPABLE)} allowed: {', '.join(SWEEPABLE)}"
        raise UsageError(f"{where}: unknown table in sweep '{dotted}'{hint}; {_EXAMPLE}")
    if not dot:
        raise UsageError(f"{where}: sweep '{dotted}': want TABLE.KEY in quotation marks; {_EXAMPLE}")
    if table == "scenario" and key != "case":
        raise UsageError(f"{where}: sweep '{dotted}': of [scenario] only 'case' can be swept")
    if table in NAMED:
        _check_named(document, where, dotted)
    elif key not in allowed_keys((table,)):
        raise UsageError(unknown_key(where, (table, key)))
    if not isinstance(values, list) or not values:
        raise UsageError(f"{where}: sweep '{dotted}': want a list of values, not {shown(values)}; {_EXAMPLE}")


def _check_named(document: Document, where: str, dotted: str) -> None:
    """UsageError for a key of [flow.NAME] or [pair.N] that does not exist, or of a flow that is not there."""
    parts = tuple(dotted.split("."))
    if len(parts) < 3:
        raise UsageError(f"{where}: sweep '{dotted}': want {parts[0]}.NAME.KEY in quotation marks; {_EXAMPLE}")
    if parts[-1] not in allowed_keys(parts[:-1]):
        raise UsageError(unknown_key(where, parts))
    known = document.values.get(parts[0])
    if parts[0] == "flow" and parts[1] not in (known if isinstance(known, dict) else {}):
        raise UsageError(
            f"{where}: sweep '{dotted}': there is no such flow; write a table [flow.{parts[1]}], which may be empty"
        )


def with_case(document: Document) -> Document:
    """Merges the tables of ``[case.NAME]`` over the others, NAME being scenario.case, and drops the cases."""
    cases, plain = document.values.get("case", {}), document.without_table("case")
    about = document.values.get("scenario")
    name = about.get("case") if isinstance(about, dict) else None
    if name is None:
        return plain
    if not isinstance(name, str) or not isinstance(cases, dict) or name not in cases:
        known = list(cases) if isinstance(cases, dict) else []
        where = f"{document.origin(('scenario', 'case'))}: scenario.case = {shown(name)}"
        if not known:
            raise UsageError(f"{where}: unknown; the scenario has no cases; write a table such as [case.{name}.path]")
        raise UsageError(f"{where}: unknown{suggest(str(name), known)} allowed: {', '.join(known)}")
    return plain.merged(document.table("case").table(name))


def check_names(document: Document) -> None:
    """UsageError for an unknown table or key in [quick] and in any case."""
    cases = _tables(document, ("case",), "[case.NAME.TABLE], such as [case.far.path]")
    for name in cases:
        _check_layer(document, ("case", name), list(Scenario.model_fields))
    if "quick" in document.values:
        _check_layer(document, ("quick",), allowed_keys(()))


def _check_layer(document: Document, layer: Key, tables: list[str]) -> None:
    wanted = f"[{'.'.join(layer)}.TABLE], such as [{'.'.join(layer)}.path]"
    for table, keys in _tables(document, layer, wanted).items():
        key = (*layer, table)
        if table not in tables:
            known = [one for one in tables if one != "quick"]
            hint = f"{suggest(table, known)} allowed: {', '.join(known)}; want {wanted}"
            raise UsageError(f"{document.origin(key)}: unknown key '{'.'.join(key)}'{hint}")
        if table in NAMED:
            for name, own in keys.items() if isinstance(keys, dict) else ():
                _check_keys(document, layer, (table, name), own)
        elif table not in ("expect", "sweep", "case", "quick"):
            _check_keys(document, layer, (table,), keys)


def _check_keys(document: Document, layer: Key, table: Key, keys: Any) -> None:
    own = allowed_keys(table)
    for name in keys if own and isinstance(keys, dict) else ():
        if name not in own:
            unknown = unknown_key(document.origin((*layer, *table, name)), (*table, name))
            raise UsageError(unknown.replace("unknown key '", f"unknown key '{'.'.join(layer)}.", 1))


def _tables(document: Document, key: Key, wanted: str) -> dict[str, Any]:
    """The tables within a table of tables; none where it is left out."""
    value: Any = document.values
    for part in key:
        value = value.get(part, {})
    if not isinstance(value, dict):
        raise UsageError(f"{document.origin(key)}: {'.'.join(key)} = {shown(value)}: not a table; want {wanted}")
    return value
