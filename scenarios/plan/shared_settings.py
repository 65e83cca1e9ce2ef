"""Settings that all trials of a run share, under the scenario's names: what a reader must know before any figure.

The list has the settings that every figure depends on (rate, delay, queue, loss, profile, congestion control, gateways)
and all others that differ from a scenario's default. It leaves out those that the kind of time chooses by itself: one
scenario has different ones in real and in virtual time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from netcommon import readable
from scenarios.plan import cells, columns, params
from scenarios.plan.cells import Row
from scenarios.plan.gateway import Gateway
from scenarios.plan.model import About, Scenario
from scenarios.plan.plan import Trial
from scenarios.plan.transfer import Transfer

_ALWAYS = ("rate_bps", "delay_ns", "queue_bytes", "loss_ppb", "profile", "congestion", "gateway", "gateway_recovery")
_BACK, _LONGEST = "ba_", 120  # longest text shown, in characters; a trace's changes are longer
_NO_LIMIT = ("rate_bps", "queue_bytes", "gateway_rate_bps")
_LIMITS_TOO = {"rate_bps": "rate_trace", "queue_bytes": "queue_packets"}  # settings that may limit instead


def shared_settings(rows: Sequence[Row], sweep: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Name and text of each setting that has one value in all rows; empty without rows."""
    constant = {name: rows[0].get(name) for name in columns.settings() if _constant(rows, name)}
    if constant.get("gateway") in (None, "none"):
        constant = {name: value for name, value in constant.items() if not name.startswith("gateway_")}
    names = [*_ALWAYS, *(name for name in constant if name not in _ALWAYS and _tells(name, constant))]
    said = [(_spelling(name, constant, sweep), _text(name, constant)) for name in names if name in constant]
    return [(name, text) for name, text in said if text not in (readable.NOTHING, "")]


def _constant(rows: Sequence[Row], name: str) -> bool:
    """Whether all rows agree in a setting. A loss whose number is null is a model, and the texts of models may
    differ."""
    own = {column: rows[0].get(column) for column in (name, name.removesuffix("_ppb"))} if rows else {}
    return bool(own) and all(row.get(column) == value for column, value in own.items() for row in rows)


def _tells(name: str, constant: Row) -> bool:
    """Whether a setting is worth listing: it is not the default, and no other setting says the same."""
    if name in columns.OF_THE_CLOCK or not columns.COLUMNS[name].setting or constant[name] is None:
        return False
    forth = name.removeprefix(_BACK)
    if forth != name and constant.get(forth) == constant[name]:  # `path.rate` holds both ways
        return False
    if constant.get(f"{name}_ppb") is not None or name == "loss":  # a ratio's text
        return False
    default = _defaults().get(name)
    return bool(constant[name] != default and (constant[name] or default))  # 0 and null both mean: not set


def _spelling(name: str, constant: Row, sweep: Iterable[str]) -> str:
    """``path.loss``; ``path.ab_loss`` where the reverse direction has another value that is not listed itself."""
    found, back = cells.name_of(name, sweep), f"{_BACK}{name}"
    one_way = constant.get(back) not in (None, constant[name]) and not _tells(back, constant)
    return found.replace("path.", "path.ab_", 1) if one_way and found == columns.spelling(name) else found


def _text(name: str, constant: Row) -> str:
    if name == "loss_ppb" and constant[name] is None:
        return str(constant.get("loss") or readable.NOTHING)
    if name in _NO_LIMIT and constant[name] == 0:
        other = constant.get(_LIMITS_TOO[name], "swept") if name in _LIMITS_TOO else None
        return "no limit" if other in (None, 0, "none") else readable.NOTHING
    text = readable.named(name, constant[name])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@functools.cache
def _defaults() -> Row:
    """Parameters of a trial whose scenario sets nothing. It has gateways, so that their defaults are known too."""
    setting = Scenario(scenario=About(name="default"), transfer=Transfer(bytes=1), gateway=Gateway(kind="lft"))
    return dict(params.of(Trial(number=0, repeat=0, seed=0, setting=setting)))
