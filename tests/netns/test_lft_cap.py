"""The limit at the wire: in every interval no more than limit x its length and the burst, also after a stop.

Both directions carry data, and with it retransmissions, repairs and ACKs, and both are captured where frames leave the
gateway. The gateway reads its clock before and behind the call that sends, and the kernel stamps inside that call, so
the bound needs no allowance for a machine that is late. The witness is for what the kernel itself may delay: it sends
from a softirq when another processor holds the queue. Exact bounds without a kernel: tests/c/lft_ref/shaper.c; in
virtual time: test_scenarios_virtual_gateways.py.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from lft_lab import SERVER, Lab, inside, lft_lab, until
from lft_windows import PACKET_BYTES, burst_bytes, most_above
from numpy.typing import NDArray
from support.witness import Witness

pytestmark = [pytest.mark.netns, pytest.mark.alone]

SLOW_BPS, FAST_BPS = 10_000_000, 800_000_000
SLOW_BYTES, FAST_BYTES = 2_500_000, 60_000_000
CLOCK_SLEW = 1.001  # the kernel's stamps follow the time of day, whose rate may be corrected by 0.05 %
TOLERATES_MS = 1.0

ETHERNET_BYTES = 14
SNAPPED = 40  # snap length, shorter than any frame, so that all records of the file have one size
RECORD = np.dtype([("s", "<u4"), ("ns", "<u4"), ("kept", "<u4"), ("length", "<u4"), ("octets", f"V{SNAPPED}")])
FILE_HEADER_BYTES = 24
HEADERS_BYTES = 28  # of IPv4 and UDP
SEGMENT_BYTES = PACKET_BYTES - HEADERS_BYTES


@contextmanager
def captured(netns: int, file: Path) -> Iterator[None]:
    """What leaves a gateway towards the other, stamped by the kernel as it is handed to the interface."""
    argv = inside(netns, "tcpdump", "-i", "wan", "-Q", "out", "-n", "-Z", "root", "-B", "65536")
    argv += ["--immediate-mode", "-s", str(SNAPPED), "--time-stamp-precision=nano", "-U", "-w", str(file), "udp"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "listening" in process.stderr.readline()
        try:
            yield
        finally:
            process.terminate()
            said = process.stderr.read()
    assert "\n0 packets dropped by kernel" in said, said


def wire_bytes(length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Octets on the wire: every segment of a super-packet has its own headers."""
    payload = length - ETHERNET_BYTES - HEADERS_BYTES
    segments = -(-payload // SEGMENT_BYTES)
    return payload + segments * HEADERS_BYTES


def left(file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Times in ns and octets of what was captured so far."""
    found = file.read_bytes()[FILE_HEADER_BYTES:]
    rows = np.frombuffer(found[: len(found) // RECORD.itemsize * RECORD.itemsize], RECORD)
    assert (rows["kept"] == SNAPPED).all()
    return rows["s"].astype(np.int64) * 10**9 + rows["ns"], wire_bytes(rows["length"].astype(np.int64))


def read_all(end: socket.socket) -> None:
    """Reads to the end of the stream."""
    while end.recv(1 << 18):
        pass


def write_all(end: socket.socket, count: int) -> None:
    """Sends ``count`` octets, and then the end of the stream."""
    end.sendall(bytes(count))
    end.shutdown(socket.SHUT_WR)


def both_ways(lab: Lab, count: int) -> None:
    """Sends ``count`` octets from the client to the server, and at the same time as many back."""
    with lab.listen(4, 8000) as listener, lab.connect(SERVER[4], 8000) as client:
        server, _ = listener.accept()
        with server:
            client.settimeout(120)
            server.settimeout(120)
            threads = [threading.Thread(target=read_all, args=(end,)) for end in (client, server)]
            threads += [threading.Thread(target=write_all, args=(end, count)) for end in (client, server)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
                assert not thread.is_alive(), "the transfer stands still"


@contextmanager
def stopped_now_and_then(lab: Lab, seed: int) -> Iterator[None]:
    """Both gateways are stopped for 1 to 30 ms, every 20 to 60 ms, as a machine with other work does it."""
    done, chance = threading.Event(), random.Random(seed)

    def stop_them() -> None:
        while not done.wait(chance.uniform(0.02, 0.06)):
            pid = lab.running[chance.choice(("near", "far"))].pid
            os.kill(pid, signal.SIGSTOP)
            time.sleep(chance.uniform(0.001, 0.03))
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop_them)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize(
    ("limit_bps", "count", "loss", "recovery"),
    [
        pytest.param(SLOW_BPS, SLOW_BYTES, "5%", "selective", id="10Mbit-5%-selective"),
        pytest.param(SLOW_BPS, SLOW_BYTES, "5%", "fec", id="10Mbit-5%-fec"),
        pytest.param(FAST_BPS, FAST_BYTES, "0", "selective", id="800Mbit-0-selective"),
        pytest.param(FAST_BPS, FAST_BYTES, "10%", "selective", id="800Mbit-10%-selective"),
    ],
)
def test_no_interval_exceeds_the_limit_and_its_burst(
    tmp_path: Path, limit_bps: int, count: int, loss: str, recovery: str
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed of the stops {seed}")
    files = {"near": tmp_path / "near.pcap", "far": tmp_path / "far.pcap"}
    options = ["--router", "--lan", "lan0", "--rate", f"{limit_bps}bit", "--recovery", recovery]
    options += ["--expected-rtt", "20ms", "--mtu", "1500"]
    with lft_lab(delay="10ms", loss=loss) as lab, lab.gateways(*options), ExitStack() as stack:
        for which, file in files.items():
            stack.enter_context(captured(getattr(lab, which), file))
        with Witness(TOLERATES_MS, ordinary=False) as witness, stopped_now_and_then(lab, seed):
            both_ways(lab, count)
        for file in files.values():
            until(lambda seen=file: left(seen)[1].sum() > count, 5, "the transfer in the capture")  # type: ignore[misc]
    for which, file in files.items():
        above = most_above(*left(file), CLOCK_SLEW * limit_bps)
        witness.at_most(above, burst_bytes(limit_bps), "octets", f"{which} gateway above rate x T:")
