"""Completion of `lfp` in bash, zsh and fish: verbs, options and words, scenarios, runs, settings and their values.

A shell asks at each press of the key, so this module loads only what the answer needs, not even click. The verbs'
options are in completion.json, which ``tools/library-index`` writes from the verbs themselves; a test compares it with
them. The shells use click's scripts (``_LFP_COMPLETE=bash_source lfp``), and the answers have click's format.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

VARIABLE = "_LFP_COMPLETE"
INDEX = Path(__file__).with_name("completion.json")
_LIBRARY = Path(__file__).resolve().parents[2] / "scenarios" / "library"
_MOST = 500  # runs that are offered

Item = tuple[str, str]  # kind for the shell (plain, file, dir) and text


def answer(instruction: str) -> str:
    """What the shell's script reads. ``instruction``: ``bash_complete``, ``zsh_complete`` or ``fish_complete``."""
    shell = instruction.partition("_")[0]
    words, incomplete = _asked(shell)
    return "".join(_line(shell, item) for item in offered(words, incomplete))


def _asked(shell: str) -> tuple[list[str], str]:
    """The words before the one to complete, without the program's name, and the word to complete."""
    words = _split(os.environ.get("COMP_WORDS", ""))
    if shell == "fish":
        incomplete = os.environ.get("COMP_CWORD", "")
        return (words[1:-1] if incomplete and words[-1:] == [incomplete] else words[1:]), incomplete
    at = int(os.environ.get("COMP_CWORD") or 0)
    return words[1:at], words[at] if at < len(words) else ""


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark is still open
        return text.split()


def _line(shell: str, item: Item) -> str:
    kind, text = item
    return {"bash": f"{kind},{text}\n", "zsh": f"{kind}\n{text}\n_\n"}.get(shell, f"{kind},{text}\n")


def offered(words: list[str], incomplete: str) -> list[Item]:
    """The possible completions of ``incomplete`` after ``words``."""
    known: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
    verb = next((word for word in words if word in known["verbs"]), None)
    if verb is None:
        return _matching([*known["verbs"], "--help", "--version"], incomplete)
    own = known["verbs"][verb]
    option, incomplete, joined = _option(words, incomplete)
    if option in own["options"] and own["options"][option] is not None:
        return _values(own["options"][option], joined + incomplete, len(joined), known, words)
    if incomplete.startswith("-"):
        return _matching([*own["options"], "--help"], incomplete)
    return _values(own["arguments"], incomplete, 0, known, words)


def _option(words: list[str], incomplete: str) -> tuple[str, str, str]:
    """The option whose value is being typed, if any; the value so far; and the part of the word that bash has cut off,
    because it breaks words at ``=``."""
    joined = ""
    if incomplete == "=":
        words, incomplete, joined = words[:-1], "", f"{words[-1]}=" if words else ""
    elif len(words) > 1 and words[-1] == "=":
        words, joined = words[:-2], f"{words[-2]}="
    if joined.startswith("--"):  # --time=virtual
        return joined[:-1], incomplete, ""
    if incomplete.startswith("--") and "=" in incomplete:
        option, _, value = incomplete.partition("=")
        return option, value, ""
    return (words[-1] if words and words[-1].startswith("-") else ""), incomplete, joined


def _values(kind: Any, incomplete: str, cut: int, known: dict[str, Any], words: list[str]) -> list[Item]:
    """The values of an option or argument. ``kind``: a list of words, or the name of a kind of values; ``cut``: how
    many characters the shell puts in front by itself."""
    if isinstance(kind, list):
        return _matching(kind, incomplete)
    if kind == "setting":
        return [(item, text[cut:]) for item, text in _matching(_settings(known["settings"], incomplete), incomplete)]
    found: dict[str, Any] = {
        "metric": lambda: known["metrics"],
        "name": lambda: list(known["settings"]),
        "scenario": lambda: _scenarios(incomplete),
        "run": lambda: _runs(words),
    }
    if kind in found:
        return _matching(found[kind](), incomplete)
    return [(kind, incomplete)] if kind in ("file", "dir") else []


def _matching(words: Iterable[str], incomplete: str) -> list[Item]:
    return [("plain", word) for word in words if word.startswith(incomplete)]


def _settings(settings: dict[str, list[str]], incomplete: str) -> list[str]:
    """``path.delay=`` before the equals sign, and the words of a setting behind it."""
    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [f"{one}=" for one in settings]
    return [f"{name}={word}" for word in settings.get(name, ())]


def _scenarios(incomplete: str) -> list[str]:
    """The library's scenarios, and the folders and scenario files whose names begin with the text."""
    start = Path(incomplete)
    folder = start if incomplete.endswith("/") else start.parent
    near = sorted(folder.iterdir()) if folder.is_dir() else []
    prefix = incomplete[: incomplete.rfind("/") + 1]
    files = [
        f"{prefix}{one.name}{'/' if one.is_dir() else ''}"
        for one in near
        if one.suffix == ".toml" or (one.is_dir() and not one.name.startswith("."))
    ]
    return [*sorted(path.stem for path in _LIBRARY.glob("*.toml")), *files]


def _runs(words: list[str]) -> list[str]:
    """The newest runs of the folder that the line or LFP_RUNS_DIR names."""
    given = next((after for word, after in pairwise(words) if word == "--runs-dir"), None)
    folder = Path(given or os.environ.get("LFP_RUNS_DIR") or "runs")
    if not folder.is_dir():
        return ["last"]
    runs = [one for one in os.scandir(folder) if one.is_dir() and Path(one.path, "manifest.json").is_file()]
    runs.sort(key=lambda one: one.stat().st_mtime_ns, reverse=True)
    return ["last", *(one.name for one in runs[:_MOST])]


def index(group: Any) -> str:
    """The content that completion.json should have. ``group``: the click group of all verbs."""
    import click

    from scenarios.plan import columns, congestion, profiles, schema

    context = click.Context(group)
    verbs = {name: _verb(group.get_command(context, name)) for name in group.list_commands(context)}
    settings = schema.settings() | {
        "profile.name": sorted(path.stem for path in profiles.FOLDER.glob("*.toml")),
        "transfer.congestion": list(congestion.LINUX),
    }
    metrics = [name for name, column in columns.COLUMNS.items() if column.role == "outcome"]
    content = {"v": 1, "verbs": verbs, "settings": settings, "metrics": metrics}
    return json.dumps(content, indent=1) + "\n"


def _verb(command: Any) -> dict[str, Any]:
    import click

    options: dict[str, Any] = {}
    arguments = None
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            arguments = arguments or _kind(parameter.name, parameter.type)
        else:
            flag = parameter.is_flag or parameter.count
            names = [name for name in parameter.opts if name.startswith("--")]
            options |= {name: None if flag else _kind(name.strip("-"), parameter.type) for name in names}
    return {"options": options, "arguments": arguments or ""}


_KINDS = {
    "scenarios": "scenario", "scenario": "scenario", "run": "run", "resume": "run", "names": "run", "baseline": "run",
    "set": "setting", "across": "name", "by": "name", "metric": "metric", "summary": "metric", "runs-dir": "dir",
    "captures": "file",
}  # fmt: skip


def _kind(name: str, type_: Any) -> Any:
    import click

    if isinstance(type_, click.Choice):
        return list(type_.choices)
    if name in _KINDS:
        return _KINDS[name]
    if isinstance(type_, click.Path):
        return "file" if type_.file_okay else "dir"
    return ""
