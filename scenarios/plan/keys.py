"""One key of a scenario's table as one row: beside its type and default, all that the rest of the house makes of it.

Column of the results, argument of the transfer tool, what iperf3 lacks, and SCENARIO.md's row are read from here
(`tools/setting-rows` writes the latter). Rejected: a row in each of columns.py, params.py, transfer_tool.py and
SCENARIO.md, which a new key had to be added to one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from scenarios.plan.values import Table

Kind = Literal["int", "float", "text", "bool"]
_SUFFIXES = ("_ns", "_bps", "_bytes", "_ppb")


@dataclass(frozen=True)
class Setting:
    """``says``: SCENARIO.md's words. ``default``, ``allowed``: its other two cells, where model and tool do not say
    them. ``column``: in results, the key where it is empty. ``label``: the column in words. ``null``: a column has null
    for 0. ``given``: the tool's option of the same name gets the value. ``iperf3``: why iperf3 cannot do it."""

    says: str
    column: str = ""
    label: str = ""
    default: str | None = None
    allowed: str | None = None
    null: bool = False
    given: bool = False
    iperf3: str = ""

    def __call__(self, schema: dict[str, Any]) -> None:
        """Pydantic keeps a setting as the field's ``json_schema_extra``, and calls it; it adds nothing."""


def row(value: Any, says: str, /, *, pattern: str | None = None, **more: Any) -> Any:
    """The field of a model whose default is ``value``, and its setting."""
    return Field(default=value, pattern=pattern, json_schema_extra=Setting(says, **more))


def rows(table: type[Table]) -> Iterator[tuple[str, Setting]]:
    """Key and setting of each field that has one, in the order of the table."""
    for key, field in table.model_fields.items():
        if isinstance(field.json_schema_extra, Setting):
            yield key, field.json_schema_extra


def column_of(key: str, setting: Setting) -> str:
    """The column of the results."""
    return setting.column or key


def kind_of(table: type[Table], key: str) -> Kind:
    """What the column of a key holds."""
    types = {*_types(table.model_fields[key].annotation)}
    return "bool" if bool in types else "int" if int in types else "text"


def _types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _types(part)


def columns(values: Table) -> dict[str, str | int | bool | None]:
    """The columns that the settings of a table fill."""
    return {
        column_of(key, setting): (getattr(values, key) or None) if setting.null else getattr(values, key)
        for key, setting in rows(type(values))
    }


def arguments(values: Table) -> dict[str, Any]:
    """What the tool is given, as keyword arguments of its launcher: the option's name, and the unit of the column."""
    found = {}
    for key, setting in rows(type(values)):
        if setting.given and getattr(values, key):
            suffix = next((one for one in _SUFFIXES if column_of(key, setting).endswith(one)), "")
            found[f"{key}{suffix}"] = getattr(values, key)
    return found
