"""The tables next to the figures, and sentences about what the figures cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from dashboard.core.congestion import PAIR_WITHIN, Pair
from dashboard.core.grouping import heading, listed, varied
from dashboard.core.intervals import LEAST_COUNT, Interval, Span
from dashboard.core.parts import Table, between
from dashboard.core.runs import Json, Run
from dashboard.run.curves import Curves
from dashboard.run.matrix import Matrix, Panel
from dashboard.run.reference import Region
from dashboard.run.sweep import Level, RegionResult, Sweep
from netcommon import readable
from scenarios.plan import columns

WINDOW_NAME = columns.spelling("window_bytes")
OUTCOME_HEAD = ("Throughput", "Stopped, share s", "Resent", "Time-outs")


def region_table(sweep: Sweep) -> Table:
    """For each region of the window axis the paper's finding and the measured one."""
    head = ("Region", WINDOW_NAME, "Paper", "Series", "Measured: median", "Least to greatest", "Trials")
    return Table(head, tuple(_region_row(result) for result in sweep.results), frozenset({6}))


def _region_row(result: RegionResult) -> tuple[str, ...]:
    region, values = result.region, (result.measured, result.low, result.high)
    measured, low, high = (readable.number(value, 3) if region.slope else readable.rate(value) for value in values)
    window = f"{readable.size(region.low_bytes)} to {readable.size(region.high_bytes)}"
    law = " × window ÷ RTT" if region.slope else ""
    count = len(result.trials)
    trials = f"{count}, {result.distinct} distinct" if result.distinct < count else str(count)
    return region.label, window, _expectation(region), result.series, measured + law, between(low, high), trials


def _expectation(region: Region) -> str:
    """The paper's finding in a region: `45 Mbit/s (line rate)`, `slope (window / 12 ms)`."""
    if not region.points:
        return readable.NOTHING
    notes = ", ".join(dict.fromkeys(point.note for point in region.points if point.note))
    value = "slope" if region.slope else readable.rate(median(point.short_term_bps for point in region.points))
    return f"{value} ({notes})" if notes else value


def sweep_notes(sweep: Sweep) -> list[str]:
    """Sentences about what the sweep figure cannot show."""
    return [
        *_counted(sweep.failed, "without a throughput (see the table of trials)"),
        *_counted(sweep.unsized, "whose window the kernel sizes, which have no place on this axis"),
        *sweep.notes,
    ]


def curves_notes(built: Curves) -> list[str]:
    """Sentences about trials that the curves cannot show."""
    what = f"without a {built.y_name.lower()}" if built.y_name.islower() else "without a value"
    what = "without a throughput" if built.y == "short_term_bps" else what
    return [
        *_counted(built.failed, f"{what} (see the table of trials)"),
        *_counted(built.elsewhere, f"that have no {built.x_name.lower()}"),
    ]


def matrix_notes(matrix: Matrix) -> list[str]:
    """Sentences about trials that no cell counts."""
    left = matrix.left_out
    return [
        *(
            [f"{left} trial{'s' if left != 1 else ''} failed, not valid or without a value: counted in no cell."]
            if left
            else []
        ),
        *_counted(matrix.elsewhere, "that have no place on an axis"),
    ]


def _counted(count: int, what: str) -> list[str]:
    return [f"Not in the figure: {count} {what}."] if count else []


def level_table(sweep: Sweep) -> Table:
    """The sweep figure in numbers: median and span of throughput for each window and series."""
    windows = sorted({o.window_bytes for curve in sweep.curves for o in curve.observations})
    texts = readable.distinct("window_bytes", windows)
    by_curve = [{level.window_bytes: level.bps for level in curve.levels} for curve in sweep.curves]
    rows = [
        (text, *(_spread(levels.get(window)) for levels in by_curve))
        for window, text in zip(windows, texts, strict=True)
    ]
    head = (WINDOW_NAME, *(curve.series or "Measured" for curve in sweep.curves))
    return Table(head, tuple(rows), frozenset(range(len(head))))


