"""manifest.json, which is written before the first trial and again with every change of state."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.run import machine
from scenarios.run.time_choice import TimeChoice
from scenarios.trial import clock, verdicts, witness
from scenarios.trial.files import write_json

VERSION = 1


def first(plan: Plan, *, quick: bool, choice: TimeChoice) -> dict[str, Any]:
    """The first manifest of a run that starts now."""
    return {
        "v": VERSION,
        "name": plan.name,
        "title": plan.base.scenario.title,
        "paper": plan.base.scenario.paper,
        "state": "running",
        "quick": quick,
        "time": choice.as_json(),
        "scenario": plan.echo,
        "seed": plan.seed,
        "plan": len(plan.trials),
        "started_realtime_ns": time.time_ns(),
        "ended_realtime_ns": None,
        "clock": clock.pair(),
        "machine": machine.describe(),
        "kernel": machine.kernel(),
        "versions": machine.versions(),
        "hashes": machine.hashes(tools(plan)),
        "commits": machine.commits(tools(plan)),
        "sysctls": {},
        "offloads": {},
        "superseded": [],
        "verdict": None,
    }


def tools(plan: Plan) -> list[str]:
    """The C programs that the plan's trials start."""
    captures = any(trial.setting.capture.points for trial in plan.trials)
    lft = any(trial.setting.gateway.kind == "lft" for trial in plan.trials)
    always = ["comet-delay", "rttcp", witness.TOOL]
    return [*always, *(["pktlogger"] if captures else []), *(["lft-gateway"] if lft else [])]


def replan(manifest: dict[str, Any]) -> Plan:
    """The same plan again, from the resolved scenario in the manifest: the same numbers, seeds and order."""
    return make_plan(Document("manifest.json", manifest["scenario"]), manifest["seed"])


def write(run_dir: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest; a reader finds the old one or the new one."""
    write_json(run_dir / "manifest.json", manifest)


def verdict(statuses: list[dict[str, Any]], planned: int) -> dict[str, Any]:
    """The run's verdict. It is valid when every planned trial is done and valid."""
    return verdicts.of_run([status["verdict"] for status in statuses], planned)
