"""Whether a run's gateways are the program that the user means. The files' contents are compared, before the run and
after it.

Without this a gate of two builds could compare a build with itself, or with a program that no trial started.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from netcommon.errors import UsageError
from scenarios.plan.plan import Plan
from scenarios.run import runs
from scenarios.trial import programs
from scenarios.trial.files import read_json

_DIGITS = 12  # digits of SHA-256: enough to tell builds apart


def wanted(option: str, file: Path) -> str:
    """The SHA-256 of the file that ``option`` names; UsageError if it is not a program."""
    if not file.is_file() or not os.access(file, os.R_OK | os.X_OK):
        raise UsageError(f"{option} {file}: not a program that can be run; build it, or name another file")
    return programs.sha256(file)


def check_plan(option: str, file: Path, plan: Plan) -> None:
    """UsageError, before anything runs, when the plan's gateways are not this program."""
    digest, found = wanted(option, file), [programs.hashes(one.setting) for one in plan.trials]
    if why := _differs(digest, found):
        raise UsageError(
            f"{option} {file}: scenario {plan.name} does not start it: {why}; name it by LFP_LFT_GATEWAY "
            '(gateway.kind = "lft"), or by LFP_GATEWAY and $gateway in the command lines'
        )


def objection(option: str, file: Path, run_dir: Path) -> str | None:
    """Why the trials of a run did not run this program, or None if their gateways did. Runs of earlier versions do not
    record the program of each trial. For them the manifest's hashes count, which are from the run's beginning."""
    digest, manifest = wanted(option, file), runs.manifest(run_dir)
    wrong = []
    for folder in runs.trial_folders(run_dir):
        status = read_json(folder / "status.json")
        if "programs" in status:
            wrong.append(status["programs"])
        elif read_json(folder / "params.json").get("gateway", "none") != "none":
            wrong.append(manifest.get("hashes") or {})
    why = _differs(digest, wrong)
    return f"{run_dir.name}: its trials did not run {file} ({digest[:_DIGITS]}): {why}" if why else None


def _differs(digest: str, trials: Iterable[dict[str, str]]) -> str | None:
    """Why these programs of trials are not the one with this hash. Trials without gateways do not count."""
    with_gateways = [found for found in trials if found]
    if not with_gateways:
        return "no trial has a gateway"
    others = [found for found in with_gateways if digest not in found.values()]
    if not others:
        return None
    said = Counter(
        ", ".join(f"{name} {text[:_DIGITS] if text != programs.CHANGED else text}" for name, text in found.items())
        for found in others
    )
    what, _ = said.most_common(1)[0]
    return f"{len(others)} of {len(with_gateways)} trials with gateways ran {what}"
