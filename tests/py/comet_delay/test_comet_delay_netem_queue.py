"""The queue of the netem back end against theory, over drawn paths: what a drop-tail queue of that many bytes takes.

The token bucket is computed here as the kernel computes it (net/sched/sch_tbf.c with the patch super-packets): a
super-packet whose packets all fit waits or passes whole; of any other super-packet the packets that fit are taken.
Theory is the fluid backlog of a line that serves the accepted bytes at the rate.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import pytest

from comet_delay.netem_plan import FRAMINGS, Bucket, Plan, plan

CASES, GROUPS = 500, 10
LINK, VLAN = 14, 4
TCP_RESERVE = 321  # of a device's longest super-packet, the octets for headers: MAX_TCP_HEADER + 1
SHORTEST_LIMIT = 512  # netem_kernel never sets a device's longest super-packet lower


@dataclass(frozen=True)
class Case:
    rate_bps: int
    delay_ns: int
    queue_bytes: int
    mtu: int
    granularity_ns: int
    framing: str

    def planned(self) -> Plan:
        wanted = {"rate_bps": self.rate_bps, "delay_ns": self.delay_ns, "queue_bytes": self.queue_bytes}
        return plan(wanted | {"framing": self.framing}, self.mtu, self.granularity_ns)

    def full_frame(self) -> int:
        return self.mtu + LINK + FRAMINGS[self.framing].overhead_bytes


def drawn(chance: random.Random) -> Case:
    rate_bps, delay_ns = int(10 ** chance.uniform(6, 11)), int(10 ** chance.uniform(4, 8.5))
    mtu, framing = chance.choice([576, 1280, 1500, 1500, 1500, 4000, 9000, 65_000]), chance.choice([*FRAMINGS])
    full = mtu + LINK + FRAMINGS[framing].overhead_bytes
    bdp = rate_bps * 2 * delay_ns // (8 * 10**9)
    queue = int(chance.choice([bdp * 10 ** chance.uniform(-2, 0.6), full * chance.uniform(2, 400)]))
    queue = min(max(queue, 2 * (full + VLAN)), 2**32 - 1)
    granularity_ns = chance.choice([0, 20_000, 50_000, max(50_000, 2 * delay_ns // 1000), 10**6])
    return Case(rate_bps, delay_ns, queue, mtu, granularity_ns, framing)


@dataclass
class TokenBucket:
    """The kernel's tbf. `enqueue` returns the packets that it took."""

    settings: Bucket
    tokens: float = 0
    at_s: float = 0
    waiting: deque[int] = field(default_factory=deque)
    backlog: int = 0
    apart: bool = False  # whether the last super-packet was taken apart

    def __post_init__(self) -> None:
        self.tokens = self.settings.burst_bytes

    def _serve(self, until_s: float) -> None:
        byte_s = 8 / self.settings.rate_bps
        while self.waiting:
            due_s = self.at_s + max(self.waiting[0] - self.tokens, 0) * byte_s
            if due_s > until_s:
                break
            self._earn(due_s)
            length = self.waiting.popleft()
            self.backlog -= length
            self.tokens -= length
        self._earn(until_s)

    def _earn(self, until_s: float) -> None:
        self.tokens = min(self.tokens + (until_s - self.at_s) * self.settings.rate_bps / 8, self.settings.burst_bytes)
        self.at_s = until_s

    def enqueue(self, at_s: float, packets: list[int]) -> list[int]:
        self._serve(at_s)
        whole, settings = sum(packets), self.settings
        self.apart = whole > settings.burst_bytes or self.backlog + whole > settings.limit_bytes
        taken = []
        for length in packets if self.apart else [whole]:
            if length <= settings.burst_bytes and self.backlog + length <= settings.limit_bytes:
                self.waiting.append(length)
                self.backlog += length
                taken.append(length)
        self._serve(at_s)
        return taken if self.apart else packets


def super_packet(chance: random.Random, case: Case, planned: Plan) -> list[int]:
    """The lengths, as the disciplines count them, of the packets in a super-packet that passes the splitter whole: TCP
    bulk data over IPv4 or IPv6 with or without time stamps, sometimes with a smaller MSS, or the longest that the
    splitter passes. A single packet where the splitter passes no super-packet."""
    headers = chance.choice([20 + 20, 20 + 32, 40 + 20, 40 + 32, 20 + 60, 60 + 60])
    segment = case.mtu - headers
    if chance.random() < 0.2:
        segment = chance.randint(min(88, segment), segment)
    overhead = LINK + headers + FRAMINGS[case.framing].overhead_bytes
    most = max(planned.super_bytes, SHORTEST_LIMIT) - chance.choice([1, TCP_RESERVE])
    payload = max(most - LINK - headers, 0)
    count = min(-(-payload // segment), planned.super_packets)
    if count < 2:
        return [segment + overhead]
    last = chance.choice([segment, payload - (count - 1) * segment])
    if not 0 < last <= segment or (count - 1) * segment + last > payload:
        count, last = count - 1, segment
    return [segment + overhead] * (count - 1) + [last + overhead]


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_queue_takes_what_theory_says(group: int) -> None:
    """The queue never exceeds its size, a packet that leaves room for a super-packet is never dropped, and a full
    super-packet that finds the queue empty always passes whole."""
    for number in range(group * CASES // GROUPS, (group + 1) * CASES // GROUPS):
        print(f"case {number}")
        _check(random.Random(number))


def _check(chance: random.Random) -> None:
    case = drawn(chance)
    planned = case.planned()
    print(case, planned)
    assert planned.bucket
    bucket, longest, backlog, at_s, dropped = TokenBucket(planned.bucket), 0, 0.0, 0.0, 0
    byte_s, load = 8 / case.rate_bps, chance.uniform(0.5, 2.5)
    for _ in range(1000):
        packets = super_packet(chance, case, planned) if chance.random() < 0.8 else [chance.randint(60, 260)]
        empty = TokenBucket(planned.bucket)
        assert (empty.enqueue(0, packets), empty.apart) == (packets, False), packets
        taken, longest = bucket.enqueue(at_s, packets), max(longest, sum(packets))
        backlog += sum(taken)
        assert backlog <= case.queue_bytes + 1, "accepted beyond the queue"
        if len(taken) < len(packets):
            dropped += 1
            assert backlog + packets[-1] > case.queue_bytes - longest - case.full_frame(), "dropped what fits"
        if dropped > 100:
            break
        spacing_s = 0 if chance.random() < 0.5 else chance.expovariate(1) * 2 * sum(packets) * byte_s / load
        at_s, backlog = at_s + spacing_s, max(backlog - spacing_s / byte_s, 0)
