"""Changes of a path while a trial runs (`[path] change`): the delay boxes get other parameters, and the line between
the routers another MTU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from scenarios.network.place import Network
from scenarios.network.topology import Topology
from scenarios.plan.path import Change, parameter_of
from scenarios.trial.delay_box import Boxes
from scenarios.trial.timed import Act


def acts(net: Network | None, boxes: Boxes, changes: Sequence[Change]) -> list[Act]:
    """The actions for these changes, in every box of a parking lot at once."""
    return [Act(change.at_ns, "path.change", partial(_make, net, boxes, change)) for change in changes]


def _make(net: Network | None, boxes: Boxes, change: Change) -> None:
    for box in boxes.of_path():
        box.set(ab=_named(change.ab), ba=_named(change.ba))
    if change.mtu:
        assert isinstance(net, Topology)
        net.set_line_mtu(change.mtu)


def _named(values: Mapping[str, int | str]) -> dict[str, int | str]:
    return {parameter_of(key, value): value for key, value in values.items()}
