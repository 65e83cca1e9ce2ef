"""The rows of the papers (rows.toml): what each reports, and how it is measured here.

A row is measured by a scenario, or by something else that the project runs (`by`: a bench, a test, a page with its
figures), or not yet (`open` says what is missing). A row is exactly one of these, so a row cannot be forgotten
unnoticed.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from netcommon.errors import LfpError
from scenarios.plan.expect import Figure
from scenarios.plan.values import Table

FILE = Path(__file__).with_name("rows.toml")


class Row(Table):
    """A row of a paper. ``row``: paper and row, as scenarios name it. ``figures``: values taken from the scenario's
    results. ``differs``: why the measurement differs from the report, or what limits the comparison."""

    row: str = Field(pattern=r"^[a-z]+-\d{4}/[a-z0-9-]+$")
    reported: str
    scenario: str = ""
    figures: tuple[Figure, ...] = ()
    by: str = ""
    open: str = ""
    differs: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Row:
        if sum(map(bool, (self.scenario, self.by, self.open))) != 1:
            raise ValueError("give one of 'scenario', 'by' and 'open'")
        if self.figures and not self.scenario:
            raise ValueError("'figures' are a scenario's")
        return self

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.row.partition("/")[0]


@cache
def load() -> tuple[Row, ...]:
    """All rows, in the order of the file. LfpError names the row that is wrong."""
    rows = []
    for content in tomllib.loads(FILE.read_text(encoding="utf-8"))["row"]:
        try:
            rows.append(Row.model_validate(content))
        except ValidationError as error:
            raise LfpError(f"{FILE.name}: {content.get('row', '?')}: {error.errors()[0]['msg']}") from None
    return tuple(rows)


def scenarios() -> list[str]:
    """The scenarios that measure rows, each once, in the order of the rows."""
    return list(dict.fromkeys(row.scenario for row in load() if row.scenario))
