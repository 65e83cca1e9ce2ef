"""The environment of a run: machine, kernel, versions, settings, and the scenario itself."""

from __future__ import annotations

import json
from typing import Any

from dashboard.core.parts import Facts, known
from dashboard.core.runs import Run
from netcommon import readable


def environment_facts(run: Run) -> Facts:
    """Machine, kernel, versions, settings and hashes from the manifest, flattened."""
    keys = ("machine", "kernel", "versions", "sysctls", "offloads", "hashes", "system")
    return [fact for key in keys if key in run.manifest for fact in _flatten(key, key, run.manifest[key])]


def scenario_text(run: Run) -> str:
    """The resolved scenario as indented JSON."""
    return json.dumps(run.scenario, indent=2, ensure_ascii=False)


def _flatten(name: str, key: str, value: Any) -> Facts:
    if isinstance(value, dict):
        return [fact for own, inner in value.items() for fact in _flatten(f"{name} · {own}", own, inner)]
    if isinstance(value, list):
        return known([(name, ", ".join(str(item) for item in value))])
    return known([(name, str(value) if isinstance(value, str) else readable.named(key, value))])
