"""What the pages of running tools say in words and figures."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.core.parts import Facts, Table, known
from dashboard.live.box import PARAMETERS, WAYS, BoxState
from dashboard.live.gateway import IN, OUT, SETTINGS, GatewayState, Setting
from dashboard.live.watcher import Seen
from netcommon import readable

TUNNEL = {"up": "The tunnel is up.", "connecting": "The tunnel is being set up.", "outage": "The tunnel has an outage."}
SIZES = ("bytes_in", "bytes_out")  # amounts of bytes whose names do not end in the unit


def no_answer(error: str) -> str:
    """The one line about a tool that does not answer."""
    return f"No answer: {error}. This page continues when the socket answers again."


def gateway_line(seen: Seen[GatewayState]) -> str:
    """What the gateway does now, in one line."""
    state = seen.state
    if state is None:
        return no_answer(seen.error)
    tunnel = TUNNEL.get(state.tunnel, f"The tunnel is in the state {state.tunnel}.")
    if state.contention:
        tunnel += f" {state.contention[:1].upper()}{state.contention[1:]}."
    if state.draining:
        return f"{tunnel} The gateway is ending: it takes no new connections."
    return f"{tunnel} New connections {'bypass it' if state.bypassed else 'go through it'}."


def gateway_facts(seen: Seen[GatewayState]) -> Facts:
    """Peer, settings, goodput, round-trip time and sessions; nothing without a state."""
    state = seen.state
    if state is None:
        return []
    settings = [(setting.label, setting_value(setting, state)) for setting in SETTINGS]
    engine = state.engine
    return known(
        [
            ("Peer", state.peer),
            ("Up for", readable.duration(state.uptime_ns)),
            ("From hosts into the gateway", readable.rate(_bps(seen, IN))),
            ("From the gateway to hosts", readable.rate(_bps(seen, OUT))),
            *settings,
            ("Rate of the tunnel now", limit(engine.get("rate_bps"))),
            ("RTT of the tunnel", readable.duration(engine.get("srtt_ns") or None)),
            ("Minimum RTT of the tunnel", readable.duration(engine.get("min_rtt_ns") or None)),
            ("Loss in the last 1000 frames", readable.ratio_ppb(engine.get("loss_ppb"))),
            ("Connections of hosts", readable.count(state.connections)),
            ("Half-open connections", readable.count(state.half_open)),
            ("Sessions in the tunnel", readable.count(state.streams)),
        ]
    )


def setting_value(setting: Setting, state: GatewayState) -> str:
    """The value of a setting now."""
    value = state.parameters[setting.shown]
    if isinstance(value, bool):
        return "on" if value else "off"
    return limit(value) if setting.shown.endswith("_bps") else str(value)


def limit(bps: float | None) -> str:
    """The text of a rate limit; 0: none."""
    return "none" if bps == 0 else readable.rate(bps)


def box_line(seen: Seen[BoxState]) -> str:
    """The box's verdict, in one line."""
    state = seen.state
    if state is None:
        return no_answer(seen.error)
    return "Verdict: valid." if state.valid else f"Verdict: not valid. {'; '.join(state.reasons)}."


def box_facts(seen: Seen[BoxState]) -> Facts:
    """What belongs to both directions."""
    return [] if seen.state is None else [("Up for", readable.duration(seen.state.uptime_ns))]


def box_table(seen: Seen[BoxState]) -> Table:
    """Both directions side by side: rates, queue, lateness, drops by cause, parameters."""
    assert seen.state is not None
    ways = [seen.state.directions[way] for way in WAYS]
    rows: list[tuple[str, ...]] = [
        ("Comes in", *(readable.rate(_bps(seen, f"{way}.in_bytes")) for way in WAYS)),
        ("Leaves", *(readable.rate(_bps(seen, f"{way}.out_bytes")) for way in WAYS)),
        ("Queue now", *(readable.size(way.queue_bytes) for way in ways)),
        ("Longest queue", *(readable.size(way.queue_peak_bytes) for way in ways)),
        ("Lateness, p99 since the start", *(_bucket(way.late_p99_ns) for way in ways)),
        ("Lateness, maximum since the start", *(readable.duration(way.late_max_ns) for way in ways)),
    ]
    rows += [
        (f"Packets dropped: {cause.replace('_', ' ')}", *(readable.count(way.drops.get(cause)) for way in ways))
        for cause in ways[0].drops
    ]
    rows += [(one.label, *(_value(one.shown, way.parameters[one.shown]) for way in ways)) for one in PARAMETERS]
    return Table(("Quantity", *(f"{way} (from {way[0]} to {way[1]})" for way in WAYS)), tuple(rows), frozenset({1, 2}))


def _bucket(ns: int | None) -> str:
    """A percentile of a histogram whose buckets are 19 % wide: two digits, rounded up, as in the box's own verdict."""
    if ns is None:
        return readable.NOTHING
    step = 10 ** max(len(str(ns)) - 2, 0)
    return readable.duration(-(-ns // step) * step)


def parameter(name: str, value: object) -> str:
    """A parameter of the box and its value: `delay 50 ms`."""
    return f"{name.removesuffix('_ns').removesuffix('_bps')} {_value(name, value)}"


def _value(name: str, value: object) -> str:
    return limit(value) if name.endswith("_bps") and isinstance(value, int) else readable.named(name, value)


def numbers_table(numbers: Sequence[tuple[str, int | float]]) -> Table:
    """All numbers of an answer, by their names in CONTROL.md."""
    return Table(("Name", "Value"), tuple((name, _with_unit(name, value)) for name, value in numbers), frozenset({1}))


def _with_unit(name: str, value: int | float) -> str:
    return readable.size(value) if name.endswith(SIZES) else readable.named(name, value)


def _bps(seen: Seen[GatewayState] | Seen[BoxState], counter: str) -> float | None:
    amount = seen.per_s(counter)
    return None if amount is None else 8 * amount
