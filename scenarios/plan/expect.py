"""[[expect]]: conditions on a scenario's results. A run whose results do not show it ends with status 1.

An expectation bounds a measured column, for each setting that ``where`` picks, by the median of its valid repeats. With
``against`` it bounds the ratio to the median of another setting. Texts have units as elsewhere in a scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from netcommon import quantity
from scenarios.plan import columns, model_files
from scenarios.plan.values import Table

Row = Mapping[str, Any]
Where = dict[str, str | int | float | bool]
_UNITS = {
    "bps": quantity.RATE,
    "bytes": quantity.BYTES,
    "ns": quantity.DURATION,
    "ppb": quantity.RATIO,
    "m": quantity.DISTANCE,
}


class Figure(Table):
    """A figure of a scenario: ``say`` in words, the column ``of``, in the settings that ``where`` selects."""

    say: str
    of: str = "short_term_bps"
    where: Where = Field(default_factory=dict)

    @model_validator(mode="after")
    def _measured(self) -> Figure:
        if self.of not in columns.COLUMNS or columns.COLUMNS[self.of].role != "outcome":
            raise ValueError(
                f"expect '{self.say}': of = '{self.of}': unknown{columns.did_you_mean(self.of, ['outcome'])}"
            )
        _pairs(self.say, self.where)
        return self

    def picks(self, row: Row) -> bool:
        """Whether ``where`` picks this row of the results."""
        return _agrees(row, self.where) and (_names_flow(self.where) or not row.get("flow"))


class Expect(Figure):
    """One expectation: a figure with ``min``, ``max`` or both."""

    against: Where | None = None
    min: str | int | float | None = None
    max: str | int | float | None = None

    @field_validator("min", "max", mode="before")
    @classmethod
    def _no_flag(cls, value: Any) -> Any:
        """A TOML true is not a number, although Python treats it as 1."""
        if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
            raise ValueError('not a bound; want a number, or a text with a unit such as "40Mbit"')
        return value

    @model_validator(mode="after")
    def _readable(self) -> Expect:
        if self.min is None and self.max is None:
            raise ValueError(f"expect '{self.say}': give 'min', 'max' or both")
        low, high = self.bounds()
        if low is not None and high is not None and low > high:
            raise ValueError(f"expect '{self.say}': min = {self.min!r} is above max = {self.max!r}; want it below")
        _pairs(self.say, self.against or {})
        return self

    def bounds(self) -> tuple[float | None, float | None]:
        """``min`` and ``max`` in the column's unit, or as ratios."""
        low, high = (None if text is None else self._bound(text) for text in (self.min, self.max))
        return low, high

    def _bound(self, text: str | int | float) -> float:
        try:
            return _ratio(text) if self.against is not None else float(value_of(self.of, text))
        except ValueError as error:
            raise ValueError(f"expect '{self.say}': {text!r}: {error}") from None

    def compares_with(self, row: Row) -> bool:
        """Whether ``against`` picks this row."""
        if self.against is None:
            return False
        return _agrees(row, self.against) and (_names_flow(self.against) or not row.get("flow"))


_FLOW = {"flow": "flow_name"}  # a flow is given by name, not by number


def _names_flow(picked: Where) -> bool:
    """Whether rows of a certain flow are meant. Otherwise those of [transfer]'s flow are."""
    return not picked.keys().isdisjoint(("flow", "flow_name"))


def _ratio(text: str | int | float) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("with 'against' a bound is a ratio without a unit; want for example 2.5") from None


def value_of(column: str, text: str | int | float | bool) -> str | int | float | bool:
    """The column's value for a scenario's text. ValueError for a text that is not a quantity of the column's unit."""
    unit = _UNITS.get(column.rsplit("_", 1)[-1])
    if unit is None or isinstance(text, bool):
        return float(text) if isinstance(text, str) and columns.COLUMNS[column].kind == "float" else text
    return quantity.parse(unit, text) if isinstance(text, str) else quantity.parse(unit, f"{text}", quoted=True)


def _agrees(row: Row, picked: Where) -> bool:
    return all(any(row.get(name) == value for name, value in pair) for pair in _pairs("", picked))


def _pairs(say: str, picked: Where) -> Iterable[list[tuple[str, Any]]]:
    """For each name of ``where`` the columns that it fills, with the value that each has to have."""
    found = []
    for name, text in picked.items():
        if name.startswith(columns.OF_NAMED):
            raise ValueError(
                f"expect '{say}': '{name}': not a key of every flow; want flow = NAME for a flow's rows, "
                "beside = TEXT for its concurrent flows"
            )
        known = columns.find(_FLOW.get(name, name))
        names = [column for column in known if columns.COLUMNS[column].role in ("setting", "identity")]
        if not names:
            raise ValueError(f"expect '{say}': '{name}': unknown{columns.did_you_mean(name, ['setting'])}")
        pairs = [(column, _or_none(column, model_files.column(text))) for column in names]
        if all(value is None for _, value in pairs):
            raise ValueError(f"expect '{say}': {name} = {text!r}: not a value of this setting")
        found.append([pair for pair in pairs if pair[1] is not None])
    return found


def _or_none(column: str, text: str | int | float | bool) -> Any:
    try:
        return value_of(column, text)
    except ValueError:
        return None
