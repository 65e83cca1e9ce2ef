"""The limit at the wire, every class counted, as the delay box sees it: 1.01 of it and 20 packets in 100 ms at most."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from lft_lab import SERVER, lft_lab
from numpy.typing import NDArray

import pktlogger
from netcommon.binaries import find
from netcommon.process import Tool

pytestmark = pytest.mark.netns

LIMIT_BPS = 10_000_000
WINDOW_NS = 100_000_000
PACKET_BYTES = 1500
BULK_BYTES = 2_500_000  # two seconds
TRIES = 3
ETHERNET_BYTES = 14


@pytest.fixture
def record() -> Iterator[Path]:
    """A name for a record, in memory and gone afterwards."""
    path = Path(f"/dev/shm/lft-test-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def most_in_a_window(t_ns: NDArray[np.int64], octets: NDArray[np.int64]) -> int:
    """Octets in the fullest 100 ms that begin with a packet."""
    total = np.concatenate(([0], np.cumsum(octets)))
    ends = np.searchsorted(t_ns, t_ns + WINDOW_NS, side="left")
    return int((total[ends] - total[:-1]).max())


def read_all(end: socket.socket) -> None:
    """To the end of the stream."""
    while end.recv(1 << 16):
        pass


def excess_packets(folder: Path, record: Path, recovery: str) -> float:
    """Packets above 1.01 × limit in the fullest window of a bulk transfer with 5 % loss."""
    argv: list[str | Path] = [find("pktlogger"), "record", record, "-o", folder / "packets"]
    with lft_lab(delay="5ms", loss="5%", record=str(record)) as lab, Tool(argv) as reader:
        reader.wait_event("ready", 5)
        options = ("--router", "--lan", "lan0", "--rate", f"{LIMIT_BPS}bit", "--recovery", recovery)
        with lab.gateways(*options), lab.listen(4, 8000) as listener:
            client = lab.connect(SERVER[4], 8000)
            server, _ = listener.accept()
            sink = threading.Thread(target=read_all, args=(server,))
            sink.start()
            client.sendall(bytes(BULK_BYTES))
            client.close()
            sink.join(30)
            server.close()
        lab.box.stop()
        reader.finish(10)
    rows = pktlogger.read_record(folder / "packets")
    rows = rows.filter(pc.equal(rows["direction"], 0)).sort_by("t_arrival_ns")
    octets = rows["wire_len"].to_numpy().astype(np.int64) - ETHERNET_BYTES
    t_ns = rows["t_arrival_ns"].to_numpy().astype(np.int64)
    assert octets.sum() > BULK_BYTES, "the transfer is missing from the record"
    return (most_in_a_window(t_ns, octets) - 1.01 * LIMIT_BPS / 80) / PACKET_BYTES


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
