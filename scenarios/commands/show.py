"""``lfp show``: shows what a run measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from netcommon import readable
from scenarios.commands._options import runs_dir_option
from scenarios.plan import cells
from scenarios.plan.shared_settings import shared_settings
from scenarios.run import results, runs
from scenarios.run.progress import outcome
from scenarios.run.terminal import console, print_table
from scenarios.trial import attempts, verdicts
from scenarios.trial.files import read_json


@click.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each trial.")
@runs_dir_option
def command(run: str, as_json: bool, runs_dir: Path) -> None:
    """Show the trials of RUN (path, name or 'last')."""
    run_dir = runs.find(run, runs_dir)
    trials = [_trial(folder) for folder in runs.trial_folders(run_dir)]
    if as_json:
        for trial in trials:
            click.echo(json.dumps(trial, ensure_ascii=False))
        return
    _print(run_dir, trials)


def _trial(folder: Path) -> dict[str, Any]:
    """A trial for ``--json``: resolved parameters, metrics with units in their names, verdict, path of its files."""
    params, status = read_json(folder / "params.json"), read_json(folder / "status.json")
    apart = {*params, "state", "valid", "reasons"}
    metrics = {key: value for key, value in results.row(folder).items() if key not in apart}
    return {
        "v": 1,
        "trial": params["trial"],
        "state": status["state"],
        "error": status["error"],
        "params": params,
        "metrics": metrics,
        "verdict": status["verdict"],
        "path": str(folder.resolve()),
    }


def _print(run_dir: Path, trials: list[dict[str, Any]]) -> None:
    out, manifest = console(), runs.manifest(run_dir)
    sweep = list((manifest.get("scenario") or {}).get("sweep") or ())
    paper = f"reproduces {manifest['paper']}" if manifest["paper"] else ""
    heading = (str(run_dir), manifest["title"], paper, f"seed {manifest['seed']}")
    out.print("  ".join(part for part in heading if part), markup=False)
    summary = (manifest["verdict"] or {}).get("summary")  # older runs have none
    state = f"{manifest['state']}, {len(trials)} of {manifest['plan']} trials"
    out.print(f"{state}; {summary}" if summary else state, markup=False)
    settings = [trial["params"] for trial in trials]
    if common := shared_settings(settings, sweep):
        out.print("  ".join(f"{name} {text}" for name, text in common), markup=False)
    told = cells.telling(settings, (), cells.preferred(sweep))
    headings = (
        "trial",
        *(cells.heading(name, sweep) for name in told),
        "sender's RTT",
        "s",
        "short-term average, verdict",
    )
    texts = cells.texts_by_column(settings, told)
    rows = [(str(trial["trial"]), *(texts[name][trial["params"].get(name)] for name in told), *_measured(trial))
            for trial in trials]  # fmt: skip
    print_table(out, headings, rows)
    for line in attempts.lines(manifest.get("superseded") or []):
        out.print(line, markup=False)


def _measured(trial: dict[str, Any]) -> tuple[str, ...]:
    metrics, verdict = trial["metrics"], trial["verdict"]
    share = metrics["stopped_share"]
    row = {**trial, **metrics, "valid": verdict["valid"], "reasons": "; ".join(verdict["reasons"])}
    row["cause"] = verdicts.short(verdict)
    return _round_trip(trial), "" if share is None else readable.number(share, 2), outcome(row)


def _round_trip(trial: dict[str, Any]) -> str:
    """The round-trip time that the sender's TCP saw. Behind gateways this is the way to the near gateway only."""
    rtt_ns, params = trial["metrics"]["rtt_median_ns"], trial["params"]
    if rtt_ns is None:
        return ""
    to_gateway = params.get("gateway") not in (None, "none") and params.get("gateway_model") != "host"
    return readable.duration(rtt_ns) + (" to the near gateway" if to_gateway else "")
