"""The list of runs as rows of a table that a browser searches, sorts and filters."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from dashboard.core.asked import main_result
from dashboard.core.parts import when
from dashboard.core.runs import Run
from netcommon import readable

COLUMNS = {
    "run": "Run",
    "result": "Main result",
    "verdict": "Verdict",
    "started": "Started",
    "time": "Time",
    "seed": "Seed",
    "build": "Build",
    "trials": "Trials",
    "tags": "Tags",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+.!|~-])")


def run_rows(runs: Sequence[Run]) -> list[dict[str, str]]:
    """A row for each run: `COLUMNS`, `id` (the run's name), `words` (what the search looks at, in lower case) and `why`
    (reasons for the verdict). `run` is Markdown: a link to the run's page."""
    return list(_rows(runs))


def _rows(runs: Sequence[Run]) -> Iterator[dict[str, str]]:
    """A run with a value of a wrong type is left out, so that the others are shown all the same."""
    for run in runs:
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            yield _row(run)


def _row(run: Run) -> dict[str, str]:
    row = {
        "id": run.name,
        "run": f"[{_plain(run.title)}](/run/{run.name})  \n{_plain(run.name.partition('-20')[0])}",
        "result": main_result(run),
        "time": "virtual" if run.virtual else "real",
        "seed": str(run.manifest.get("seed", readable.NOTHING)),
        "build": str((run.manifest.get("commits") or {}).get("lfp") or readable.NOTHING),
        "started": when(run.manifest.get("started_realtime_ns")),
        "trials": f"{len(run.trial_numbers())} of {run.manifest.get('plan') or '?'}"
        + ("" if run.state == "done" else f", {run.state}"),
        "state": run.state,
        "verdict": run.verdict.word,
        "tags": " ".join(run.tags),
        "why": "; ".join(run.verdict.reasons),
    }
    shown = (row[name] for name in COLUMNS if name != "run")
    said = (run.title, run.name, run.description, run.paper, run.state, *shown)
    return row | {"words": " ".join(said).lower()}


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", text)