def _spread(level: Span | None) -> str:
    if level is None:
        return readable.NOTHING
    middle, low, high = (readable.rate(value) for value in (level.median, level.low, level.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def interval_table(sweep: Sweep) -> Table:
    """Mean throughput and mean s with 95 % intervals for each window and series with enough repeats. An interval is
    given only where enough of the repeats are not copies."""
    rows = [
        (readable.size(level.window_bytes), curve.series, *_means(level), level.bps.repeats)
        for curve in sweep.curves
        for level in curve.levels
        if len(level.bps.trials) >= LEAST_COUNT
    ]
    head = (WINDOW_NAME, "Series", "Mean throughput", "s, stopped share", "Repeats")
    return Table(head, tuple(rows), frozenset({0, 2, 3, 4}))


def _means(level: Level) -> tuple[str, str]:
    """Mean throughput and mean s; copies have one value and no interval."""
    if level.mean_bps is None and level.bps.distinct == 1:
        return f"{readable.rate(level.bps.median)}, no interval", readable.NOTHING
    return _plus_minus(level.mean_bps, "bps"), _plus_minus(level.stopped, "")


def _plus_minus(value: Interval | None, base: str) -> str:
    """`43.71 ± 0.12 Mbit/s`: both in the mean's unit."""
    if value is None:
        return readable.NOTHING
    unit = readable.unit(base, value.mean)
    text = f"{readable.number(value.mean / unit.size)} ± {readable.number(value.half / unit.size, 3)}"
    return f"{text} {unit.name}".rstrip()


def pair_table(pairs: Sequence[Pair]) -> Table:
    """Our congestion controls compared with the kernel's own of the same algorithm at the same settings."""
    has_settings = any(pair.setting for pair in pairs)
    rows = [
        (
            *([pair.setting] if has_settings else []),
            pair.kernel.name,
            readable.rate(pair.kernel_bps),
            pair.ours.name,
            readable.rate(pair.ours_bps),
            readable.number(pair.ours_bps / pair.kernel_bps),
            readable.share(pair.window_apart, 3),
            "yes" if pair.agrees else "no",
        )
        for pair in pairs
    ]
    head = (
        *(["Setting"] if has_settings else []),
        "Kernel's own",
        "Throughput",
        "Ours",
        "Throughput",
        "Ours ÷ kernel's",
        "Largest difference of cwnd",
        f"Within {readable.share(PAIR_WITHIN)}",
    )
    return Table(head, tuple(rows), frozenset(number + has_settings for number in (1, 3, 4, 5)))


def matrix_table(matrix: Matrix) -> Table:
    """Every cell in numbers, with the paper's value where the paper has one."""
    show, rows = matrix.value_text, []
    for panel in matrix.panels:
        for (row, column), cell in sorted(panel.cells.items()):
            paper = panel.paper.get((row, column))
            rows.append(
                (
                    panel.series,
                    matrix.y.texts[row],
                    matrix.x.texts[column],
                    show(cell.median),
                    between(show(cell.low), show(cell.high)),
                    cell.repeats,
                    readable.NOTHING if paper is None else show(paper),
                )
            )
    head = ("Series", matrix.y.name, matrix.x.name, "Median", "Least to greatest", "Repeats", "Paper")
    return Table(head, tuple(rows), frozenset({1, 2, 3, 4, 5, 6}))


def matrix_grids(matrix: Matrix) -> list[tuple[str, Table]]:
    """A grid for each series, as it is drawn: (series, table). A cell has the median, and in brackets the paper's."""
    head = (f"{matrix.y.name} \\ {matrix.x.name}", *matrix.x.texts)
    numeric = frozenset(range(len(head)))
    return [(panel.series, Table(head, _grid_rows(matrix, panel), numeric)) for panel in matrix.panels]


def _grid_rows(matrix: Matrix, panel: Panel) -> tuple[tuple[str, ...], ...]:
    show = matrix.value_text

    def cell(row: int, column: int) -> str:
        found, paper = panel.cells.get((row, column)), panel.paper.get((row, column))
        text = show(found.median) if found else readable.NOTHING
        return text if paper is None else f"{text} ({show(paper)})"

    across = range(len(matrix.x.texts))
    return tuple((name, *(cell(row, column) for column in across)) for row, name in enumerate(matrix.y.texts))


def curve_table(built: Curves) -> Table:
    """The curves in numbers: a row for each x, a column for each series, and the paper's values."""
    invalid = {(name, point.x) for name, point in built.invalid}
    paper = {point.x: point for point in built.reference}
    rows = []
    for x in built.x_values:
        texts = [built.x_text(x)]
        for curve in built.curves:
            otherwise = "not valid" if (curve.series, x) in invalid else readable.NOTHING
            texts.append(_level_text(built, curve.levels.get(x), otherwise))
        if paper:
            texts.append(built.y_text(paper[x].y) if x in paper else readable.NOTHING)
        rows.append(tuple(texts))
    head = (built.x_name, *(curve.series or built.y_name for curve in built.curves), *(("Paper",) if paper else ()))
    return Table(head, tuple(rows), frozenset(range(len(head))))


def _level_text(built: Curves, level: Span | None, otherwise: str) -> str:
    if level is None:
        return otherwise
    low, high = built.y_text(level.low), built.y_text(level.high)
    return built.y_text(level.median) + (f" ({low} to {high})" if low != high else "")


def shown_columns(run: Run) -> list[str]:
    """The setting columns of the table of trials: those that vary, or profile and window when none does."""
    return varied(run) or ["profile", "window_bytes"]


def setting_head(run: Run) -> tuple[str, ...]:
    """The names of `shown_columns`, as the scenario spells them."""
    return tuple(heading(run, name) for name in shown_columns(run))


def setting_texts(run: Run) -> list[tuple[str, ...]]:
    """The values in `shown_columns`, a tuple for each row in listed order. Different values have different texts."""
    rows = listed(run.rows)
    by_column = [_setting_texts(name, [row.get(name) for row in rows]) for name in shown_columns(run)]
    return list(zip(*by_column, strict=True))


def _setting_texts(name: str, values: list[Any]) -> list[str]:
    different = list(dict.fromkeys(values))
    texts = dict(zip(different, readable.distinct(name, different), strict=True))
    if name == "window_bytes":  # a row without a window: the kernel sizes it
        return [texts[value] if value else "kernel's" for value in values]
    return [texts[value] for value in values]


def trial_table(run: Run) -> Table:
    """All rows of the results, in the order of trials."""
    head = ("Trial", *setting_head(run), *OUTCOME_HEAD, "State", "Verdict")
    rows = [
        (
            str(row.get("trial", readable.NOTHING)),
            *texts,
            *outcome(row),
            str(row.get("state") or readable.NOTHING),
            "valid" if row.get("valid") else f"not valid: {row.get('reasons') or 'no reason given'}",
        )
        for row, texts in zip(listed(run.rows), setting_texts(run), strict=True)
    ]
    return Table(head, tuple(rows), frozenset(range(len(head) - 2)))


def outcome(row: Json) -> tuple[str, ...]:
    """What a trial measured, in the order of OUTCOME_HEAD. With request and response the figures, like `stopped_share`,
    describe the messages that carry more octets."""
    responses = (row.get("response_bps") or 0) > (row.get("request_bps") or 0)
    rate, way = (row["response_bps"], columns.REVERSE) if responses else (row.get("short_term_bps"), "")
    return (
        readable.rate(rate) + (" of responses" if responses else ""),
        readable.share(row.get("stopped_share")),
        readable.count(row.get(f"{way}retransmits")),
        readable.count(row.get(f"{way}timeouts")),
    )


def interval_notes(sweep: Sweep) -> list[str]:
    """A sentence about repeats that are copies, if there are any."""
    copies = any(level.bps.distinct < len(level.bps.trials) for curve in sweep.curves for level in curve.levels)
    return ["Repeats that are equal to the bit are one measurement, and give no interval."] if copies else []
