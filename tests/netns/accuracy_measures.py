"""The accuracy bench's measurements of delay, rate and spacing, called in virtual time, where no timer is late."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.accuracy import times
from bench.registry import Place
from netcommon import netns
from netcommon.ledger import Ledger
from scenarios.network import host_pair, sysctls


def delay_rate_spacing() -> dict[str, float]:
    """The bench's figures, shortened: ``median_us`` and ``p99_us`` (errors of a delay of 10 ms), ``rate_bps`` (of a
    bottleneck of 45 Mbit/s) and ``spacing_us`` (p90 error within a super-packet at 10 Mbit/s)."""
    times.WARM_UP_S, times.SPINNING = 1, {"poll_ns": 0, "spin_ns": 0}  # a program that spins stops the clock
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.open(Path(folder, "state")) as ledger,
        host_pair.hosts(ledger) as pair,
    ):
        for pid in (pair.sender, pair.receiver):
            netns.call_in(pid, sysctls.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
        place = Place(ledger, Path(folder), None, print, seconds=1)
        (rate,) = times.rate(pair, place, 45_000_000)
        _, median, p99 = times.delay(pair, place, "idle", 100)
        (spacing,) = times.spacing(pair, place)
    return {
        "rate_bps": rate.measured,
        "median_us": median.measured,
        "p99_us": p99.measured,
        "spacing_us": spacing.measured,
    }
