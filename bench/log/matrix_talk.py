"""Small TCP connections of which every segment is known, as a capture at one end of their path shows them.

Each connection has a side that sends most of the data, and the capture is made at the sender's or at the receiver's
machine. The right counts follow from the script alone: which octets were new, which were sent before, and which packets
carry no data of the stream (keep-alives, probes of a closed window).
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

MS = 1_000_000
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
WINDOW, SCALE, MSS = 64_000, 7, 1000
DELAY_NS = 10 * MS
BEGUN = ("whole", "unscaled", "late", "answer missed")


@dataclass(frozen=True)
class Segment:
    """A TCP packet as the capture shows it. ``seq`` and ``ack`` are as on the wire, ``octet`` is the number of its
    first octet. ``counts``: its payload is data of the stream. ``again``: octets that this sender sent before."""

    t_ns: int
    from_sender: bool
    seq: int
    ack: int
    flags: int
    length: int
    window: int
    options: bytes
    ip_id: int
    octet: int
    counts: bool = True
    again: int = 0
    cut: bool = False  # the capture does not have all of its TCP header


@dataclass
class Talk:
    """A connection: its ends (address number of the sender's machine is 0, the receiver's 1), ports, and packets."""

    kind: str
    v6: bool
    ports: tuple[int, int]  # the sender's, the receiver's
    sender_opens: bool
    segments: list[Segment] = field(default_factory=list)
    opened: bool = True  # the capture shows its SYN, and a SYN that answers it
    scale: int | None = SCALE  # window scale that each SYN offers


@dataclass(frozen=True)
class Right:
    """The right counts of one direction's data: octets of the stream, and octets that were retransmitted."""

    octets: int
    again: int
    again_octets: int


def right(segments: list[Segment], at_sender: bool) -> Right:
    """The right counts of the sender's data. In the receiver's capture a retransmission is recognised only if its
    octets, or later ones, arrived before it; otherwise it looks like new data (FORMAT.md, "One end"). Octets below the
    first one captured were sent before the capture began."""
    seen: set[int] = set()
    highest = again = again_octets = 0
    for segment in segments:
        if not (segment.from_sender and segment.length and segment.counts):
            continue
        octets = range(segment.octet, segment.octet + segment.length)
        repeated = segment.again if at_sender else sum(octet < highest for octet in octets[: segment.again])
        again += repeated > 0
        again_octets += repeated
        seen.update(octets)
        highest = max(highest, octets.stop)
    begin = next((one.octet for one in segments if one.from_sender and one.length and one.counts), 0)
    return Right(sum(octet >= begin for octet in seen), again, again_octets)


