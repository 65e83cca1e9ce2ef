"""Controls that offer a choice: a browser's own select, slider, radio buttons and checkboxes (assets/controls.js).

Rejected: dcc.Dropdown, dcc.RadioItems and dcc.Checklist of Dash 4. The dropdown's focused element is hidden from screen
readers, its name lacks its label, and the other two nest a control in a control. Rejected as well: dcc.Slider, whose
steps are even.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

Options = Sequence[Mapping[str, Any] | str]  # each option is a text, or has `label` and `value`


class _Control(Component):
    """What Dash wants to know of a component."""

    _namespace = "lfp_controls"
    _children_props: list[str] = []  # noqa: RUF012 - as Dash's own components declare it
    _base_nodes = ["children"]  # noqa: RUF012

    def __init__(self, **given: Any) -> None:
        self._prop_names = ["id", "legend", "options", "value"]
        self.available_properties = self._prop_names
        self._valid_wildcard_attributes: list[str] = []
        self.available_wildcard_properties: list[str] = []
        super().__init__(**given)  # type: ignore[no-untyped-call]


class Select(_Control):
    """A select, one of many: `id`, `options`, `value`. Its label is an html.Label with `htmlFor`."""

    _type = "Select"


class Slider(_Control):
    """A slider, one of many in order, moved by a pointer or the arrow keys: `id`, `options`, `value`. The chosen value
    is written next to it."""

    _type = "Slider"


class Radios(_Control):
    """Radio buttons, one of a few: `id`, `legend`, `options`, `value`. None: not yet chosen."""

    _type = "Radios"


class Checks(_Control):
    """Checkboxes, any of a few: `id`, `legend`, `options`, and as `value` a list."""

    _type = "Checks"


def select(name: str, label: str, options: Options, value: object, *, hidden: bool = False) -> html.Div:
    """A select with its label. `hidden`: it is there for callbacks only."""
    offered = [{"label": one, "value": one} if isinstance(one, str) else one for one in options]
    parts = [html.Label(label, htmlFor=name, className="above"), Select(id=name, options=offered, value=value)]
    return html.Div(parts, hidden=hidden)


def slider(name: str, label: str, options: Options, value: object) -> html.Div:
    """A slider with its label."""
    return html.Div([html.Label(label, htmlFor=name), Slider(id=name, options=options, value=value)])
