"""Sends the files that a path's models name to a worker that lacks them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarios.plan import model_files
from scenarios.plan.model import Scenario


def contents(setting: Scenario) -> dict[str, bytes]:
    """The contents of the files that a setting's path names, by name, for a machine that lacks them."""
    contents_by_name: dict[str, bytes] = {}

    def read(name: str) -> str:
        contents_by_name[name] = Path(name).read_bytes()
        return name

    model_files.renamed(_texts(setting), read)
    return contents_by_name


def placed(setting: Scenario, files: Mapping[str, bytes], folder: Path) -> Scenario:
    """Writes ``files`` (see `contents`) into a folder of this machine; returns the setting with their new names."""

    def written(name: str) -> str:
        target = folder / model_files.FOLDER / hashlib.sha256(files[name]).hexdigest()[:16] / Path(name).name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[name])
        return str(target)

    path = setting.path.model_copy(update=model_files.renamed(_texts(setting), written))
    return setting.model_copy(update={"path": path})


def _texts(setting: Scenario) -> dict[str, Any]:
    return {key: value for key, value in setting.path.__dict__.items() if isinstance(value, str)}
