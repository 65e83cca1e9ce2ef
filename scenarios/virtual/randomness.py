"""Which parts of a setting are drawn from a seed. Where none is, repeats in virtual time are copies of one trial.

The seed decides the packets' fates in the delay box, some congestion controls' choices, the channels that connections
get, and what third-party gateways draw. In real time the machine's own noise makes repeats differ, whatever the path
does.
"""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.plan import flows
from scenarios.plan.model import Scenario
from scenarios.plan.path import STILL_AQM, Direction
from scenarios.plan.plan import Plan, Trial

_RATIOS = ("loss", "loss_after", "duplicate", "corrupt", "forge", "reorder")
_LISTS = ("packets", "time", "seq", "retransmission")  # loss models that name the packets to drop
_TRACE = "trace"  # jitter from a file, packet by packet
# Congestion controls that draw: the phase in which BBR's cycle of gains begins, and to which flows CDG and NV react.
DRAWING_CONTROLS = frozenset({"bbr", "cdg", "nv"})
_STILL_SEED = 1


def is_drawn(setting: Scenario) -> bool:
    """Whether results of this setting depend on anything that is drawn at random."""
    ways = [phase for path in flows.paths(setting) for phase in path.phases("ab") + path.phases("ba")]
    return (
        not DRAWING_CONTROLS.isdisjoint(control.partition(":")[0] for control in flows.controls(setting))
        or any(flows.gateway_of(setting, pair).kind == "command" for pair in flows.pairs(setting))
        or any(_drawn_in(way) or _spread_by_flow(way) for way in ways)
    )


def _spread_by_flow(direction: Direction) -> bool:
    """Whether a connection's channel depends on its ports, which the kernel draws. A transfer has at least two
    connections, and its control connection may have another channel than the data."""
    return int(direction.values["channels"]) > 1 and direction.values["balance"] == "flow"


def guest_seed(trial: Trial) -> int:
    """The seed of everything that a virtual trial's kernel and programs draw: ports, sequence numbers, keys. Which ones
    they get hardly matters, but a draw may need one more reading of the clock, and a transfer through gateways that
    begins a microsecond later can end 0.2 % faster. So they differ between repeats only where something is drawn that
    matters."""
    path = trial.setting.path
    if path.seed is not None:
        return path.seed
    return trial.seed if is_drawn(trial.setting) else _STILL_SEED


def _drawn_in(direction: Direction) -> bool:
    ratios = (direction.values[key] for key in _RATIOS)
    drawn = any(_kind(value) not in _LISTS if isinstance(value, str) else value > 0 for value in ratios)
    jitter, aqm = (_kind(str(direction.values[key])) for key in ("jitter", "aqm"))
    return drawn or jitter not in ("none", _TRACE) or aqm not in STILL_AQM


def _kind(model: str) -> str:
    return model.partition(":")[0]


def notes(plan: Plan) -> Iterator[str]:
    """Sentences for the user before a plan with repeats runs in virtual time."""
    repeats = plan.base.run.repeat
    if repeats < 2:
        return
    if plan.base.path.seed is not None:
        yield (
            f"path.seed is fixed: in virtual time the {repeats} repeats will be copies of one trial; "
            "leave it out, and each repeat draws by a seed of its own"
        )
        return
    settings = [trial.setting for trial in plan.trials if trial.repeat == 0]
    still = sum(not is_drawn(setting) for setting in settings)
    if still:
        which = "this plan" if still == len(settings) else f"{still} of its {len(settings)} settings"
        yield (
            f"nothing in {which} is random: in virtual time the {repeats} repeats will be copies of one trial; "
            'to draw, set a little jitter ([path] jitter = "20us")'
        )
