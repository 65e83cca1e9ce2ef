"""No point, median, interval, region or cell mixes trials that differ in anything but repeat and seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from support import synthetic_plan
from support.page_texts import texts_of_page
from support.synthetic_results import random_plan, rows

from dashboard.core import congestion
from dashboard.core.asked import asked
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.grouping import heading
from dashboard.core.runs import Run, behind_gateway, load_run
from dashboard.report.html import render
from dashboard.run import curves, matrix, sweep, tables
from dashboard.run.curves_figure import curves_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.run.page import page
from dashboard.run.sweep_figure import sweep_figure
from scenarios.plan import cells, columns
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan

SEEDS, DRAWN = 100, 20  # plotly takes most of the time
Trials = tuple[int, ...]


def settings_of(row: dict[str, Any], aside: Iterable[str] = ()) -> cells.Key:
    return cells.key(row, [name for name in columns.settings() if name not in set(aside)])


def a_report(rng: random.Random, swept: list[str]) -> dict[str, Any]:
    """A [report] whose axes and series are swept settings, by the scenario's key or the column's name. Sometimes it has
    no series, or an unknown one."""
    x, y = rng.sample([*swept, "transfer.window"], 2)
    spelled = [rng.choice([name, columns.find(name)[0]]) for name in (x, y)]
    series = rng.choice([None, "nonsense", rng.choice(swept), columns.find(rng.choice(swept))[0]])
    report = {"kind": rng.choice(("sweep", "matrix")), "x": spelled[0], **({"series": series} if series else {})}
    if report["kind"] == "matrix":
        report["y"] = spelled[1]
    return report | {"regions": [{"label": "all", "from": 0, "to": 2**40}]}


def groups_of(run: Run) -> Iterator[tuple[str, Trials, tuple[str, ...]]]:
    """Everything drawn for several trials together: what it is, its trials, and the axis along which they may
    differ."""
    if built := sweep.build(run):
        for curve in built.curves:
            yield from ((f"window-level of {curve.series}", level.bps.trials, ()) for level in curve.levels)
        yield from ((f"region of {r.series}", r.trials, ("window_bytes",)) for r in built.results)
    if lines := curves.build(run):
        for line in lines.curves:
            yield from ((f"level of {line.series}", level.trials, ()) for level in line.levels.values())
    if grids := matrix.build(run):
        for panel in grids.panels:
            yield from ((f"cell of {panel.series}", cell.trials, ()) for cell in panel.cells.values())


def figures_of(run: Run) -> Iterator[go.Figure]:
    if built := sweep.build(run):
        yield sweep_figure(built)
    if lines := curves.build(run):
        yield curves_figure(lines)
    if grids := matrix.build(run):
        yield matrix_figure(grids)


def test_nothing_mixes_settings(tmp_path: Path) -> None:
    kinds = set()
    for number in range(SEEDS):
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        plan = random_plan(rng)
        report = a_report(rng, list(plan.sweep))
        plan.echo["report"] = report
        table = rows(plan, rng, copies=rng.random() < 0.3)
        run = load_run(synthetic_plan.write(tmp_path / str(number), plan, table))
        by_trial = {int(row["trial"]): row for row in run.rows}
        counted: dict[str, list[int]] = {}
        why = f"seed {seed}: {report} over {list(plan.sweep)}"
        for what, trials, axis in groups_of(run):
            assert len({settings_of(by_trial[trial], axis) for trial in trials}) == 1, f"{what}: {why}"
            counted.setdefault(what.split()[0], []).extend(trials)
        for kind, every in counted.items():
            assert len(set(every)) == len(every), f"a trial counts twice in {kind}s: {why}"
        kinds |= set(counted)
        assert_controls_say_their_settings(run, by_trial, why)
        for figure in figures_of(run) if number < DRAWN else ():
            assert_series_are_told_apart(figure, why)
    assert kinds == {"window-level", "level", "region", "cell"}, "each kind must have been tried"


def assert_controls_say_their_settings(run: Run, by_trial: dict[int, Any], why: str) -> None:
    """Congestion windows that are drawn together come from trials that differ only in the congestion control (or the
    profile)."""
    chosen = congestion.chosen(run)
    if chosen is None:
        return
    aside = ("congestion", "profile", "window_bytes")  # a profile may bring a window
    shown = [by_trial[line.trial] for line in chosen.controls]
    assert len({settings_of(row, aside) for row in shown}) == 1, why
    plain = [row for row in run.rows if not behind_gateway(row)]
    for name in cells.telling(plain, (), ["congestion", *cells.preferred(run.sweep)]):
        assert name in ("congestion", "profile") or heading(run, name) in chosen.note, f"{name} is not said: {why}"
    assert congestion_figure(chosen.controls).data


def assert_series_are_told_apart(figure: go.Figure, why: str) -> None:
    """A reader would take two lines of one name for the same line."""
    lines = [trace.name for trace in figure.data if trace.type == "scatter" and trace.legendgroup == trace.name]
    assert len(set(lines)) == len(lines), why
    assert not [name for name in lines if "None" in name or "e+" in name], why


def plan_of(tmp_path: Path, sweep_table: dict[str, list[Any]], report: dict[str, Any], repeat: int = 3) -> Plan:
    values: dict[str, Any] = {
        "scenario": {"name": "taught"},
        "path": {"delay": "4ms", "rate": "45Mbit", "queue": "110KB"},
        "transfer": {"bytes": "1MB"},
        "run": {"repeat": repeat},
        "sweep": sweep_table,
    }
    plan = make_plan(Document(str(tmp_path / "taught.toml"), values), 1)
    plan.echo["report"] = report  # as in an older manifest, because the plan would refuse unknown names
    return plan


WINDOWS = {"transfer.window": ["32KB", "64KB", "128KB"]}
PROFILES_AND_QUEUES = {"profile.name": ["bsd-1995", "modern"], "path.queue": ["30KB", "60KB", "110KB"]}


def written(tmp_path: Path, plan: Plan, *, copies: bool = False) -> Run:
    return load_run(synthetic_plan.write(tmp_path, plan, rows(plan, random.Random(3), copies=copies)))


@pytest.mark.parametrize("series", ["profile", "profile.name", "path.queue", "queue_bytes", None])
def test_profile_by_queue_is_six_lines_of_true_repeats(tmp_path: Path, series: str | None) -> None:
    report = {"kind": "sweep", "x": "window_bytes"} | ({"series": series} if series else {})
    run = written(tmp_path, plan_of(tmp_path, PROFILES_AND_QUEUES | WINDOWS, report))
    built = sweep.build(run)
    assert built is not None
    figure = sweep_figure(built)
    by_trial = {row["trial"]: row for row in run.rows}
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.error_y.array is not None]
    assert len(lines) == 6
    for line in lines:
        shown = [by_trial[fact[0]] for fact in line.customdata]
        assert len({(row["profile"], row["queue_bytes"]) for row in shown}) == 1
        assert shown[0]["profile"] in line.name and f"{shown[0]['queue_bytes'] // 1024} KB" in line.name
    assert {row[-1] for row in tables.interval_table(built).rows} <= {"3 repeats", "2 repeats"}
    assert asked(run).notes == ()


def test_each_queue_has_its_own_knee_in_the_colour_and_legend_group_of_its_series(tmp_path: Path) -> None:
    run = written(tmp_path, plan_of(tmp_path, {"path.queue": ["30KB", "60KB", "110KB"]} | WINDOWS, {}))
    built = sweep.build(run)
    assert built is not None
    figure = sweep_figure(built)
    series = {trace.name: trace.line.color for trace in figure.data if trace.error_y.array is not None}
    knees = [trace for trace in figure.data if trace.name.startswith("path and queue full")]
    assert {knee.legendgroup: knee.line.color for knee in knees} == series
    path = 45e6 * 8e-3 / 8 / 1024
    assert sorted(knee.x[0] for knee in knees) == pytest.approx([path + 30, path + 60, path + 110], rel=1e-3)
    assert len([trace for trace in figure.data if trace.name.startswith("line rate")]) == 1, "one rate, one line"


def test_different_delays_have_different_laws(tmp_path: Path) -> None:
    run = written(tmp_path, plan_of(tmp_path, {"path.delay": ["4ms", "30ms"]} | WINDOWS, {}))
    built = sweep.build(run)
    assert built is not None
    laws = [trace for trace in sweep_figure(built).data if trace.name.startswith("window ÷ RTT of")]
    assert sorted(law.name for law in laws) == [
        "window ÷ RTT of the empty path (60 ms)",
        "window ÷ RTT of the empty path (8 ms)",
    ]
    assert {law.legendgroup for law in laws} == {curve.series for curve in built.curves}


def test_copies_have_no_interval_and_the_table_says_so(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, WINDOWS, {}, repeat=5)
    table = [row | {"valid": True} for row in rows(plan, random.Random(3), copies=True)]
    run = load_run(synthetic_plan.write(tmp_path, plan, table))
    built = sweep.build(run)
    assert built is not None
    found = tables.interval_table(built)
    assert [row[-1] for row in found.rows] == ["5 repeats, 1 distinct"] * 3
    assert not [text for row in found.rows for text in row if "±" in text]
    assert all(level.mean_bps is None for curve in built.curves for level in curve.levels)
    assert "5 repeats, 1 distinct" in render(run) and "equal to the bit" in render(run)


@pytest.mark.parametrize(
    ("key", "text", "hint"),
    [
        ("series", "nonsense", ""),
        ("series", "path.queu", "did you mean 'path.queue'?"),
        ("x", "queue", "path.queue"),
        ("y", "shortterm_bps", "did you mean 'short_term_bps'?"),
        ("y", "state", "no trial has a number there"),
    ],
)
def test_a_name_that_there_is_not_is_said_in_one_line(tmp_path: Path, key: str, text: str, hint: str) -> None:
    """Three queues were once one line whose bars ran from 2 to 44 Mbit/s; now they are three lines, and the page says
    why."""
    report = {"kind": "sweep", "x": "transfer.window"} | {key: text}
    run = written(tmp_path, plan_of(tmp_path, {"path.queue": ["30KB", "60KB", "110KB"]} | WINDOWS, report))
    (note,) = asked(run).notes
    assert f'[report] {key} = "{text}"' in note and hint in note and "\n" not in note and len(note) < 300
    assert note in list(texts_of_page(page(run)))
    assert text in render(run).split("<h2>")[0]
    built = sweep.build(run)
    assert built is not None and [curve.series for curve in built.curves] == ["30 KB", "60 KB", "110 KB"]


def test_a_matrix_with_a_further_setting_has_a_panel_each(tmp_path: Path) -> None:
    swept = {"path.loss": ["0", "1%"], "path.delay": ["4ms", "30ms"], **PROFILES_AND_QUEUES}
    report = {"kind": "matrix", "x": "path.delay", "y": "path.loss", "series": "profile.name"}
    run = written(tmp_path, plan_of(tmp_path, swept, report))
    grids = matrix.build(run)
    assert grids is not None and len(grids.panels) == 6
    titles = [note.text for note in matrix_figure(grids).layout.annotations if note.text.startswith("<b>")]
    assert titles[0] == "<b>bsd-1995, 30 KB</b>" and len(set(titles)) == 6
    assert (grids.x.texts, grids.y.texts) == (["4 ms", "30 ms"], ["0 %", "1 %"])


def test_a_loss_model_has_a_place_beside_ratios(tmp_path: Path) -> None:
    """A loss model has no number, so the axis shows texts, and no trial is dropped."""
    report = {"kind": "sweep", "x": "path.loss"}
    run = written(tmp_path, plan_of(tmp_path, {"path.loss": ["0", "1%", "gilbert:1%,10"]}, report))
    built = curves.build(run)
    assert built is not None and built.elsewhere == 0
    assert len(built.x_values) == 3 and "gilbert:1%,10" in built.x_values


def test_a_curve_over_the_window_of_something_else_than_throughput(tmp_path: Path) -> None:
    run = written(tmp_path, plan_of(tmp_path, WINDOWS, {"x": "transfer.window", "y": "elapsed_ns"}))
    built = curves.build(run)
    assert built is not None and built.y == "elapsed_ns"
    figure = curves_figure(built)
    assert figure.layout.yaxis.title.text == "Time taken (ms)"
    assert list(figure.layout.xaxis.ticktext) == ["32", "64", "128"]
