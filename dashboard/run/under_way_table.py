"""What the page of a run under way says: how far it is, and which trials run now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dashboard.core.parts import Table
from dashboard.core.runs import Run
from dashboard.run.under_way import Grown, TrialUnderWay, UnderWay
from netcommon import readable
from scenarios.plan.estimate import spoken

NOBODY = "The process that ran these trials ended early. `lfp run --resume {name}` runs the remaining trials."


def state_line(run: Run, now: UnderWay | None) -> str:
    """How far the run is, in one line."""
    if now is None:
        return NOBODY.format(name=run.name)
    rows = {row.get("trial"): row for row in run.rows}.values()
    done, planned = len(run.trial_numbers()), int(run.manifest.get("plan") or now.planned)
    judged = {"valid": sum(row.get("valid") is True for row in rows)}
    judged["not valid"] = sum(row.get("valid") is False for row in rows)
    verdicts = ", ".join(f"{count} {word}" for word, count in judged.items() if count)
    said = f"{done} of {_trials(planned)} {'is' if done == 1 else 'are'} done" + (f": {verdicts}." if verdicts else ".")
    running = f" {_trials(len(now.trials))} {'runs' if len(now.trials) == 1 else 'run'} now." if now.trials else ""
    return said + running + ("" if now.left_s is None else f" About {spoken(now.left_s)} left.")


def _trials(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"


def running_table(now: UnderWay | None, grown: Mapping[int, Sequence[Grown]]) -> Table:
    """The trials that run now. Only those in virtual time have a clock of their own, and only those in real time have
    figures of the sender's TCP: `grown`, by trial, the connection with most data first."""
    trials = now.trials if now else ()
    clocks = any(one.clock_s is not None for one in trials)
    more = ("Clock", "Speed") if clocks else ("Goodput", "cwnd", "RTT", "Sent again")
    own = [_clock(one) if clocks else _figures(grown.get(one.number, ())) for one in trials]
    rows = [(str(one.number), one.say, *found, spoken(one.left_s)) for one, found in zip(trials, own, strict=True)]
    return Table(("Trial", "Settings", *more, "Time left"), tuple(rows), frozenset({0, *range(2, 3 + len(more))}))


def _clock(one: TrialUnderWay) -> tuple[str, ...]:
    if one.clock_s is None or one.of_s is None:
        return readable.NOTHING, readable.NOTHING
    speed = readable.NOTHING if one.speed is None else f"{readable.number(one.speed, 2)} virtual s/s"
    return f"{round(one.clock_s)} of {readable.number(one.of_s, 3)} s", speed


def _figures(connections: Sequence[Grown]) -> tuple[str, ...]:
    """The latest figures: retransmissions of all connections together, goodput of those that still run, cwnd and RTT of
    the first of these. Connections that have ended do not count in the goodput, because their last rate is from an
    earlier time."""
    if not connections:
        return (readable.NOTHING,) * 4
    now_s = max(float(one.t_s[-1]) for one in connections)
    running = [one for one in connections if one.t_s[-1] == now_s]
    last = {name: float(values[-1]) for name, values in running[0].figures.items()}
    rates = [float(one.goodput_bps()[-1]) for one in running]
    again = sum(int(one.figures["retransmits"][-1]) for one in connections)
    goodput = sum(rate for rate in rates if not math.isnan(rate))
    return (
        readable.rate(goodput),
        readable.size(last["cwnd_bytes"]),
        readable.duration(last["rtt_ns"]),
        readable.count(again),
    )
