"""Two runs cell by cell: which settings both have, and what the repeats say of each of them (``judgement``). Also the
comparison in words, as ``lfp compare``, ``lfp gate`` and the dashboard show it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netcommon import readable, result_rows, run_format
from netcommon.errors import UsageError
from scenarios.plan import cells, columns, params
from scenarios.plan.cells import Key, Row
from scenarios.plan.plan import Plan
from scenarios.run import judgement, runs
from scenarios.run import manifest as manifests
from scenarios.run.judgement import ALPHA, VERDICTS, Cell, judge
from scenarios.trial.files import read_json


@dataclass(frozen=True)
class Comparison:
    """Cells in the base's order. ``varied``: names of the settings in which the cells differ, each with its heading.
    ``unmatched``: the number of settings that only one side has; ``unjudged``: how many of these only the run has.
    ``left_out``: the number of trials that are not valid; ``without``: the number of rows of valid trials (one for each
    flow) that lack the metric. ``margin``: the share by which a ratio may differ from 1 and count as the same. ``by``:
    the setting, its base and its new value, where both sides are of one run. ``also``: what else differs, because of
    that setting or as ``across`` allows. ``ran``: the names of components that differed between the runs: programs,
    kernel, C library, lfp."""

    metric: str
    varied: dict[str, str]
    cells: tuple[Cell, ...]
    unmatched: int
    unjudged: int
    left_out: int
    margin: float
    without: int = 0
    by: tuple[str, str, str] | None = None
    also: str = ""
    ran: tuple[str, ...] = ()

    def count(self, verdict: str) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)


@dataclass(frozen=True)
class Table:
    """A run's results, ready to be grouped. ``sweep``: values as the scenario says them, by the setting's name;
    ``asked``: the columns that the params.json of its trials have."""

    path: Path
    virtual: bool
    sweep: dict[str, list[Any]]
    asked: frozenset[str]
    rows: tuple[Row, ...]

    @classmethod
    def load(cls, path: Path) -> Table:
        """The table of a run directory; UsageError if it has no results."""
        results = path / "results.parquet"
        if not results.is_file():
            raise UsageError(f"{path}: no results yet; finish it with 'lfp run --resume'")
        manifest = runs.manifest(path)
        sweep = (manifest.get("scenario") or {}).get("sweep") or {}
        asked = frozenset(read_json(runs.trial_folders(path)[0] / "params.json"))
        kept = (run_format.as_meant(row, manifest.get("v", 1)) for row in result_rows.rows(results))
        rows = sorted(kept, key=lambda row: int(row["trial"]))
        return cls(path, bool(manifest.get("virtual")), sweep, asked, tuple(rows))

    @classmethod
    def planned(cls, plan: Plan, *, virtual: bool) -> Table:
        """The table that a run of this plan would have, with its settings and without results."""
        rows = tuple({**row, "valid": True} for trial in plan.trials for row in params.rows(trial))
        return cls(Path(plan.name), virtual, plan.sweep, frozenset(rows[0]), rows)

    def good(self, metric: str) -> list[Row]:
        """Valid trials that have the metric."""
        return [row for row in self.rows if row.get("valid") and row.get(metric) is not None]


def compare(
    base: Path, run: Path, *, metric: str, margin: float, lower_is_better: bool = False, across: Sequence[str] = ()
) -> Comparison:
    """Cells of two run directories by ``metric``, a column of the results. ``margin``: the share by which a ratio may
    differ from 1 and count as the same. ``across``: settings that may differ, under the scenario's or the results'
    name. UsageError when the runs have no setting in common, or when a cell would mix trials of one run whose settings
    differ."""
    ours, theirs = Table.load(base), Table.load(run)
    check_metric(metric, ours, theirs)
    check_measured(metric, ours, theirs)
    aside = _aside(across, ours, theirs)
    names = _names(ours, theirs, aside)
    grouped = [_unmixed(table, table.good(metric), names) for table in (ours, theirs)]
    shared = [key for key in grouped[0] if key in grouped[1]]
    if not shared:
        raise UsageError(_nothing_in_common(ours, theirs, names))
    pairs = [judgement.pair(grouped[0][key], grouped[1][key], metric) for key in shared]
    settings = [dict(zip(names, key, strict=True)) for key in shared]
    judged = judge(settings, pairs, margin, lower_is_better)
    left_out = sum(invalid_trials(table.rows) for table in (ours, theirs))
    without = sum(lacking(table.rows, metric) for table in (ours, theirs))
    unmatched, unjudged = sum(len(sides) for sides in grouped) - 2 * len(shared), len(grouped[1]) - len(shared)
    rows = [[row for key in shared for row in side[key]] for side in grouped]
    allowed = [name for name in columns.settings() if name in aside and name not in columns.OF_THE_CLOCK]
    apart = [name for name in allowed if _value_set(rows[0], name) != _value_set(rows[1], name)]
    also = differences(apart, rows)
    ran = tuple(manifests.apart(*(read_json(path / "manifest.json") for path in (base, run))))
    return Comparison(
        metric, _varied(settings, ours), judged, unmatched, unjudged, left_out, margin, without, also=also, ran=ran
    )


def apart(base: Path, run: Path) -> list[str]:
    """The settings, as scenarios spell them, in which the trials of two runs differ: what ``across`` may name."""
    ours, theirs = Table.load(base), Table.load(run)
    names = [name for name in _names(ours, theirs, frozenset()) if name not in columns.OF_THE_CLOCK]
    differ = [name for name in names if _value_set(ours.rows, name) != _value_set(theirs.rows, name)]
    return [name for name in _spelled(differ, (*ours.sweep, *theirs.sweep)) if "." in name]


def check_plan(base: Path, plan: Plan, *, virtual: bool, metric: str, across: Sequence[str]) -> None:
    """UsageError, before anything runs, when a run of ``plan`` could not be compared with the run ``base``.
    ``virtual``: the plan's kind of time."""
    ours, theirs = Table.load(base), Table.planned(plan, virtual=virtual)
    check_metric(metric, ours, replace(theirs, rows=()))
    names, sides = _names(ours, theirs, _aside(across, ours, theirs)), [ours.good(metric), theirs.rows]
    for table, rows in zip((ours, theirs), sides, strict=True):
        _unmixed(table, rows, names)
    names = [name for name in names if name not in columns.OF_THE_CLOCK]  # a plan does not settle them
    keys = [{cells.key(row, names) for row in rows} for rows in sides]
    if not keys[0] & keys[1]:
        raise UsageError(_nothing_in_common(ours, theirs, names, planned=True))


