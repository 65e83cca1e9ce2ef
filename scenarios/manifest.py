"""manifest.json: written before the first trial and again with every change of state."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from scenarios import machine
from scenarios.document import Document
from scenarios.files import write_json
from scenarios.plan import Plan, make_plan

VERSION = 1


def first(plan: Plan, *, quick: bool) -> dict[str, Any]:
    """The manifest of a run that starts now."""
    return {
        "v": VERSION,
        "name": plan.name,
        "title": plan.base.scenario.title,
        "paper": plan.base.scenario.paper,
        "state": "running",
        "quick": quick,
        "scenario": plan.echo,
        "seed": plan.seed,
        "plan": len(plan.trials),
        "started_realtime_ns": time.time_ns(),
        "ended_realtime_ns": None,
        "clock": machine.clock_pair(),
        "machine": machine.describe(),
        "kernel": machine.kernel(),
        "versions": machine.versions(),
        "hashes": machine.hashes(tools(plan)),
        "sysctls": {},
        "offloads": {},
        "verdict": None,
    }


def tools(plan: Plan) -> list[str]:
    """The C programs that the plan's trials start."""
    captures = any(trial.setting.capture.points for trial in plan.trials)
    lft = any(trial.setting.gateway.kind == "lft" for trial in plan.trials)
    return ["comet-delay", "rttcp", *(["pktlogger"] if captures else []), *(["lft-gateway"] if lft else [])]


def replan(manifest: dict[str, Any]) -> Plan:
    """The same plan again, from the scenario as it was resolved: same numbers, seeds and order."""
    return make_plan(Document("manifest.json", manifest["scenario"]), manifest["seed"])


def write(run_dir: Path, manifest: dict[str, Any]) -> None:
    """Writes it, complete or not at all."""
    write_json(run_dir / "manifest.json", manifest)


def verdict(statuses: list[dict[str, Any]], planned: int) -> dict[str, Any]:
    """The run's verdict: valid when every planned trial is done and valid. Reasons that differ in numbers only are one,
    with the first one's numbers."""
    alike: dict[str, list[str]] = {}
    for status in statuses:
        for reason in status["verdict"]["reasons"]:
            alike.setdefault(re.sub(r"\d+", "#", reason), []).append(reason)
    reasons = [f"{found[0]} ({len(found)} of {planned} trials)" for found in alike.values()]
    if len(statuses) < planned:
        reasons.append(f"{planned - len(statuses)} of {planned} trials not done")
    return {"valid": not reasons, "reasons": reasons}
