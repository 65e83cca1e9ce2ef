"""``log.operators_real``: the trials of ``log.operators`` in real time."""

from __future__ import annotations

from scenarios.bench.log import operators
from scenarios.bench.registry import Bench

BENCH = Bench(operators.REAL, "the same in real time, over veth pairs and the delay box", operators.measure_real)
