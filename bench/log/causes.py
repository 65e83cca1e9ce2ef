"""``log.causes``: how often `pktlogger analyse` is right about what limited a transfer and why packets were lost.

Seeded trials in virtual time (causes_trials) are judged by the captures of both ends alone. Each judgement is compared
with the kernel's own view and the delay box's record (causes_truth). ``--pairs N`` runs N trials of each kind, from
seed 1000 on, and N of each kind of loss with each control. It yields two confusion tables, how many drops the captures
alone found, and how causes of losses are judged where time stamps are late (causes_late); ``--publish
docs/reference/causes.md`` writes the page.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.log import causes_late, causes_trials, causes_truth
from bench.registry import Bench, Place, Result, Row
from scenarios.plan.plan import Trial
from scenarios.trial.ended import Ended
from scenarios.virtual import engine, kernel

NAME = "log.causes"
EACH, LOSS_SEEDS, FIRST_SEED, JOBS = 17, 6, 1000, 2
GOAL = 0.95
# A cause of a loss that leaves the side of the bottleneck open agrees with either side.
_CHANCE = {"random": "random", "random_before": "random", "random_behind": "random"}
_ALIKE = "each cause counts alike"
_OF_LATE = "by cause, control and lateness"
Confusion = Counter[tuple[str, str]]  # (truth, judged): ms or packets


@dataclass
class Seen:
    """Counts over all trials. ``kinds``: for each kind the number of trials, the ms judged right, all ms, the losses
    judged right, all losses."""

    limits: Confusion = field(default_factory=Confusion)
    losses: Confusion = field(default_factory=Confusion)
    joined: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, list[float]] = field(default_factory=dict)
    late: causes_late.Verdicts = field(default_factory=Counter)
    late_trials: int = 0


_METHOD = """\
Each trial is one transfer of {seconds} s with rttcp over the userspace box, in virtual time, captured at both ends and
recorded in the box. Its setting is drawn from its seed (`bench/log/causes_trials.py`): 20 to 100 Mbit/s, 10
to 40 ms one way, CUBIC or Reno. Seeds {first} to {last}; the rules were tuned on seeds below 1000.

**Truth of limits**, every 2 ms, first rule that holds: the box's record shows an outage, which lasts until
the path is up and an acknowledgement could have come back (path_down); the kernel's TCP_INFO says Loss, or no segment
leaves until `tcpi_total_rto` rises (timeout); Recovery (fast_recovery); not busy, or less than a segment unsent and
room in the window (application, or send_buffer where `tcp_wmem` is small, because rttcp always has more);
`tcpi_rwnd_limited` or `tcpi_sndbuf_limited` advances (receiver_window, send_buffer); the box's record shows its line
busy for 98 % of the round-trip time around (path_rate); the window is below the slow start threshold (slow_start);
the trial is paced, or its application pauses, and the window has room (pacing: the kernel spreads what waits); else
congestion_avoidance.
**Truth of losses**: the box's record of what it dropped where, and why. The judgement itself has the captures of the
two ends alone, neither the record nor what the scenario says of the path.
**Drops found**: each trial is analysed once more without the record. Of the segments that the box dropped, those that
this analysis calls lost are found; lost ones that the box sent are invented.

Rows are the truth, columns the judgement.

## Limits, per cent of {time_s:.0f} s

{limits}

## Losses, packets

{losses}

"unknown" means that the captures do not show the cause. The tables count it as wrong; a wrong name would be worse.

## Losses by cause, control and lateness of time stamps

{loss_n} more trials of {loss_seconds} s each, seeds from {first} on: {loss_kinds}. Each setting runs
with each control; README is the setting of README.md's delay box. Each time stamp of both captures is then late by an
independent exponential time with a mean of 0, 1 or 3 ms (`bench/log/causes_late.py`). "side open" is "random" for a
random loss, whose side the captures do not show. The rules were tuned on other seeds. An earlier version was tuned by
three bounds of these trials, too: four full queues instead of three, no outage where the queue is managed, and nothing
named aqm next to tail drops where time stamps are late.

