"""Conversations over a path of 10 ms whose every loss, retransmission and stop is known, as captures of both ends."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pktlogger
from dashboard.timeline.messages import ENGLISH, stop_said
from netcommon.binaries import find
from support.pktlogger_frames import ACK, CE, SYN, T0_NS, A, B, Packet, options, write_pcapng

MS = 1_000_000
MSS = 1000
NEW, FAST, TIMEOUT, SPURIOUS = range(4)
ISN_S, ISN_R = 2**32 - 5000, 77  # the data's numbers wrap after 5,000 bytes


def join(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command on s.pcapng and r.pcapng of the folder; results go to its `out`."""
    argv = [find("pktlogger"), *command, "--sender", folder / "s.pcapng", "--receiver", folder / "r.pcapng"]
    return subprocess.run([*argv, "-o", folder / "out"], capture_output=True, text=True, timeout=30)


@dataclass
class Conversation:
    """A path of 10 ms (or `way_ms`) each way between two captures, after a handshake at time 0. Times are ms, seq
    relative."""

    v6: bool = False
    ids: bool = True
    ts: bool = False
    way_ms: float = 10
    sack: bool = False  # both ends have SACK
    sender: list[Packet] = field(default_factory=list)
    receiver: list[Packet] = field(default_factory=list)
    next_id: int = 65530  # wraps soon
    ack_id: int = 100
    syns: tuple[int, int] = (0, 0)  # flags of ECN in both SYNs

    def __post_init__(self) -> None:
        self.a = ("fd00::1" if self.v6 else A, 40000)
        self.b = ("fd00::2" if self.v6 else B, 5010)
        mss = MSS + (12 if self.ts else 0)
        syn = Packet(0, self.a, self.b, ISN_S, 0, SYN | self.syns[0], 0, 60000, 0, self._options(0, mss))
        self._both(0, self.way_ms, syn)
        back = Packet(
            0, self.b, self.a, ISN_R, ISN_S + 1, SYN | ACK | self.syns[1], 0, 60000, 0, self._options(10, mss)
        )
        self._both(self.way_ms, self.way_ms, back, forward=False)
        third = Packet(0, self.a, self.b, ISN_S + 1, ISN_R + 1, ACK, 0, 60000, 0, self._options(20))
        self._both(20, self.way_ms, third)

    def _options(
        self,
        t_ms: float,
        mss: int | None = None,
        sack: tuple[tuple[int, int], ...] = (),
        accecn: tuple[int, ...] = (),
        echo_ms: float = 0,
    ) -> bytes:
        stamps = (int(t_ms) + 1, int(echo_ms) + 1) if self.ts else None
        return options(mss, None, self.sack and mss is not None, stamps, sack, accecn)

    def stamp(self, t_ms: float) -> bytes:
        """The options of a packet that leaves at t_ms."""
        return self._options(t_ms)

    def _both(self, t_ms: float, delay_ms: float, packet: Packet, forward: bool = True) -> None:
        first, second = (self.sender, self.receiver) if forward else (self.receiver, self.sender)
        first.append(Packet(**{**packet.__dict__, "t_ns": T0_NS + int(t_ms * MS)}))
        second.append(Packet(**{**packet.__dict__, "t_ns": T0_NS + int((t_ms + delay_ms) * MS)}))

    def send(
        self,
        t_ms: float,
        seq: int,
        parts: int = 1,
        arrive: list[tuple[int, int, float]] | None = None,
        flags: int = 0,
        ecn: int = 0,
        ces: tuple[int, ...] = (),
    ) -> None:
        """A super-packet; `arrive` lists (first part, number of parts, delay) of what the receiver sees. `ces`: which
        of these packets arrive with CE."""
        ip_id = self.next_id if self.ids else 0
        self.next_id += parts
        whole = Packet(
            T0_NS + int(t_ms * MS),
            self.a,
            self.b,
            ISN_S + seq,
            ISN_R + 1,
            ACK | flags,
            parts * MSS,
            60000,
            ip_id,
            self._options(t_ms),
            ecn,
        )
        self.sender.append(whole)
        for number, (first, n, delay_ms) in enumerate([(0, parts, self.way_ms)] if arrive is None else arrive):
            change = {
                "ecn": CE if number in ces else ecn,
                "t_ns": whole.t_ns + int(delay_ms * MS),
                "seq": ISN_S + seq + first * MSS,
                "length": n * MSS,
                "ip_id": ip_id + first if self.ids else 0,
            }
            self.receiver.append(Packet(**{**whole.__dict__, **change}))

    def ack(
        self,
        t_ms: float,
        ack: int,
        window: int = 60000,
        sack: tuple[int, int] | None = None,
        lost: bool = False,
        flags: int = 0,
        accecn: tuple[int, ...] = (),
        echo_ms: float = 0,
    ) -> None:
        """An acknowledgement that leaves the receiver at t_ms. `accecn`: the counters of the option. `echo_ms`: when
        the packet left whose time stamp it echoes."""
        blocks = ((((ISN_S + sack[0]) % 2**32), (ISN_S + sack[1]) % 2**32),) if sack else ()
        self.ack_id += 1
        packet = Packet(
            T0_NS + int(t_ms * MS),
            self.b,
            self.a,
            ISN_R + 1,
            ISN_S + ack,
            ACK | flags,
            0,
            window,
            self.ack_id if self.ids else 0,
            self._options(t_ms, sack=blocks, accecn=accecn, echo_ms=echo_ms),
        )
        self.receiver.append(packet)
        if not lost:
            self.sender.append(Packet(**{**packet.__dict__, "t_ns": packet.t_ns + int(self.way_ms * MS)}))

    def analyse(self, folder: Path, *more: str | Path) -> tuple[pktlogger.Analysis, dict[str, Any]]:
        """Writes both captures in order of time, analyses them; result and the summary of the only flow."""
        for name, packets in (("s", self.sender), ("r", self.receiver)):
            write_pcapng(folder / f"{name}.pcapng", sorted(packets, key=lambda p: p.t_ns), "<")
        done = join(folder, "analyse", *more)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["flows"] == 1
        found = pktlogger.read_analysis(folder / "out")
        (flow,) = found.summary["flows"]
        for stop in flow["stops"]:  # the dashboard says the same by keys, so that other languages can
            said = stop_said(stop)
            assert said and ENGLISH.of(said) == stop["text"]
        return found, flow


def at(t_ms: float) -> int:
    """A time of the conversation as captures have it."""
    return T0_NS + int(t_ms * MS)
