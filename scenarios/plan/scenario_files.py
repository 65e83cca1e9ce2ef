"""Scenario files: which file a name means, and its TOML text. Every mistake is one line with file, line and remedy.

``tomllib`` says what it expected, but not what was written. So an error shows the line itself, and for a key or table
that is given twice the line of the first one.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any

from netcommon.errors import UsageError

LIBRARY = Path(__file__).resolve().parents[1] / "library"
_SHOWN = 60  # characters of a line or name
_TWICE = "Cannot overwrite a value"
_TWICE_TABLE = re.compile(r"Cannot (?:declare|mutate immutable namespace) \(.*\)")


def locate(name: str, beside: Path | None = None) -> Path:
    """The file of a scenario that is named by a path, by a path relative to the file that extends it, or by its library
    name. UsageError when there is no such file."""
    candidates = [Path(name)] if beside is None else [beside / name, Path(name)]
    try:
        found = next((one for one in candidates if one.suffix == ".toml" and one.is_file()), None)
        in_library = LIBRARY / f"{name}.toml"
        if found or in_library.is_file():
            return found or in_library
        why = _no_scenario(name, candidates)
    except (OSError, ValueError) as error:  # such as a name that is too long, or one that holds a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        why = f"{reason}; want a .toml file, or a name that 'lfp list' shows"
    raise UsageError(f"scenario '{_short(name)}': {why}")


def _no_scenario(name: str, candidates: list[Path]) -> str:
    there = next((one for one in candidates if name and one.exists()), None)
    if there and there.is_dir():
        return "a folder; want a .toml file in it, or a name that 'lfp list' shows"
    if there:
        kind = "not a file" if there.suffix == ".toml" else "its name does not end in .toml"
        return f"{kind}; want a .toml file, or a name that 'lfp list' shows"
    if Path(name).suffix == ".toml":
        beside = [str(one) for one in sorted(Path(name).parent.glob("*.toml"))]
        return (
            f"no such file{_did_you_mean(name, beside)} want a .toml file that exists, or a name that 'lfp list' shows"
        )
    known = sorted(path.stem for path in LIBRARY.glob("*.toml"))
    hint = _did_you_mean(name, known)
    return f"neither a .toml file nor in the library{hint} the library has: {', '.join(known)}"


def _did_you_mean(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" — did you mean '{close[0]}'?" if close else ";"


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and what it says. UsageError with file and line when it is not TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; want a .toml file that you may read") from error
    except UnicodeDecodeError as error:
        octet = f"octet {error.start} is 0x{error.object[error.start]:02x}"
        raise UsageError(f"{path}: not UTF-8 text: {octet}; want a TOML file, saved as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}{_not_toml(text, str(error))}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not a scenario: nested too deeply; want tables and lists of values") from error


def _not_toml(text: str, message: str) -> str:
    """``:12: not TOML: …``, with the line that is wrong and what to do."""
    where = re.search(r" \(at line (\d+).*\)", message)
    if not where:
        return f": not TOML: {message}; the file ends too early: close what is open at its end"
    number, reason = int(where[1]), message[: where.start()]
    lines = text.splitlines()
    line = lines[number - 1].strip() if number <= len(lines) else ""
    if reason == _TWICE or _TWICE_TABLE.match(reason):
        return f":{number}: {_twice(lines, number)}"
    hint = 'want [TABLE] or KEY = VALUE, with texts and units in quotation marks, such as delay = "10ms"'
    return f":{number}: not TOML: '{_short(line)}': {reason[0].lower()}{reason[1:]}; {hint}"


def _twice(lines: list[str], number: int) -> str:
    """What is wrong with a line that gives a key or a table again."""
    line = lines[number - 1].strip()
    if line.startswith("["):
        said = line.partition("#")[0].strip()
        first = next((n for n, other in enumerate(lines, 1) if other.partition("#")[0].strip() == said), number)
        again = f"is already in line {first}; put the keys of both together" if first < number else "is already given"
        return f"{said} {again}"
    key = line.partition("=")[0].strip()
    table = max((n for n in range(number) if lines[n].lstrip().startswith("[")), default=0)
    firsts = (n for n in range(table, number - 1) if lines[n].partition("=")[0].strip() == key)
    again = next((f"already given in line {n + 1}" for n in firsts), "already given")
    return f"'{_short(line)}': {key} is {again}; keep one of them"


def _short(text: str) -> str:
    """A text for a message: its beginning, with control characters written as escapes."""
    safe = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[: _SHOWN + 1])
    return safe if len(text) <= _SHOWN else f"{safe[:_SHOWN]}…"
