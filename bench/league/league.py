"""gateways, gateways.virtual: the scenarios ``gateways`` and ``gateways-beside`` as one run each, and a page with the
results of both.

A run mixes all cases and paths in random order, so a disturbance hits no case more than others. In real time trials
that are not valid stay in the tables, marked. Programs that this machine lacks are left out, and a line names them. The
runs stay below ``runs`` for a closer look.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
from rich.console import Console

from bench.league import conformance, own, tables
from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.plan import gateway_commands
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import runner, runs
from scenarios.virtual import kernel

LEAGUE, BESIDE = "gateways", "gateways-beside"
RUNS = Path("runs")
SEED = 19
LEAST_PRODUCTS = 6


@dataclass(frozen=True)
class Form:
    """How the league is measured. ``seconds``: the durations of a transfer of the league, and of one at the same time
    as plain TCP. ``rates``: those of the league's lines; in virtual time each octet costs wall time, so lines are
    slower there."""

    name: str
    virtual: bool
    seconds: tuple[int, int]
    rates: str


@dataclass(frozen=True)
class Measured:
    """A run's directory, its rows and the wall time that it took."""

    run_dir: Path
    rows: list[dict[str, Any]]
    wall_s: float


def absent(plan: Plan, *, virtual: bool) -> dict[str, str]:
    """The cases that this machine cannot measure, each with what is missing."""
    lacks = gateway_commands.missing(trial.setting for trial in plan.trials)
    found = {case: f"no {', '.join(programs)} here" for case, programs in lacks.items()}
    for trial in () if virtual else plan.trials:
        name = trial.setting.transfer.congestion
        if name and not _has(name):
            found[str(trial.setting.scenario.case)] = f"this kernel has no {name}"
    return found


def _has(congestion: str) -> bool:
    """Whether a socket may have this congestion control. The kernel loads a module for it."""
    with socket.socket() as one:
        try:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except OSError:
            return False
    return True


def products(plan: Plan) -> set[str]:
    """The cases whose gateways are programs of others."""
    return {str(one.setting.scenario.case) for one in plan.trials if one.setting.gateway.kind == "command"}


def _plan(scenario: str, seconds: int, without: Mapping[str, str], *more: str) -> Plan:
    cases = load_plan(scenario, seed=SEED).sweep["scenario.case"]
    left = ",".join(case for case in cases if case not in without)
    return load_plan(scenario, overrides=[f"transfer.duration={seconds}s", f"scenario.case={left}", *more], seed=SEED)


def _measured(plan: Plan, form: Form, place: Place) -> Measured:
    began_s = time.monotonic()
    run_dir = runner.start(plan, RUNS, virtual_box="auto" if form.virtual else None)
    place.say(f"{form.name}: {len(plan.trials)} trials in {run_dir}")
    runner.resume(run_dir, Console(stderr=True), jobs=os.cpu_count() or 1)
    rows = parquet.read_table(run_dir / "results.parquet").to_pylist()
    return Measured(run_dir, rows, time.monotonic() - began_s)


def _rows(plans: Sequence[Plan], found: Sequence[Measured], without: Mapping[str, str]) -> list[Row]:
    rows = [row for one in found for row in one.rows]
    planned = sum(len(plan.trials) for plan in plans)
    done, valid = (sum(test(row) for row in rows) for test in (_is_done, lambda row: bool(row["valid"])))
    measured = products(plans[0]) & {str(row["case"]) for row in rows if _is_done(row)}
    wall_s, named = sum(one.wall_s for one in found), ", ".join(sorted(measured))
    left_out = "; ".join(f"{case}: {why}" for case, why in without.items())
    return [
        Row("products measured", "products", len(measured), LEAST_PRODUCTS, len(products(plans[0])), named),
        Row("cases left out", "cases", len(without), 0, 0, left_out),
        Row("trials done", "trials", done, planned, planned, f"{wall_s / 60:.0f} minutes"),
        Row("trials valid", "trials", valid, planned, planned, "the others are marked"),
    ]


def _is_done(row: Mapping[str, Any]) -> bool:
    return bool(row["state"] == "done")


def measure(form: Form, place: Place) -> Iterator[Result]:
    """One result. Without a built kernel for virtual time there is none, and a line says why."""
    if form.virtual and (why := kernel.missing()):
        place.say(f"{form.name}: left out: {why}")
        return
    league, beside = (own.with_products(name, place.products, place.scratch) for name in (LEAGUE, BESIDE))
    without = absent(load_plan(league, seed=SEED), virtual=form.virtual)
    for case, why in without.items():
        place.say(f"{form.name}: {case}: left out: {why}")
    seconds = (place.seconds, place.seconds) if place.seconds else form.seconds
    plans = [_plan(league, seconds[0], without, f"path.rate={form.rates}"), _plan(beside, seconds[1], without)]
    if not products(plans[0]):
        raise LfpError(f"{form.name}: no product is here; examples/gateways/README.md names their packages")
    measured = [_measured(plan, form, place) for plan in plans]
    method = tables.page(plans, [one.rows for one in measured], virtual=form.virtual)
    method = conformance.with_column(method, conformance.found())
    rows = _rows(plans, measured, without)
    named = {"runs": [str(one.run_dir) for one in measured], "verdicts": [_verdict(one.run_dir) for one in measured]}
    yield Result(form.name, "within bounds", None, rows=rows, method=method, extra=named)


def _verdict(run_dir: Path) -> str:
    return str((runs.manifest(run_dir).get("verdict") or {}).get("summary"))


REAL = Form("gateways", virtual=False, seconds=(3, 10), rates="20Mbit,100Mbit")
VIRTUAL = Form("gateways.virtual", virtual=True, seconds=(4, 10), rates="5Mbit,20Mbit")
BENCH = Bench(REAL.name, "gateway products, LFT and plain TCP on the same paths in real time", partial(measure, REAL))
