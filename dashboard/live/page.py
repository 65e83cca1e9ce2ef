"""What the pages of running tools share: the line of state, facts, the plot, all numbers, and the answers to buttons.

Each open page asks the server for its latest sample, once a second. Controls are not drawn again, so what a reader is
typing stays. A button's request is a POST, which dashboard/server/auth.py refuses to pages of other sites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dash import Dash, Input, Output, dcc, html

from dashboard.core.controls import Radios
from dashboard.core.elements import READ_ONLY, graph, table
from dashboard.live.figure import live_figure
from dashboard.live.recent import Watched
from dashboard.live.texts import numbers_table
from dashboard.live.watcher import Seen, Watcher

POLL_MS = 1000
S = TypeVar("S", bound=Watched)


@dataclass(frozen=True)
class LiveView(Generic[S]):
    """How one kind of tool is shown. `name`: how the ids of its page's elements begin; `lines`: the plot's lines by
    counter; `line` and `facts`: the state in one line and in detail; `numbers`: all numbers of a state."""

    name: str
    title: str
    plot: str
    lines: Mapping[str, str]
    line: Callable[[Seen[S]], str]
    facts: Callable[[Seen[S]], list[Any]]
    numbers: Callable[[S], tuple[tuple[str, int | float], ...]]

    def page(self, watcher: Watcher[S, Any], controls: list[Any], *, read_only: bool) -> html.Div:
        """The page. Without controls when `read_only`."""
        shown = self.parts(watcher.seen())
        name = self.name
        return html.Div(
            [
                html.H1(self.title),
                html.P(f"Control socket {watcher.path}", className="small"),
                html.P(shown[0], id=f"{name}-state", role="status"),
                html.Div(shown[1], id=f"{name}-facts"),
                html.H2(self.plot),
                graph(f"{name}-plot", shown[2], f"{self.plot}. The current values are above."),
                *([html.P(READ_ONLY)] if read_only else [html.H2("Control"), *controls]),
                html.P(id=f"{name}-said", role="alert"),
                html.Details([html.Summary("All numbers"), html.Div(shown[3], id=f"{name}-numbers")]),
                dcc.Interval(id=f"{name}-clock", interval=POLL_MS),
            ]
        )

    def parts(self, seen: Seen[S]) -> tuple[Any, ...]:
        """The parts that are updated every second: line, facts, plot, numbers."""
        numbers = [] if seen.state is None else [table(numbers_table(self.numbers(seen.state)))]
        figure = live_figure(seen.samples, seen.now_s, self.lines, "Rate")
        return self.line(seen), self.facts(seen), figure, numbers

    def register(self, app: Dash, watcher: Watcher[S, Any]) -> None:
        """Registers the callback by which an open page updates itself every second."""
        app.callback(
            Output(f"{self.name}-state", "children"),
            Output(f"{self.name}-facts", "children"),
            Output(f"{self.name}-plot", "figure"),
            Output(f"{self.name}-numbers", "children"),
            Input(f"{self.name}-clock", "n_intervals"),
            prevent_initial_call=True,
        )(lambda _: self.parts(watcher.seen()))


def field(name: str, label: str, **options: Any) -> html.Div:
    """A field for text or a number, with its label."""
    return html.Div([html.Label(label, htmlFor=name), dcc.Input(id=name, **options)], className="field")


def choice(name: str, label: str, choices: Mapping[str, str], value: str | None) -> Radios:
    """One of a few values, by value and text."""
    options = [{"label": text, "value": given} for given, text in choices.items()]
    return Radios(id=name, legend=label, options=options, value=value)


def button(name: str, label: str) -> html.Button:
    return html.Button(label, id=name, className="go")