class Script:
    """Builds one connection. Numbers are relative to the initial ones; a packet's time is when it leaves its own
    machine, and it is DELAY_NS later at the other one."""

    def __init__(self, rng: random.Random, talk: Talk, at_sender: bool, begin_ns: int, begun: str) -> None:
        self.rng, self.talk, self.at_sender, self.now = rng, talk, at_sender, begin_ns
        self.isn = [rng.choice((rng.randrange(2**32), 2**32 - rng.randrange(1, 4000))) for _ in range(2)]
        self.ids = [rng.randrange(65536) if rng.random() < 0.7 and not talk.v6 else None for _ in range(2)]
        self.stamps, self.sacks = rng.random() < 0.6, rng.random() < 0.7
        self.scaled = begun != "unscaled"
        if not self.scaled:
            talk.scale = None
        self.mss = MSS - 12 * self.stamps
        self.next = [1, 1]  # of each side: the next new octet
        self.top = [0, 0]  # of each side: the first octet that it never sent
        self.acked = [1, 1]  # of each side: what it has acknowledged of the other
        self.begin_ns = begin_ns

    def _options(self, side: int, syn: bool, sack: tuple[int, int] | None) -> bytes:
        out = struct.pack("!BBH", 2, 4, MSS) if syn else b""
        if syn and self.sacks:
            out += b"\x04\x02"
        if self.stamps:
            since = (self.now - self.begin_ns) // MS
            out += struct.pack("!BBII", 8, 10, 1000 + since, 0 if syn and side == 0 else 2000 + since)
        if syn and self.scaled:
            out += struct.pack("!BBB", 3, 3, SCALE)
        if sack and self.sacks:
            edges = [(self.isn[1 - side] + edge) % 2**32 for edge in sack]
            out += struct.pack("!BBII", 5, 10, *edges)
        return out + b"\x01" * (-len(out) % 4)

    def put(
        self, sender: bool, seq: int, length: int = 0, flags: int = ACK, *, ack: int | None = None, lost: bool = False,
        window: int = WINDOW, counts: bool = True, sack: tuple[int, int] | None = None, late_ns: int = 0,
    ) -> None:  # fmt: skip
        """One packet leaves now. `lost`: it never reaches the other machine."""
        side = 0 if sender else 1
        ip_id = 0
        held = self.ids[side]
        if held is not None:
            ip_id, self.ids[side] = held, (held + 1) % 65536
        again = max(min(self.top[side], seq + length) - seq, 0) if counts else 0
        if counts:
            self.top[side] = max(self.top[side], seq + length)
        acknowledged = self.acked[side] if ack is None else ack
        near = sender == self.at_sender
        if lost and not near:
            return
        t_ns = self.now if near else self.now + DELAY_NS + late_ns
        shown = window if flags & SYN or not self.scaled else window >> SCALE
        self.talk.segments.append(
            Segment(
                t_ns, sender, (self.isn[side] + seq) % 2**32,
                (self.isn[1 - side] + acknowledged) % 2**32 if flags & ACK else 0, flags, length, shown,
                self._options(side, bool(flags & SYN), sack), ip_id, seq, counts, again,
            )
        )  # fmt: skip

    def wait(self, ms: float) -> None:
        self.now += int(ms * MS)

    def data(self, length: int | None = None, sender: bool = True, lost: bool = False, late_ms: float = 0) -> int:
        """Sends the next new octets; returns the number of the first one. 20 µs later the next packet may leave."""
        side = 0 if sender else 1
        first, length = self.next[side], length or self.mss
        self.put(sender, first, length, ACK | PSH, lost=lost, late_ns=int(late_ms * MS))
        self.next[side] = first + length
        self.wait(0.02)
        return first

    def copy(self, first: int, length: int | None = None) -> None:
        self.put(True, first, length or self.mss)
        self.wait(0.02)

    def ack(
        self,
        upto: int,
        sender: bool = False,
        window: int = WINDOW,
        sack: tuple[int, int] | None = None,
        lost: bool = False,
    ) -> None:
        """An acknowledgement without data, by default of the receiver."""
        side = 0 if sender else 1
        self.acked[side] = max(self.acked[side], upto)
        self.put(sender, self.next[side], ack=upto, window=window, sack=sack, lost=lost)
        self.wait(0.05)

    def burst(self, n: int) -> None:
        """n segments that arrive and are acknowledged."""
        for _ in range(n):
            self.data()
        self.wait(DELAY_NS / MS)
        for left in range(n - 1, -1, -1):
            if left % 2 == 0:
                self.ack(self.next[0] - left * self.mss)
        self.wait(DELAY_NS / MS + 1)

    def open(self) -> None:
        near = self.talk.sender_opens
        for sender, flags in ((near, SYN), (not near, SYN | ACK)):
            self.put(sender, 0, flags=flags, ack=1)
            self.wait(DELAY_NS / MS)
        self.put(near, 1)
        self.wait(0.05 if near else DELAY_NS / MS)

    def ask(self) -> None:
        """The receiver sends a little data, such as a request."""
        self.data(self.rng.randrange(20, 200), sender=False)
        self.wait(DELAY_NS / MS)
        self.ack(self.next[1], sender=True)
        self.wait(1)

    def close(self) -> None:
        """Both ends finish."""
        self.put(True, self.next[0], flags=FIN | ACK)
        self.wait(DELAY_NS / MS)
        self.acked[1] = self.next[0] + 1
        self.put(False, self.next[1], flags=FIN | ACK)
        self.wait(DELAY_NS / MS)
        self.acked[0] = self.next[1] + 1
        self.put(True, self.next[0] + 1)
        self.wait(1)


def _plain(s: Script) -> None:
    s.burst(s.rng.randrange(4, 9))
    s.burst(s.rng.randrange(2, 5))
    s.close()


def _duplex(s: Script) -> None:
    for _ in range(4):
        s.burst(3)
        s.data(sender=False)
        s.wait(DELAY_NS / MS)
        s.ack(s.next[1], sender=True)
        s.wait(1)
    s.close()


def _loss(s: Script) -> None:
    """The third of eight segments is lost; duplicate acknowledgements report the others, and it is sent again."""
    firsts = [s.data(lost=i == 2) for i in range(8)]
    s.wait(DELAY_NS / MS)
    s.ack(firsts[2])
    for first in firsts[3:]:
        s.ack(firsts[2], sack=(firsts[3], first + s.mss))
    s.wait(DELAY_NS / MS)
    s.copy(firsts[2])
    s.wait(DELAY_NS / MS)
    s.ack(s.next[0])
    s.wait(DELAY_NS / MS)
    s.burst(2)
    s.close()


def _timeout(s: Script) -> None:
    firsts = [s.data(lost=i >= 2) for i in range(5)]
    s.wait(DELAY_NS / MS)
    s.ack(firsts[2])
    s.wait(300)
    for first in firsts[2:]:
        s.copy(first)
        s.wait(DELAY_NS / MS)
        s.ack(first + s.mss)
        s.wait(DELAY_NS / MS)
    s.close()


def _reorder(s: Script) -> None:
    """The third segment is overtaken by two others; nothing is sent again."""
    firsts = [s.data(late_ms=1 if i == 2 else 0) for i in range(6)]
    s.wait(DELAY_NS / MS + 0.02)
    s.ack(firsts[2])
    s.ack(firsts[2], sack=(firsts[3], firsts[5]))
    s.wait(1.2)
    s.ack(s.next[0])
    s.wait(DELAY_NS / MS)
    s.burst(3)
    s.close()


