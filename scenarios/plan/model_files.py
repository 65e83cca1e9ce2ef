"""Files that a path's models name (`jitter = "trace:FILE"`): found next to the scenario, and copied into the run.

A name in a scenario file is looked for in that file's folder, then in the current folder; a name on the command line
only in the current folder. The plan holds absolute paths, so a trial finds the file wherever it runs. The run's
directory has a copy (`files/<beginning of its SHA-256>/NAME`), so the run can go on when the original has changed or is
gone. Results have name and hash, so two runs with the same trace have the same setting, wherever the file is, and runs
with different traces do not.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

FOLDER = "files"  # folder of a run directory
_DIGITS = 12
_KEY = re.compile(r"^(ab_|ba_)?(jitter|rate_trace)$")
_KINDS = ("table", "dist", "trace", "mahimahi", "mm-link")
Change = Callable[[str], str]
Scalar = TypeVar("Scalar", bound=str | int | float | bool)


def beside(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a scenario file, with the names of models' files as absolute paths: next to the file, else in the
    current folder."""

    def absolute(name: str) -> str:
        near = folder / name
        return str((near if near.exists() else Path(name) if Path(name).exists() else near).absolute())

    return renamed(values, absolute)


def carried(values: dict[str, Any], run_dir: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Copies the files of a scenario's tables into a run. Returns the tables with names relative to the run, and the
    SHA-256 of each file by that name."""
    files: dict[str, str] = {}

    def copied(name: str) -> str:
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        target = Path(FOLDER, digest[:_DIGITS], Path(name).name)
        (run_dir / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, run_dir / target)
        files[str(target)] = digest
        return str(target)

    return renamed(values, copied), files


def of_run(values: dict[str, Any], run_dir: Path) -> dict[str, Any]:
    """The tables in a run's manifest, with the names of the files that it carries as absolute paths."""
    return renamed(values, lambda name: str((run_dir / name).absolute()) if name.startswith(f"{FOLDER}/") else name)


def anywhere(values: dict[str, Any]) -> dict[str, Any]:
    """The tables with each file by its name and the beginning of its SHA-256, wherever it is."""
    return renamed(values, _named)


def column(text: Scalar) -> Scalar:
    """A model's text as results have it: a file by its name and the beginning of its SHA-256."""
    return _of_text(text, _named) if isinstance(text, str) else text  # type: ignore[return-value]


def column_of_change(text: str) -> str:
    """The text of [path] change as results have it, with files as in `column`."""
    return _of_change(text, _named)


def _named(name: str) -> str:
    try:
        return f"{Path(name).name}@{_digest(name, Path(name).stat().st_mtime_ns)[:_DIGITS]}"
    except OSError:
        return Path(name).name


@functools.lru_cache(64)
def _digest(name: str, _changed_ns: int) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def renamed(values: dict[str, Any], change: Change) -> dict[str, Any]:
    """Tables of a scenario with other names of the files that models name."""
    return {key: _value(key, value, change) for key, value in values.items()}


def _value(key: str, value: Any, change: Change) -> Any:
    """A value of any table: keys of [path] may also be in [quick], in cases and, dotted, in [sweep]."""
    if isinstance(value, dict):
        return renamed(value, change)
    if isinstance(value, list):
        return [_value(key, one, change) for one in value]
    last = key.rpartition(".")[2]
    if not isinstance(value, str) or not (_KEY.match(last) or last == "change"):
        return value
    return _of_change(value, change) if last == "change" else _of_text(value, change)


def _of_change(text: str, change: Change) -> str:
    """The text of [path] change, whose words are KEY=VALUE, or which is a trace."""
    if text.startswith("trace:"):
        return _of_text(text, change)
    words = re.split(r"(\s+|;)", text)
    return "".join(_word(word, change) for word in words)


def _word(word: str, change: Change) -> str:
    key, equals, value = word.partition("=")
    return f"{key}={_of_text(value, change)}" if equals and _KEY.match(key) else word


def _of_text(text: str, change: Change) -> str:
    """A model's text with another name of its file, if it has one. Behind its file a table or distribution may have a
    correlation (``,25%``), and before that a distribution has its deviation. Both are cut from the text's end, so a
    name may have commas."""
    kind, _, name = text.partition(":")
    behind = ""
    if kind not in _KINDS or not name:
        return text
    if kind in ("table", "dist") and name.endswith("%") and "," in name:
        name, behind = _cut(name)
    if kind == "dist" and "," in name:
        name, deviation = _cut(name)
        behind = deviation + behind
    return f"{kind}:{change(name)}{behind}"


def _cut(text: str) -> tuple[str, str]:
    """A text in two parts: before its last comma, and from the comma on."""
    at = text.rindex(",")
    return text[:at], text[at:]
