"""delay.accuracy: whether the box does what it was asked to do. A table of measured figures with the bounds of theory
or of the claim.

No figure is the box's own report. Times are the kernel's at the NICs of sender and receiver. Rates and losses come from
the packets that arrived. Seeds are new in every run; the notes have them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench.accuracy import bunching, bursts, jitter, loss, theory, times
from bench.registry import Bench, Place, Result, Row
from netcommon import netns
from scenarios.network import sysctls
from scenarios.network.host_pair import Hosts, hosts
from scenarios.plan.estimate import spoken

DELAY_LOADS = (("idle", 100), ("10 kpps", 10_000), ("100 kpps", 100_000))
RATES_BPS = (1_000_000, 45_000_000, 800_000_000, 5_000_000_000)
METHOD = f"""\
Two namespaces are joined by a box, which is the NIC of each. Times are the kernel's own: at the sender's NIC when the
host hands a packet over, at the receiver's NIC when the box has written it. So they do not contain the hosts' stacks,
and there is only one clock. The programs that capture and send share the machine's processors with the box, which runs
at real-time priority. Delay is measured with `--poll 0 --spin 5ms`, jitter and bunching with `--spin 10ms`, all else
with the defaults. Random figures have new seeds in every run and are held to the interval of confidence
{theory.CONFIDENCE:.3%}. Together the {theory.RANDOM_ROWS} random rows fail by chance in
{1 - theory.FAMILY_CONFIDENCE:.0%} of runs (Bonferroni).
The other figures are held to what is claimed."""


@dataclass(frozen=True)
class Part:
    """Rows that are measured together, and the seconds that this takes."""

    name: str
    seconds: float
    measure: Callable[[Hosts, Place], Iterator[Row]]


def parts(place: Place) -> list[Part]:
    """All parts of the table, in order."""
    rate_s = (place.seconds or 60) + times.WARM_UP_S + 5
    jitter_s = min(place.seconds or jitter.SECONDS, jitter.SECONDS) + 4
    delay_s = min(place.seconds or 10, 10) + 5
    share = min(place.seconds or 60, 60) / 60
    found = [
        Part(f"delay, {label}", delay_s, partial(times.delay, label=label, rate=rate)) for label, rate in DELAY_LOADS
    ]
    found += [Part(f"rate {rate / 1e6:g} Mbit/s", rate_s, partial(times.rate, rate_bps=rate)) for rate in RATES_BPS]
    found += [
        Part("spacing", 6, times.spacing),
        Part("loss", 5 + 60 * share, loss.independent),
        Part("loss, Gilbert–Elliott", 5 + 25 * share, loss.gilbert),
        Part("loss, 4-state", 5 + 25 * share, loss.four_states),
        Part("loss by packet number", 3, loss.by_packet),
        Part("loss by time", 6, loss.by_time),
        Part("loss by TCP sequence", 6, loss.by_sequence),
        Part("loss of retransmissions", 6, loss.by_retransmission),
    ]
    found += [
        Part(f"jitter {model.name}", jitter_s, partial(jitter.distribution, model=model))
        for model in jitter.models(place)
    ]
    found += [
        Part("jitter trace", jitter_s, jitter.trace),
        Part("jitter, order", delay_s, jitter.order),
        Part("bunching", delay_s, bunching.waits),
        Part("bunching, number", 3, bunching.together),
        Part("drain", 4, bursts.bus),
        Part("policer", 4, bursts.bucket),
    ]
    return found


def measure(place: Place) -> Iterator[Result]:
    """All rows, which takes about ten minutes. ``--seconds``: how long each rate is measured (60); the other parts
    shrink with it."""
    rows, todo = [], parts(place)
    left_s = sum(part.seconds for part in todo)
    place.say(f"delay.accuracy: {len(todo)} parts, about {spoken(left_s)}")
    begun, expected_s = time.monotonic(), 0.0
    with hosts(place.ledger) as pair:
        for pid in (pair.sender, pair.receiver):  # IPv6 would send packets that the bench does not expect
            netns.call_in(pid, sysctls.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
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
    "delay.accuracy", "delay, rate, loss and jitter as measured outside the box, within the bounds of theory", measure
)
