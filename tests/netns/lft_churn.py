"""Many short connections through the gateways, and what they leave in a gateway."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lft_lab import SERVER, Lab

WORKERS, PORT = 16, 8500


@dataclass(frozen=True)
class Left:
    """What a gateway holds: open descriptors, resident memory, the engine rings' part of that memory, and the counts
    of its state (all 0: nothing is left)."""

    descriptors: int = 0
    resident_bytes: int = 0
    rings_bytes: int = 0
    state: tuple[int, ...] = (0, 0, 0, 0, 0)


def rings_bytes(engine: dict[str, Any]) -> int:
    """Resident octets of the rings, which are allocated once and touched as they are used: 24 a frame sent, 32 a
    number."""
    frames: int = sum(sent["frames"] for sent in engine["sent"].values())
    numbers: int = engine["next_number"]
    return 24 * frames + 32 * numbers


def left(lab: Lab, which: str) -> Left:
    pid = lab.running[which].pid
    shown = lab.show(which)
    relay, session = shown["relay"], shown["session"]
    state = (
        relay["connections"],
        relay["half_open"],
        session["streams"],
        session["tx_queued_bytes"],
        session["rx_queued_bytes"],
    )
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE")
    return Left(len(list(Path(f"/proc/{pid}/fd").iterdir())), resident, rings_bytes(shown["engine"]), state)


def churn(lab: Lab, count: int) -> None:
    """Makes `count` connections, each with a question and an answer; either end closes them, or a reset ends them."""
    with lab.listen(4, PORT) as listener:
        listener.listen(512)
        threading.Thread(target=_serve, args=(listener, count), daemon=True).start()
        with ThreadPoolExecutor(WORKERS) as pool:
            for _ in pool.map(lambda number: _ask(lab, number), range(count)):
                pass


def _serve(listener: socket.socket, count: int) -> None:
    for _ in range(count):
        end, _ = listener.accept()
        with end:
            end.settimeout(60)
            with contextlib.suppress(OSError):  # the client has reset it
                end.sendall(end.recv(100))


def _ask(lab: Lab, number: int) -> None:
    with lab.connect(SERVER[4], PORT) as client:
        question = struct.pack("=Q", number)
        client.sendall(question)
        if number % 3 == 1:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        assert client.recv(8, socket.MSG_WAITALL) == question
        if number % 3 == 2:
            assert client.recv(1) == b"", "the server closes first"
