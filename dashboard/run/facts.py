"""Facts about a run: name, paper row, times, number of trials."""

from __future__ import annotations

from dashboard.core.parts import Facts, known, when
from dashboard.core.runs import Run
from netcommon import readable
from scenarios.run import imported


def run_facts(run: Run) -> Facts:
    """Facts about a run: name, paper row, times, number of trials."""
    done = len(run.trial_numbers())
    return [
        ("Run", run.name),
        ("Scenario", str(run.manifest.get("name") or readable.NOTHING)),
        ("Reproduces", run.paper or "no row of a paper"),
        ("State", run.state),
        ("Trials", f"{done} of {run.manifest.get('plan') or done}"),
        ("Started", when(run.manifest.get("started_realtime_ns"))),
        ("Ended", when(run.manifest.get("ended_realtime_ns"))),
        ("Seed", readable.named("seed", run.manifest.get("seed"))),
        ("Time", "virtual" if run.virtual else "real"),
        *known([("Tags", " ".join(run.tags))]),
        *imported.facts(run.manifest),
    ]
