"""[[event]]: what happens to the gateways while a trial runs. Changes of the path are [path] ``change``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import model_validator

from netcommon import quantity
from scenarios.plan.values import S, Table, within

End = Literal["gateway.near", "gateway.far"]
ACTS = ("restart", "kill", "rebind")


class Event(Table):
    """One event. ``at``: time since the start of the delay box, as in ``change``. ``restart``: the gateway is asked to
    exit, and started again after ``down``; ``kill``: it is killed instead. ``rebind``: from then on an address
    translator gives the near gateway another address."""

    at: Annotated[int, *within(quantity.DURATION, 0, 24 * 3600 * S)]
    restart: End | None = None
    kill: End | None = None
    rebind: Literal["gateway.near"] | None = None
    down: Annotated[int, *within(quantity.DURATION, 0, 3600 * S)] = S

    @model_validator(mode="after")
    def _one_act(self) -> Event:
        said = [name for name in ACTS if getattr(self, name) is not None]
        if len(said) != 1:
            raise ValueError(f'give one of {", ".join(ACTS)}, such as restart = "gateway.far"')
        return self

    @property
    def act(self) -> str:
        """One of ACTS."""
        return next(name for name in ACTS if getattr(self, name) is not None)

    @property
    def which(self) -> Literal["near", "far"]:
        """The gateway concerned."""
        return "far" if getattr(self, self.act) == "gateway.far" else "near"

    @property
    def end_ns(self) -> int:
        """When the gateway is started again, or has its new address."""
        return self.at + (0 if self.act == "rebind" else self.down)


def text(events: Iterable[Event]) -> str:
    """All events as the column ``events`` has them: ``5s restart far 1s; 9s rebind near``, where 1s is ``down``.
    ``none`` without events."""
    return "; ".join(_text(one) for one in sorted(events, key=lambda one: one.at)) or "none"


def _text(event: Event) -> str:
    down = [] if event.act == "rebind" else [quantity.format_duration(event.down)]
    return " ".join([quantity.format_duration(event.at), event.act, event.which, *down])


def spans(column: str) -> list[tuple[int, int]]:
    """Begin and end of each event in a text of that column, ns of the box's clock."""
    found = []
    for one in column.split("; ") if column != "none" else ():
        at, _, _, *down = one.split()
        begin_ns = quantity.parse_duration_ns(at)
        found.append((begin_ns, begin_ns + sum(map(quantity.parse_duration_ns, down))))
    return found
