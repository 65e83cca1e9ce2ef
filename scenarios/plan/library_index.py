"""The library's table for ``lfp list``: group, title, paper, trials and expected time of each scenario.

Computing it takes a second: 53 scenarios are planned twice. So ``library/index.json`` keeps it, with a fingerprint of
the files that it comes from. If the library has been changed, the fingerprints differ, and the table is computed.
``tools/library-index`` writes the file, and a test compares it with the plans. Rejected: a cache in the user's folder,
because the first call would be slow, and the first call matters most.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scenarios.plan.scenario_files import LIBRARY

INDEX = LIBRARY / "index.json"
PROFILES = LIBRARY.parent / "profiles"
GROUPS = {
    "papers": "rows of the five papers",
    "today": "questions of today: queues, marks, fairness, paths that change",
    "teaching": "one mechanism each, to be shown in class",
    "checks": "comparisons of the tools with each other, with real time and with other products",
}  # the choices of [scenario] group, in the order of `lfp list`


@dataclass(frozen=True)
class Entry:
    """A scenario. ``group``: one of GROUPS. ``seconds``: of all its trials, in real time and without loss."""

    name: str
    group: str
    title: str
    paper: str
    trials: int
    seconds: float
    quick_trials: int
    quick_seconds: float


def entries() -> list[Entry]:
    """The scenarios of the library, by name."""
    kept = _read()
    if kept.get("fingerprint") != fingerprint():
        return worked_out()
    return [Entry(**one) for one in kept["scenarios"]]


def worked_out() -> list[Entry]:
    """The same from the plans."""
    return [_entry(path) for path in _files(LIBRARY)]


def text() -> str:
    """What the index should hold."""
    content = {"v": 1, "fingerprint": fingerprint(), "scenarios": [asdict(one) for one in worked_out()]}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def fingerprint() -> str:
    """The SHA-256 of the names and contents of all files that a plan of the library is made from."""
    found = hashlib.sha256()
    for path in (*_files(LIBRARY), *_files(PROFILES)):
        found.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


def _read() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _entry(path: Path) -> Entry:
    from scenarios.plan import estimate  # not on top: loading the model takes longer than the index
    from scenarios.plan.plan import load_plan

    full, quick = load_plan(path.stem), load_plan(path.stem, quick=True)
    about = full.base.scenario
    seconds, quick_seconds = (
        round(sum(estimate.trial_s(trial.setting) for trial in plan.trials), 3) for plan in (full, quick)
    )
    group = about.group or ("papers" if about.paper else "checks")
    trials = len(full.trials), seconds, len(quick.trials), quick_seconds
    return Entry(about.name, group, about.title, about.paper, *trials)
