"""manifest.json, which is written before the first trial and again with every change of state."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcommon import binaries, run_format
from netcommon.errors import UsageError
from scenarios.plan import flows, gateway_commands, model_files
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.run import machine
from scenarios.run.time_choice import TimeChoice
from scenarios.trial import clock, points, verdicts, witness
from scenarios.trial.files import write_json


def first(plan: Plan, *, quick: bool, choice: TimeChoice) -> dict[str, Any]:
    """The first manifest of a run that starts now."""
    files = programs(plan)
    return {
        "v": run_format.VERSION,
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
        "hashes": machine.hashes(files),
        "system": machine.system([*files.values()], started_by_them(plan)),
        "commits": machine.commits(files),
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


def programs(plan: Plan) -> dict[str, Path]:
    """What the plan's trials start: the C programs, and the gateways' own programs under the first words of their
    command lines, or as the scenario names them. A program that others can run without reading it is left out."""
    paths = {name: binaries.find(name) for name in tools(plan)}
    for trial in plan.trials:
        theirs = gateway_commands.programs(trial.setting.gateway).items()
        paths |= {name: path for name, path in theirs if os.access(path, os.R_OK)}
    return paths


def started_by_them(plan: Plan) -> dict[str, Path]:
    """The system programs that ours start for the plan's trials."""
    all_flows = [one.setting for trial in plan.trials for one in flows.of(trial.setting)]
    names = ["iperf3"] if any(setting.transfer.tool == "iperf3" for setting in all_flows) else []
    names += ["ip", "nft"] if any(setting.gateway.kind == "lft" for setting in all_flows) else []
    found = {name: gateway_commands.located(name) for name in names}
    return {name: path for name, path in found.items() if path}


def replan(manifest: dict[str, Any], run_dir: Path = Path()) -> Plan:
    """The same plan again, from the resolved scenario in the manifest: the same numbers, seeds and order, and the files
    that the run carries. UsageError for a run of captures that others made, which has no plan."""
    if points.IMPORTED in manifest:
        raise UsageError(f"{run_dir}: made of captures by 'lfp import', so it has no scenario that could be run again")
    scenario = model_files.of_run(manifest["scenario"], run_dir)
    return make_plan(Document("manifest.json", scenario), manifest["seed"])


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of the components that differ between two runs: programs, what these start and load, kernel, C library,
    lfp. A component that one of the manifests does not list is left out."""
    ours, theirs = _ran(one), _ran(other)
    return [name for name, what in ours.items() if what and theirs.get(name) and what != theirs[name]]


def _ran(manifest: Mapping[str, Any]) -> dict[str, str | None]:
    """The components that a run used, each with its version or hash."""
    versions, virtual = manifest.get("versions") or {}, manifest.get("virtual") or {}
    kernel = virtual.get("kernel_sha256") or manifest.get("kernel")
    commit = (manifest.get("commits") or {}).get("lfp") or versions.get("lfp")
    files = dict(manifest.get("hashes") or {}) | dict(manifest.get("system") or {})
    return files | {"kernel": kernel, "libc": versions.get("libc"), "lfp": commit}


def write(run_dir: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest atomically: a reader finds the old one or the new one."""
    write_json(run_dir / "manifest.json", manifest)


def verdict(statuses: list[dict[str, Any]], planned: int, virtual: dict[str, Any] | None) -> dict[str, Any]:
    """The run's verdict. It is valid when every planned trial is done and valid. ``virtual``: the manifest's entry of
    that name."""
    verdict = verdicts.of_run([status["verdict"] for status in statuses], planned)
    if virtual:
        verdict["computed"] = _computed(statuses)
        verdict["differs"] = virtual["differs"] + verdict["computed"]
    return verdict


def _computed(statuses: list[dict[str, Any]]) -> list[str]:
    """A sentence for each program whose computing took virtual time. This time differs from run to run."""
    trials = Counter(name for status in statuses for name in status.get("computed", ()))
    whole = len(statuses)
    return [f"{name} computed for long without waiting in {count} of {whole} trials" for name, count in trials.items()]
