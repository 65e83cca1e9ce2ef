"""A user's own products in the league: each is a scenario, whose [gateway] becomes an additional case."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netcommon.errors import UsageError
from scenarios.plan.plan import load_plan


def with_products(scenario: str, products: Sequence[Path], scratch: Path) -> str:
    """The scenario, or a file in ``scratch`` that has these products as further cases. UsageError for one that is not a
    pair of command lines, or has the name of another case."""
    if not products:
        return scenario
    cases = list(load_plan(scenario).sweep["scenario.case"])
    lines = ["[scenario]", f'name = "{scenario}"', f'extends = "{scenario}"']
    for file in products:
        name, gateway = file.stem, _gateway(file)
        if name in cases:
            raise UsageError(f"--product {file}: '{name}' is a case of the league; give the file another name")
        cases.append(name)
        lines += [f"[case.{json.dumps(name)}.gateway]", *_written(gateway)]
    lines += ["[sweep]", f'"scenario.case" = {json.dumps(cases)}']
    made = scratch / f"{scenario}-own.toml"
    made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(made)


def _gateway(file: Path) -> dict[str, Any]:
    """The file's [gateway]. Command lines run in the folder of the file."""
    load_plan(str(file))  # raises UsageError for a bad scenario
    gateway: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")).get("gateway", {})
    if gateway.get("kind") != "command":
        raise UsageError(f'--product {file}: want [gateway] kind = "command" with near and far in this file')
    return gateway | {"folder": str((file.parent / gateway.get("folder", "")).resolve())}


def _written(table: dict[str, Any]) -> Iterator[str]:
    """Lines of TOML; strings, numbers, booleans and lists are the same in JSON and TOML."""
    for key, value in table.items():
        yield f"{key} = {json.dumps(value)}"