def check_metric(metric: str, *tables: Table, option: str = "--metric") -> None:
    """UsageError when ``metric`` is not a measured column, or when it means nothing in one of the runs. ``option``: the
    option that has this value."""
    for table in tables:
        if metric not in columns.COLUMNS or columns.COLUMNS[metric].role != "outcome":
            raise UsageError(f"{option} {metric}: not a measured column{columns.did_you_mean(metric, ['outcome'])}")
        if metric.startswith("cpu_") and table.virtual:
            raise UsageError(
                f"{option} {metric}: {table.path.name} ran in virtual time, where computing takes no time and a "
                "process's CPU time counts its looks at the clock; compare runs in real time"
            )
        if table.rows and metric not in table.rows[0]:
            raise UsageError(f"{option} {metric}: {table.path.name} has no such column; an older version wrote it")


def check_measured(metric: str, *tables: Table) -> None:
    """UsageError when a run has valid trials, but none of them has the metric."""
    for table in tables:
        if not table.good(metric) and any(row.get("valid") for row in table.rows):
            raise UsageError(f"--metric {metric}: no valid trial of {table.path.name} has it; choose another --metric")


def invalid_trials(rows: Iterable[Row]) -> int:
    """How many trials of these rows are not valid, however many flows they have."""
    return len({row["trial"] for row in rows if not row.get("valid")})


def lacking(rows: Iterable[Row], metric: str) -> int:
    """How many rows of valid trials lack the metric."""
    return sum(bool(row.get("valid")) and row.get(metric) is None for row in rows)


def _aside(across: Sequence[str], *tables: Table) -> frozenset[str]:
    """Columns that may differ between the runs."""
    names: set[str] = set()
    for text in across:
        named = [name for name in columns.filled_by(text) or columns.find(text) if name in columns.settings()]
        if not named:
            raise UsageError(f"--across {text}: not a setting{columns.did_you_mean(text, ['setting'])}")
        names.update(named)
    if "delay_ns" in names or "ba_delay_ns" in names:
        names.add("rtt_ns")
    if len({table.virtual for table in tables}) > 1:
        names |= columns.OF_THE_CLOCK
    return frozenset(names)


def _names(ours: Table, theirs: Table, aside: frozenset[str]) -> list[str]:
    """Settings that both runs have, without those that may differ."""
    return [name for name in columns.settings() if name in ours.asked & theirs.asked and name not in aside]


