"""Checks the command lines of gateways of kind ``command``: whether they are complete and use only known ``$`` words
(SCENARIO.md)."""

from __future__ import annotations

import os
import shlex
import shutil
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scenarios.plan.gateway import Gateway
from scenarios.plan.model import Scenario

WORDS = (
    "near", "far", "sender", "receiver", "listen", "port", "data_port", "ports", "proxy_port", "rate_bps", "rate_mbps",
    "scratch", "pktlogger", "gateway",
)  # fmt: skip
VARIABLE = "LFP_GATEWAY"  # the program that $gateway stands for
_WORD = "$gateway"


def wrong(line: str | None) -> str | None:
    """What is wrong with a gateway's command line, or None."""
    if line is None:
        return None
    try:
        words = shlex.split(line)
    except ValueError as error:
        return f"{str(error).lower()}; write the line as for a shell, with every quotation mark closed"
    if not words:
        return "empty; want a program and its arguments"
    texts = [string.Template(word) for word in words]
    unknown = next((name for text in texts for name in text.get_identifiers() if name not in WORDS), None)
    if unknown or not all(text.is_valid() for text in texts):
        said = f"${unknown}" if unknown else "a $ that begins no word"
        return f"{said}: unknown; allowed is one of {', '.join(f'${name}' for name in WORDS)}, and $$ for a dollar sign"
    return None


def named() -> str:
    """The program that $gateway stands for; empty where it is not set."""
    given = os.environ.get(VARIABLE, "")
    return str(Path(given).resolve()) if "/" in given else given


def programs(gateway: Gateway) -> dict[str, Path]:
    """The programs that a gateway's command lines start and that this machine has, by their names in the scenario."""
    folder = gateway.folder
    found = {word.lstrip("$"): located(named() if word == _WORD else word, folder) for word in started(gateway)}
    return {name: path for name, path in found.items() if path}


def started(gateway: Gateway) -> list[str]:
    """The programs that a gateway's command lines start: their first words, $gateway wherever it stands, and those that
    the scenario names."""
    lines = [line for line in (gateway.near, gateway.far) if line]
    anywhere = [_WORD] if any(_WORD[1:] in string.Template(line).get_identifiers() for line in lines) else []
    return list(dict.fromkeys([*(word for line in lines for word in _words(line)[:1]), *anywhere, *gateway.programs]))


def _words(line: str) -> list[str]:
    """A command line's words; empty for a malformed one, which the trial refuses with a reason."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


def located(program: str, folder: str | None = None) -> Path | None:
    """Where a program is, also where only root's PATH finds it; None where this machine does not have it. A name with
    a slash is relative to ``folder``."""
    name = str(Path(folder, program)) if folder and "/" in program else program
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")
    return Path(found) if found else None


def beside(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a scenario file, with [gateway]'s ``folder`` as an absolute path: relative to the file's folder,
    which is also the default. [gateway] may also be in [quick], in cases and in pairs."""
    tables = {name: beside(one, folder) if isinstance(one, dict) else one for name, one in values.items()}
    gateway = tables.get("gateway")
    if isinstance(gateway, dict) and ("near" in gateway or "far" in gateway):
        tables["gateway"] = gateway | {"folder": str((folder / str(gateway.get("folder", ""))).absolute())}
    return tables


def missing(settings: Iterable[Scenario]) -> dict[str, list[str]]:
    """The programs that this machine lacks, by the case of the settings whose gateways start them ("" without
    case)."""
    found: dict[str, list[str]] = {}
    for setting in settings:
        known = programs(setting.gateway)
        if lacks := [program for program in started(setting.gateway) if program.lstrip("$") not in known]:
            found[setting.scenario.case or ""] = lacks
    return found
