"""Distance of a route, as the Land Speed Record counts it: the shortest line over the earth's surface between the
points that count.

The earth is WGS84's ellipsoid. Published lengths of record paths are its geodesics: Sunnyvale–Chicago–CERN 10,037 km
(10,036 here), Tokyo–Chicago–Amsterdam–Seattle–Tokyo 32,372 km (32,360 here). Rejected: great circles of a sphere with
the mean radius, which are 0.3 % shorter on both (docs/how-to/land-speed-record.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from geographiclib.geodesic import Geodesic

from scenarios.plan.route import Place

CAP_M = 30_000_000  # R1: distance counts up to here


def between_m(start: Place, end: Place) -> float:
    """The geodesic between two points, metres."""
    return float(
        Geodesic.WGS84.Inverse(start.latitude, start.longitude, end.latitude, end.longitude, Geodesic.DISTANCE)["s12"]
    )


def legs_m(counted: Sequence[Place]) -> list[float]:
    """The distance from each point to the next, metres. ``counted``: hosts and routers that count."""
    return [between_m(start, end) for start, end in itertools.pairwise(counted)]


def scored_m(counted: Sequence[Place]) -> float:
    """The distance that R8 multiplies by, metres: the sum of the legs, capped by R1."""
    return min(float(CAP_M), sum(legs_m(counted)))
