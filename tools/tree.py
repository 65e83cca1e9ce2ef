"""The files of this tree, for the commands of this folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("netcommon", "comet_delay", "rttcp", "pktlogger", "lft_ref", "scenarios", "dashboard", "lfp", "bench")
MADE = ("build", ".venv", "runs")
CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}


def tracked() -> list[Path]:
    """The files of the tree, relative to the root: all that git knows and that exist. In an unpacked archive, which git
    does not know, they are all files except those that were made since."""
    if not (ROOT / ".git").exists():
        found = (file.relative_to(ROOT) for file in ROOT.rglob("*") if file.is_file())
        return [file for file in found if file.parts[0] not in MADE and not set(file.parts) & CACHES]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def text_of(file: Path) -> str:
    return (ROOT / file).read_text(encoding="utf-8")
