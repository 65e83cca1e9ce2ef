"""rttcp.vs_iperf3: the throughput of rttcp compared with iperf3's over a bare veth pair, with one and with four
streams.

Either both copy, or neither does (iperf3's -Z, our --zerocopy). The variant that is faster for iperf3 counts, and both
are shown. Measurements alternate; the figure is bit/s at the receiver after a warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.registry import Bench, Place, Result, scaled
from bench.two_hosts import iperf3, iperf3_result
from netcommon.ledger import Ledger
from scenarios.network.host_pair import MTU, Hosts, hosts, veth
from scenarios.run.rttcp_session import LENGTH_BYTES, session

PAIRS, SECONDS, WARM_UP_S = 5, 5, 1


def _theirs(pair: Hosts, ledger: Ledger, seconds: int, streams: int, zerocopy: bool) -> float:
    options = ["--time", str(seconds), "--omit", str(WARM_UP_S), "--congestion", "cubic", "--length", str(LENGTH_BYTES)]
    options += ["--parallel", str(streams), *(["--zerocopy"] if zerocopy else [])]
    with iperf3(pair, ledger, *options) as stream:
        result = iperf3_result(stream, seconds + WARM_UP_S + 60.0)
    return float(result["end"]["sum_received"]["bits_per_second"])


def _ours(pair: Hosts, ledger: Ledger, seconds: int, streams: int, zerocopy: bool) -> float:
    end = session(pair, ledger, seconds, parallel=streams, zerocopy=zerocopy, omit_ns=WARM_UP_S * 10**9)
    return float(end.summary.steady_bps)


def measure(place: Place) -> Iterator[Result]:
    """A result for one stream, and one for four. ``other_ratio`` is the ratio of the variant that does not count."""
    seconds = place.seconds or SECONDS
    for streams in (1, 4):
        name = f"rttcp.vs_iperf3.{streams}"
        runs: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        with hosts(place.ledger) as pair, veth(pair, MTU):
            for number in range(1, (place.pairs or PAIRS) + 1):
                for zerocopy, pairs in runs.items():
                    base = _theirs(pair, place.ledger, seconds, streams, zerocopy)
                    ours = _ours(pair, place.ledger, seconds, streams, zerocopy)
                    pairs.append({"ours": ours, "base": base})
                    how = "zero-copy" if zerocopy else "copy"
                    place.say(
                        f"{name} {number} {how}: iperf3 {scaled(base, 'bit/s')}, rttcp {scaled(ours, 'bit/s')}, "
                        f"ratio {ours / base:.3f}"
                    )
        copied, without = (Result(name, "bit/s", "iperf3", runs[zerocopy]) for zerocopy in (False, True))
        helped = (without.base or 0) > (copied.base or 0)
        best, other = (without, copied) if helped else (copied, without)
        extra = {"zerocopy": helped, "other_ratio": other.ratio}
        yield Result(name, "bit/s", "iperf3 -Z" if helped else "iperf3", best.pairs, extra=extra)


BENCH = Bench("rttcp.vs_iperf3", "throughput over a bare veth pair, one and four streams, ratio to iperf3", measure)
