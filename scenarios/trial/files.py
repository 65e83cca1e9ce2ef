"""Small files that a reader may open while we write them: a reader finds a complete file or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netcommon.strangers import read_json, write_text

__all__ = ["read_json", "write_json"]


def write_json(path: Path, value: Any) -> None:
    """Writes JSON to a temporary name in the same folder and renames it."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
