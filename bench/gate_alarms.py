"""How small a change of a gateway's rate `lfp gate` finds in virtual time, and how often it gives a false alarm.

One run has trials of lft-gateway at 100 Mbit/s and at 99 Mbit/s, on a path with loss and a little jitter. From its
repeats 200 comparisons of five and five are drawn: of the first gateway with itself (A/A), and of both. They are judged
as `lfp gate --margin` judges them. Draws overlap, so their verdicts are not independent; the bound on alarms is the one
for 200 independent draws all the same.

A transfer ends when its last octet is confirmed. If a frame of the last round trip is lost, it ends up to one round
trip later, and sometimes two. So the noise of a transfer shrinks with its length: at 2 s and RTT 60 ms its standard
deviation is 0.45 %, too much for a change of 1 % and five repeats.
"""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Iterator, Sequence

from rich.console import Console
from scipy import stats

from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan
from scenarios.run import results, runner
from scenarios.run.judgement import ALPHA, MARGIN, Side, judge
from scenarios.trial import trial

REPEATS, DRAWS, SIDE, SECONDS = 30, 200, 8, 5
DEFAULT, FINE = MARGIN, 0.005  # values of --margin
SCENARIO = """\
[scenario]
name = "gate-alarms"
[path]
delay = "30ms"
rate = "200Mbit"
queue = "1MB"
loss = "0.1%"
jitter = "20us"
[transfer]
duration = "{seconds}s"
[gateway]
kind = "lft"
[sweep]
"gateway.rate" = ["100Mbit", "99Mbit"]
"""


def measure(place: Place) -> Iterator[Result]:
    """Runs the trials, draws and judges. ``pairs``: repeats of each of the two gateways."""
    repeats, seconds = place.pairs or REPEATS, place.seconds or SECONDS
    same, slower = _rates(place, repeats, seconds)
    rng = random.Random(1)
    drawn = [rng.sample(same, 2 * SIDE) for _ in range(DRAWS)]
    apart = [(rng.sample(same, SIDE), rng.sample(slower, SIDE)) for _ in range(DRAWS)]
    most = float(stats.binom.ppf(0.975, DRAWS, ALPHA)) / DRAWS
    alarms = {margin: [_verdict(ten[:SIDE], ten[SIDE:], margin) for ten in drawn] for margin in (DEFAULT, FINE)}
    found = [_verdict(*sides, FINE) for sides in apart]
    rows = [
        Row(f"A/A, --margin {margin:.1%}: better or worse", "share", _share(verdicts, "better", "worse"), 0, most)
        for margin, verdicts in alarms.items()
    ]
    rows += [
        Row(f"A/A, --margin {margin:.1%}: same", "share", _share(verdicts, "same"), 0.95 * (margin == DEFAULT), 1)
        for margin, verdicts in alarms.items()
    ]
    rows.append(Row("99 against 100 Mbit/s, --margin 0.5%: verdict worse", "share", _share(found, "worse"), 0.95, 1))
    rows.append(Row("the same: verdict better", "share", _share(found, "better"), 0, 0))
    method = (
        f"{repeats} repeats each of lft-gateway at 100 and 99 Mbit/s: RTT 60 ms, loss 0.1 %, jitter 20 µs, "
        f"{seconds} s, virtual time. The throughputs of the first have a standard deviation of "
        f"{_noise(same):.2%}. {DRAWS} draws of {SIDE} and {SIDE} trials for each row."
    )
    yield Result("gate.alarms", "within bounds", None, rows=rows, method=method)


def _rates(place: Place, repeats: int, seconds: int) -> tuple[list[float], list[float]]:
    """The throughputs of both gateways."""
    file = place.scratch / "gate-alarms.toml"
    file.write_text(SCENARIO.format(seconds=seconds), encoding="utf-8")
    plan = load_plan(str(file), overrides=[f"run.repeat={max(repeats, 2 * SIDE)}"], seed=1)
    place.say(f"gate.alarms: {len(plan.trials)} trials in virtual time")
    run_dir = runner.start(plan, place.scratch / "runs", virtual_box="auto")
    done = runner.resume(run_dir, Console(quiet=True), jobs=os.cpu_count() or 1)
    if not done.verdict["valid"]:
        raise LfpError(f"gate.alarms: {done.verdict['summary']}")
    rows = [results.row(trial.folder_of(run_dir, one.number)) for one in plan.trials]
    first, second = (
        [float(row["short_term_bps"]) for row in rows if row["gateway_rate_bps"] == bps] for bps in (10**8, 99 * 10**6)
    )
    return first, second


def _noise(values: Sequence[float]) -> float:
    return statistics.stdev(values) / statistics.mean(values)


def _verdict(base: Sequence[float], run: Sequence[float], margin: float) -> str:
    sides = [Side(tuple(values), tuple(values)) for values in (base, run)]
    (cell,) = judge([{}], [(sides[0], sides[1])], margin, lower_is_better=False)
    return cell.verdict


def _share(verdicts: Sequence[str], *wanted: str) -> float:
    return sum(verdict in wanted for verdict in verdicts) / len(verdicts)


BENCH = Bench("gate.alarms", "changes that `lfp gate` finds, and its false alarms; needs 'make virtual'", measure)
