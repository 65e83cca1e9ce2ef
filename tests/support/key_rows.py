"""What is written into documents and schemas from the tables of keys and parameters.

SCENARIO.md has a row for each key of [transfer] from scenarios/plan/transfer.py and rttcp's option table, and the
choices of [gateway]'s keys from lft-gateway's, as lft.lua has its recoveries. end.schema.json has an entry for each
parameter of a session from rttcp/src/wire/message.h. scenarios/plan/causes.json is what `pktlogger --causes-json`
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
from scenarios.plan.keys import Setting
from scenarios.plan.transfer import Transfer
from scenarios.plan.values import Written

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "scenarios" / "SCENARIO.md"
SCHEMA = ROOT / "rttcp" / "schema" / "end.schema.json"
CAUSES = causes.FILE
LUA = ROOT / "lft_ref" / "lft.lua"
_RECOVERIES = re.compile(r"^local RECOVERIES = .*$", re.MULTILINE)
MESSAGE = ROOT / "rttcp" / "src" / "wire" / "message.h"
_FIRST, _AFTER = "| **[transfer]** | | | |\n", "| **[flow.NAME]**"
_NONE = "–"
_PARAMETER = re.compile(r"^    (NUMBER|FLAG|TEXT)\((\w+)", re.MULTILINE)
_TYPES = {"NUMBER": {"type": "integer", "minimum": 0}, "FLAG": {"type": "boolean"}, "TEXT": {"type": "string"}}


def page() -> str:
    """SCENARIO.md with the rows of [transfer]."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(_FIRST) + len(_FIRST), text.index(_AFTER)
    rows = (_row(key, own) for key, own in keys.rows(Transfer))
    return text[:begin] + "".join(f"{row}\n" for row in rows) + _with_choices(text[end:])


def _with_choices(text: str) -> str:
    """The rows of [gateway] with the choices of lft-gateway's options."""
    begin = text.index("| **[gateway]**")
    lines = text[begin:].split("\n")
    for number, line in enumerate(lines[1:], 1):
        if not line.startswith("| ") or line.startswith("| **"):
            break
        key, default, _, says = line.removeprefix("| ").split(" | ", 3)
        option = options.options("lft-gateway", "run").get(key.replace("_", "-"))
        if option and option.kind == "choice":
            lines[number] = f"| {key} | {default} | {', '.join(option.choices)} | {says}"
    return text[:begin] + "\n".join(lines)


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


def _row(key: str, own: Setting) -> str:
    default = own.default if own.default is not None else _default(key)
    allowed = own.allowed if own.allowed is not None else _allowed(key)
    return f"| {key} | {default} | {allowed} | {own.says} |"


def _default(key: str) -> str:
    value = Transfer.model_fields[key].default
    unit = next((quantity.UNITS[one.unit] for one in _written(key)), None)
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return str(value).lower()
    return _text(unit, value) if isinstance(value, int) and unit else str(value)


def _allowed(key: str) -> str:
    """The bounds of the tool's option, or the words that a key takes."""
    words = [word for part in _parts(Transfer.model_fields[key].annotation) for word in _words(part)]
    if words:
        return ", ".join(words)
    written = next(iter(_written(key)))
    option = written.source.option() if written.source else None
    assert option, f"{key}: no bounds; give its row `allowed`"
    unit = quantity.UNITS[written.unit]
    low, high = (None if at is None else _text(unit, at) for at in (option.minimum or 0, option.maximum))
    return ("0, or " if written.zero else "") + (f"{low} … {high}" if high else f"at least {low}")


def _text(unit: quantity.Unit, value: int) -> str:
    if value == 0:
        return "0"
    hours, rest = divmod(value, 3600 * 10**9)
    return f"{hours}h" if unit is quantity.DURATION and hours and not rest else quantity.format_value(unit, value)


def _words(part: Any) -> list[str]:
    if part is bool:
        return ["true", "false"]
    return list(get_args(part)) if get_origin(part) is Literal else []


def _written(key: str) -> list[Written]:
    """What a file may say for a key, with its unit and its tool's option."""
    field = Transfer.model_fields[key]
    return [one for one in [*field.metadata, *_parts(field.annotation)] if isinstance(one, Written)]


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        yield from _parts(part)
