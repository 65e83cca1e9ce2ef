"""``lfp compare``: compares two runs of the same settings, or two values of a setting inside one run, cell by cell,
with a verdict for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from netcommon import quantity, readable
from netcommon.errors import UsageError
from scenarios.commands._options import runs_dir_option
from scenarios.run import compare, compare_within, judgement, runs
from scenarios.run.terminal import console, print_table


@click.command("compare")
@click.argument("names", nargs=-1, metavar="[BASE] RUN")
@click.option("--by", metavar="SETTING[=BASE,NEW]",
              help="Compare two values of this swept setting, or two cases, inside one RUN.")  # fmt: skip
@click.option("--metric", default="short_term_bps", show_default=True, help="Measured column of results.parquet.")
@click.option("--lower-is-better", is_flag=True, help="Less of the metric is better, as of elapsed_ns or retransmits.")
@click.option("--within", default="5%", show_default=True, help="Medians that differ by no more count as the same.")
@click.option(
    "--across",
    multiple=True,
    metavar="SETTING",
    help="A setting that may differ between the runs, such as gateway.rate (repeatable).",
)
@click.option("--agree", is_flag=True, help="Exit with status 1 for a better cell too: the runs should be the same.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each cell.")
@runs_dir_option
def command(
    names: tuple[str, ...], by: str | None, metric: str, lower_is_better: bool, within: str, across: Sequence[str],
    agree: bool, as_json: bool, runs_dir: Path,
) -> int:  # fmt: skip
    """Compare RUN with BASE (paths, names or 'last'), or, with --by, two values inside one RUN.

    The exit status is 1 when a cell, which is all trials of one setting, is worse.
    """
    _check_usage(names, by, across)
    paths, most = [runs.find(name, runs_dir) for name in names], share(within)
    if by is None:
        base, run = paths
        found = compare.compare(
            base, run, metric=metric, within=most, lower_is_better=lower_is_better, across=across
        )  # fmt: skip
    else:
        found = compare_within.compare_within(
            paths[0], by=by, metric=metric, within=most, lower_is_better=lower_is_better
        )  # fmt: skip
    if as_json:
        for cell in found.cells:
            click.echo(json.dumps(_as_json(found, cell), ensure_ascii=False))
    else:
        _print(found)
    return int(found.count("worse") > 0 or (agree and found.count("better") > 0))


def _check_usage(names: Sequence[str], by: str | None, across: Sequence[str]) -> None:
    if by is not None and across:
        raise UsageError("--by: not with --across; inside one run nothing but that setting may differ")
    if len(names) != (2 if by is None else 1):
        raise UsageError(
            f"compare: {len(names)} runs named; want BASE and RUN, or one RUN with --by SETTING to compare two values "
            "of a setting inside it"
        )


def share(text: str) -> float:
    """The value of ``--within``, a fraction."""
    try:
        return quantity.parse(quantity.RATIO, text) / quantity.RATIO_ONE_PPB
    except ValueError as error:
        raise UsageError(f"--within {text}: {error}") from None


def _print(found: compare.Comparison) -> None:
    out = console()
    if found.by:
        setting, base, new = found.by
        out.print(f"{setting}: base {base}, run {new}", markup=False)
    headings = (*found.varied.values(), "base", "run", "ratio", "95 %", "p", "delta", "repeats", "verdict")
    print_table(out, headings, _rows(found))
    counts = ", ".join(f"{found.count(word)} {word}" for word in ("same", "better", "worse"))
    out.print(f"{found.metric}: {counts} of {_counted(len(found.cells), 'cell')}", markup=False)
    for line in _remarks(found):
        out.print(line, markup=False)


def _remarks(found: compare.Comparison) -> Iterator[str]:
    if found.by and found.also:
        yield f"because of {found.by[0]} also differ: {found.also}"
    sides = [side for cell in found.cells for side in (cell.base, cell.run)]
    if any(len(side.distinct) < len(side.values) for side in sides):
        yield "copies: repeats of one seed, or without anything random, are one observation; judged by the ratio alone"
    fewest = min(len(side.values) for side in sides)
    if fewest < judgement.ENOUGH:
        yield f"without p: under {judgement.ENOUGH} repeats a side, judged by the ratio alone"
    if found.unmatched:
        verb, where = "is" if found.unmatched == 1 else "are", "side" if found.by else "run"
        yield f"{_counted(found.unmatched, 'setting')} {verb} in one {where} only"
    if found.left_out:
        yield f"{_counted(found.left_out, 'trial')} left out: not valid"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rows(found: compare.Comparison) -> list[tuple[str, ...]]:
    settings = [readable.distinct(name, [cell.setting[name] for cell in found.cells]) for name in found.varied]
    return [(*(texts[n] for texts in settings), *_cells(found, cell)) for n, cell in enumerate(found.cells)]


def _cells(found: compare.Comparison, cell: judgement.Cell) -> tuple[str, ...]:
    return (
        readable.named(found.metric, cell.base.median),
        readable.named(found.metric, cell.run.median),
        readable.number(cell.ratio),
        "" if cell.interval is None else interval(cell.interval),
        "" if cell.p is None else readable.number(cell.p, 2),
        "" if cell.delta is None else readable.signed(cell.delta, 2),
        f"{cell.base}, {cell.run}",
        cell.verdict,
    )


def interval(ends: tuple[float, float]) -> str:
    """``0.98 … 1.01``, with four digits as a ratio has."""
    return " … ".join(readable.number(end) for end in ends)


def _as_json(found: compare.Comparison, cell: judgement.Cell) -> dict[str, object]:
    """``base`` and ``run`` have one value for each trial. ``base_distinct`` and ``run_distinct``: how many of the
    trials are not copies."""
    distinct = {"base_distinct": len(cell.base.distinct), "run_distinct": len(cell.run.distinct)}
    by = dict(zip(("setting", "base", "run"), found.by, strict=True)) if found.by else None
    values = {"setting": cell.setting, "base": cell.base.values, "run": cell.run.values, **distinct}
    judged = {"ratio": cell.ratio, "interval": cell.interval, "p": cell.p, "delta": cell.delta}
    return {"v": 1, "metric": found.metric, "by": by, **values, **judged, "verdict": cell.verdict}
