"""An attacker on the path without the key can do nothing to a running tunnel, and each attempt is counted.

Datagrams are recorded at the near gateway and sent again by a raw socket there, so that they arrive with its address.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from lft_lab import LEFT, ROUTER, Lab, lft_lab, until
from lft_wire import HANDSHAKE, Wire, counters, exchange, received, session

from lft_ref import Gateway

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lft_lab(delay="2ms") as made, made.gateways(*ROUTER):
        yield made


def grown(lab: Lab, before: dict[str, int], name: str, by: int) -> None:
    """The counter grows by the expected number within a second, and nothing sent by the attacker was accepted."""
    until(lambda: counters(lab)[name] >= before[name] + by, 60, f"{name} counted {by} times: {counters(lab)}")
    now = counters(lab)
    for other in ("associations", "rekeys", "rx_malformed", "rx_unknown_command", "rx_bad_ack"):
        assert now[other] == before[other], other


def frames(wire: Wire, client: socket.socket, server: socket.socket) -> list[bytes]:
    """About a hundred recorded frames of the running tunnel."""
    wire.recorded()
    exchange(client, server, 50)
    found = [payload for payload in wire.recorded() if not payload.startswith(HANDSHAKE)]
    assert len(found) >= 50
    return found


def test_replayed_frames_are_counted_and_dropped(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        before = counters(lab)
        wire.send([wire.packet(frame) for frame in recorded * 3])
        grown(lab, before, "rx_replayed", 3 * len(recorded))


def test_changed_frames_are_counted_and_dropped(lab: Lab) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    print("seed", seed)

    def flipped(frame: bytes) -> bytes:
        at = rng.randrange(4, len(frame))  # another SPI is another test
        return frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]

    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        longer = (lambda frame: frame + b"\0", lambda frame: frame + bytes(1300 - len(frame)))
        for change in (flipped, lambda frame: frame[:-1], *longer):
            before = counters(lab)
            changed = [change(frame) for frame in recorded if len(frame) < 1300]
            wire.send([wire.packet(frame) for frame in changed])
            wanted = rejected(before) + len(changed)
            until(partial(has_rejected, lab, wanted), 60, f"counted: {counters(lab)}")
            grown(lab, before, "rx_bad_tag", 1 if change is flipped else 0)


def has_rejected(lab: Lab, wanted: int) -> bool:
    return rejected(counters(lab)) >= wanted


def rejected(found: dict[str, int]) -> int:
    """A changed number may equal one that was seen; then the frame counts as a replay."""
    return found["rx_bad_tag"] + found["rx_replayed"] + found["rx_truncated"]


def test_short_frames_and_strangers_spis(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        before = counters(lab)
        wire.send([wire.packet(frame[:12]) for frame in recorded])
        grown(lab, before, "rx_truncated", len(recorded))
        before = counters(lab)
        wire.send([wire.packet(b"\xde\xad\xbe\xef" + frame[4:]) for frame in recorded])
        grown(lab, before, "rx_unknown_spi", len(recorded))


def test_frames_of_an_old_association(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
    lab.stop("near")
    lab.start("near", *ROUTER)
    lab.wait_accelerating()
    with Wire(lab) as wire, session(lab) as (client, server):
        before = counters(lab)
        wire.send([wire.packet(frame) for frame in recorded])
        grown(lab, before, "rx_unknown_spi", len(recorded))


def test_a_peer_with_another_key(lab: Lab) -> None:
    stranger = lab.folder / "psk"
    right = stranger.read_text()
    with session(lab):
        before = counters(lab)
        stranger.write_text("not the key that the other has\n")
        try:
            start_stranger(lab)
            grown(lab, before, "handshake_bad_mac", 1)
        finally:
            stranger.write_text(right)
            lab.stop("stranger")


def start_stranger(lab: Lab) -> None:
    """A third gateway next to the near one."""
    settings = replace(
        lab.running["near"].settings, listen=f"{LEFT}:2005", control=lab.folder / "stranger", lan=(), options=()
    )
    lab.running["stranger"] = Gateway(settings, netns_pid=lab.near).__enter__()


def test_reordered_and_duplicated_frames_are_put_right() -> None:
    with lft_lab(delay="2ms", reorder="10%", duplicate="5%") as lab, lab.gateways(*ROUTER):
        with session(lab) as (client, server):
            data = os.urandom(3_000_000)
            sender = threading.Thread(target=client.sendall, args=(data,))
            sender.start()
            assert received(server, len(data)) == data
            sender.join()
        assert counters(lab)["rx_replayed"] > 0, "duplicates of the path are replays"
