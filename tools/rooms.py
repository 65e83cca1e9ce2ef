"""Checks CONTRIBUTING.md's table of rooms against folders, includes, imports, CMake and import-linter's contracts, and
its table of changes against the files that it names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import tree

ROOT = tree.ROOT
_ROW = re.compile(r"^\| `([^`]+)/` \| (.+) \| (.+) \|$", re.MULTILINE)
_ROOM = re.compile(r"lfp_room\((\w+)\s+FOLDER\s+(\S+)([^)]*)\)")
NETCOMMON = ("netcommon/src", "netcommon/src/numbers", "netcommon/src/packet", "netcommon/src/sandbox")


@dataclass(frozen=True)
class Arrow:
    """One room may use another."""

    user: str
    used: str


def table() -> dict[str, set[str]]:
    """The rooms of CONTRIBUTING.md, each with the rooms it may use."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.partition("<!-- rooms: begin -->")[2].partition("<!-- rooms: end -->")[0]
    return {room: set(re.findall(r"`([^`]+)`", uses)) for room, _, uses in _ROW.findall(rows)}


def is_python(room: str) -> bool:
    return any((ROOT / room).glob("*.py"))


def folders() -> set[str]:
    """The folders of the product that hold code."""
    files = [file for file in tree.tracked() if file.parts[0] in tree.PRODUCT]
    return {str(file.parent) for file in files if file.suffix in (".c", ".h", ".cc", ".S", ".py")}


def used_by_includes(circles: ModuleType) -> set[Arrow]:
    rooms = circles.c_graphs(tree.tracked())[2]
    return {Arrow(user, used) for user, others in rooms.items() for used in others if used not in NETCOMMON}


def used_by_imports(circles: ModuleType) -> set[Arrow]:
    found = circles.python_graph(tree.tracked())
    arrows = {Arrow(folder_of(user), folder_of(used)) for user, others in found.items() for used in others}
    return {arrow for arrow in arrows if arrow.user != arrow.used}


def folder_of(module: str) -> str:
    path = Path(*module.split("."))
    return str(path if (ROOT / path / "__init__.py").exists() else path.parent)


def reachable(rooms: dict[str, set[str]], room: str) -> set[str]:
    """The rooms that a room may use, directly or through others."""
    found: set[str] = set()
    queue = [room]
    while queue:
        queue += (new := rooms.get(queue.pop(), set()) - found)
        found |= new
    return found


def cmake_rooms() -> dict[str, set[str]]:
    """The rooms that CMake makes, each with the folders of its USES."""
    found = {}
    for file in ROOT.glob("*/CMakeLists.txt"):
        for target, folder, rest in _ROOM.findall(file.read_text(encoding="utf-8")):
            uses = rest.partition("USES")[2].split()
            found[target] = (str((file.parent / folder).relative_to(ROOT)), uses)
    return {folder: {found[use][0] for use in uses if use in found} for folder, uses in found.values()}


def contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    linter: dict[str, Any] = settings["tool"]["importlinter"]
    return [contract for contract in linter["contracts"] if contract["type"] == "layers"]


def level(room: str, contract: dict[str, Any]) -> int | None:
    """The layer of a room in a contract, 0 on top; None where the contract leaves it out."""
    dotted = room.replace("/", ".")
    containers = [f"{container}." for container in contract.get("containers", [])] or [""]
    for number, line in enumerate(contract["layers"]):
        layers = [layer.strip(" ()") for layer in re.split(r"[|:]", line)]
        if any(f"{dotted}.".startswith(f"{container}{layer}.") for container in containers for layer in layers):
            return number
    return None


_CHANGE = re.compile(r"^\| (an? .+?|the .+?|another .+?) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def wrong(circles: ModuleType) -> Iterator[str]:
    """A line for every difference between the table and the tree. ``circles``: the command check-circles as a
    module."""
    rooms = table()
    yield from (f"a folder of code without a row: {folder}" for folder in sorted(folders() - set(rooms)))
    yield from (f"a row without a folder of code: {room}" for room in sorted(set(rooms) - folders()))
    allowed = {Arrow(room, used) for room, uses in rooms.items() for used in uses}
    yield from (f"{arrow.user} may use {arrow.used}, which is no row" for arrow in allowed if arrow.used not in rooms)
    for arrow in used_by_includes(circles):
        if arrow.used not in reachable(rooms, arrow.user):
            yield f"{arrow.user} includes {arrow.used}, which its row does not allow"
    imported = used_by_imports(circles)
    yield from (f"{arrow.user} imports {arrow.used}, which its row does not allow" for arrow in imported - allowed)
    for arrow in allowed - imported:
        if is_python(arrow.user):
            yield f"{arrow.user} may use {arrow.used} and does not import it"
    for room, uses in cmake_rooms().items():
        if uses != rooms.get(room):
            yield f"{room}: USES of CMake are {sorted(uses)}, those of its row {sorted(rooms.get(room, set()))}"
    yield from of_contracts(rooms)
    yield from of_changes()


def of_contracts(rooms: dict[str, set[str]]) -> Iterator[str]:
    """Arrows that import-linter's contracts refuse."""
    for contract in contracts():
        for room, uses in rooms.items():
            for used in uses:
                upper, lower = level(room, contract), level(used, contract)
                if upper is not None and lower is not None and upper > lower:
                    yield f"{room} may use {used} here, and not by the contract '{contract['name']}'"


def of_changes() -> Iterator[str]:
    """Rooms and files of "What to touch for a change" that do not exist."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What to touch for a change")[2]
    for change, room, files in _CHANGE.findall(text):
        if not (ROOT / room).is_dir():
            yield f"{change}: no room {room}"
        for name in re.findall(r"`([\w./-]+\.(?:c|h|py|md|1))`", files):
            if not ((ROOT / name) if "/" in name else (ROOT / room / name)).exists():
                yield f"{change}: no file {name}"
