"""Scenario files as nested tables whose every key remembers where it was written.

``tomllib`` gives no line numbers, so a light scan of the text finds the line of each key. An error is then one line,
``file.toml:12: …``. Layers (``extends``, ``[quick]``, ``--set``) merge key by key, and each key keeps its own origin.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netcommon.errors import UsageError
from scenarios.plan import gateway_commands, model_files, scenario_files
from scenarios.plan.scenario_files import LIBRARY

__all__ = ["LIBRARY", "Document", "Key", "key_lines", "load_layers", "with_quick"]
Key = tuple[str, ...]

# The keys of a group are alternatives for the same setting, so a later layer that sets one removes the others.
EXCLUSIVE: tuple[frozenset[Key], ...] = (
    frozenset({("transfer", "bytes"), ("transfer", "duration"), ("transfer", "exchanges")}),
    frozenset({("path", "delay"), ("path", "distance")}),
)

# CLAIMS: statements of a scenario about itself, which hold only for its own path and sweep. CLAIMED: the tables that
# these statements depend on.
CLAIMS: tuple[Key, ...] = (
    ("scenario", "title"),
    ("scenario", "paper"),
    ("scenario", "description"),
    ("report", "reference"),
    ("report", "regions"),
    ("expect",),
)
CLAIMED = ("path", "sweep", "case")

_KEY_PART = r"(?:\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)"
_DOTTED = rf"{_KEY_PART}(?:\s*\.\s*{_KEY_PART})*"
_TABLE_LINE = re.compile(rf"^\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_KEY_LINE = re.compile(rf"^\s*({_DOTTED})\s*=")


@dataclass
class Document:
    """``values``: nested tables. ``origins``: where each key was written (``file.toml:12`` or ``--set …``)."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[Key, str] = field(default_factory=dict)

    def origin(self, key: Key) -> str:
        """Where ``key`` or the nearest table around it was written. A table without a header of its own begins at its
        first key."""
        found = self.origins.get(key) or next((at for k, at in self.origins.items() if k[: len(key)] == key), None)
        if found:
            return found
        around = (key[:length] for length in range(len(key) - 1, 0, -1))
        return next((self.origins[table] for table in around if table in self.origins), self.name)

    def merged(self, over: Document) -> Document:
        """This layer with ``over`` on top. Tables merge; a key of ``over`` replaces all that this layer says about
        it."""
        said = _leaves(over.values)
        values = self.values
        for key in said:
            values = _forget(values, key, said)
        return Document(self.name, _merge(values, over.values), self.origins | over.origins)

    def extended_by(self, over: Document) -> Document:
        """This scenario with ``over`` on top. If the path or the sweep becomes another, this scenario's claims (a
        paper's row and points, a description) no longer hold and are dropped, unless ``over`` states them again."""
        merged = self.merged(over)
        same = all(merged.values.get(table) == self.values.get(table) for table in CLAIMED)
        same = same and merged.paths_of_pairs() == self.paths_of_pairs()
        return merged if same else self.without_claims().merged(over)

    def paths_of_pairs(self) -> dict[str, Any]:
        """What [pair.N.path] says, by the pair."""
        pairs = self.values.get("pair")
        known = pairs.items() if isinstance(pairs, dict) else ()
        return {number: own["path"] for number, own in known if isinstance(own, dict) and "path" in own}

    def without_claims(self) -> Document:
        """This layer without its CLAIMS."""
        values = self.values
        for key in CLAIMS:
            values = _without(values, key)
        return Document(self.name, values, self.origins)

    def table(self, name: str) -> Document:
        """The sub-table ``name`` as a layer of its own."""
        origins = {key[1:]: where for key, where in self.origins.items() if len(key) > 1 and key[0] == name}
        return Document(self.name, dict(self.values.get(name, {})), origins)

    def without_table(self, name: str) -> Document:
        """This layer without one top-level table."""
        values = {key: value for key, value in self.values.items() if key != name}
        return Document(self.name, values, self.origins)

    def without(self, key: Key) -> Document:
        """This layer without one key or table."""
        return Document(self.name, _without(self.values, key), self.origins)

    def with_value(self, key: Key, value: Any, origin: str) -> Document:
        """This layer with one key set."""
        nested: Any = value
        for part in reversed(key):
            nested = {part: nested}
        return self.merged(Document(self.name, nested, {key: origin}))


