"""``lfp compare``: compares two runs of the same settings, or two values of a setting inside one run, cell by cell,
with a verdict for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from lfp.commands._options import (
    across_option,
    lower_option,
    margin_option,
    metric_option,
    runs_dir_option,
    share,
    undecided_option,
)
from netcommon.errors import EXIT_FAILED, UsageError
from scenarios.run import compare, compare_within, judgement, runs
from scenarios.run.terminal import console, print_table


@click.command("compare")
@click.argument("names", nargs=-1, metavar="[BASE] RUN")
@click.option(
    "--by", metavar="SETTING[=BASE,NEW]", help="Compare two values of this swept setting, or two cases, inside one RUN."
)
@metric_option
@lower_option
@margin_option
@across_option
@click.option("--agree", is_flag=True, help="Exit with status 1 for a better cell, too: only the same passes.")
@undecided_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each cell.")
@runs_dir_option
def command(
    names: tuple[str, ...],
    by: str | None,
    metric: str,
    lower_is_better: bool,
    margin: str,
    across: Sequence[str],
    agree: bool,
    allow_undecided: bool,
    as_json: bool,
    runs_dir: Path,
) -> int:
    """Compare RUN with BASE (paths, names or 'last'), or, with --by, two values inside one RUN.

    A cell is all trials of one setting. The exit status is 0 when every cell is the same, better or not worse, and 1
    when a cell is worse or undecided.
    """
    _check_usage(names, by, across)
    paths, most = [runs.find(name, runs_dir) for name in names], share(margin)
    if by is None:
        base, run = paths
        comparison = compare.compare(
            base, run, metric=metric, margin=most, lower_is_better=lower_is_better, across=across
        )
    else:
        comparison = compare_within.compare_within(
            paths[0], by=by, metric=metric, margin=most, lower_is_better=lower_is_better
        )
    if as_json:
        for cell in comparison.cells:
            click.echo(json.dumps(_as_json(comparison, cell), ensure_ascii=False))
    else:
        _print(comparison)
    passing = {"same"} if agree else {"same", "better", "not worse"}
    if allow_undecided:
        passing |= {"undecided", "not worse"}
    return 0 if {cell.verdict for cell in comparison.cells} <= passing else EXIT_FAILED


def _check_usage(names: Sequence[str], by: str | None, across: Sequence[str]) -> None:
    if by is not None and across:
        raise UsageError("--by: not with --across; inside one run nothing but that setting may differ")
    if len(names) != (2 if by is None else 1):
        raise UsageError(
            f"compare: {len(names)} runs named; want BASE and RUN, or one RUN with --by SETTING to compare two values "
            "of a setting inside it"
        )


def _print(found: compare.Comparison) -> None:
    out = console()
    if found.by:
        setting, base, new = found.by
        out.print(f"{setting}: base {base}, run {new}", markup=False)
    print_table(out, compare.headings(found), compare.rows(found))
    for line in (compare.summary(found), *compare.remarks(found)):
        out.print(line, markup=False)


def _as_json(comparison: compare.Comparison, cell: judgement.Cell) -> dict[str, object]:
    """``base`` and ``run`` have one value for each trial. ``base_distinct`` and ``run_distinct``: how many of the
    trials are not copies. ``p``: corrected for all cells by Holm's method."""
    distinct = {"base_distinct": len(cell.base.distinct), "run_distinct": len(cell.run.distinct)}
    by = dict(zip(("setting", "base", "run"), comparison.by, strict=True)) if comparison.by else None
    values = {"setting": cell.setting, "base": cell.base.values, "run": cell.run.values, **distinct}
    tested = sum(one.p is not None for one in comparison.cells)
    judged = {
        "ratio": cell.ratio,
        "interval": cell.interval,
        "p": cell.p,
        "p_corrected": f"Holm, {tested} cells",
        "delta": cell.delta,
    }
    return {
        "v": 2,
        "metric": comparison.metric,
        "by": by,
        **values,
        "margin": comparison.margin,
        **judged,
        "verdict": cell.verdict,
    }