def _spurious(s: Script) -> None:
    """The acknowledgements of a burst come too late for the sender's timer."""
    firsts = [s.data() for _ in range(3)]
    s.wait(DELAY_NS / MS)
    s.ack(s.next[0], lost=True)
    s.wait(300)
    s.copy(firsts[0])
    s.wait(DELAY_NS / MS)
    s.ack(s.next[0], sack=(firsts[0], firsts[0] + s.mss))
    s.wait(DELAY_NS / MS)
    s.burst(4)
    s.close()


def _more(s: Script) -> None:
    """Lost octets are sent again together with new ones."""
    s.burst(2)
    first = s.data(100, lost=True)
    s.wait(300)
    s.copy(first, 300)
    s.next[0] = first + 300
    s.wait(DELAY_NS / MS)
    s.ack(s.next[0])
    s.wait(DELAY_NS / MS)
    s.burst(3)
    s.close()


def _keep_alive(s: Script) -> None:
    """RFC 1122, 4.2.3.6: with and without an octet of garbage."""
    s.burst(4)
    garbage = s.rng.randrange(2)
    for _ in range(3):
        s.wait(2000)
        s.put(True, s.next[0] - 1, garbage, counts=False)
        s.wait(DELAY_NS / MS)
        s.ack(s.next[0])
    s.wait(100)
    s.burst(2)
    s.close()


def _closed_window(s: Script) -> None:
    """RFC 9293, 3.8.6.1: the receiver closes its window and the sender asks with an octet that is not taken, or with
    none below the window, as Linux does."""
    s.burst(3)
    s.ack(s.next[0], window=0)
    octet = s.rng.randrange(2)
    for wait_ms in (250, 500):
        s.wait(wait_ms)
        s.put(True, s.next[0] if octet else s.next[0] - 1, octet, counts=False)
        s.wait(DELAY_NS / MS)
        s.ack(s.next[0], window=0)
    s.wait(100)
    s.ack(s.next[0])
    s.wait(DELAY_NS / MS)
    s.burst(4)
    s.close()


def _reset(s: Script) -> None:
    s.burst(4)
    s.put(bool(s.rng.randrange(2)), s.next[0], flags=RST | ACK)
    s.wait(1)


def _unfinished(s: Script) -> None:
    s.burst(5)


def _late_finish(s: Script) -> None:
    """The FIN is lost, and sent again."""
    s.burst(4)
    s.put(True, s.next[0], flags=FIN | ACK, lost=True)
    s.wait(300)
    s.close()


_KINDS: dict[str, Callable[[Script], None]] = {
    "plain": _plain, "both ways": _duplex, "loss": _loss, "time-out": _timeout, "reordering": _reorder,
    "needless copy": _spurious, "copy with more": _more, "keep-alive": _keep_alive, "closed window": _closed_window,
    "reset": _reset, "no end": _unfinished, "second FIN": _late_finish,
}  # fmt: skip
KINDS = (*_KINDS, "refused", "second SYN", "ports used again")


def make(
    rng: random.Random, kind: str, v6: bool, ports: tuple[int, int], at_sender: bool, begin_ns: int, begun: str
) -> list[Talk]:
    """One connection of a kind, or two with the same ports."""
    talks: list[Talk] = []
    after, now = None, begin_ns
    for _ in range(2 if kind == "ports used again" else 1):
        talk = Talk(kind, v6, ports, bool(rng.randrange(2)) if not talks else talks[0].sender_opens)
        script = Script(rng, talk, at_sender, now, begun)
        if after:  # in TIME-WAIT, a SYN has a higher number than the connection before (RFC 9293, 3.6.1)
            script.isn = [(isn + last + 100_000) % 2**32 for isn, last in zip(after.isn, after.next, strict=True)]
        after = script
        if kind == "refused":
            script.put(talk.sender_opens, 0, flags=SYN)
            script.wait(DELAY_NS / MS)
            script.put(not talk.sender_opens, 0, flags=RST | ACK, ack=1)
        else:
            if kind == "second SYN":
                script.put(talk.sender_opens, 0, flags=SYN, lost=True)
                script.wait(1000)
            script.open()
            if rng.random() < 0.6:
                script.ask()
            _KINDS.get(kind, _plain)(script)
        talk.segments.sort(key=lambda one: one.t_ns)
        talks.append(talk)
        now = script.now + 2000 * MS
    _begin(talks[0], begun)
    return talks


def _begin(talk: Talk, begun: str) -> None:
    """Removes the packets that a capture misses when it began late or missed the answer to the SYN."""
    syns = [one for one in talk.segments if one.flags & SYN]
    if begun == "late":
        done_ns = max(one.t_ns for one in syns)
        third = next((one for one in talk.segments if one.t_ns > done_ns), None)
        keep_from = third.t_ns + 1 if third else done_ns + 1
        talk.segments = [one for one in talk.segments if one.t_ns >= keep_from]
    elif begun == "answer missed":
        talk.segments = [one for one in talk.segments if not (one.flags & SYN and one.flags & ACK)]
    talk.opened = {bool(one.flags & ACK) for one in talk.segments if one.flags & SYN} == {False, True}
