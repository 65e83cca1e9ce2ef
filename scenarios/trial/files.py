"""Small files that a reader may open while we write them: a reader finds a complete file or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Writes JSON to a temporary name beside ``path`` and renames it."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.rename(path)


def read_json(path: Path) -> Any:
    """The value of a JSON file, or None when it does not exist."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
