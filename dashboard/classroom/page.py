"""The page for a class: choose a window and a path, run one transfer, see its curve and its timeline side by side.

There is one state (demonstration.py). Every open page asks for it twice a second, so all browsers show the same.
Language and theme are part of the address. Invariant: the request that is repeated draws nothing. A page drops the
answer to a request when it has made the same request again, so on a busy machine a slow drawing would never be shown. A
page asks for a drawing once per result, and the server draws each result once for all browsers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlencode

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, ctx, dcc, html, no_update

from dashboard.classroom import demonstration
from dashboard.classroom.curve_figure import FONT_PX, demonstration_figure
from dashboard.classroom.demonstrated import Demonstrated, demonstrated
from dashboard.classroom.demonstration import CHOICES, DURATION_S, OfferedDemonstrations, Setting, setting_of
from dashboard.classroom.words import STEPS, explained, languages, setting_texts, words
from dashboard.core.controls import select, slider
from dashboard.core.elements import graph
from dashboard.core.messages import Messages
from dashboard.core.runs import Run
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure
from dashboard.timeline.messages import TEXTS as timeline_texts
from netcommon import readable
from netcommon.errors import LfpError

POLL_MS = 500
PLOT_PX = 960
WIDTH_PX = 400  # width of the timeline's plot next to the curve, without axes and legends
THEMES = ("light", "dark")


def page(search: str, *, read_only: bool = False) -> html.Div:
    """The page in the language and theme of an address (`?lang=…&theme=…`); the default theme is the system's.
    `read_only`: without controls."""
    text, theme = words(_wanted(search, "lang")), _wanted(search, "theme")
    forbidden = [html.P(text("read_only"))] if read_only else []
    return html.Div(
        [
            html.Div(_switches(search), className="bar"),
            html.H1(text("title")),
            html.P(text("lead", seconds=DURATION_S), className="lead"),
            *forbidden,
            html.Div(_controls(text), hidden=read_only),
            html.P(id="class-state", role="status"),
            html.P(id="class-said", role="alert"),
            html.Div(id="class-result"),
            *_lesson(text, read_only),
            dcc.Store(id="class-drawn"),
            dcc.Interval(id="class-clock", interval=POLL_MS),
        ],
        className=f"class-page {theme if theme in THEMES else ''}".rstrip(),
        lang=_language(search),
    )


def _wanted(search: str, name: str) -> str:
    return parse_qs(search.lstrip("?")).get(name, [""])[0]


def _language(search: str) -> str:
    wanted = _wanted(search, "lang")
    return wanted if wanted in languages() else languages()[0]


def _switches(search: str) -> list[Any]:
    """Links to the other languages and to the other theme, or to both themes if the system chooses."""
    language, theme = _language(search), _wanted(search, "theme")
    others = [other for other in THEMES if other != theme]
    to = [(words(name)("language"), name, theme) for name in languages() if name != language]
    to += [(words(language)(f"theme.{other}"), language, other) for other in others]
    return [_switch(said, lang, look) for said, lang, look in to]


def _switch(said: str, language: str, theme: str) -> dcc.Link:
    address = "/class?" + urlencode({"lang": language, "theme": theme})
    return dcc.Link(html.Span(said, lang=language), href=address)


def _controls(text: Messages) -> list[Any]:
    chosen = [_choice(name, text) for name in CHOICES]
    buttons = [
        html.Button(text("start"), id="class-start", className="go"),
        html.Button(text("cancel"), id="class-cancel", className="go", disabled=True),
    ]
    return [html.Div(chosen, className="chooser"), html.Div(buttons, className="bar")]


def _choice(name: str, text: Messages) -> html.Div:
    labels = [
        text(key) if (key := f"{name}.{value}") in text else readable.named(name, value) for value in CHOICES[name]
    ]
    options = [{"label": label, "value": value} for label, value in zip(labels, CHOICES[name], strict=True)]
    value = getattr(Setting(), name)
    control = slider if isinstance(value, int) else select
    return control(f"class-{name}", text(f"control.{name}"), options, value)


def _lesson(text: Messages, read_only: bool) -> list[Any]:
    """The steps: a question, an answer that is hidden until it is asked for, and a button that sets the controls."""
    steps: list[Any] = [html.H2(text("lesson")), html.P(text("lesson.hint"), className="lead")]
    for number, setting in enumerate(STEPS, start=1):
        values = setting_texts(setting)
        question, answer = (text(f"step.{number}.{part}", **values) for part in ("question", "answer"))
        button = html.Button(text("set"), id=f"class-step-{number}", className="go", hidden=read_only)
        shown = html.Details([html.Summary(text("answer")), html.P(answer)])
        steps.append(html.Section([html.P(html.Strong(question)), button, shown], className="step"))
    return steps


def result(text: Messages, shown: list[Demonstrated], run: Run) -> list[Any]:
    """What the last demonstration, which is `run`, showed: explanation, curve and timeline."""
    last, trial = shown[-1], run.trial(0)
    curve = _graph("class-curve", demonstration_figure(shown, text, PLOT_PX), text("curve.says"))
    plots = [html.Div([html.H2(text("curve")), curve])]
    if trial.captured:
        say = timeline_texts[text.language]
        figure = timeline_figure(timeline.load(run, trial), height=PLOT_PX, width_px=WIDTH_PX, say=say)
        figure.update_layout(font_size=FONT_PX - 4, showlegend=False, title=None)  # the page has them as text
        figure.update_yaxes(title_font_size=FONT_PX - 6)
        plots.append(html.Div([html.H2(text("timeline")), _graph("class-timeline", figure, text("timeline.says"))]))
    return [
        html.H2(text("result")),
        html.P(text("last_setting", **setting_texts(last.setting)), id="class-last"),
        html.Ul([html.Li(said) for said in explained(text, last)], id="class-why"),
        html.Div(plots, className="side-by-side"),
        html.P(dcc.Link(text("details"), href=f"/run/{run.name}/trial/0")),
    ]


def _graph(name: str, figure: go.Figure, says: str) -> html.Figure:
    return graph(name, figure, says, style={"height": f"{PLOT_PX}px"})


def drawn(text: Messages, names: tuple[str, ...], run_named: Callable[[str], Run]) -> list[Any]:
    """The result part of the page, for these runs. Those that were deleted meanwhile are left out."""
    runs = []
    for name in names:
        try:
            runs.append(run_named(name))
        except LfpError:
            continue
    shown = demonstrated(runs)
    if not shown:
        return [html.P(text("nothing"))]
    return result(text, shown, next(run for run in runs if run.name == shown[-1].run))


def _drawer(run_named: Callable[[str], Run]) -> Callable[[str, tuple[str, ...]], list[Any]]:
    """`drawn` with the last result of each language kept. Browsers that ask at the same time wait for one drawing."""
    lock = threading.Lock()

    @lru_cache(maxsize=len(languages()))
    def once(language: str, names: tuple[str, ...]) -> list[Any]:
        return drawn(words(language), names, run_named)

    def draw(language: str, names: tuple[str, ...]) -> list[Any]:
        with lock:
            return once(language, names)

    return draw


def said_of(text: Messages, state: demonstration.State) -> str:
    """The line under the buttons: ready, or the running transfer and its remaining time, or why there was no result."""
    if state.running is not None:
        left = readable.duration(round(state.left_s or 0) * 1e9)
        return text("running", left=left, **setting_texts(state.running))
    return text("failed", error=state.error) if state.error else text("idle")


def register(
    app: Dash, demonstrations: OfferedDemonstrations, run_named: Callable[[str], Run], *, read_only: bool
) -> None:
    """Registers the page's callbacks. `read_only`: a request to start or to cancel is refused."""

    def look(_: int | None, known: list[str] | None, search: str | None) -> tuple[Any, Any]:
        state = demonstrations.state()
        said = said_of(words(_wanted(search or "", "lang")), state)
        return said, no_update if known == list(state.runs) else list(state.runs)

    def buttons(_: int | None) -> tuple[bool, bool]:
        running = demonstrations.state().running is not None
        return running, not running

    def act(starts: int | None, cancels: int | None, *rest: Any) -> str:
        text = words(_wanted(rest[-1] or "", "lang"))
        if read_only:
            return text("read_only")
        try:
            if ctx.triggered_id == "class-start" and starts:
                demonstrations.start(setting_of(dict(zip(CHOICES, rest[:-1], strict=True))))
            elif ctx.triggered_id == "class-cancel" and cancels:
                demonstrations.cancel()
        except LfpError as error:
            return str(error)
        return ""

    app.callback(
        Output("class-state", "children"),
        Output("class-drawn", "data"),
        Input("class-clock", "n_intervals"),
        State("class-drawn", "data"),
        State("url", "search"),
    )(look)
    app.callback(
        Output("class-start", "disabled"),
        Output("class-cancel", "disabled"),
        Input("class-clock", "n_intervals"),
    )(buttons)
    app.callback(
        Output("class-said", "children"),
        Input("class-start", "n_clicks"),
        Input("class-cancel", "n_clicks"),
        *(State(f"class-{name}", "value") for name in CHOICES),
        State("url", "search"),
        prevent_initial_call=True,
    )(act)
    _register_result(app, _drawer(run_named))
    _register_steps(app)


def _register_result(app: Dash, draw: Callable[[str, tuple[str, ...]], list[Any]]) -> None:
    """Registers the callback that draws the result when the list of runs has changed."""

    def show(shown: list[str], search: str | None) -> list[Any]:
        return draw(_language(search or ""), tuple(shown))

    app.callback(
        Output("class-result", "children"),
        Input("class-drawn", "data"),
        State("url", "search"),
        prevent_initial_call=True,
    )(show)


def _register_steps(app: Dash) -> None:
    """Registers the lesson's buttons, which set the controls except the kind of time."""
    names = [name for name in CHOICES if name != "time"]

    def set_controls(*clicks: int | None) -> tuple[Any, ...]:
        if not any(clicks):
            return (no_update,) * len(names)
        setting = STEPS[int(str(ctx.triggered_id).rpartition("-")[2]) - 1]
        return tuple(getattr(setting, name) for name in names)

    app.callback(
        *(Output(f"class-{name}", "value") for name in names),
        *(Input(f"class-step-{number}", "n_clicks") for number in range(1, len(STEPS) + 1)),
        prevent_initial_call=True,
    )(set_controls)
