"""One key of a scenario's table as one row: next to its type and default, everything that other modules derive from it.

Column of the results, argument of the tool, what iperf3 lacks, which gateways use it, and SCENARIO.md's row are read
from here (`tools/key-rows` writes the latter). [path], [transfer] and [gateway] have such rows. Rejected: a row in each
of columns.py, params.py, transfer_tool.py, gateways.py and SCENARIO.md, to which a new key had to be added one after
the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from scenarios.plan.values import Table

Kind = Literal["int", "float", "text", "bool"]
_SUFFIXES = ("_ns", "_bps", "_bytes", "_ppb")


@dataclass(frozen=True)
class Setting:
    """``says``: the words in SCENARIO.md's row. ``default``, ``allowed``: the row's other two cells, if they do not
    follow from model and tool. ``column``: the column of the results; empty: named like the key; None: no column.
    ``label``: the column in words. ``null``: a column has null for 0. ``given``: the tool's option of the same name
    gets the value; a text names the flag that switches the key off. ``iperf3``: why iperf3 cannot do it. ``kinds``: the
    gateways that use it. ``once``: the path has it once, not for each direction."""

    says: str
    column: str | None = ""
    label: str = ""
    default: str | None = None
    allowed: str | None = None
    null: bool = False
    given: bool | str = False
    iperf3: str = ""
    kinds: tuple[str, ...] = ()
    once: bool = False

    def __call__(self, schema: dict[str, Any]) -> None:
        """Pydantic keeps a setting as the field's ``json_schema_extra``, and calls it for the JSON Schema, to which it
        adds nothing."""


def row(value: Any, says: str, /, *, pattern: str | None = None, **more: Any) -> Any:
    """The field of a model whose default is ``value``, and its setting."""
    return Field(default=value, pattern=pattern, json_schema_extra=Setting(says, **more))


def rows(table: type[Table]) -> Iterator[tuple[str, Setting]]:
    """Key and setting of each field that has one, in the order of the table."""
    for key, field in table.model_fields.items():
        if isinstance(field.json_schema_extra, Setting):
            yield key, field.json_schema_extra


def column_of(key: str, setting: Setting) -> str | None:
    """The column of the results that a key fills; None: it fills none."""
    return key if setting.column == "" else setting.column


def kind_of(table: type[Table], key: str) -> Kind:
    """The value of a key's column."""
    types = {*_types(table.model_fields[key].annotation)}
    return "bool" if bool in types else "int" if int in types else "text"


def _types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _types(part)


def columns(values: Table, keys: Collection[str] | None = None) -> dict[str, str | int | float | bool | None]:
    """The columns that the settings of a table fill; ``keys``: those of these settings alone."""
    named = ((key, setting, column_of(key, setting)) for key, setting in rows(type(values)))
    return {
        column: (getattr(values, key) or None) if setting.null else getattr(values, key)
        for key, setting, column in named
        if column and (keys is None or key in keys)
    }


def arguments(values: Table) -> dict[str, Any]:
    """The tool's arguments, as keyword arguments of its launcher: the option's name, and the unit of the column. 0 is
    passed only for a key without a default of its own (None), because the tool's default may not be 0."""
    given: dict[str, Any] = {}
    for key, setting in rows(type(values)):
        value, default = getattr(values, key), type(values).model_fields[key].default
        if isinstance(setting.given, str):
            given |= {} if value else {setting.given: True}
        elif setting.given and (value or (default is None and value is not None)):
            suffix = next((one for one in _SUFFIXES if (column_of(key, setting) or "").endswith(one)), "")
            given[f"{key}{suffix}"] = value
    return given
