"""``lfp compare``: two runs of the same settings, cell by cell, with a verdict for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

import click

from netcommon import quantity
from netcommon.errors import UsageError
from scenarios import compare, runs
from scenarios.commands._options import runs_dir_option
from scenarios.terminal import console, print_table


@click.command("compare")
@click.argument("base")
@click.argument("run")
@click.option("--metric", default="short_term_bps", show_default=True, help="Column of results.parquet.")
@click.option("--lower-is-better", is_flag=True, help="For metrics such as elapsed_ns or retransmits.")
@click.option("--within", default="5%", show_default=True, help="Difference of medians that counts as none.")
@click.option("--across", multiple=True, metavar="SETTING", help="A setting that may differ (repeatable).")
@click.option("--agree", is_flag=True, help="A better cell fails, too: the two shall be the same.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a cell.")
@runs_dir_option
def command(
    base: str, run: str, metric: str, lower_is_better: bool, within: str, across: Sequence[str], agree: bool,
    as_json: bool, runs_dir: Path,
) -> int:  # fmt: skip
    """Compare RUN with BASE (paths, names or 'last'); exit status 1 when a cell is worse."""
    found = compare.compare(
        runs.find(base, runs_dir), runs.find(run, runs_dir),
        metric=metric, within=_share(within), lower_is_better=lower_is_better, across=across,
    )  # fmt: skip
    if as_json:
        for cell in found.cells:
            click.echo(json.dumps({"v": 1, "metric": metric, **asdict(cell)}, ensure_ascii=False))
    else:
        _print(found)
    return int(found.count("worse") > 0 or (agree and found.count("better") > 0))


def _share(text: str) -> float:
    try:
        return quantity.parse(quantity.RATIO, text) / quantity.RATIO_ONE_PPB
    except ValueError as error:
        raise UsageError(f"--within {text}: {error}") from None


def _print(found: compare.Comparison) -> None:
    out = console()
    headings = (*found.varied, "base", "run", "ratio", "p", "delta", "repeats", "verdict")
    print_table(out, headings, [_cells(found, cell) for cell in found.cells])
    counts = ", ".join(f"{found.count(word)} {word}" for word in ("same", "better", "worse"))
    out.print(f"{found.metric}: {counts} of {len(found.cells)} cells", markup=False)
    if any(cell.p is None for cell in found.cells):
        out.print(f"without p: under {compare.ENOUGH} repeats a side, judged by the ratio alone", markup=False)
    for number, what in ((found.unmatched, "settings in one run only"), (found.left_out, "trials left out: not valid")):
        if number:
            out.print(f"{number} {what}", markup=False)


def _cells(found: compare.Comparison, cell: compare.Cell) -> tuple[str, ...]:
    return (
        *(_text(name, cell.setting[name]) for name in found.varied),
        _text(found.metric, median(cell.base)),
        _text(found.metric, median(cell.run)),
        f"{cell.ratio:.3f}",
        "" if cell.p is None else f"{cell.p:.3f}",
        f"{cell.delta:+.2f}",
        f"{len(cell.base)}, {len(cell.run)}",
        cell.verdict,
    )


def _text(name: str, value: object) -> str:
    """A value by the unit in its name."""
    units = {"bps": quantity.RATE, "ns": quantity.DURATION, "bytes": quantity.BYTES, "ppb": quantity.RATIO}
    unit = units.get(name.rsplit("_", 1)[-1])
    if unit is quantity.RATE and isinstance(value, float):
        return f"{value / 1e6:.4g} Mbit/s"
    if unit and isinstance(value, int):
        return quantity.format_value(unit, value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
