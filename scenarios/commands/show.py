"""``lfp show``: what a run measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from netcommon import quantity
from scenarios import results, runs
from scenarios.commands._options import runs_dir_option
from scenarios.files import read_json
from scenarios.progress import outcome
from scenarios.terminal import console, print_table


@click.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a trial.")
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
    """Resolved parameters, metrics with units in their names, verdict, path of the files."""
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
    out.print(f"{run_dir}  {manifest['title']}  [{manifest['paper']}]  seed {manifest['seed']}", markup=False)
    out.print(f"{manifest['state']}, {len(trials)} of {manifest['plan']} trials", markup=False)
    headings = ("trial", "profile", "window", "RTT", "s", "short-term average, verdict")
    print_table(out, headings, [_cells(trial) for trial in trials])


def _cells(trial: dict[str, Any]) -> tuple[str, ...]:
    params, metrics, verdict = trial["params"], trial["metrics"], trial["verdict"]
    window, rtt, share = params["window_bytes"], metrics["rtt_median_ns"], metrics["stopped_share"]
    row = {**trial, **metrics, "valid": verdict["valid"], "reasons": "; ".join(verdict["reasons"])}
    return (
        str(trial["trial"]),
        params["profile"],
        "kernel's" if window is None else quantity.format_bytes(window),
        "" if rtt is None else f"{rtt / 1e6:.2f} ms",
        "" if share is None else f"{share:.2f}",
        outcome(row),
    )
