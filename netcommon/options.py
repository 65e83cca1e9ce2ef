"""A C tool's option table, as the tool itself prints it: ``TOOL [VERB] --options-json`` (``src/nc_options.h``).

The table is the only source of an option's unit, default, bounds, choices and help. Scenario validation, the manual
pages' test and shell completion get them here and do not repeat them.
Rejected: generating the table into Python at build time. It would describe the tool that was built, not the one that
runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from netcommon import probe, quantity
from netcommon.binaries import find
from netcommon.errors import LfpError

Kind = Literal["flag", "string", "text", "choice", "quantity", "quantities", "list"]


@dataclass(frozen=True)
class Option:
    """One row of a tool's table.

    A quantity has a ``unit`` (``number``, ``duration``, ``rate``, ``size``, ``ratio``); an option of kind
    ``quantities`` may be given several times. Its ``default``, ``minimum`` and ``maximum`` are integers in the base
    unit (1, ns, bit/s, bytes, parts per billion), and ``…_text`` is the same value as a user would type it; None stands
    for no bound and for no default. ``metavar`` stands for the value in
    ``--help`` and is None for a flag.
    """

    name: str
    letter: str | None
    kind: Kind
    unit: str | None
    default: int | str | bool | None
    default_text: str | None
    minimum: int | None
    minimum_text: str | None
    maximum: int | None
    maximum_text: str | None
    choices: tuple[str, ...]
    metavar: str | None
    help: str

    def parse(self, text: str) -> int | str:
        """A value as a user types it: a quantity in its base unit, within its bounds; a choice; any other text as is.

        ValueError says what is wrong with the value and what is allowed, but not the option's name.
        """
        if self.kind == "choice" and text not in self.choices:
            raise ValueError(f"allowed is one of {', '.join(self.choices)}")
        if self.unit is None:
            return text
        value = quantity.parse(quantity.UNITS[self.unit], text)
        self.check(value)
        return value

    def check(self, value: int) -> None:
        """ValueError when a quantity in its base unit is out of range; it says what is allowed."""
        if (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum):
            return
        if self.maximum is None:
            raise ValueError(f"out of range; allowed is {self.minimum_text} or more")
        raise ValueError(f"out of range; allowed is {self.minimum_text} to {self.maximum_text}")


def options(tool: str, verb: str | None = None) -> Mapping[str, Option]:
    """The options of a tool or of one of its verbs, by name, in the table's order. The tool is asked once.

    Raises MissingBinary when the tool is not found, LfpError when it does not answer.
    """
    return _options(*_identity(tool), verb)


def verbs(tool: str) -> Mapping[str | None, str]:
    """The verbs of a tool, each with its help; None stands for a command line without a verb, if the tool takes one."""
    return _verbs(*_identity(tool))


def _identity(tool: str) -> tuple[Path, int]:
    """The tool's file and its time of modification, so that a new build is asked again."""
    path = find(tool)
    return path, path.stat().st_mtime_ns


def _remembered(path: Path, built_ns: int, *arguments: str) -> dict[str, Any]:
    """The tool's answer. A refusal is cached, too, because a third-party program may be slow to refuse."""
    answer = _answer(path, built_ns, *arguments)
    if isinstance(answer, str):
        raise LfpError(answer)
    return answer


@cache
def _options(path: Path, built_ns: int, verb: str | None) -> Mapping[str, Option]:
    answer = _remembered(path, built_ns, *(() if verb is None else (verb,)), "--options-json")
    rows = (_row(row) for row in answer["options"])
    return MappingProxyType({option.name: option for option in rows})


@cache
def _verbs(path: Path, built_ns: int) -> Mapping[str | None, str]:
    return MappingProxyType({row["name"]: row["help"] for row in _remembered(path, built_ns, "--verbs-json")["verbs"]})


def _row(row: Mapping[str, Any]) -> Option:
    """A row of the tool's answer. Keys of a later tool that are not known here are ignored."""
    known = {field.name: row[field.name] for field in fields(Option)}
    return Option(**known | {"choices": tuple(row["choices"] or ())})


@cache
def _answer(path: Path, _built_ns: int, *arguments: str) -> dict[str, Any] | str:
    """The tool's answer, or the reason why there is none."""
    asked = f"{path} {' '.join(arguments)}: cannot list what it takes"
    try:
        answer = json.loads(probe.output([path, *arguments]))
    except (LfpError, ValueError) as error:
        return f"{asked}: {error}"
    wanted = arguments[-1].strip("-").partition("-")[0]
    return answer if isinstance(answer, dict) and wanted in answer else f"{asked}: it answers something else"


# The unit at the end of a parameter's name, and the suffix that gives a number this unit on a command line.
_UNIT_ENDS = {"_ns": "ns", "_bps": "bit", "_bytes": ""}


def command_words(values: Mapping[str, object]) -> list[str]:
    """``{"window_bytes": 65536, "verify": True}`` as ``--window 65536 --verify``; None and False: nothing."""
    words: list[str] = []
    for name, value in values.items():
        end = next((one for one in _UNIT_ENDS if name.endswith(one)), "")
        option = f"--{name.removesuffix(end).replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, f"{value}{_UNIT_ENDS.get(end, '')}"]
    return words
