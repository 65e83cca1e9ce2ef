"""CONTRIBUTING.md's table of rooms, against folders, includes and imports, CMake, and import-linter's contracts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.repository_tools import check_circles, tree

ROOT = Path(__file__).resolve().parents[3]
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


def used_by_includes() -> set[Arrow]:
    rooms = check_circles.c_graphs(tree.tracked())[2]
    return {Arrow(user, used) for user, others in rooms.items() for used in others if used not in NETCOMMON}


def used_by_imports() -> set[Arrow]:
    found = check_circles.python_graph(tree.tracked())
    arrows = {Arrow(folder_of(user), folder_of(used)) for user, others in found.items() for used in others}
    return {arrow for arrow in arrows if arrow.user != arrow.used}


def folder_of(module: str) -> str:
    path = Path(*module.split("."))
    return str(path if (ROOT / path / "__init__.py").exists() else path.parent)


def reachable(rooms: dict[str, set[str]], room: str) -> set[str]:
    """What a room may use, and what those may use."""
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
    """The place of a room in a contract, 0 on top; None where the contract leaves it out."""
    dotted = room.replace("/", ".")
    containers = [f"{container}." for container in contract.get("containers", [])] or [""]
    for number, line in enumerate(contract["layers"]):
        layers = [layer.strip(" ()") for layer in re.split(r"[|:]", line)]
        if any(f"{dotted}.".startswith(f"{container}{layer}.") for container in containers for layer in layers):
            return number
    return None


def test_every_folder_of_code_is_a_row_and_every_row_a_folder() -> None:
    assert set(table()) == folders()


def test_every_room_in_may_use_is_a_row() -> None:
    rooms = table()
    assert {used for uses in rooms.values() for used in uses} <= set(rooms)


def test_includes_and_imports_are_what_the_table_allows() -> None:
    rooms = table()
    allowed = {Arrow(room, used) for room, uses in rooms.items() for used in uses}
    included = {arrow for arrow in used_by_includes() if arrow.used not in reachable(rooms, arrow.user)}
    assert not included, f"includes that the table does not allow: {sorted(map(str, included))}"
    imported = used_by_imports()
    assert imported <= allowed, f"imports that the table does not allow: {sorted(map(str, imported - allowed))}"
    unused = {arrow for arrow in allowed - imported if is_python(arrow.user)}
    assert not unused, f"in the table and not imported: {sorted(map(str, unused))}"


def test_cmake_gives_each_room_what_the_table_says() -> None:
    rooms = table()
    wrong = {room: uses for room, uses in cmake_rooms().items() if uses != rooms.get(room)}
    assert not wrong, f"USES in CMake that the table says otherwise: {wrong}"


def test_the_contracts_of_import_linter_allow_the_tables_arrows() -> None:
    assert contracts(), "pyproject.toml has no layers"
    for contract in contracts():
        for room, uses in table().items():
            for used in uses:
                upper, lower = level(room, contract), level(used, contract)
                if upper is not None and lower is not None:
                    assert upper <= lower, f"{room} may not use {used}: {contract['name']}"


CHANGES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What to touch for a change")[2]
_CHANGE = re.compile(r"^\| (an? .+?|the .+?|another .+?) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize(("change", "room", "files"), _CHANGE.findall(CHANGES), ids=lambda value: value[:40])
def test_a_change_leads_to_a_room_and_to_files_that_exist(change: str, room: str, files: str) -> None:
    assert (ROOT / room).is_dir(), f"{change}: no room {room}"
    names: list[str] = re.findall(r"`([\w./-]+\.(?:c|h|py|md|1))`", files)
    gone = [name for name in names if not ((ROOT / name) if "/" in name else (ROOT / room / name)).exists()]
    assert not gone, f"{change}: no such files: {gone}"


def test_the_ten_changes_have_a_row() -> None:
    assert len(_CHANGE.findall(CHANGES)) >= 10
