"""Sends the files that a path's models name to a worker that lacks them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarios.plan import flows, model_files
from scenarios.plan.model import Scenario
from scenarios.plan.path import PathTable


def contents(setting: Scenario) -> dict[str, bytes]:
    """The contents of the files that a setting's path names, by name, for a machine that lacks them."""
    contents_by_name: dict[str, bytes] = {}

    def read(name: str) -> str:
        contents_by_name[name] = Path(name).read_bytes()
        return name

    for path in flows.paths(setting):
        model_files.renamed(_texts(path), read)
    return contents_by_name


def placed(setting: Scenario, files: Mapping[str, bytes], folder: Path) -> Scenario:
    """Writes ``files`` (see `contents`) into a folder of this machine; returns the setting with their new names."""

    def written(name: str) -> str:
        target = folder / model_files.FOLDER / hashlib.sha256(files[name]).hexdigest()[:16] / Path(name).name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[name])
        return str(target)

    def moved(path: PathTable) -> Any:
        return path.model_copy(update=model_files.renamed(_texts(path), written))

    pairs = {
        n: one.model_copy(update={"path": moved(one.path)}) if one.path else one for n, one in setting.pair.items()
    }
    return setting.model_copy(update={"path": moved(setting.path), "pair": pairs})


def _texts(path: PathTable) -> dict[str, Any]:
    return {key: value for key, value in path.__dict__.items() if isinstance(value, str)}
