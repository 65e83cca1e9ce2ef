"""The tables of a trial: stops, limits, recovery from outages, and what pktlogger says first."""

from __future__ import annotations

import numpy as np

from dashboard.core.parts import Table
from dashboard.core.runs import Json, Trial, read_json
from dashboard.timeline.timeline import Timeline
from netcommon import readable
from scenarios.plan import columns
from scenarios.plan.causes import limit_words


def visit_table(loaded: Timeline) -> Table:
    """Every stop with its cause; where nothing stopped, the slowest spans with what is known of them. Times are in s
    from the first segment."""
    rows = [
        (readable.number(visit.t0_ns / 1e9), readable.number((visit.t1_ns - visit.t0_ns) / 1e9), visit.text)
        for visit in loaded.visits
    ]
    return Table(("At (s)", "For (s)", "Why" if loaded.stops else "What is known"), tuple(rows), frozenset({0, 1}))


def limit_table(loaded: Timeline) -> list[tuple[str, str, str, str]]:
    """What limited the sender, the cause of most time first: its name, its words, its time, and its share."""
    if loaded.limits is None:
        return []
    times = loaded.limits.until[:, -1]
    order = [number for number in np.argsort(-times, kind="stable").tolist() if times[number]]
    names = [loaded.limits.names[number] for number in order]
    by_captures = {} if loaded.program_known else {"application": ", by the captures alone"}
    return [
        (
            name,
            limit_words(name) + by_captures.get(name, ""),
            readable.duration(times[number]),
            readable.share(times[number] / times.sum()),
        )
        for name, number in zip(names, order, strict=True)
    ]


def verdicts(loaded: Timeline) -> list[str]:
    """What `pktlogger analyse` says first of the transfer, or of each of two connections that gateways join."""
    if loaded.server is None:
        return [loaded.verdict] if loaded.verdict else []
    legs = (("To the near gateway", loaded), ("From the far gateway", loaded.server))
    return [f"{leg}: {one.verdict}" for leg, one in legs if one.verdict]


def limits_of_responses(row: Json) -> list[str]:
    """A sentence about what limited the responses of a trial, for a page that shows the requests. None for other
    trials, or if the responses carry less than the requests."""
    shares = {name: row.get(f"limited_{name}") or 0.0 for name in columns.LIMITS}
    if row.get("limits_direction") != "responses":
        return []
    most = sorted((name for name in shares if shares[name]), key=lambda name: -shares[name])
    shares_text = ", ".join(f"{limit_words(name)} {readable.share(shares[name], 2)}" for name in most)
    return [
        "Timeline and table are of the requests, whose program waits for responses. What limited the responses, "
        f"which carry the data: {shares_text}. There the application is the limit while a request is under way."
    ]


def outage_table(trial: Trial) -> Table | None:
    """How each flow recovered from each outage of the path; None where there was none."""
    flows = read_json(trial.path / "recovery.json").get("flows") or {}
    rows = [(name, one) for name, outages in flows.items() for one in outages]
    if not rows:
        return None
    several = len(flows) > 1
    return Table(
        (*(("Flow",) if several else ()), "Outage at (s)", "For", "Rate back after"),
        tuple(
            (
                *((name,) if several else ()),
                readable.number(one["begin_ns"] / 1e9),
                readable.duration(one["end_ns"] - one["begin_ns"]),
                _back(one),
            )
            for name, one in rows
        ),
        frozenset({several, several + 1}),
    )


def _back(outage: Json) -> str:
    took, error = outage["recovery_ns"], outage.get("error_ns")
    if took is None:
        return f"not known: {outage['why']}"
    return readable.duration(took) + (f" ± {readable.duration(error)}" if error else "")
