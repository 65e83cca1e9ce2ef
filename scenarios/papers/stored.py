"""Stored measurements of the papers' scenarios, kept with the book: a JSON file for each scenario and form.

A file has date, seed and version of its run, the scenario's expectations, and for each trial the columns that the book
needs. It also has a digest of the scenario, so that figures of an older version of the scenario are not shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from netcommon.errors import LfpError
from netcommon.strangers import write_text
from scenarios.papers import claims, rows
from scenarios.plan import columns, model_files
from scenarios.plan.document import load_layers, with_quick
from scenarios.plan.expect import Figure

Form = Literal["quick", "whole"]
_NOT_MEASURED = ("scenario", "report", "expect", "quick")  # tables that affect texts, not measurements
_ALWAYS = ("valid", "flow", "flow_name", "repeat")


@dataclass(frozen=True)
class Stored:
    """The results of a scenario's run. ``about``: ``date``, ``seed``, ``lfp`` and, for figures taken from an older
    page, ``source``. ``expected``: the manifest's. ``results``: rows of results.parquet."""

    digest: str
    about: Mapping[str, Any]
    valid: bool
    expected: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]

    @property
    def good(self) -> bool:
        """Whether the run is valid and nothing that its scenario expects is missing."""
        return self.valid and all(one["met"] is not False for one in self.expected)


def digest(scenario: str, form: Form) -> str:
    """A digest of what a form of a scenario measures: its tables, without those that only describe it."""
    document = load_layers(scenario)
    values = (with_quick(document) if form == "quick" else document).values
    kept = {name: table for name, table in model_files.anywhere(values).items() if name not in _NOT_MEASURED}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def has_quick(scenario: str) -> bool:
    """Whether the quick form of a scenario differs from the whole one."""
    return digest(scenario, "quick") != digest(scenario, "whole")


def trimmed(scenario: str, results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The columns of each row that the book needs, where they have a value."""
    names = _needed(scenario)
    return [{name: row[name] for name in names if row.get(name) is not None} for row in results]


def _needed(scenario: str) -> list[str]:
    figures: list[Figure] = [
        number for claim in claims.load() for number in claim.numbers if number.scenario == scenario
    ]
    wheres = [
        where or {}
        for number in figures
        if isinstance(number, claims.Number)
        for where in (number.against, number.minus)
    ]
    figures += [figure for row in rows.load() if row.scenario == scenario for figure in row.figures]
    settings = {
        column
        for where in (*wheres, *(figure.where for figure in figures))
        for name in where
        for column in columns.find({"flow": "flow_name"}.get(name, name))
    }
    return list(dict.fromkeys([*_ALWAYS, *sorted(settings), *(figure.of for figure in figures)]))


def write(folder: Path, scenario: str, form: Form, kept: Stored) -> None:
    """Stores a run's measurements atomically: a reader finds the old file or the new one."""
    file = folder / form / f"{scenario}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n  ".join(json.dumps(row) for row in kept.results)
    head = {"v": 1, "digest": kept.digest, "about": kept.about, "valid": kept.valid, "expected": kept.expected}
    write_text(file, f'{json.dumps(head, indent=1)[:-2]},\n "results": [\n  {lines}\n ]\n}}\n')


def read(folder: Path, scenario: str, form: Form) -> Stored | None:
    """The stored results of a scenario's current form; None if there are none. LfpError for an invalid file."""
    file = folder / form / f"{scenario}.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        kept = Stored(content["digest"], content["about"], content["valid"], content["expected"], content["results"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise LfpError(f"{file}: not a stored measurement ({error!r}); remove it, and run the scenario again") from None
    return kept if kept.digest == digest(scenario, form) else None
