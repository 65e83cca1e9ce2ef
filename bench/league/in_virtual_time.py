"""gateways.virtual: the league in virtual time, see league.py."""

from __future__ import annotations

from functools import partial

from bench.league.league import VIRTUAL, measure
from bench.registry import Bench

BENCH = Bench(VIRTUAL.name, "the same in virtual time; needs 'make virtual'", partial(measure, VIRTUAL))
