"""``log.operators_real``: the trials of ``log.operators`` in real time."""

from __future__ import annotations

from bench.log import operators
from bench.registry import Bench

BENCH = Bench(operators.REAL, "the same in real time, over veth pairs and the delay box", operators.measure_real)
