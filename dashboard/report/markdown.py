"""A run as Markdown with pictures, for a paper or a pull request: the report's facts, figures and tables. Also its
figures alone, as SVG and PDF for print.

A matrix is a grid for each series, because a reader compares a row with a row; the HTML report lists its cells. The
pictures are PNGs in the same folder, named after the file and the figure, and show the report's figures. All files are
written under temporary names first and then renamed, so that a full disk leaves none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go

from dashboard.core import congestion
from dashboard.core.asked import asked
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.parts import Facts, Table
from dashboard.core.runs import Run, load_run
from dashboard.report.environment import environment_facts
from dashboard.report.pictures import write_pictures
from dashboard.run import curves, latency, matrix, sweep, tables
from dashboard.run.curves_figure import curves_figure
from dashboard.run.expected import expected_table
from dashboard.run.facts import run_facts
from dashboard.run.latency_figure import latency_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.run.sweep_figure import sweep_figure
from dashboard.timeline import timeline
from dashboard.timeline.figure import STILL_HEIGHT, STILL_POINTS, headline, timeline_figure
from dashboard.trial import flows, load
from dashboard.trial.facts import trial_name
from dashboard.trial.flows_figure import flows_figure
from dashboard.trial.load_figure import load_figure
from dashboard.trial.tables import visit_table
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from scenarios.plan.shared_settings import shared_settings

PRINTED = ("svg", "pdf")  # formats of figures for print
_SPECIAL = str.maketrans({"|": r"\|", "<": "&lt;", "\n": " "})


@dataclass(frozen=True)
class Part:
    """A heading, a figure with its name, sentences and named tables."""

    heading: str
    name: str = ""
    figure: go.Figure | None = None
    notes: Sequence[str] = ()
    tables: Sequence[tuple[str, Table]] = ()


def write_markdown(run_dir: Path, target: Path, *, pictures: bool) -> list[Path]:
    """Writes `target` and, if asked, its pictures next to it; returns all paths, the Markdown's first.

    Raises LfpError when `run_dir` is not a run, or a file cannot be written.
    """
    run = load_run(run_dir)
    parts = run_parts(run)
    names = {part.name: f"{target.stem}-{part.name}.png" for part in parts if part.figure and pictures}
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".markdown-") as temporary:
            folder = Path(temporary)
            (folder / target.name).write_text(render(run, parts, names), encoding="utf-8")
            drawn = [(folder / names[part.name], part.figure) for part in parts if part.name in names and part.figure]
            if drawn:
                write_pictures(drawn, "--markdown", "--no-pictures")
            written = [target.name, *names.values()]
            return [(folder / name).rename(target.parent / name) for name in written]
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise UsageError(f"--markdown {target}: {error.strerror}; {remedy}") from error


def write_figures(run_dir: Path, folder: Path) -> list[Path]:
    """Writes every figure of the run into `folder`, which is made if needed, as NAME.svg and NAME.pdf; returns all
    paths. Raises LfpError when `run_dir` is not a run, or has no figure, or a file cannot be written."""
    parts = [part for part in run_parts(load_run(run_dir)) if part.figure]
    if not parts:
        raise LfpError(
            f"--figures: {run_dir.name} has nothing to draw: no sweep, no samples and no captures", EXIT_FAILED
        )
    names = [f"{part.name}.{kind}" for part in parts for kind in PRINTED]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".figures-") as temporary:
            drawn = [(Path(temporary) / f"{part.name}.{kind}", part.figure) for part in parts for kind in PRINTED]
            write_pictures([(path, figure) for path, figure in drawn if figure], "--figures")
            return [(Path(temporary) / name).rename(folder / name) for name in names]
    except OSError as error:
        raise UsageError(f"--figures {folder}: {error.strerror}; name a folder that can be written") from error


def render(run: Run, parts: list[Part], pictures: dict[str, str]) -> str:
    """The Markdown. `pictures`: the file of each part that has one."""
    lines = [f"# {_text(run.title)}", ""]
    lines += [_text(run.description), ""] if run.description else []
    lines += [f"**This run: {run.verdict.word}**", ""]
    lines += _list([("Not valid", reason) for reason in run.verdict.reasons])
    lines += [f"{_text(note)}\n" for note in asked(run).notes]
    lines += _list(run_facts(run))
    lines += [line for part in parts for line in _part(part, pictures.get(part.name))]
    trials = tables.trial_table(run)
    count = f"{len(trials.rows)} trial{'s' if len(trials.rows) != 1 else ''}"
    lines += [f"<details><summary>{count}</summary>", "", *_table(trials), "</details>", ""]
    lines += ["## Settings of all trials", "", *_list(list(shared_settings(run.rows, run.sweep)))]
    lines += ["## Environment", "", *_list(environment_facts(run))]
    return "\n".join(lines).rstrip() + "\n"


def _part(part: Part, picture: str | None) -> list[str]:
    lines = [f"## {part.heading}", ""]
    lines += [f"![{part.heading}]({picture})", ""] if picture else []
    lines += [f"{_text(note)}\n" for note in part.notes]
    for name, table in part.tables:
        lines += [f"### {name}", ""] if name else []
        lines += _table(table)
    return lines


def run_parts(run: Run) -> list[Part]:
    """All parts of a run: results, latencies, congestion windows, flows and queues, and the first timeline."""
    expected = expected_table(run)
    parts = [Part("Expectations", tables=(("", expected),))] if expected.rows else []
    parts += _result_parts(run)
    if found := latency.build(run):
        named = (("", latency.latency_table(found)),)
        parts.append(Part("Latency of the exchanges", "latency", latency_figure(found), (latency.SAYS,), named))
    chosen, pairs = congestion.chosen(run), tables.pair_table(congestion.pairs(run))
    if pairs.rows:
        parts.append(Part("Comparison with the kernel's own", tables=(("", pairs),)))
    if chosen:
        heading = "Congestion window over time"
        parts.append(Part(heading, "congestion", congestion_figure(chosen.controls), (chosen.note,)))
    return [*parts, *_first_load(run), *_first_timeline(run)]


def _result_parts(run: Run) -> list[Part]:
    """The figure of all trials, of whichever kind the run has, with its tables and notes."""
    if grids := matrix.build(run):
        heading = f"{grids.value_name} by {grids.x.name.lower()} and {grids.y.name.lower()}"
        notes = ["Each cell: the median over the valid trials; in brackets what the paper has there."]
        notes += tables.matrix_notes(grids)
        return [Part(heading, "matrix", matrix_figure(grids), notes, tables.matrix_grids(grids))]
    if lines := curves.build(run):
        heading = f"{lines.y_name} by {lines.x_name.lower()}"
        notes = tables.curves_notes(lines)
        spread = "Large marks are medians over the valid trials; bars reach from minimum to maximum, which the "
        notes = [f"{spread}table has in brackets after the median.", *notes]
        return [Part(heading, "curves", curves_figure(lines), notes, (("", tables.curve_table(lines)),))]
    if built := sweep.build(run):
        named = [
            ("By region", tables.region_table(built)),
            ("Median, minimum to maximum", tables.level_table(built)),
            ("Means with 95 % intervals", tables.interval_table(built)),
        ]
        notes = [
            "Large marks are medians over the valid trials; bars reach from minimum to maximum.",
            *tables.sweep_notes(built),
            *tables.interval_notes(built),
        ]
        shown = tuple((name, table) for name, table in named if table.rows)
        return [Part("Throughput by transfer.window", "sweep", sweep_figure(built), notes, shown)]
    return []


def _first_load(run: Run) -> list[Part]:
    """Flows, latencies and queues over time of the first trial that has any."""
    for number in run.trial_numbers():
        trial = run.trial(number)
        shared, found, name = flows.load(run, trial), load.load(trial), trial_name(run, trial)
        parts = [Part(f"Rates of the flows, {name}", "flows", flows_figure(shared), (flows.MEASURE,))] if shared else []
        if found:
            parts.append(Part(f"Latency and queues over time, {name}", "load", load_figure(found), (load.MEASURE,)))
        if parts:
            return parts
    return []


def _first_timeline(run: Run) -> list[Part]:
    """Only the first captured trial. The HTML report has the first three, and the dashboard all."""
    captured = [number for number in run.trial_numbers() if number in run.captured]
    if not captured:
        return []
    trial = run.trial(captured[0])
    loaded = timeline.load(run, trial)
    figure = timeline_figure(loaded, loaded.first_view_ns(), points=STILL_POINTS, height=STILL_HEIGHT, still=True)
    stops = visit_table(loaded)
    named = (("Stops" if loaded.stops else "Slowest spans", stops),) if stops.rows else ()
    return [Part(trial_name(run, trial), "timeline", figure, (f"{headline(loaded)}.", *loaded.notes), named)]


def _text(words: str) -> str:
    return " ".join(words.split()).translate(_SPECIAL)


def _list(pairs: Facts) -> list[str]:
    return [*(f"- {_text(label)}: {_text(value)}" for label, value in pairs), ""] if pairs else []


def _table(table: Table) -> list[str]:
    marks = ["---:" if number in table.numeric else "---" for number in range(len(table.head))]
    rows = [table.head, tuple(marks), *table.rows]
    return [*("| " + " | ".join(_text(cell) for cell in row) + " |" for row in rows), ""]
