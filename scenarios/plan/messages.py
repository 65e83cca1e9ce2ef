"""One line for what is wrong with a scenario: ``file:line: key = value: reason; what is allowed and what to do``.

The model's own validators produce messages in this form. Pydantic's own errors (a wrong type, a missing key) are
translated into the same form here, because they name neither a remedy nor the allowed values.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from scenarios.plan.document import Document, Key
from scenarios.plan.model import ADDRESS, INTERFACE, NAMED, PAIR_NUMBER, PAPER, allowed_keys
from scenarios.plan.path import DIRECTION_KEYS
from scenarios.plan.transfer import CONGESTION
from scenarios.plan.values import PORTABLE_NAME

SWEPT = ("path", "transfer", "gateway")  # tables whose keys take one value here, and several in [sweep]
_SHOWN = 80  # characters of a value
_REASONS = {
    "string_type": "not a text; want one in quotation marks",
    "string_too_short": "empty; want at least one character",
    "float_type": "not a number; want for example 2.5",
    "float_parsing": "not a number; want for example 2.5",
    "finite_number": "not a number; want for example 2.5",
    "tuple_type": 'not a list; want values in brackets, such as ["snd", "rcv"]',
    "dict_type": 'not a table; want for example {"path.delay" = "10ms"}',
    "greater_than_equal": "out of range; want at least %(ge)g",
    "less_than_equal": "out of range; want at most %(le)g",
}
_PATTERNS = {
    PORTABLE_NAME: "want letters, digits, '.', '_' and '-', beginning with a letter or a digit, such as my-path_2",
    CONGESTION: "want the kernel's name in small letters, such as cubic, or one of rttcp's with its parameters, such "
    "as lfp_xys:x=4,y=64",
    PAPER: "want PAPER/ROW, such as lfp-1995/fig3",
    PAIR_NUMBER: "want the number of a host pair, 1 to 16: [pair.2]",
    INTERFACE: "want the name of an interface, at most 15 characters, such as eth1",
    ADDRESS: "want an IPv4 or IPv6 address, such as 192.0.2.1",
}
_TEXTS = {"congestion": "cubic", "second": "cubic", "name": "modern"}  # an example for a key
_LISTS = {("expect",): "[[expect]]", ("event",): "[[event]]", ("route", "points"): "[[route.points]]"}


def one_line(document: Document, error: ValidationError) -> str:
    """The first error of a validation, with file and line."""
    first = error.errors()[0]
    kind, value = first["type"], first["input"]
    key = tuple(str(part) for part in first["loc"])
    where, dotted = document.origin(key), ".".join(key)
    if kind == "extra_forbidden":
        return unknown_key(where, key)
    if kind == "missing":
        return f"{where}: missing {_missing(key)}"
    if kind == "tuple_type" and key in _LISTS:
        return f"{where}: '{dotted}' is a list of tables; write {_LISTS[key]} above the keys of each"
    if key[-1] == "[key]":  # the name of a table of tables
        where, dotted = document.origin(key[:-1]), ".".join(key[:-1])
        return f"{where}: [{dotted}]: {_reason(kind, first['msg'], first.get('ctx', {}), value)}"
    if key[0] in NAMED and kind.endswith("_type") and len(key) < 3:
        name = {"flow": "flow.NAME", "pair": "pair.N"}[key[0]]
        return f"{where}: {dotted} = {shown(value)}: not a table; write [{name}], and below it its keys"
    if kind in ("model_type", "model_attributes_type") or (kind.endswith("_type") and len(key) == 1):
        keys = ", ".join(plain_keys(key))
        return f"{where}: {dotted} = {shown(value)}: not a table; write [{dotted}], and below it its keys: {keys}"
    if isinstance(value, list) and len(key) == 2 and key[0] in SWEPT:
        values = ", ".join(f'"{one}"' if isinstance(one, str) else shown(one) for one in value) or "…"
        return (
            f'{where}: {dotted} = {shown(value)}: one value stands here; to sweep several, write "{dotted}" = '
            f"[{values}] in [sweep]"
        )
    message = _reason(kind, first["msg"], first.get("ctx", {}), value)
    if kind == "string_type" and key[-1] in _TEXTS:
        message += f', such as "{_TEXTS[key[-1]]}"'
    if kind == "value_error" and isinstance(value, dict):
        return _of_table(document, key, value, message)
    return f"{where}: {dotted} = {shown(value)}: {message}"


def _reason(kind: str, message: str, context: dict[str, Any], value: Any) -> str:
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", context["expected"])
        return f"unknown{suggest(str(value), words)} allowed is one of {', '.join(words)}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS[context["pattern"]]
    if kind in _REASONS:
        return _REASONS[kind] % context if "%(" in _REASONS[kind] else _REASONS[kind]
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _of_table(document: Document, key: Key, table: dict[str, Any], message: str) -> str:
    """An error that concerns several keys of a table. It is reported at the first key that the message names and the
    table has."""
    named = next((word for word in re.findall(r"'([a-z_]+)'", message) if word in table), None)
    if named is None or key[:1] == ("expect",):
        return f"{document.origin(key)}: [{'.'.join(key)}]: {message}"
    own, reason = (*key, named), message.removeprefix(f"'{named}': ")
    return f"{document.origin(own)}: {'.'.join(own)} = {shown(table[named])}: {reason}"


def _missing(key: Key) -> str:
    if len(key) == 1:
        return f"'{key[0]}'; write a table [{key[0]}] with its keys: {', '.join(plain_keys(key))}"
    table = ".".join(part for part in key[:-1] if not part.isdigit())
    return f"'{'.'.join(key)}'; write {key[-1]} = … in [{table}]"


def shown(value: Any) -> str:
    """A value nearly as written in the file: true, 'text', [1, 2]."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value) if isinstance(value, (datetime.date, datetime.time)) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def unknown_key(where: str, key: Key) -> str:
    """Error: ``key`` is not a key of its table."""
    allowed, plain = allowed_keys(key[:-1]), ", ".join(plain_keys(key[:-1]))
    if not allowed:
        return f"{where}: unknown key '{'.'.join(key)}'; '{'.'.join(key[:-1])}' is a value, not a table: drop the key"
    return f"{where}: unknown key '{'.'.join(key)}'{suggest(key[-1], allowed)} allowed: {plain}"


def plain_keys(table: Key) -> list[str]:
    """The keys of a table for people: those of one direction of the path are named together."""
    keys = allowed_keys(table)
    if table[-1:] != ("path",):
        return keys
    directed = {f"{which}_{key}" for which in ("ab", "ba") for key in DIRECTION_KEYS}
    return [*(key for key in keys if key not in directed), "and most of them with ab_ or ba_ for one direction"]


def suggest(word: str, allowed: Sequence[str]) -> str:
    """`` — did you mean 'queue'?``, or a semicolon."""
    close = difflib.get_close_matches(word, [one for one in allowed if one != word], n=1)
    return f" — did you mean '{close[0]}'?" if close else ";"
