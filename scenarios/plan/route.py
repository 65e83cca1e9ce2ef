"""[route]: the places that a path stands for, from sender to receiver. A dossier takes its distance from them; the
emulation itself does not use them (delay is [path]'s)."""

from __future__ import annotations

from pydantic import Field, model_validator

from scenarios.plan.values import Table


class Place(Table):
    """One point. ``counts``: whether it routes; equipment that only switches or regenerates light adds no distance."""

    name: str = Field(min_length=1)
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    counts: bool = True


class Route(Table):
    """The points in their order, the two ends included; empty: the scenario names none."""

    points: tuple[Place, ...] = ()

    @model_validator(mode="after")
    def _has_ends(self) -> Route:
        if len(self.points) == 1:
            raise ValueError("'points': 1 place; want the sender's, the receiver's and those between, or none")
        if self.points and not (self.points[0].counts and self.points[-1].counts):
            raise ValueError("'counts': the first and the last place are the hosts, which always count")
        return self

    @property
    def counted(self) -> tuple[Place, ...]:
        """Hosts and routers that count."""
        return tuple(place for place in self.points if place.counts)

    @property
    def routers(self) -> int:
        """How many routers count."""
        return max(0, len(self.counted) - 2)