def _leaves(values: dict[str, Any], prefix: Key = ()) -> list[Key]:
    found: list[Key] = []
    for key, value in values.items():
        found += _leaves(value, (*prefix, key)) if isinstance(value, dict) else [(*prefix, key)]
    return found


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _forget(values: dict[str, Any], key: Key, said: list[Key]) -> dict[str, Any]:
    """``values`` without everything that ``key`` replaces: the key and its rivals, with their sweeps and their values
    in [quick] and in cases."""
    for rival in _rivals(key):
        dotted = ".".join(rival)
        cases = values.get("case") if isinstance(values.get("case"), dict) else {}
        of_cases = (("case", name, *rival) for name in cases or {})
        for old in (rival, ("sweep", dotted), ("quick", *rival), ("quick", "sweep", dotted), *of_cases):
            if old not in said:
                values = _without(values, old)
    return values


def _rivals(key: Key) -> set[Key]:
    """The key and its alternatives; empty for a text that is not TABLE.KEY. [flow.NAME] has [transfer]'s keys, and
    [pair.N.path] those of [path]."""
    if len(key) == 4 and key[0] == "pair":
        return {(*key[:2], *rival) for rival in _rivals(key[2:])}
    if len(key) == 3 and key[0] == "flow":
        alike = {key}.union(*(group for group in EXCLUSIVE if ("transfer", key[2]) in group))
        return {(*key[:2], other[-1]) for other in alike}
    return {key}.union(*(group for group in EXCLUSIVE if key in group)) if len(key) == 2 else set()


def _without(values: dict[str, Any], key: Key) -> dict[str, Any]:
    head, rest = key[0], key[1:]
    if not rest:
        return {name: value for name, value in values.items() if name != head}
    inner = values.get(head)
    return values | {head: _without(inner, rest)} if isinstance(inner, dict) else values


def key_lines(text: str) -> dict[Key, int]:
    """Line number (from 1) of every table header and key of a TOML text. The tables of an array (``[[expect]]``) are
    numbered from 0. Keys of inline tables are not listed."""
    lines: dict[Key, int] = {}
    table: Key = ()
    count: Counter[Key] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _TABLE_LINE.match(line), _KEY_LINE.match(line)
        if key:
            lines.setdefault((*table, *_split(key[1])), number)
        elif header:
            table = _split(header[2])
            lines.setdefault(table, number)
            if header[1] == "[[":
                count[table] += 1
                table = (*table, str(count[table] - 1))
                lines.setdefault(table, number)
    return lines


def _split(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in re.findall(_KEY_PART, dotted))


def load_layers(name: str, *, beside: Path | None = None, _above: tuple[Path, ...] = ()) -> Document:
    """The scenario ``name``, with the scenario that it extends below it. A scenario that does not state its name has
    the file's name."""
    path = scenario_files.locate(name, beside)
    if path.resolve() in _above:
        raise UsageError(f"{path}: extends itself, by way of {' → '.join(p.name for p in _above)}")
    text, values = scenario_files.read(path)
    values = model_files.beside(values, path.parent)
    values = values if path.parent == LIBRARY else gateway_commands.beside(values, path.parent)
    document = Document(str(path), values, {key: f"{path}:{line}" for key, line in key_lines(text).items()})
    about = document.values.get("scenario")
    parent = about.pop("extends", None) if isinstance(about, dict) else None
    if parent is not None:
        if not isinstance(parent, str):
            where = document.origin(("scenario", "extends"))
            raise UsageError(
                f"{where}: scenario.extends = {parent!r}: want the name of a library scenario, or the "
                "path of a .toml file, in quotation marks"
            )
        _check_parent(document, parent, path)
        base = load_layers(parent, beside=path.parent, _above=(*_above, path.resolve()))
        document = base.extended_by(document)
        document.name = str(path)
    return document if _above else _named(document, path)


def _named(document: Document, path: Path) -> Document:
    about, name = document.values.get("scenario", {}), _NOT_IN_NAMES.sub("-", path.stem).lstrip("-._")
    if not isinstance(about, dict) or "name" in about or not name:
        return document
    return document.with_value(("scenario", "name"), name, document.name)


def _check_parent(document: Document, parent: str, path: Path) -> None:
    try:
        scenario_files.locate(parent, path.parent)
    except UsageError as error:
        where = document.origin(("scenario", "extends"))
        raise UsageError(f"{where}: scenario.extends = '{parent}': {error}") from None


def with_quick(document: Document) -> Document:
    """``document`` with its ``[quick]`` table merged over the rest."""
    return document.without_table("quick").merged(document.table("quick"))
