"""Seeded traffic of many connections at once, as captures of both ends, with the fate of every part that was sent.

Each connection is a small TCP: a window, delayed and duplicate acknowledgements, mostly with SACK, fast retransmission,
time-outs, and an application that pauses. Its path loses, delays, reorders and duplicates. Packets are super-packets
where they can be, and arrivals are merged now and then.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field, replace

from support.pktlogger_frames import ACK, FIN, RST, SYN, T0_NS, Packet, options

MS = 1_000_000
LOSS_SHARES = (0.0, 0.002, 0.02, 0.1)
JITTER_NS, REORDERED_NS, ANSWER_NS, DELAYED_NS = 200_000, 5 * MS, 1000, 2 * MS


@dataclass
class Traffic:
    """What both captures see, in order of time, and for each flow the fate of its parts in order of sending: when they
    were sent, and when they arrived first, or -1."""

    sender: list[Packet] = field(default_factory=list)
    receiver: list[Packet] = field(default_factory=list)
    fates: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # by the sender's port
    told_apart: set[int] = field(default_factory=set)  # sender's ports of flows whose packets have IP identifications
    round_trips: dict[int, tuple[int, int]] = field(default_factory=dict)  # smallest and largest, by the sender's port

    def sort(self) -> Traffic:
        for end in (self.sender, self.receiver):
            end.sort(key=lambda packet: packet.t_ns)
        for fates in self.fates.values():
            fates.sort(key=lambda fate: fate[0])
        return self


def make(seed: int, flows: int = 8, parts: int = 400) -> Traffic:
    """The traffic of `flows` connections with about `parts` parts each."""
    rng = random.Random(seed)
    traffic = Traffic()
    for number in range(flows):
        _Flow(random.Random(rng.random()), traffic, number, parts).run()
    return traffic.sort()


class _Flow:
    """One connection. Numbers are relative to the initial sequence number; parts are counted from 0."""

    def __init__(self, rng: random.Random, traffic: Traffic, number: int, parts: int) -> None:
        self.rng, self.traffic = rng, traffic
        self.v6, self.ids, self.ts = rng.random() < 0.3, rng.random() < 0.7, rng.random() < 0.6
        self.mss = rng.choice((500, 1000, 1448))
        a, b = ("fd00::1", "fd00::2") if self.v6 else ("10.0.0.1", "10.0.0.2")
        self.a, self.b = (a, 40000 + number), (b, 5010)
        self.isn, self.far_isn = rng.choice((rng.randrange(2**32), 2**32 - rng.randrange(10**6))), rng.randrange(2**32)
        self.loss, self.ack_loss = rng.choice(LOSS_SHARES), rng.choice((0.0, 0.01, 0.1))
        self.reorder, self.duplicate = rng.choice((0.0, 0.01)), rng.choice((0.0, 0.005))
        self.delay_ns, self.window = rng.choice((1, 10, 60)) * MS, rng.choice((4, 30, 100))
        self.parts, self.left = parts, parts
        self.events: list[tuple[int, int, str, int]] = []
        self.count = 0
        self.una = self.next = self.duplicates = self.recover = 0
        self.got: set[int] = set()
        self.progress_ns = 0
        self.id, self.ack_id = rng.randrange(65536), rng.randrange(65536)
        self.fates: list[tuple[int, int]] = traffic.fates.setdefault(self.a[1], [])
        self.paused_until_ns = 0
        self.arrival_ns, self.delayed, self.sack = 0, False, rng.random() < 0.8
        if not self.sack:  # a lost acknowledgement together with reordering looks like a long round trip
            self.reorder = 0.0
        late_ns = JITTER_NS + ANSWER_NS + DELAYED_NS + (REORDERED_NS if self.reorder else 0)
        traffic.round_trips[self.a[1]] = (2 * self.delay_ns, 2 * self.delay_ns + late_ns)
        if self.ids and not self.v6:
            traffic.told_apart.add(self.a[1])

    def run(self) -> None:
        start = T0_NS + self.rng.randrange(2000) * MS
        self._handshake(start)
        self.progress_ns = start + 3 * self.delay_ns
        self._at(self.progress_ns, "send", 0)
        while self.events and self.una < self.parts:
            now, _, what, value = heapq.heappop(self.events)
            getattr(self, "_" + what)(now, value)
        if self.rng.random() < 0.5:
            flags = self.rng.choice((FIN | ACK, RST | ACK))
            self._both(self.a_packet(now + 1, self.parts, 0, flags=flags), self.delay_ns, True)

    def _at(self, t_ns: int, what: str, value: int) -> None:
        self.count += 1
        heapq.heappush(self.events, (t_ns, self.count, what, value))

    def _stamp(self, t_ns: int) -> tuple[int, int] | None:
        return ((t_ns - T0_NS) // MS + 1, 1) if self.ts else None

    def a_packet(self, t_ns: int, part: int, n: int, flags: int = ACK) -> Packet:
        ip_id = self.id % 65536 if self.ids else 0
        self.id += max(n, 1)
        text = options(ts=self._stamp(t_ns))
        seq = self.isn + 1 + part * self.mss
        return Packet(t_ns, self.a, self.b, seq, self.far_isn + 1, flags, n * self.mss, 60000, ip_id, text)

    def b_packet(self, t_ns: int, arrived: int) -> Packet:
        """An acknowledgement for part `arrived`, which is in the first block of SACK (RFC 2018, section 4)."""
        self.ack_id += 1
        first = self._cumulative()
        sacked = sorted(part for part in self.got if part > first and self.sack)
        blocks: list[list[int]] = []
        for part in sacked:
            if blocks and blocks[-1][1] == part:
                blocks[-1][1] = part + 1
            else:
                blocks.append([part, part + 1])
        blocks.sort(key=lambda block: (not block[0] <= arrived < block[1], -block[0]))
        sack = tuple(((self._raw(low)) % 2**32, self._raw(high) % 2**32) for low, high in blocks[:3])
        ip_id = self.ack_id % 65536 if self.ids else 0
        window = 0 if self.rng.random() < 0.003 else 60000
        text = options(ts=self._stamp(t_ns), sack=sack)
        return Packet(t_ns, self.b, self.a, self.far_isn + 1, self._raw(first), ACK, 0, window, ip_id, text)

    def _raw(self, part: int) -> int:
        return self.isn + 1 + part * self.mss

    def _cumulative(self) -> int:
        first = self.una
        while first in self.got:
            first += 1
        return first

    def _both(self, packet: Packet, delay_ns: int, forward: bool) -> None:
        near, far = (
            (self.traffic.sender, self.traffic.receiver) if forward else (self.traffic.receiver, self.traffic.sender)
        )
        near.append(packet)
        far.append(replace(packet, t_ns=packet.t_ns + delay_ns))

    def _handshake(self, start: int) -> None:
        mss = self.mss + (12 if self.ts else 0)
        offer = options(mss, None, self.sack, self._stamp(start))
        self._both(Packet(start, self.a, self.b, self.isn, 0, SYN, 0, 60000, 0, offer), self.delay_ns, True)
        back = Packet(start + self.delay_ns, self.b, self.a, self.far_isn, self.isn + 1, SYN | ACK, 0, 60000, 0, offer)
        self._both(back, self.delay_ns, False)
        self._both(self.a_packet(start + 2 * self.delay_ns, 0, 0), self.delay_ns, True)

    def _transmit(self, now: int, part: int, n: int) -> None:
        """One packet of n parts. Each has its own fate; what arrives together may be merged."""
        whole = self.a_packet(now, part, n)
        self.traffic.sender.append(whole)
        arrival = max(now + self.delay_ns + self.rng.randrange(JITTER_NS), self.arrival_ns)
        self.arrival_ns = arrival
        merged: list[tuple[int, int, int]] = []  # first part, parts, time
        for i in range(n):
            if self.rng.random() < self.loss:
                self.fates.append((now, -1))
                continue
            t = arrival + (self.rng.randrange(REORDERED_NS) if self.rng.random() < self.reorder else 0)
            if merged and merged[-1][2] == t and sum(merged[-1][:2]) == i and self.rng.random() < 0.8:
                merged[-1] = (merged[-1][0], merged[-1][1] + 1, t)
            else:
                merged.append((i, 1, t))
            self.fates.append((now, t))
            self._at(t, "arrive", part + i)
            if self.rng.random() < self.duplicate:
                merged.append((i, 1, t + 1 + self.rng.randrange(MS)))
        for first, count, t in merged:
            ip_id = (whole.ip_id + first) % 65536 if self.ids else 0
            seq = whole.seq + first * self.mss
            self.traffic.receiver.append(replace(whole, t_ns=t, seq=seq, length=count * self.mss, ip_id=ip_id))

    def _send(self, now: int, _: int) -> None:
        while self.next < min(self.una + self.window, self.parts) and now >= self.paused_until_ns:
            n = min(self.rng.randint(1, 4), self.una + self.window - self.next, self.parts - self.next)
            self._transmit(now, self.next, n)
            self.next += n
            now += self.rng.randrange(1, 100_000)
            if self.rng.random() < 0.004:
                self.paused_until_ns = now + self.rng.choice((50, 400, 5000)) * MS
                self._at(self.paused_until_ns, "send", 0)
        self._at(max(now, self.progress_ns) + 300 * MS, "timer", self.una)

    def _arrive(self, now: int, part: int) -> None:
        before = self._cumulative()
        if part >= self.una:
            self.got.add(part)
        if part == before and self.rng.random() < 0.4 and max(self.got) == part and not self.delayed:
            self.delayed = True
            self._at(now + DELAYED_NS, "wait", part)
            return
        self._answer(now, part)

    def _wait(self, now: int, part: int) -> None:
        if self.delayed:
            self._answer(now, part)

    def _answer(self, now: int, part: int) -> None:
        self.delayed = False
        ack = self.b_packet(now + ANSWER_NS, part)
        if self.rng.random() < self.ack_loss:
            self.traffic.receiver.append(ack)
            return
        self._both(ack, self.delay_ns, False)
        self._at(ack.t_ns + self.delay_ns, "acked", self._cumulative())

    def _acked(self, now: int, part: int) -> None:
        if part > self.una:
            self.got = {one for one in self.got if one >= part}
            self.una, self.duplicates, self.progress_ns = part, 0, now
            if self.una < self.recover:
                self._transmit(now, self.una, 1)
        else:
            self.duplicates += 1
            if self.duplicates == 3 and self.una >= self.recover:
                self.recover = self.next
                self._transmit(now, self.una, 1)
        self._send(now + 1, 0)

    def _timer(self, now: int, una: int) -> None:
        if una == self.una and self.una < self.next and now - self.progress_ns >= 300 * MS:
            self.recover, self.progress_ns = self.next, now
            self._transmit(now, self.una, 1)
            self._at(now + 600 * MS, "timer", self.una)
