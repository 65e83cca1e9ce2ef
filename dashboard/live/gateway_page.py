"""The page of a running gateway: state, goodput, and the changes that its control socket takes.

Each setting has a button of its own, so a page that was opened before another browser's change does not undo that
change. Stopping and draining end the process, so the page asks first.
"""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update

from dashboard.core.controls import Radios
from dashboard.core.elements import READ_ONLY, facts_list
from dashboard.live import gateway
from dashboard.live.gateway import IN, OUT, SETTINGS, GatewayState, GatewayWatcher, Setting
from dashboard.live.page import LiveView, button, choice, field
from dashboard.live.texts import gateway_facts, gateway_line, setting_value
from netcommon.errors import LfpError

WITHIN = "10s"
ENDS = {
    "stop": "Stop the gateway at once? It resets its connections.",
    "drain": "Drain the gateway? It takes no new connections, and it ends when the existing ones have ended or when "
    "the time is over.",
}
VIEW: LiveView[GatewayState] = LiveView(
    "gateway",
    "Gateway",
    "Goodput of the last 10 minutes",
    {IN: "from hosts into the gateway", OUT: "from the gateway to hosts"},
    gateway_line,
    lambda seen: [facts_list(gateway_facts(seen))],
    lambda state: state.numbers,
)


def page(watcher: GatewayWatcher, *, read_only: bool = False) -> html.Div:
    """The page. The controls begin with the gateway's present settings."""
    state = watcher.seen().state
    rows = [
        html.Div([_control(setting, state), button(_set(setting), f"Set {setting.label.lower()}")], className="bar")
        for setting in SETTINGS
    ]
    within = field("gateway-within", "Drain within", type="text", value=WITHIN)
    ends = [within, button("gateway-drain", "Drain…"), button("gateway-stop", "Stop…")]
    sure = [dcc.ConfirmDialog(id=f"gateway-{end}-sure", message=message) for end, message in ENDS.items()]
    return VIEW.page(watcher, [*rows, html.Div(ends, className="bar"), *sure], read_only=read_only)


def _control(setting: Setting, state: GatewayState | None) -> html.Div | Radios:
    if setting.choices:
        now = setting_value(setting, state) if state else None
        return choice(_id(setting), setting.label, {name: name for name in setting.choices}, now)
    mbit = state.parameters[setting.shown] // 10**6 if state else None
    label = f"{setting.label} (Mbit/s, 0: none)"
    return field(_id(setting), label, type="number", min=0, step=1, value=mbit)


def _id(setting: Setting) -> str:
    return f"gateway-{setting.name}"


def _set(setting: Setting) -> str:
    return f"gateway-set-{setting.name}"


def register(app: Dash, watcher: GatewayWatcher, *, read_only: bool) -> None:
    """Registers the page's callbacks. `read_only`: every request to change something is refused."""

    def set_one(*given: Any) -> Any:
        clicks, values = given[: -len(SETTINGS)], given[-len(SETTINGS) :]
        if not any(clicks):
            return no_update
        asked = str(ctx.triggered_id)
        wanted = next(number for number, one in enumerate(SETTINGS) if asked in (_id(one), _set(one)))
        return changed(watcher, SETTINGS[wanted], values[wanted], read_only=read_only)

    def end(stops: int | None, drains: int | None, within: str | None) -> Any:
        if not (stops or drains):
            return no_update
        draining = ctx.triggered_id == "gateway-drain-sure"
        return ended(watcher, (within or "") if draining else None, read_only=read_only)

    VIEW.register(app, watcher)
    app.callback(
        Output("gateway-said", "children"),
        *(Input(_set(setting), "n_clicks") for setting in SETTINGS),
        *(Input(_id(setting), "n_submit") for setting in SETTINGS if not setting.choices),
        *(State(_id(setting), "value") for setting in SETTINGS),
        prevent_initial_call=True,
    )(set_one)
    app.callback(
        Output("gateway-said", "children", allow_duplicate=True),
        Input("gateway-stop-sure", "submit_n_clicks"),
        Input("gateway-drain-sure", "submit_n_clicks"),
        State("gateway-within", "value"),
        prevent_initial_call=True,
    )(end)
    for name in ENDS:
        app.clientside_callback(  # type: ignore[no-untyped-call]
            "clicks => Boolean(clicks)",
            Output(f"gateway-{name}-sure", "displayed"),
            Input(f"gateway-{name}", "n_clicks"),
            prevent_initial_call=True,
        )


def changed(watcher: GatewayWatcher, setting: Setting, value: object, *, read_only: bool = False) -> str:
    """Sets one setting, and says what it is now or why it was refused."""
    if read_only:
        return READ_ONLY
    try:
        state = gateway.change(watcher, setting, value)
    except LfpError as error:
        return str(error)
    return f"{setting.label} is now {setting_value(setting, state)}."


def ended(watcher: GatewayWatcher, within: str | None, *, read_only: bool = False) -> str:
    """Drains the gateway `within` a time, or stops it (None), and says so or why not."""
    if read_only:
        return READ_ONLY
    try:
        if within is None:
            gateway.stop(watcher)
            return "The gateway stops."
        gateway.drain(watcher, within)
        return f"The gateway takes no new connections and stops within {within}."
    except LfpError as error:
        return str(error)
