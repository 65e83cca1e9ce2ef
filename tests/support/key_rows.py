"""What is written into documents and schemas from the tables of keys and parameters.

SCENARIO.md has a row for each key of [path], [transfer] and [gateway] from scenarios/plan/path.py, transfer.py and
gateway.py and the tools' option tables, lft.lua its recoveries from lft-gateway's. end.schema.json has an entry for
each parameter of a session from rttcp/src/wire/message.h. scenarios/plan/causes.json is what `pktlogger --causes-json`
prints. tools/key-rows writes them all, and tests/py/scenarios/test_key_rows.py fails where they are not up to date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from netcommon import binaries, options, probe, quantity
from scenarios.plan import causes, keys
from scenarios.plan.gateway import Gateway
from scenarios.plan.keys import Setting
from scenarios.plan.path import PathKeys
from scenarios.plan.transfer import Transfer
from scenarios.plan.values import Table, Written

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "scenarios" / "SCENARIO.md"
SCHEMA = ROOT / "rttcp" / "schema" / "end.schema.json"
CAUSES = causes.FILE
LUA = ROOT / "lft_ref" / "lft.lua"
_RECOVERIES = re.compile(r"^local RECOVERIES = .*$", re.MULTILINE)
MESSAGE = ROOT / "rttcp" / "src" / "wire" / "message.h"
TABLES: dict[str, type[Table]] = {"path": PathKeys, "transfer": Transfer, "gateway": Gateway}
_ONCE = "| | | | keys of the whole path, which have no `ab_…` and `ba_…`: |"
_UNITS = quantity.UNITS | {quantity.DISTANCE.name: quantity.DISTANCE}
_NONE = "–"
_PARAMETER = re.compile(r"^    (NUMBER|FLAG|TEXT)\((\w+)", re.MULTILINE)
_TYPES = {"NUMBER": {"type": "integer", "minimum": 0}, "FLAG": {"type": "boolean"}, "TEXT": {"type": "string"}}


def page() -> str:
    """SCENARIO.md with the rows of these tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        begin = text.index("\n", text.index(f"| **[{name}]**")) + 1
        end = text.index("| **[", begin)
        text = text[:begin] + "".join(f"{line}\n" for line in _rows(table)) + text[end:]
    return text


def _rows(table: type[Table]) -> Iterator[str]:
    once = False
    for key, own in keys.rows(table):
        if own.once and not once:
            yield _ONCE
        once = own.once
        yield _row(table, key, own)


def lua() -> str:
    """The dissector with the recoveries by number."""
    names = options.options("lft-gateway", "run")["recovery"].choices
    rows = ", ".join(f'[{number}] = "{name}"' for number, name in enumerate(names))
    return _RECOVERIES.sub(f"local RECOVERIES = {{ {rows} }}", LUA.read_text(encoding="utf-8"))


def schema() -> str:
    """end.schema.json with the parameters of a session."""
    document = json.loads(SCHEMA.read_text(encoding="utf-8"))
    params = document["$defs"]["params"]
    source = MESSAGE.read_text(encoding="utf-8")
    rows = _PARAMETER.findall(source[source.index("#define RTTCP_PARAMS(") : source.index("struct rttcp_params {")])
    params["properties"] = {name: _TYPES[kind] for kind, name in rows} | {"streams": params["properties"]["streams"]}
    params["required"] = sorted(params["properties"])
    return json.dumps(document, indent=1) + "\n"


def causes_json() -> str:
    """pktlogger's table of causes, as it prints it."""
    return probe.output([binaries.find("pktlogger"), "--causes-json"]).decode()


def _row(table: type[Table], key: str, own: Setting) -> str:
    default = own.default if own.default is not None else _default(table, key)
    allowed = own.allowed if own.allowed is not None else _allowed(table, key)
    return f"| {key} | {default} | {allowed} | {own.says} |"


def _default(table: type[Table], key: str) -> str:
    value = table.model_fields[key].default
    unit = next((_UNITS[one.unit] for one in _written(table, key) if one.unit), None)
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return str(value).lower()
    return _text(unit, value) if isinstance(value, int) and unit else str(value)


def _allowed(table: type[Table], key: str) -> str:
    """The bounds or choices of the tool's option, the key's own bounds, or the words that it takes."""
    words = [word for part in _parts(table.model_fields[key].annotation) for word in _words(part)]
    if words:
        return ", ".join(words)
    written = next(iter(_written(table, key)))
    option = written.source.option() if written.source else None
    if option and option.choices:
        return ", ".join(option.choices)
    assert option or written.bounds, f"{key}: no bounds; give its row `allowed`"
    unit = _UNITS[written.unit]
    bounds = (option.minimum or 0, option.maximum) if option else written.bounds or (0, None)
    low, high = (None if at is None else _text(unit, at) for at in bounds)
    return ("0, or " if written.zero else "") + (f"{low} … {high}" if high else f"at least {low}")


def _text(unit: quantity.Unit, value: int) -> str:
    if value == 0 and unit is not quantity.RATIO:
        return "0"
    hours, rest = divmod(value, 3600 * 10**9)
    return f"{hours}h" if unit is quantity.DURATION and hours and not rest else quantity.format_value(unit, value)


def _words(part: Any) -> list[str]:
    if part is bool:
        return ["true", "false"]
    return list(get_args(part)) if get_origin(part) is Literal else []


def _written(table: type[Table], key: str) -> list[Written]:
    """What a file may say for a key, with its unit and its tool's option."""
    field = table.model_fields[key]
    return [one for one in [*field.metadata, *_parts(field.annotation)] if isinstance(one, Written)]


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        yield from _parts(part)
