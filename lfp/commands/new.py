"""``lfp new``: a commented scenario to start from, which runs as it is."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import click

from netcommon.errors import UsageError
from netcommon.ledger import cache_directory
from netcommon.strangers import write_text
from scenarios.plan import schema

TEMPLATE = Path(__file__).with_name("new.toml")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@click.command("new")
@click.argument("name")
def command(name: str) -> None:
    """Write the scenario file NAME.toml, commented, to start from. NAME may be a path; a file that exists is kept."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not _NAME.fullmatch(path.stem):
        raise UsageError(f"new {name}: {path.stem!r} is not a name for a scenario; want letters, digits, '.', '_', '-'")
    text = TEMPLATE.read_text(encoding="utf-8").replace('name = "new"', f'name = "{path.stem}"')
    text = _directive() + text
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"new {name}: {path} exists and is kept; choose another name, or move it away") from None
    except OSError as error:
        raise UsageError(f"new {name}: {path}: {error.strerror}") from None
    click.echo(f"{path}: written; next: lfp explain {path}, lfp run {path} --time virtual")


def _directive() -> str:
    """The line that names the JSON Schema, which is written to the user's cache: as new as this lfp, and the same for
    every file. Empty where the cache cannot be written."""
    path = cache_directory() / "scenario.schema.json"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(schema.schema(), indent=1, ensure_ascii=False) + "\n")
        return f"{schema.DIRECTIVE} {path.absolute().as_uri()}\n"
    return ""
