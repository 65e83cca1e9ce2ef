"""delay.accuracy: does the box do what it was told? A table of measured figures beside what theory or the claim allows.

Nothing here is the box's own word: times are the kernel's at the sender's and the receiver's NIC, rates and losses are
of what arrived. Seeds are fresh in every run and are in the notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from netcommon import netns
from scenarios import tcp_profile
from scenarios.bench import accuracy_jitter, accuracy_loss, accuracy_time, theory
from scenarios.bench.registry import Bench, Place, Result, Row
from scenarios.bench.two_hosts import Hosts, hosts
from scenarios.estimate import spoken

DELAY_LOADS = (("idle", 100), ("10 kpps", 10_000), ("100 kpps", 100_000))
RATES_BPS = (1_000_000, 45_000_000, 800_000_000, 5_000_000_000)
METHOD = f"""\
Two namespaces, a box between them as the NIC of each. Times are the kernel's own: at the sender's NIC as the host hands
a packet over, at the receiver's as the box has written it. So the hosts' stacks are not in them, and there is but one
clock. What captures and sends shares the machine's processors with the box, which runs at real-time priority. Delay is
measured with `--poll 0 --spin 5ms`, jitter with `--spin 10ms`, all else with the defaults. Random figures have fresh
seeds in every run and are held to the interval of confidence {theory.CONFIDENCE:.3%}: {theory.RANDOM_ROWS} of them
together fail by chance in {1 - theory.FAMILY_CONFIDENCE:.0%} of runs (Bonferroni). The others are held to what is
claimed."""


@dataclass(frozen=True)
class Part:
    """Some rows that are measured together, and how long that takes."""

    name: str
    seconds: float
    measure: Callable[[Hosts, Place], Iterator[Row]]


def parts(place: Place) -> list[Part]:
    """All of the table, in order."""
    rate_s = (place.seconds or 60) + accuracy_time.WARM_UP_S + 5
    jitter_s = min(place.seconds or accuracy_jitter.SECONDS, accuracy_jitter.SECONDS) + 4
    delay_s = min(place.seconds or 10, 10) + 5
    share = min(place.seconds or 60, 60) / 60
    found = [
        Part(f"delay, {label}", delay_s, partial(accuracy_time.delay, label=label, rate=rate))
        for label, rate in DELAY_LOADS
    ]
    found += [
        Part(f"rate {rate / 1e6:g} Mbit/s", rate_s, partial(accuracy_time.rate, rate_bps=rate)) for rate in RATES_BPS
    ]
    found += [
        Part("spacing", 6, accuracy_time.spacing),
        Part("loss", 5 + 60 * share, accuracy_loss.independent),
        Part("loss, Gilbert–Elliott", 5 + 25 * share, accuracy_loss.gilbert),
        Part("loss, 4-state", 5 + 25 * share, accuracy_loss.four_states),
        Part("loss by packet number", 3, accuracy_loss.by_packet),
        Part("loss by time", 6, accuracy_loss.by_time),
        Part("loss by TCP sequence", 6, accuracy_loss.by_sequence),
        Part("loss of retransmissions", 6, accuracy_loss.by_retransmission),
    ]
    found += [
        Part(f"jitter {model.name}", jitter_s, partial(accuracy_jitter.distribution, model=model))
        for model in accuracy_jitter.models(place)
    ]
    found += [
        Part("jitter trace", jitter_s, accuracy_jitter.trace),
        Part("jitter, order", delay_s, accuracy_jitter.order),
    ]
    return found


def measure(place: Place) -> Iterator[Result]:
    """All rows, some ten minutes; ``--seconds``: how long each rate is measured (60), the rest shortened with it."""
    rows, todo = [], parts(place)
    left_s = sum(part.seconds for part in todo)
    place.say(f"delay.accuracy: {len(todo)} parts, about {spoken(left_s)}")
    begun, expected_s = time.monotonic(), 0.0
    with hosts(place.ledger) as pair:
        for pid in (pair.sender, pair.receiver):  # its greetings would be packets that nobody counted on
            netns.call_in(pid, tcp_profile.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
        for number, part in enumerate(todo, 1):
            measured = list(part.measure(pair, place))
            rows += measured
            left_s, expected_s = left_s - part.seconds, expected_s + part.seconds
            left = spoken(left_s * (time.monotonic() - begun) / expected_s)
            for row in measured:
                verdict = "within" if row.within else "OUTSIDE"
                figure = f"{row.what}: {row.measured:.6g} {row.unit} {verdict}"
                place.say(f"delay.accuracy {number}/{len(todo)} {figure}, {left} left")
    yield Result("delay.accuracy", "share of rows within bounds", None, rows=rows, method=METHOD)


BENCH = Bench(
    "delay.accuracy", "delay, rate, loss and jitter as measured outside the box, beside what theory allows", measure
)