def _unmixed(table: Table, good: Sequence[Row], names: Sequence[str]) -> dict[Key, list[Row]]:
    """The trials to compare, by their settings. UsageError when trials of one run would wrongly be taken for repeats of
    each other."""
    groups = cells.groups(good, names)
    for rows in groups.values():
        if mixed := cells.telling(rows, names, cells.preferred(table.sweep)):
            spelled = cells.name_of(mixed[0], table.sweep)
            raise UsageError(
                f"{table.path.name}: its trials differ in {spelled} ({_values(rows, mixed[0])}), so they are no "
                f"repeats of each other; without --across {spelled} each value is compared with its like"
            )
    return groups


def _values(rows: Iterable[Row], name: str, most: int = 4) -> str:
    """``30 KB, 60 KB``: the first few values of a column."""
    values = list(dict.fromkeys(row.get(name) for row in rows))
    more = ", …" if len(values) > most else ""
    return ", ".join(readable.distinct(name, values[:most])) + more


def _nothing_in_common(ours: Table, theirs: Table, names: Sequence[str], *, planned: bool = False) -> str:
    """The error when no setting is in both runs: the settings that differ, and the command that lets them differ.
    ``planned``: ``theirs`` has not run yet."""
    sides = [[row for row in table.rows if row.get("valid")] for table in (ours, theirs)]
    for table, rows in zip((ours, theirs), sides, strict=True):
        if not rows:
            return f"{table.path.name}: no valid trial to compare"
    apart = [name for name in names if not _value_set(sides[0], name) & _value_set(sides[1], name)]
    if not apart:
        return f"{ours.path.name} and {theirs.path.name}: no combination of settings is in both"
    asked = [name for name in apart if name != "rtt_ns" or "delay_ns" not in apart]  # the RTT follows from the delays
    spelled = _spelled(asked, (*ours.sweep, *theirs.sweep))
    shown = [name for name in cells.telling([row for rows in sides for row in rows], (), apart) if name in apart]
    differ = differences(shown, sides)
    options = " ".join(f"--across {name}" for name in spelled)
    if planned:
        return f"{ours.path.name} and scenario {theirs.path.name} differ in {differ}; to let them differ: {options}"
    paths = " ".join(shlex.quote(str(table.path)) for table in (ours, theirs))
    return f"the runs differ in {differ}; to compare them all the same: lfp compare {paths} {options}"


def differences(names: Iterable[str], sides: Sequence[Sequence[Row]]) -> str:
    """``path.loss (1 % against 2 %); …``: the values of these settings on each side. A setting that both directions of
    a path have, or that fills two columns, is named once. The RTT is left out where the delays differ, because it
    follows from them."""
    names = list(names)
    found: dict[tuple[str, ...], str] = {}
    for name in names:
        values = [_values(rows, name) for rows in sides]
        in_another = readable.NOTHING in values and name.endswith("_ppb") and name.removesuffix("_ppb") in names
        if in_another or (name == "rtt_ns" and "delay_ns" in names):
            continue
        key = columns.spelling(name).replace(".ba_", "."), *(value.replace(" ", "") for value in values)
        found.setdefault(key, f"{columns.spelling(name)} ({' against '.join(values)})")
    return "; ".join(found.values())


def _spelled(names: Iterable[str], sweep: Sequence[str]) -> list[str]:
    """The scenario's names of the settings that fill these columns, each column once."""
    spelled: list[str] = []
    for name in names:
        if not any(name in columns.filled_by(dotted) for dotted in spelled):
            spelled.append(cells.name_of(name, sweep))
    return spelled


def _value_set(rows: Iterable[Row], name: str) -> set[Any]:
    return {row.get(name) for row in rows}


def _varied(settings: Sequence[Row], table: Table) -> dict[str, str]:
    names = cells.telling(settings, (), cells.preferred(table.sweep))
    return {name: cells.heading(name, table.sweep) for name in names}


def headings(found: Comparison, base: str = "base", run: str = "run") -> tuple[str, ...]:
    """The headings of the table. ``base``, ``run``: what the two sides are called."""
    return (*found.varied.values(), base, run, "ratio", "95 %", "p (Holm)", "delta", "repeats", "verdict")


def rows(found: Comparison) -> list[tuple[str, ...]]:
    """A row for each cell."""
    settings = [readable.distinct(name, [cell.setting[name] for cell in found.cells]) for name in found.varied]
    return [(*(texts[n] for texts in settings), *_cells(found, cell)) for n, cell in enumerate(found.cells)]


