"""The limit at the wire, every class counted: 1.01 of it and 20 packets in 100 ms at most.

At 10 Mbit/s as the delay box sees it. At 800 Mbit/s, where 20 packets are 0.3 ms, as the kernel stamps what leaves the
gateway: a box that shares its processors reads later than that.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from lft_lab import SERVER, Lab, lft_lab, until
from lft_windows import PACKET_BYTES, excess
from numpy.typing import NDArray

import pktlogger
from netcommon.binaries import find
from netcommon.process import Tool

pytestmark = pytest.mark.netns

LIMIT_BPS, FAST_BPS = 10_000_000, 800_000_000
BULK_BYTES, FAST_BYTES = 2_500_000, 120_000_000  # two seconds, one and a third
TRIES = 3
ETHERNET_BYTES = 14


@pytest.fixture
def record() -> Iterator[Path]:
    """A name for a record, in memory and gone afterwards."""
    path = Path(f"/dev/shm/lft-test-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def read_all(end: socket.socket) -> None:
    """To the end of the stream."""
    while end.recv(1 << 18):
        pass


def bulk(lab: Lab, count: int) -> None:
    """So many octets from the client to the server."""
    with lab.listen(4, 8000) as listener:
        client = lab.connect(SERVER[4], 8000)
        server, _ = listener.accept()
        sink = threading.Thread(target=read_all, args=(server,))
        sink.start()
        client.sendall(bytes(count))
        client.close()
        sink.join(30)
        server.close()


def excess_packets(folder: Path, record: Path, recovery: str) -> float:
    """Packets above 1.01 × limit in the fullest window of a bulk transfer with 5 % loss."""
    argv: list[str | Path] = [find("pktlogger"), "record", record, "-o", folder / "packets"]
    with lft_lab(delay="5ms", loss="5%", record=str(record)) as lab, Tool(argv) as reader:
        reader.wait_event("ready", 5)
        options = ("--router", "--lan", "lan0", "--rate", f"{LIMIT_BPS}bit", "--recovery", recovery)
        with lab.gateways(*options):
            bulk(lab, BULK_BYTES)
        lab.box.stop()
        reader.finish(10)
    rows = pktlogger.read_record(folder / "packets")
    rows = rows.filter(pc.equal(rows["direction"], 0)).sort_by("t_arrival_ns")
    octets = rows["wire_len"].to_numpy().astype(np.int64) - ETHERNET_BYTES
    t_ns = rows["t_arrival_ns"].to_numpy().astype(np.int64)
    assert octets.sum() > BULK_BYTES, "the transfer is missing from the record"
    return excess(t_ns, octets, LIMIT_BPS)


@pytest.mark.parametrize("recovery", ["selective", "fec"])
def test_no_window_exceeds_the_limit(tmp_path: Path, record: Path, recovery: str) -> None:
    """The least of some tries: a box that was not woken for a while reads at once what was sent bit by bit."""
    found = []
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(excess_packets(folder, record, recovery))
        record.unlink(missing_ok=True)
        if found[-1] <= 20:
            return
    raise AssertionError(f"packets above 1.01 x limit in 100 ms: {', '.join(f'{excess:.1f}' for excess in found)}")


# --- 800 Mbit/s: at the gateway's interface ---------------------------------------------------------------------------

SNAPPED = 40  # octets kept, less than any frame has: all records of the file have one size
RECORD = np.dtype([("s", "<u4"), ("ns", "<u4"), ("kept", "<u4"), ("length", "<u4"), ("octets", f"V{SNAPPED}")])
FILE_HEADER_BYTES = 24
HEADERS_BYTES = 28  # of IPv4 and UDP
SEGMENT_BYTES = PACKET_BYTES - HEADERS_BYTES


@contextmanager
def captured(lab: Lab, file: Path) -> Iterator[None]:
    """What leaves the near gateway towards the other, stamped by the kernel as it is handed to the interface."""
    argv = ["ip", "netns", "exec", lab.near, "tcpdump", "-i", "wan", "-Q", "out", "-n", "-Z", "root", "-B", "65536"]
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
    """Of super-packets as of packets: every segment has headers of its own."""
    payload = length - ETHERNET_BYTES - HEADERS_BYTES
    segments = -(-payload // SEGMENT_BYTES)
    return payload + segments * HEADERS_BYTES


def left(file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Times in ns and octets of what was captured so far."""
    found = file.read_bytes()[FILE_HEADER_BYTES:]
    rows = np.frombuffer(found[: len(found) // RECORD.itemsize * RECORD.itemsize], RECORD)
    assert (rows["kept"] == SNAPPED).all()
    return rows["s"].astype(np.int64) * 10**9 + rows["ns"], wire_bytes(rows["length"].astype(np.int64))


def fast_excess_packets(file: Path, loss: str) -> float:
    """The same at 800 Mbit/s."""
    options = ("--router", "--lan", "lan0", "--rate", f"{FAST_BPS}bit", "--expected-rtt", "20ms", "--mtu", "1500")
    with lft_lab(delay="10ms", loss=loss) as lab, lab.gateways(*options), captured(lab, file):
        bulk(lab, FAST_BYTES)
        until(lambda: left(file)[1].sum() > FAST_BYTES, 5, "the transfer in the capture")
    return excess(*left(file), FAST_BPS)


@pytest.mark.parametrize("loss", ["0", "10%"])
def test_no_window_exceeds_the_limit_at_800_mbit(record: Path, loss: str) -> None:
    """The least of some tries: between the clock and the interface the machine may stop the gateway for a while."""
    found = []
    for _ in range(TRIES):
        found.append(fast_excess_packets(record, loss))
        if found[-1] <= 20:
            return
    raise AssertionError(f"packets above 1.01 x limit in 100 ms: {', '.join(f'{each:.1f}' for each in found)}")
