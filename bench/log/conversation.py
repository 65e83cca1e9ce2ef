"""Captures of both ends of one long transfer, made as fast as numpy writes: headers only, nanosecond pcapng.

The transfer repeats one cycle of 10 ms: 1,000 packets of 1,448 bytes, an acknowledgement for every second one, and one
loss, which 200 duplicate acknowledgements with SACK report and a fast retransmission repairs. Both sequence spaces of
4 GiB wrap after about 3 million data packets. Every packet of a cycle is described once; numpy repeats the bytes of the
cycle and adds to the numbers in them.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MSS, DATA, LOST = 1448, 1000, 500  # bytes; packets of a cycle; the one that is lost
GAP_NS, DELAY_NS = 10_000, 1_000_000
CYCLE_NS, CYCLE_BYTES = DATA * GAP_NS, DATA * MSS
T0_NS = 1_700_000_000_000_000_000
ISN_S, ISN_R = 0xFFFF0000, 77
CHUNK_CYCLES = 256
SYN, ACK = 2, 16


@dataclass(frozen=True)
class _Packet:
    """A packet of a cycle. `t_ns` from the cycle's beginning; numbers are relative to the cycle's first byte."""

    t_ns: int
    forward: bool
    number: int  # sequence number of data, else acknowledgement number
    sack: tuple[int, int] | None = None
    number_of_data: int = 0  # how many data packets came before in this cycle: low part of the IPv4 identification


def write(folder: Path, packets: int) -> tuple[Path, Path]:
    """Captures of the sender's and the receiver's end, `packets` in each, as `sender.pcapng` and `receiver.pcapng`."""
    ends = _cycle()
    files = folder / "sender.pcapng", folder / "receiver.pcapng"
    for file, cycle, delays in zip(files, ends, ((0, 2, 2), (1, 1, 3)), strict=True):
        with file.open("wb") as out:
            out.write(_head() + b"".join(_handshake(delays)))
            left = packets - 3
            for chunk, ends_at in _chunks(cycle):
                kept = min(left, ends_at.size)
                out.write(chunk[: ends_at[kept - 1]])
                left -= kept
                if not left:
                    break
    return files


def _cycle() -> tuple[list[_Packet], list[_Packet]]:
    """The packets of one cycle as either end sees them, in order of time."""
    data = [_Packet(i * GAP_NS, True, i * MSS, None, i) for i in range(DATA)]
    again_ns = (LOST + 3) * GAP_NS + 2 * DELAY_NS + 1_000  # when the third duplicate acknowledgement has come
    again = _Packet(again_ns, True, LOST * MSS, None, DATA)
    acks = []
    for i in range(DATA):
        arrival_ns = i * GAP_NS + DELAY_NS
        if i > LOST and arrival_ns < again_ns + DELAY_NS:
            acks.append(_Packet(arrival_ns + 500, False, LOST * MSS, ((LOST + 1) * MSS, (i + 1) * MSS)))
        elif i % 2:
            acks.append(_Packet(arrival_ns + 500, False, (i + 1) * MSS))
    arrived = [packet for packet in data if packet.number != LOST * MSS] + [again]
    sender = [*data, again, *(_later(packet) for packet in acks)]
    receiver = [*(_later(packet) for packet in arrived), *acks]
    return tuple(sorted(end, key=lambda packet: packet.t_ns % CYCLE_NS) for end in (sender, receiver))  # type: ignore


def _later(packet: _Packet) -> _Packet:
    return _Packet(packet.t_ns + DELAY_NS, packet.forward, packet.number, packet.sack, packet.number_of_data)


def _chunks(cycle: list[_Packet]) -> Iterator[tuple[bytes, NDArray[np.int64]]]:
    """The bytes of many cycles, and where each packet of them ends. Packets of a cycle that are seen during the next
    one are at the beginning of that next one, so the very first cycle has none of them."""
    first = [packet for packet in cycle if packet.t_ns < CYCLE_NS]
    yield _repeated(first, 0, 1)
    number = 1
    while True:
        yield _repeated(cycle, number, CHUNK_CYCLES)
        number += CHUNK_CYCLES


def _repeated(cycle: list[_Packet], number: int, cycles: int) -> tuple[bytes, NDArray[np.int64]]:
    blocks = [_block(packet) for packet in cycle]
    ends = np.cumsum([len(block) for block in blocks])
    begins = ends - [len(block) for block in blocks]
    bytes_of = np.tile(np.frombuffer(b"".join(blocks), np.uint16), (cycles, 1))
    cycle_of = np.arange(number, number + cycles, dtype=np.int64)[:, None] - np.asarray(
        [packet.t_ns // CYCLE_NS for packet in cycle]
    )
    for rows, offset, kind, values in _fields(cycle, cycle_of):
        places = (begins[rows] + offset)[:, None] // 2 + np.arange(np.dtype(kind).itemsize // 2)
        bytes_of[:, places] = np.ascontiguousarray(values, kind).view(np.uint16).reshape(cycles, rows.size, -1)
    size = int(ends[-1])
    return bytes_of.tobytes(), (np.arange(cycles)[:, None] * size + ends).reshape(-1)


Field = tuple[NDArray[np.int64], int, str, NDArray[np.int64]]


def _fields(cycle: list[_Packet], cycle_of: NDArray[np.int64]) -> Iterator[Field]:
    """Every number that changes from cycle to cycle: its packets, its offset in the block, its type, its values."""
    every = np.arange(len(cycle))
    forward = np.asarray([packet.forward for packet in cycle])
    sacks = np.asarray([i for i, packet in enumerate(cycle) if packet.sack])
    t_ns = T0_NS + cycle_of * CYCLE_NS + np.asarray([packet.t_ns for packet in cycle])
    number = (ISN_S + 1 + cycle_of * CYCLE_BYTES + np.asarray([packet.number for packet in cycle])) % 2**32
    ip_id = (cycle_of * (DATA + 1) + np.asarray([packet.number_of_data for packet in cycle])) % 2**16
    clock = ((t_ns - T0_NS) // 1_000_000 + 1) % 2**32
    yield every, 12, "<u4", t_ns >> 32
    yield every, 16, "<u4", t_ns & 0xFFFFFFFF
    yield np.flatnonzero(forward), 46, ">u2", ip_id[:, forward]
    yield np.flatnonzero(forward), 66, ">u4", number[:, forward]
    yield np.flatnonzero(~forward), 70, ">u4", number[:, ~forward]
    yield every, 86, ">u4", clock
    for edge in range(2):
        relative = np.asarray([packet.sack[edge] for packet in cycle if packet.sack])
        edges = (ISN_S + 1 + cycle_of[:, sacks] * CYCLE_BYTES + relative) % 2**32
        yield sacks, 98 + 4 * edge, ">u4", edges


def _block(packet: _Packet) -> bytes:
    seq, ack = (0, ISN_R + 1) if packet.forward else (ISN_R + 1, 0)
    options = b"\1\1\x08\x0a" + bytes(8) + (b"\1\1\5\x0a" + bytes(8) if packet.sack else b"")
    return _enhanced(0, packet.forward, seq, ack, ACK, MSS if packet.forward else 0, options)


def _handshake(arrivals: tuple[int, int, int]) -> Iterator[bytes]:
    """SYN, SYN+ACK and ACK, when they are seen at this end (in one-way delays from the SYN)."""
    offer = b"\2\4" + struct.pack("!H", MSS + 12) + b"\4\2\x08\x0a" + struct.pack("!II", 1, 1) + b"\1\3\3\x07"
    times = [T0_NS - (4 - delays) * DELAY_NS for delays in arrivals]
    yield _enhanced(times[0], True, ISN_S, 0, SYN, 0, offer)
    yield _enhanced(times[1], False, ISN_R, ISN_S + 1, SYN | ACK, 0, offer)
    yield _enhanced(times[2], True, ISN_S + 1, ISN_R + 1, ACK, 0, b"\1\1\x08\x0a" + bytes(8))


def _enhanced(t_ns: int, forward: bool, seq: int, ack: int, flags: int, length: int, options: bytes) -> bytes:
    """An Enhanced Packet Block with the headers of one packet."""
    ends = [(socket.inet_aton("10.0.0.1"), 40000), (socket.inet_aton("10.0.0.2"), 5010)]
    (src, sport), (dst, dport) = ends if forward else reversed(ends)
    head = 20 + len(options)
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, head // 4 << 4, flags, 0x8000, 0, 0) + options
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + head + length, 0, 0x4000, 64, 6, 0) + src + dst
    data = bytes(12) + b"\x08\x00" + ip + tcp
    padded = data + bytes(-len(data) % 4)
    total = len(padded) + 32
    fixed = struct.pack("<IIIIIII", 6, total, 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(data), len(data) + length)
    return fixed + padded + struct.pack("<I", total)


def _head() -> bytes:
    """Section header, and an interface whose times are nanoseconds."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    return section + struct.pack("<IIHHIHHBxxxHHI", 1, 32, 1, 0, 128, 9, 1, 9, 0, 0, 32)