def _cells(found: Comparison, cell: Cell) -> tuple[str, ...]:
    return (
        readable.named(found.metric, cell.base.median),
        readable.named(found.metric, cell.run.median),
        readable.number(cell.ratio),
        "" if cell.interval is None else judgement.interval_text(cell.interval),
        "" if cell.p is None else readable.number(cell.p, 2),
        "" if cell.delta is None else readable.signed(cell.delta, 2),
        f"{cell.base}, {cell.run}",
        cell.verdict,
    )


def summary(comparison: Comparison) -> str:
    """``short_term_bps: 2 same, 0 better, 0 worse of 2 cells``, and how many have another verdict if any do."""
    words = [word for word in VERDICTS if word in VERDICTS[:3] or comparison.count(word)]
    counts = ", ".join(f"{comparison.count(word)} {word}" for word in words)
    return f"{comparison.metric}: {counts} of {_counted(len(comparison.cells), 'cell')}"


def threshold(comparison: Comparison) -> Iterator[str]:
    """The criteria of the judgement, a line each."""
    low, high = (readable.number(end) for end in judgement.inside(comparison.margin))
    tested = sum(cell.p is not None for cell in comparison.cells)
    margin = readable.share(comparison.margin)
    yield (
        f"margin {margin}: a cell is the same if the whole 95 % interval of its ratio lies "
        f"within {low} … {high}, better or worse if p is below {readable.number(ALPHA)}"
    )
    if tested:
        yield (
            f"p: of a ratio within the margin; the larger one of an exact rank test (Mann-Whitney) and Welch's "
            f"t-test of logarithms, corrected for {_counted(tested, 'cell')} (Holm)"
        )


def _open(comparison: Comparison) -> Iterator[str]:
    """Why cells are undecided, and what to do."""
    if comparison.count("not worse"):
        yield "not worse: same or better; the interval reaches from inside the margin beyond its good end"
    undecided = [cell for cell in comparison.cells if cell.verdict == "undecided"]
    few = [cell for cell in undecided if judgement.few(cell.base, cell.run)]
    copies = sum(cell.base.exact != cell.run.exact for cell in few)
    if copies:
        yield (
            f"undecided, one side's repeats are copies of one trial: {_counted(copies, 'cell')}; a little jitter "
            '([path] jitter = "20us") makes them differ'
        )
    if copies < len(few):
        wanted = judgement.repeats_for(len(comparison.cells))
        yield (
            f"undecided, too few repeats: {_counted(len(few) - copies, 'cell')}; a rank test needs {wanted} or more "
            f"a side that differ, so set run.repeat to {wanted} or more"
        )
    if no_ratio := [cell for cell in undecided if cell.interval is None and cell not in few]:
        yield f"undecided, values below zero have no ratio: {_counted(len(no_ratio), 'cell')}; choose another --metric"
    if wide := len(undecided) - len(few) - len(no_ratio):
        yield (
            f"undecided, repeats differ too much for this margin: {_counted(wide, 'cell')}; more repeats, or a "
            "wider --margin, decide"
        )


def remarks(comparison: Comparison) -> Iterator[str]:
    """Further notes for a reader of the table, a line each."""
    if comparison.by and comparison.also:
        yield f"because of {comparison.by[0]} also differ: {comparison.also}"
    yield from threshold(comparison)
    yield from _open(comparison)
    sides = [side for cell in comparison.cells for side in (cell.base, cell.run)]
    if any(len(side.distinct) < len(side.values) for side in sides):
        yield "copies: repeats of one seed, or without anything random, are one observation; judged by the ratio alone"
    if comparison.ran:
        yield f"not the same in both runs: {', '.join(comparison.ran)} (hashes and versions in manifest.json)"
    if comparison.unmatched:
        verb, where = "is" if comparison.unmatched == 1 else "are", "side" if comparison.by else "run"
        yield f"{_counted(comparison.unmatched, 'setting')} {verb} in one {where} only"
    yield from left_out(comparison.metric, comparison.left_out, comparison.without)


def left_out(metric: str, invalid: int, without: int) -> Iterator[str]:
    """Sentences about trials that are not valid, and rows of valid ones that lack the metric."""
    if invalid:
        yield f"{_counted(invalid, 'trial')} left out: not valid"
    if without:
        yield f"{_counted(without, 'row')} of valid trials left out: no {metric}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
