"""``lfp gate``: runs a scenario, compares it with a baseline run, and writes Markdown for a pull request.

Markdown goes to stdout, and the progress to stderr, so that a script can keep either. What can be wrong with baseline,
scenario and options is found before the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from lfp.commands import _gate_markdown, _running
from lfp.commands._options import (
    across_option,
    box_option,
    gateway_option,
    give_up_option,
    jobs_option,
    lower_option,
    margin_option,
    metric_option,
    quick_option,
    runs_dir_option,
    seed_option,
    set_option,
    share,
    time_option,
    undecided_option,
)
from netcommon import extras
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from netcommon.printable import printable
from netcommon.strangers import write_text
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import compare, ran, runner, runs
from scenarios.run.terminal import console
from scenarios.run.time_choice import Asked
from scenarios.trial.files import read_json

_MOST_REASONS = 10  # how many reasons the Markdown lists
GIVE_UP = 3  # trials that fail alike before the gate ends


@click.command("gate")
@click.argument("baseline")
@click.argument("scenario")
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the Markdown to this file.  [default: standard output]",
)
@click.option(
    "--baseline-gateway",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Program that the baseline's gateways must have used, compared by its hash.",
)
@gateway_option
@give_up_option
@metric_option
@lower_option
@margin_option
@undecided_option
@across_option
@quick_option
@set_option
@seed_option
@time_option(default=None, otherwise="  [default: the baseline's]")
@jobs_option
@box_option
@runs_dir_option
def command(
    baseline: str,
    scenario: str,
    markdown: Path | None,
    baseline_gateway: Path | None,
    gateway: Path | None,
    give_up: int | None,
    metric: str,
    lower_is_better: bool,
    margin: str,
    across: Sequence[str],
    quick: bool,
    overrides: tuple[str, ...],
    seed: int | None,
    clock: Asked | None,
    allow_undecided: bool,
    jobs: int | None,
    box: str | None,
    runs_dir: Path,
) -> int:
    """Run SCENARIO and compare it with BASELINE, a run (path, name or 'last').

    A cell is all trials of one setting. The exit status is 0 when every cell is the same, better or not worse, and 1
    when a cell is worse or undecided, when the run is not valid, or when an expectation of the scenario is not met.
    """
    extras.require("statistics", "gate")  # not after the run
    base, most = runs.find(baseline, runs_dir), share(margin)
    chosen: Asked = clock or ("virtual" if runs.manifest(base).get("virtual") else "real")
    if chosen == "real" and (jobs or box):
        raise UsageError("--jobs, --box: in virtual time only; give --time virtual, or a baseline in virtual time")
    _check_file(markdown)
    plan = load_plan(scenario, quick=quick, overrides=overrides, seed=seed)
    compare.check_plan(base, plan, virtual=chosen == "virtual", metric=metric, across=across)
    _check_gateways(base, baseline_gateway, plan, gateway)
    out = console(stderr=True)
    run_dirs, advice = _running.start(
        [plan], out, clock=chosen, box=box, quick=quick, runs_dir=runs_dir, give_up=give_up or GIVE_UP
    )
    try:
        (done,) = _running.finish(run_dirs, out, jobs, advice)
    except LfpError as error:
        _write(_gate_markdown.page(base, run_dirs[0], None, [str(error)]), markdown)
        raise
    comparison = _compared(base, done.run_dir, metric, most, lower_is_better, across)
    objections = list(_objections(done, comparison, allow_undecided))
    if gateway and (why := ran.objection("--gateway", gateway, done.run_dir)):
        objections.insert(0, why)
    _write(_gate_markdown.page(base, done.run_dir, comparison, objections), markdown)
    return EXIT_FAILED if objections else 0


def _check_gateways(base: Path, old: Path | None, plan: Plan, new: Path | None) -> None:
    """UsageError when the baseline's gateways were not the program ``old``, or when the plan's gateways are not
    ``new``."""
    if old and (why := ran.objection("--baseline-gateway", old, base)):
        raise UsageError(why)
    if new:
        ran.check_plan("--gateway", new, plan)


def _compared(
    base: Path, run: Path, metric: str, margin: float, lower_is_better: bool, across: Sequence[str]
) -> compare.Comparison | None:
    """The comparison with the baseline; None where the run has no valid trial with the metric."""
    if not compare.Table.load(run).good(metric):
        return None
    return compare.compare(base, run, metric=metric, margin=margin, lower_is_better=lower_is_better, across=across)


def _objections(done: runner.Finished, comparison: compare.Comparison | None, allow_undecided: bool) -> Iterator[str]:
    """Why the gate does not pass, a line each."""
    verdicts = ("worse",) if allow_undecided else ("worse", "undecided")
    if comparison:
        counts = ((word, comparison.count(word)) for word in verdicts)
        yield from (f"{_of_cells(number, comparison)} {word}" for word, number in counts if number)
    if comparison and comparison.unjudged:
        settings = len(comparison.cells) + comparison.unjudged
        yield (
            f"{comparison.unjudged} of {settings} settings of this run have no valid trial in "
            "the baseline; make the baseline again"
        )
    if not done.verdict["valid"]:
        yield f"the run is not valid: {done.verdict['summary']}"
        yield from _reasons(done.run_dir)
    elif not comparison:
        yield "no trial of the run has the metric"
    for one in done.expected:
        if not one.met:
            yield f"expectation not {'met' if one.met is False else 'judged'}: {one.say}"
            yield from (f"  {' '.join(line.split())}" for line in one.lines())


def _reasons(run: Path) -> Iterator[str]:
    """Why trials failed or are not valid, each reason once with its trials; a failed one has its program's last
    line."""
    reasons: dict[str, list[str]] = {}
    for folder in runs.trial_folders(run):
        status = read_json(folder / "status.json")
        failed = status["state"] == "failed"
        for reason in [status["error"]] if failed else status["verdict"]["reasons"]:
            reasons.setdefault(f"{'failed' if failed else 'not valid'}: {reason}", []).append(str(int(folder.name)))
    for reason, numbers in list(reasons.items())[:_MOST_REASONS]:
        yield f"  trial{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {reason}"
    if len(reasons) > _MOST_REASONS:
        yield f"  and {len(reasons) - _MOST_REASONS} other reasons; 'lfp show {run}' has them"


def _of_cells(number: int, found: compare.Comparison) -> str:
    return f"{number} of {len(found.cells)} cell{'s are' if len(found.cells) > 1 else ' is'}"


def _check_file(markdown: Path | None) -> None:
    if markdown and not markdown.parent.is_dir():
        raise UsageError(f"--markdown {markdown}: the folder {markdown.parent} does not exist; make it")


def _write(text: str, markdown: Path | None) -> None:
    if markdown:
        write_text(markdown, text)
    else:
        click.echo(printable(text), nl=False)
