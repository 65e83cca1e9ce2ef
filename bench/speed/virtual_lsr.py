"""``virtual.lsr``: ten minutes at 10 Gbit/s × 498 ms in virtual time; virtual_speed.py measures it."""

from __future__ import annotations

from bench.registry import Bench
from bench.speed.virtual_speed import measure_long

BENCH = Bench("virtual.lsr", "600 s at 10 Gbit/s x 498 ms in virtual time, up to ten minutes", measure_long)
