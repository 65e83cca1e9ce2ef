"""[[event]] while a trial runs: a gateway ends and is started again, or gets another address."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial

from scenarios.network.place import Network
from scenarios.network.topology import Topology
from scenarios.plan.events import Event
from scenarios.trial import rebinding
from scenarios.trial.gateways import Pair, Running, made
from scenarios.trial.timed import Act


def acts(net: Network, behind: Running, events: Sequence[Event], stack: contextlib.ExitStack) -> list[Act]:
    """The actions for these events at the gateways of the first pair of hosts that has any, in order of time; none
    without gateways. At its exit, ``stack`` undoes what would outlive the trial."""
    if not behind.pairs:
        return []
    own = (act for one in events for act in _acts(made(net), behind.pairs[0], one, stack))
    return sorted(own, key=lambda act: act.at_ns)


def _acts(net: Topology, pair: Pair, event: Event, stack: contextlib.ExitStack) -> Iterator[Act]:
    name = f"event {event.act} gateway.{event.which}"
    if event.act == "rebind":
        yield Act(event.at, name, partial(_rebound, net, pair, stack))
        return
    yield Act(event.at, name, partial(pair.end, event.which, kill=event.act == "kill"))
    yield Act(event.end_ns, name, partial(pair.again, event.which))


def _rebound(net: Topology, pair: Pair, stack: contextlib.ExitStack) -> None:
    rebinding.rebind(net, pair.site)
    stack.callback(rebinding.undo, net, pair.site)
