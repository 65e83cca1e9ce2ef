"""Faults planted into the results of a drawn trial, one for each check of `bench.invariants`: what a wrong product
would have written. The trial's files stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.invariants.trials import Columns, Trial
from scenarios.trial.transfers import FLOWS


def planted(trial: Trial, fault: str) -> Trial:
    """The trial with the fault that this check must find."""
    found = Trial(trial.draw, trial.folder, copy.deepcopy(trial.rows))
    found.__dict__.update({name: copy.deepcopy(getattr(trial, name)) for name in ("status", "transfer", "summary")})
    FAULTS[fault](found)
    return found


def _json(trial: Trial, name: str, content: Any) -> None:
    plain = trial.json
    trial.__dict__["json"] = lambda asked: content if asked == name else plain(asked)


def _table(trial: Trial, name: str, change: Callable[[Columns], Columns]) -> None:
    plain = trial.table
    trial.__dict__["table"] = lambda asked: change(plain(asked)) if asked == name else plain(asked)


def _swap(*causes: tuple[str, str]) -> Callable[[Trial], None]:
    """The limits with pairs of causes exchanged."""

    def swap(trial: Trial) -> None:
        if names := trial.summary.get("limit_causes"):
            for one, other in causes:
                at = names.index(one), names.index(other)
                names[at[0]], names[at[1]] = other, one

    return swap


def _all_by(cause: str) -> Callable[[Trial], None]:
    """The limits with one cause alone."""

    def change(trial: Trial) -> None:
        if names := trial.summary.get("limit_causes"):
            trial.__dict__["limits"] = trial.limits | {"cause": np.full_like(trial.limits["cause"], names.index(cause))}

    return change


def _row(name: str, more: float) -> Callable[[Trial], None]:
    def change(trial: Trial) -> None:
        trial.rows[0][name] = (trial.rows[0].get(name) or 0) + more

    return change


def _flows(change: Callable[[dict[str, Any]], None]) -> Callable[[Trial], None]:
    def all_of(trial: Trial) -> None:
        for flow in trial.summary.get("flows") or ():
            change(flow)

    return all_of


def _seconds(trial: Trial) -> None:
    _table(trial, "flows", lambda own: own | {"bps": own["bps"] * 1.01})


def _marks(trial: Trial) -> None:
    for row in trial.rows:
        if row.get("ce_received") is not None:
            row["ce_received"] += 1


def _recovery(trial: Trial) -> None:
    late = {"recovery_ns": 10**12, "end_ns": 0, "why": None}
    _json(trial, "recovery", {FLOWS: {trial.rows[0]["flow_name"]: [late]}})


def _asked(trial: Trial) -> None:
    for row in trial.status["asked"][:1]:
        row["ran"] = f"{row['asked']} and more"


FAULTS: dict[str, Callable[[Trial], None]] = {
    "trials end": lambda trial: trial.status["verdict"]["causes"].append({"kind": "delay"}),
    "sums are below the line": _row("short_term_bps", 1e9),
    "possible rates are the line's": _flows(lambda flow: (flow["verdict"] or {}).update(possible_bps=1e12)),
    "the path's rate is a busy line": _all_by("path_rate"),
    "shares add up": _row("limited_application", 0.01),
    "sums have all octets": _seconds,
    "what was asked is what ran": _asked,
    "windows are TCP_INFO's": _swap(("receiver_window", "send_buffer")),
    "idle time is TCP_INFO's": _all_by("congestion_avoidance"),
    "buffers are TCP_INFO's": _swap(("application", "congestion_avoidance")),
    "time-outs are TCP_INFO's": _flows(lambda flow: flow.update(timeouts=flow["timeouts"] + 1)),
    "marks are the box's": _marks,
    "causes are the box's": _flows(lambda flow: flow.update(losses_by_cause={"tail_drop": 10**6})),
    "losses are the box's": _row("lost_queue", 10**6),
    "recoveries end": _recovery,
    "limits are the kernel's": _swap(("slow_start", "send_buffer"), ("congestion_avoidance", "application")),
}
