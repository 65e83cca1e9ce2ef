"""The table of a comparison in words, and the lines below it: what ``lfp compare``, ``lfp gate`` and the dashboard
show."""

from __future__ import annotations

from collections.abc import Iterator

from netcommon import readable
from scenarios.run.compare import Comparison
from scenarios.run.judgement import ENOUGH, Cell


def headings(found: Comparison, base: str = "base", run: str = "run") -> tuple[str, ...]:
    """The headings of the table. ``base``, ``run``: what the two sides are called."""
    return (*found.varied.values(), base, run, "ratio", "95 %", "p", "delta", "repeats", "verdict")


def rows(found: Comparison) -> list[tuple[str, ...]]:
    """A row for each cell."""
    settings = [readable.distinct(name, [cell.setting[name] for cell in found.cells]) for name in found.varied]
    return [(*(texts[n] for texts in settings), *_cells(found, cell)) for n, cell in enumerate(found.cells)]


def _cells(found: Comparison, cell: Cell) -> tuple[str, ...]:
    return (
        readable.named(found.metric, cell.base.median),
        readable.named(found.metric, cell.run.median),
        readable.number(cell.ratio),
        "" if cell.interval is None else _interval(cell.interval),
        "" if cell.p is None else readable.number(cell.p, 2),
        "" if cell.delta is None else readable.signed(cell.delta, 2),
        f"{cell.base}, {cell.run}",
        cell.verdict,
    )


def _interval(ends: tuple[float, float]) -> str:
    return " … ".join(readable.number(end) for end in ends)


def summary(found: Comparison) -> str:
    """``short_term_bps: 2 same, 0 better, 0 worse of 2 cells``."""
    counts = ", ".join(f"{found.count(word)} {word}" for word in ("same", "better", "worse"))
    return f"{found.metric}: {counts} of {_counted(len(found.cells), 'cell')}"


def remarks(found: Comparison) -> Iterator[str]:
    """What a reader of the table must know besides, a line each."""
    if found.by and found.also:
        yield f"because of {found.by[0]} also differ: {found.also}"
    sides = [side for cell in found.cells for side in (cell.base, cell.run)]
    if any(len(side.distinct) < len(side.values) for side in sides):
        yield "copies: repeats of one seed, or without anything random, are one observation; judged by the ratio alone"
    fewest = min(len(side.values) for side in sides)
    if fewest < ENOUGH:
        yield f"without p: under {ENOUGH} repeats a side, judged by the ratio alone"
    if found.unmatched:
        verb, where = "is" if found.unmatched == 1 else "are", "side" if found.by else "run"
        yield f"{_counted(found.unmatched, 'setting')} {verb} in one {where} only"
    if found.left_out:
        yield f"{_counted(found.left_out, 'trial')} left out: not valid"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
