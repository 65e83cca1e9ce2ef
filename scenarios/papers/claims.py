"""The claims of the five papers and of the project's card, sentence by sentence (claims.toml), and the evidence for
each.

A claim's numbers are measured by scenarios and judged by ``verdict``. A claim without numbers rests on other evidence
of the project (`by`: tests, pages, commands). `lacks` says which part of a claim has no evidence, `missing` that none
of it has. Verdicts are never written here: they follow from measurements.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from netcommon.errors import LfpError
from netcommon.quantity import RATIO, parse
from scenarios.plan import columns
from scenarios.plan.expect import Figure, Where, value_of
from scenarios.plan.values import Table

FILE = Path(__file__).with_name("claims.toml")
PAPERS = {
    "C": "comet-2004",
    "T": "tgnle-2006",
    "P": "cpeak-1998",
    "F": "lfp-1995",
    "L": "lsr-2007",
    "K": "The project's card",
}
_PPB = 1e9


class Number(Figure):
    """A number of a paper. ``paper``: its value with its unit, such as ``40Mbit``. ``within``: the largest allowed
    deviation of the measured value, as a ratio; ``why``: the reason for it. ``sense``: whether the paper gives the
    value itself, or a bound. Five fields change the measured value before it is compared. ``less`` and the value at the
    settings ``minus`` are subtracted from it. It is divided by the value at the settings ``against``, or by the value
    ``of_whole``. It is multiplied by ``factor``, such as the part of the session in which a flow ran. ``scale``: the
    part of the paper's value that the quick form has to show, because its path is smaller by this factor. ``input``:
    the setting that holds the number, if the number is a setting and not a result. ``shows``: the evidence for why the
    number differs here: ``scenario:NAME``, ``test:NAME`` or a page from the project's folder."""

    scenario: str
    paper: str | int | float
    within: str = "0"
    why: str = ""
    sense: Literal["equal", "least", "most"] = "equal"
    less: str = ""
    minus: Where | None = None
    against: Where | None = None
    of_whole: str = ""
    factor: float = 1
    scale: float = 1
    input: str = ""
    shows: str = ""

    @model_validator(mode="after")
    def _judgeable(self) -> Number:
        if self.input and not columns.find(self.input):
            raise ValueError(f"number '{self.say}': input = '{self.input}': no setting of a scenario")
        if bool(self.why) == bool(self.input):
            raise ValueError(f"number '{self.say}': give one of 'why' (the distance's reason) and 'input'")
        try:
            _ = self.value, self.distance, self.subtracted, self.divisor
        except ValueError as error:
            raise ValueError(f"number '{self.say}': {error}") from None
        if self.shows and not self.shows.startswith(("scenario:", "test:", "docs/")):
            raise ValueError(f"number '{self.say}': shows = '{self.shows}': want scenario:NAME, test:NAME or docs/PAGE")
        return self

    @property
    def is_ratio(self) -> bool:
        """Whether the measured value is divided by another one in the same unit."""
        return self.against is not None or bool(self.of_whole)

    @property
    def value(self) -> float:
        """The paper's value in the unit of the measured value."""
        return float(self.paper) if self.is_ratio else float(value_of(self.input_column or self.of, self.paper))

    @property
    def input_column(self) -> str:
        """The column of the setting that holds an input; empty for a measured value."""
        return columns.find(self.input)[0] if self.input else ""

    @property
    def distance(self) -> float:
        """``within`` as a ratio."""
        return parse(RATIO, self.within) / _PPB

    @property
    def subtracted(self) -> float:
        """``less`` in the unit of the measured value."""
        return float(value_of(self.of, self.less)) if self.less else 0

    @property
    def divisor(self) -> float:
        """``of_whole`` in the unit of the measured value."""
        return float(value_of(self.of, self.of_whole)) if self.of_whole else 1


class Claim(Table):
    """A sentence of a paper. ``says`` restates it."""

    id: str = Field(pattern=r"^[CTPFLK][0-9]{2}$")
    says: str
    numbers: tuple[Number, ...] = ()
    by: str = ""
    lacks: str = ""
    missing: str = ""

    @model_validator(mode="after")
    def _stands_on_something(self) -> Claim:
        if bool(self.numbers or self.by) == bool(self.missing):
            raise ValueError("give 'numbers' or 'by', or else 'missing'")
        if self.lacks and self.missing:
            raise ValueError("what is missing lacks nothing: give one of 'lacks' and 'missing'")
        return self

    @property
    def paper(self) -> str:
        """The short name of the paper that makes the claim."""
        return PAPERS[self.id[0]]


@cache
def load() -> tuple[Claim, ...]:
    """All claims, in the order of the file. LfpError names the one that is wrong."""
    claims = []
    for content in tomllib.loads(FILE.read_text(encoding="utf-8"))["claim"]:
        try:
            claims.append(Claim.model_validate(content))
        except ValidationError as error:
            raise LfpError(f"{FILE.name}: {content.get('id', '?')}: {error.errors()[0]['msg']}") from None
    return tuple(claims)


def scenarios() -> list[str]:
    """The scenarios that measure numbers, each once, in the order of the claims."""
    return list(dict.fromkeys(number.scenario for claim in load() for number in claim.numbers))
