"""Great-circle distance of a route, as the Land Speed Record counts it.

Haversine on a sphere with the mean radius of WGS84's ellipsoid, (2a + b)/3. Rejected: the ellipsoid's geodesic. It
differs by 0.5 % at most, and the rules speak of great circles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from scenarios.plan.route import Place

RADIUS_M = 6_371_008.8
CAP_M = 30_000_000  # R1: distance counts up to here


def between_m(start: Place, end: Place) -> float:
    """The great circle between two places, metres."""
    north, south = math.radians(start.latitude), math.radians(end.latitude)
    turn = math.radians(end.longitude - start.longitude)
    chord = math.sin((south - north) / 2) ** 2 + math.cos(north) * math.cos(south) * math.sin(turn / 2) ** 2
    return 2 * RADIUS_M * math.asin(min(1.0, math.sqrt(chord)))


def legs_m(counted: Sequence[Place]) -> list[float]:
    """The distance from each place to the next, metres. ``counted``: hosts and routers that count."""
    return [between_m(start, end) for start, end in itertools.pairwise(counted)]


def scored_m(counted: Sequence[Place]) -> float:
    """The distance that R8 multiplies by, metres: the sum of the legs, capped by R1."""
    return min(float(CAP_M), sum(legs_m(counted)))
