"""Values of a scenario: how a text with a unit becomes a number, what it may be, and how it is written again.

A key that is passed to a tool's option has the option's bounds and choices (tool_options.py). The bounds of other keys
are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from comet_delay.options import refusal
from netcommon import quantity
from scenarios.plan.tool_options import Source, check_amount, check_choice, source_of

MS, S = 10**6, 10**9
_WHOLE = r"^ *-?[0-9]+ *$"
PORTABLE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class Table(BaseModel):
    """A table of the file. Unknown keys are errors; instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


@dataclass(frozen=True)
class Written:
    """The form of a value in a file, for the JSON Schema (schema.py); a validator converts it to another type. ``made``
    is called when the schema is made, since it may ask a tool. A quantity has its ``unit``. ``source``: the tool's
    option that bounds the value; ``bounds``: the bounds, if no option does. ``zero``: 0 is allowed, too."""

    made: Callable[[], dict[str, Any]]
    unit: str = ""
    source: Source | None = None
    zero: bool = False
    bounds: tuple[int, int] | None = None

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.made()


Quantity = tuple[BeforeValidator, PlainSerializer, Written]
Text = tuple[BeforeValidator, Written]


def _written(
    unit: quantity.Unit, source: Source | None = None, zero: bool = False, bounds: tuple[int, int] | None = None
) -> Written:
    def made() -> dict[str, Any]:
        return {"type": ["string", "number"], "examples": unit.examples.split(", "), **_help(source)}

    return Written(made, unit.name, source, zero, bounds)


def _help(source: Source | None) -> dict[str, Any]:
    option = source.option() if source else None
    return {"description": option.help} if option else {}


def _parsed(unit: quantity.Unit, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"not a {unit.name}; want for example {unit.examples}")
    if isinstance(value, str):
        return quantity.parse(unit, value)
    return quantity.parse(unit, f"{Decimal(repr(value)):f}", quoted=True)


def _shown(unit: quantity.Unit) -> PlainSerializer:
    return PlainSerializer(lambda number: quantity.format_value(unit, number), when_used="json")


def _out_of_range(unit: quantity.Unit, low: int, high: int) -> str:
    return f"out of range; allowed is {quantity.format_value(unit, low)} to {quantity.format_value(unit, high)}"


def within(unit: quantity.Unit, low: int, high: int) -> Quantity:
    """Validator and serialiser of a quantity with bounds of its own, in base units."""

    def read(value: Any) -> int:
        number = _parsed(unit, value)
        if not low <= number <= high:
            raise ValueError(_out_of_range(unit, low, high))
        return number

    return BeforeValidator(read), _shown(unit), _written(unit, bounds=(low, high))


def of_option(unit: quantity.Unit, table: str, key: str, *, zero: bool = False) -> Quantity:
    """Validator and serialiser of a quantity with the bounds of a tool's option. ``zero``: 0 is allowed too and means
    none."""
    source = source_of(table, key)

    def read(value: Any) -> int:
        number = _parsed(unit, value)
        check_amount(source, number, zero=zero)
        return number

    return BeforeValidator(read), _shown(unit), _written(unit, source, zero)


def whole(low: int, high: int) -> Text:
    """Validator of a number without a unit that has bounds of its own."""

    def read(value: Any) -> int:
        text = value.strip() if isinstance(value, str) else repr(value)
        if isinstance(value, bool) or not text.removeprefix("-").isdecimal():
            raise ValueError(f"not a whole number; allowed is {low} to {high}, without a unit")
        if not low <= int(text) <= high:
            raise ValueError(f"out of range; allowed is {low} to {high}")
        return int(text)

    numbers = {"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, {"type": "string", "pattern": _WHOLE}]}
    return BeforeValidator(read), Written(lambda: numbers, quantity.COUNT.name, bounds=(low, high))


def _true_or_false(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("allowed is true or false, without quotation marks")
    return value


Flag = Annotated[bool, BeforeValidator(_true_or_false)]


def count(table: str, key: str) -> Text:
    """Validator of a number without a unit that a tool's option bounds."""
    source = source_of(table, key)

    def read(value: Any) -> int:
        if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and value.isdigit())):
            raise ValueError("not a whole number; want for example 100, without a unit")
        check_amount(source, int(value), zero=False)
        return int(value)

    numbers = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": _WHOLE}]}
    return BeforeValidator(read), Written(lambda: numbers | _help(source), quantity.COUNT.name, source)


def choice(table: str, key: str) -> Text:
    """Validator of a word that is one of the choices of a tool's option."""
    source = source_of(table, key)

    def read(value: Any) -> str:
        if not isinstance(value, str):
            words = (
                ", ".join(option.choices) if (option := source.option()) else f"see --{source.name} of {source.tool}"
            )
            raise ValueError(f"not a text; allowed is one of {words}, in quotation marks")
        check_choice(source, value)
        return value

    def written() -> dict[str, Any]:
        option = source.option()
        return {"type": "string"} | ({"enum": list(option.choices), "description": option.help} if option else {})

    return BeforeValidator(read), Written(written, source=source)


def _checked(option: str, text: str) -> str:
    """The text of a model, unchanged, if the delay box accepts it; ValueError with the box's reason if not."""
    if reason := refusal(option, text):
        raise ValueError(reason)
    return text


def model(option: str) -> tuple[BeforeValidator]:
    """Validator of a model's text. It asks the delay box, so that the grammar of models is written only once."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"not a text; see --{option} in comet-delay(1)")
        return _checked(option, value)

    return (BeforeValidator(read),)


def ratio_or_model(option: str) -> Quantity:
    """A plain ratio becomes a number (ppb). A text with a colon is a model and stays a text."""

    def read(value: Any) -> int | str:
        if isinstance(value, str) and ":" in value:
            return _checked(option, value)
        number = _parsed(quantity.RATIO, value)
        if number > quantity.RATIO_ONE_PPB:
            raise ValueError(_out_of_range(quantity.RATIO, 0, quantity.RATIO_ONE_PPB))
        return number

    def show(value: int | str) -> str:
        return value if isinstance(value, str) else quantity.format_value(quantity.RATIO, value)

    return BeforeValidator(read), PlainSerializer(show, when_used="json"), _written(quantity.RATIO)


Span = Annotated[int, *within(quantity.DURATION, 100 * MS, 24 * 3600 * S)]
