"""delay.disciplines, the part inside a guest of virtual time: sends the same UDP datagrams through a discipline of the
kernel and through ours, and counts which arrive, which are marked, and how long they waited.

``python -m bench.accuracy.disciplines CASE SIDE SECONDS`` prints the outcome. Three flows with Poisson arrivals send
105 % of the line together: one without ECN, one with ECT(0), one with ECT(1). They do not react, so both sides get the
same arrivals at the same nanosecond. In the kernel HTB is the line: it takes a packet from the discipline when the
packet before it has passed, as our box does. Rejected: TBF, which takes the next packet one packet's time earlier.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.arrivals import captured
from bench.accuracy.numbered import FILTER, PORT, UDP_HEADERS
from bench.registry import Place
from bench.two_hosts import box
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.network import sysctls
from scenarios.network.host_pair import ADDRESSES, MTU, NIC, Hosts, hosts, veth

RATE_BPS, PAYLOAD = 10_000_000, 1000
PACKET_NS = (PAYLOAD + UDP_HEADERS) * 8 * 10**9 // RATE_BPS
LOAD = 1.05
FLOWS = {"not ECT": (0, 0.36), "ECT(0)": (2, 0.36), "ECT(1)": (1, 0.28)}  # bits of the IP header, share of the packets
_LATE_NS = 100_000  # a sleep ends late by the kernel's timer slack, and a call takes time
_TOS, _SETTLE_S, _CE = 15, 2.0, 3  # _TOS: offset in a frame
_BURST, _SNDBUFFORCE = 50_000, 32


@dataclass(frozen=True)
class Case:
    """A discipline as ``tc`` and as our box names it. ``polices``: a policer, which needs no line."""

    kernel: str
    ours: str
    polices: bool = False


CASES = {
    "plain": Case("pfifo limit 100000", "none"),  # shows that both sides have the same arrivals and the same line
    "codel": Case("codel target 5ms interval 100ms ecn", "codel:target=5ms,interval=100ms,ecn=on"),
    "pie": Case("pie target 15ms tupdate 15ms alpha 2 beta 20 ecn", "pie:ecn=on,derandomize=on"),
    "fq_codel": Case("fq_codel target 5ms interval 100ms ecn", "fq_codel"),
    "dualpi2": Case("dualpi2", "dualpi2"),  # Debian 12's tc knows only the name; both have the same defaults
    "policer": Case(f"rate {RATE_BPS} burst {_BURST}", f"policer:rate={RATE_BPS}bit,burst={_BURST}", polices=True),
}


def arrivals(seconds: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When each datagram is sent, ns after the beginning, and the index of its flow; the same in every call."""
    random = np.random.default_rng(8289)
    count = int(LOAD * seconds * 1e9 / PACKET_NS)
    t_ns = np.cumsum(random.exponential(PACKET_NS / LOAD, count)).astype(np.int64)
    return t_ns, random.choice(len(FLOWS), count, p=[share for _, share in FLOWS.values()])


@contextlib.contextmanager
def _kernels(pair: Hosts, case: Case) -> Iterator[None]:
    with veth(pair, MTU):
        if case.polices:
            lines = [
                f"qdisc add dev {NIC} clsact",
                f"filter add dev {NIC} egress matchall action police {case.kernel} drop",
            ]
        else:
            line = f"rate {RATE_BPS} burst 1 cburst 1"
            lines = [
                f"qdisc add dev {NIC} root handle 1: htb default 1",
                f"class add dev {NIC} parent 1: classid 1:1 htb {line}",
                f"qdisc add dev {NIC} parent 1:1 {case.kernel}",
            ]
        for words in lines:
            inside = ["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", "tc", *words.split()]
            subprocess.run(inside, check=True)
        yield


def _ours(pair: Hosts, case: Case, place: Place) -> contextlib.AbstractContextManager[Any]:
    path: dict[str, int | str] = {"aqm": case.ours, "framing": "l2"}
    if not case.polices:
        path |= {"rate_bps": RATE_BPS}
    return box(pair, MTU, path, place.scratch, place.ledger, poll="0", spin="0", granularity="0")


def _send(pair: Hosts, seconds: float) -> NDArray[np.int64]:
    """Sends all datagrams, numbered from 0. Returns when each was sent, CLOCK_REALTIME. LfpError when one was late,
    because both sides must get the same arrivals."""

    def opened(ecn: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        sock.setsockopt(socket.SOL_SOCKET, _SNDBUFFORCE, 64 << 20)  # the packets in the kernel's queue count against it
        sock.connect((ADDRESSES[1], PORT))
        return sock

    def receiver() -> socket.socket:  # never read; without it the host would answer with ICMP errors
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((ADDRESSES[1], PORT))
        return sock

    t_ns, flow = arrivals(seconds)
    sent_ns = np.zeros(t_ns.size, dtype=np.int64)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(netns.call_in(pair.receiver, receiver)))
        out = [
            stack.enter_context(contextlib.closing(netns.call_in(pair.sender, opened, ecn)))
            for ecn, _ in FLOWS.values()
        ]
        begun_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) + 10**7
        for number, (due_ns, index) in enumerate(zip((begun_ns + t_ns).tolist(), flow.tolist(), strict=True)):
            if (left_ns := due_ns - time.clock_gettime_ns(time.CLOCK_REALTIME)) > 0:
                time.sleep(left_ns / 1e9)
            sent_ns[number] = time.clock_gettime_ns(time.CLOCK_REALTIME)
            out[index].send(number.to_bytes(4, "big") + bytes(PAYLOAD - 4))
        time.sleep(_SETTLE_S)
    if (late_ns := int(np.abs(sent_ns - begun_ns - t_ns).max())) > _LATE_NS:
        raise LfpError(f"delay.disciplines: a datagram was sent {late_ns} ns late")
    return sent_ns


def measured(case: Case, side: str, seconds: float) -> dict[str, Any]:
    """The packets of each flow that arrived, and those that were marked. Percentiles of the waits in the queue of all
    packets that arrived, ms."""
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder)) as ledger, hosts(ledger) as pair:
        place = Place(ledger, Path(folder), None, lambda _: None)
        for pid in (pair.sender, pair.receiver):  # IPv6 would send packets of its own
            netns.call_in(pid, sysctls.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
        bottleneck = _kernels(pair, case) if side == "kernel" else _ours(pair, case, place)
        with bottleneck, captured(place, [pair.receiver], FILTER) as capture:
            sent_ns = _send(pair, seconds)
    (arrived,) = capture.points
    number = arrived.number_at(UDP_HEADERS)
    flow = arrivals(seconds)[1][number]
    marked = arrived.data[:, _TOS] & 3 == _CE
    on_line_ns = PACKET_NS if side == "ours" and not case.polices else 0  # HTB passes it on before that
    wait_ms = (arrived.t_ns - sent_ns[number] - on_line_ns) / 1e6
    return {
        "sent": int(sent_ns.size),
        "packets": {name: int((flow == index).sum()) for index, name in enumerate(FLOWS)},
        "marks": {name: int((marked & (flow == index)).sum()) for index, name in enumerate(FLOWS)},
        "wait_ms": {str(percent): float(np.percentile(wait_ms, percent)) for percent in (50, 90, 99)},
    }


if __name__ == "__main__":
    print(json.dumps(measured(CASES[sys.argv[1]], sys.argv[2], float(sys.argv[3]))))
