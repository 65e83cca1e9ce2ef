"""A metric over the runs of a folder, for its page: the request in an address, the entries of `lfp history`, and their
table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from dashboard.core.parts import Table, between
from netcommon import readable
from netcommon.errors import UsageError
from scenarios.plan import cells, columns
from scenarios.run import history
from scenarios.run.history import Entry

METRIC, ALL = "short_term_bps", "all"
LASTS = (10, 20, 50, 100)
RUN_AT = 3  # number of columns behind the run's name


@dataclass(frozen=True)
class Asked:
    """What an address asks for: a measured column, a scenario (`all`; empty: the newest run's), and how many of the
    newest runs."""

    metric: str = METRIC
    scenario: str = ""
    last: int = LASTS[1]

    @classmethod
    def of(cls, search: str) -> Asked:
        """What `?metric=…&scenario=…&last=…` asks for. UsageError for a value that is not offered."""
        given = {name: values[0] for name, values in parse_qs(search.lstrip("?")).items()}
        last = given.get("last", str(LASTS[1]))
        if last not in map(str, LASTS):
            raise UsageError(f"last={last}: not offered; choose one of {', '.join(map(str, LASTS))}")
        return cls(given.get("metric", METRIC), given.get("scenario", ""), int(last))

    @property
    def search(self) -> str:
        """The part of the address that asks for it."""
        return "?" + urlencode({"metric": self.metric, "scenario": self.scenario or ALL, "last": self.last})


def metrics() -> list[str]:
    """The measured columns that have numbers."""
    known = columns.COLUMNS.items()
    return [name for name, one in known if one.role == "outcome" and one.kind in ("int", "float")]


def scenarios(runs_dir: Path) -> list[str]:
    """The scenarios of the folder's runs, the newest run's first."""
    found = sorted(history.readable_manifests(runs_dir).values(), key=lambda one: -int(one["started_realtime_ns"]))
    return list(dict.fromkeys(str(one["name"]) for one in found))


def found(runs_dir: Path, asked: Asked) -> list[Entry]:
    """The entries, oldest run first. UsageError where there are none, or where there is no such metric."""
    names = scenarios(runs_dir)
    scenario = asked.scenario or (names[0] if names else ALL)
    entries = history.entries(runs_dir, asked.metric, scenario=None if scenario == ALL else scenario, last=asked.last)
    if not entries:
        raise UsageError(f"no valid trial with {asked.metric} in these runs")
    return entries


def history_table(entries: Sequence[Entry], metric: str) -> Table:
    """The entries of one scenario and kind of time, cell by cell, each from its oldest run to its newest."""
    settings = [entry.setting for entry in entries]
    factors = cells.telling(settings)
    texts = cells.texts_by_column(settings, factors)
    order = {key: place for place, key in enumerate(cells.groups(settings, factors))}
    rows = sorted(entries, key=lambda entry: order[cells.key(entry.setting, factors)])
    head = (
        *(cells.heading(name) for name in factors),
        "Started (UTC)",
        "lfp",
        "Gateway",
        "Trials",
        "Run",
        "Median",
        "Least to greatest",
        "Ratio to previous run",
    )
    numeric = frozenset({*range(len(factors)), len(factors) + 3, *range(len(factors) + 5, len(head))})
    return Table(
        head,
        tuple(
            (*(texts[name][entry.setting.get(name)] for name in factors), *_figures(entry, metric)) for entry in rows
        ),
        numeric,
    )


def _figures(entry: Entry, metric: str) -> tuple[str, ...]:
    return (
        entry.started[:16].replace("T", " "),
        entry.build("lfp") or readable.NOTHING,
        entry.gateway_build or readable.NOTHING,
        str(entry.trials),
        entry.run.name,
        readable.named(metric, entry.median),
        between(readable.named(metric, entry.least), readable.named(metric, entry.most)),
        entry.against_before or readable.NOTHING,
    )