{late}

In a transfer with tail drops, a random loss while the queue is full looks like a tail drop. Where queue management and
a full queue both drop packets of one transfer, the losses at the longest queue count as unknown.

## By kind of trial, per cent right

{kinds}

"random" says that chance took the packet, and that the captures do not show on which side of the bottleneck. It
counts as right for either side in the figure "losses", and as wrong in the figure "losses, with the side". No trial has
a closed window; unit tests have it (`tests/c/pktlogger/limits.c`).
Corrupted parts are losses only with the box's record, which says that it flipped a bit (`edits`); the captures alone
show them as arrived, because they keep too little of a packet to check its sum. The bench does not distinguish
gateways.
"""


def measure(place: Place) -> Iterator[Result]:
    """One result. Without a built kernel there is none, and a line says why."""
    if why := kernel.missing():
        place.say(f"{NAME}: left out: {why}")
        return
    n = (place.pairs or EACH) * len(causes_trials.KINDS)
    trials = causes_trials.trials(place.scratch, range(FIRST_SEED, FIRST_SEED + n))
    began_s = time.monotonic()
    seen = _run(place, trials)
    seeds = range(FIRST_SEED, FIRST_SEED + min(place.pairs or LOSS_SEEDS, LOSS_SEEDS))
    _run_losses(place, causes_trials.loss_trials(place.scratch, seeds), seen)
    yield _result(seen, n, time.monotonic() - began_s)


def _run(place: Place, trials: list[tuple[str, Trial]]) -> Seen:
    run_dir = Path(place.scratch, "run")
    (run_dir / "trials").mkdir(parents=True, exist_ok=True)
    seen = Seen()

    def ended(one: Ended) -> None:
        folder, kind = run_dir / "trials" / f"{one.trial.number:04d}", trials[one.trial.number][0]
        if one.status["state"] != "done":
            place.say(f"{NAME}: {kind}, seed {one.trial.seed}: {one.status['error']}")
            return
        mine, lost = _limits(folder, one.trial), Confusion(causes_truth.losses(folder, one.trial))
        seen.limits.update(mine)
        seen.losses.update(lost)
        seen.joined.update(causes_truth.joined(folder))
        shares = seen.kinds.setdefault(kind, [0.0] * 5)
        for place_of, number in enumerate((1, _right(mine), mine.total(), _right(lost, _CHANCE), lost.total())):
            shares[place_of] += number
        place.say(f"{one.trial.number + 1} of {len(trials)}, {kind}: {_share(mine):.1%} of the time right")

    engine.run_all(run_dir, [trial for _, trial in trials], place.ledger, JOBS, "comet", ended)
    return seen


def _run_losses(place: Place, trials: list[tuple[str, Trial]], seen: Seen) -> None:
    run_dir = Path(place.scratch, "losses")
    (run_dir / "trials").mkdir(parents=True, exist_ok=True)

    def ended(one: Ended) -> None:
        kind = trials[one.trial.number][0]
        if one.status["state"] != "done":
            place.say(f"{NAME}: {kind}, seed {one.trial.seed}: {one.status['error']}")
            return
        seen.late_trials += 1
        seen.late.update(causes_late.verdicts(run_dir / "trials" / f"{one.trial.number:04d}", kind, one.trial))
        place.say(f"{one.trial.number + 1} of {len(trials)}, losses, {kind}")

    engine.run_all(run_dir, [trial for _, trial in trials], place.ledger, JOBS, "comet", ended)


def _limits(folder: Path, trial: Trial) -> Confusion:
    """Milliseconds by truth and judgement. Time before the first and after the last data packet does not count."""
    truth = causes_truth.Truth(folder, trial)
    middle_ns = (truth.t_ns[:-1] + truth.t_ns[1:]) // 2
    confusion = Confusion()
    for real, seen, ns in zip(
        truth.limits(), causes_truth.judged(folder, middle_ns), np.diff(truth.t_ns), strict=True
    ):  # samples, not packets
        if seen != "none":
            confusion[real, seen] += int(ns) // 1_000_000
    return confusion


def _right(confusion: Confusion, same: dict[str, str] | None = None) -> int:
    alike = same or {}
    return sum(n for (real, seen), n in confusion.items() if alike.get(real, real) == alike.get(seen, seen))


def _share(confusion: Confusion, same: dict[str, str] | None = None) -> float:
    return _right(confusion, same) / max(confusion.total(), 1)


def _result(seen: Seen, n: int, wall_s: float) -> Result:
    limits, losses, joined = seen.limits, seen.losses, seen.joined
    done = round(sum(one[0] for one in seen.kinds.values()))
    method = _METHOD.format(
        seconds=causes_trials.SECONDS,
        first=FIRST_SEED,
        last=FIRST_SEED + n - 1,
        time_s=limits.total() / 1000,
        limits=table(limits, 100 / max(limits.total(), 1), ".2f"),
        losses=table(losses, 1, ".0f"),
        kinds=_by_kind(seen.kinds),
        late=causes_late.table(seen.late),
        loss_n=seen.late_trials,
        loss_seconds=causes_trials.LOSS_SECONDS,
        loss_kinds=", ".join(causes_trials.LOSS_KINDS),
    )
    rows = [
        Row("trials done", "trials", done, n, n, f"{wall_s / 60:.0f} minutes, {JOBS} side by side"),
        Row("drops found by both ends alone", "packets", joined["found"], joined["dropped"], joined["dropped"]),
        Row("losses invented by both ends alone", "packets", joined["invented"], 0, 0),
        Row("time", "share right", _share(limits), GOAL, 1),
        Row("losses", "share right", _share(losses, _CHANCE), GOAL, 1, f"{losses.total()} packets"),
        Row("losses, with the side", "share right", _share(losses), GOAL, 1),
        Row("largest share of wrong names", "share of a row", causes_late.most_wrong(seen.late), 0, 0.05, _OF_LATE),
        Row("mean of the limits' causes", "share right", _mean_of_rows(limits, None), GOAL, 1, _ALIKE),
        Row("mean of the losses' causes", "share right", _mean_of_rows(losses, _CHANCE), GOAL, 1, _ALIKE),
    ]
    return Result(NAME, "of rows", None, rows=rows, method=method)


def _mean_of_rows(confusion: Confusion, same: dict[str, str] | None) -> float:
    reals = {real for real, _ in confusion}
    shares = [_share(Confusion({pair: n for pair, n in confusion.items() if pair[0] == real}), same) for real in reals]
    return sum(shares) / max(len(shares), 1)


def table(confusion: Confusion, scale: float, form: str) -> str:
    """A confusion table in Markdown: a row for each truth, a column for each judgement, and the share that is right."""
    seen = _names(judged for _, judged in confusion)
    lines = ["| truth | " + " | ".join(seen) + " | right |", "|---|" + "---:|" * (len(seen) + 1)]
    for real in _names(truth for truth, _ in confusion):
        row = {name: confusion[real, name] for name in seen}
        cells = [format(n * scale, form) if n else "" for n in row.values()]
        lines.append(f"| {real} | {' | '.join(cells)} | {row.get(real, 0) / max(sum(row.values()), 1):.1%} |")
    return "\n".join(lines)


def _names(of: Iterable[str]) -> list[str]:
    return sorted(set(of))


def _by_kind(kinds: dict[str, list[float]]) -> str:
    lines = ["| kind | trials | of the time | of the losses | losses |", "|---|---:|---:|---:|---:|"]
    for kind, (n, time_right, of_time, losses_right, of_losses) in sorted(kinds.items()):
        lost = f"{losses_right / of_losses:.1%}" if of_losses else "–"
        lines.append(f"| {kind} | {n:.0f} | {time_right / max(of_time, 1):.1%} | {lost} | {of_losses:.0f} |")
    return "\n".join(lines)


BENCH = Bench(NAME, "causes of limits and losses against the kernel and the box; needs 'make virtual'", measure)
