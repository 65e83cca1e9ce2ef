"""100,000 made-up datagrams a second: a transfer goes on, a restarted peer gets in, and each kind is counted."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest
from lft_lab import LEFT, RIGHT, Lab, in_netns, lft_lab, test_program
from lft_transfer import transfer
from lft_wire import HANDSHAKE, PORT, Flood, Wire, counters
from support.witness import Witness, judge

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

ROUTER = ("--router", "--lan", "lan0", "--rate", "100Mbit")  # low, so that the machine can carry the flood
A_SECOND, COUNT = 100_000, 250_000
WRAP = 1 << 24  # FORMAT.md: LFT numbers have 24 bits
STALE_A_SECOND = 500  # FORMAT.md, "What the responder does": INITs that are known as stale
ANYBODY = "*"
IN_S = 15


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Gateways whose numbers are about to wrap around, and hosts next to them that send forged datagrams."""
    with lft_lab(delay="2ms") as made:
        made.program = [str(test_program("lft-gateway-wrapping"))]
        for netns in (made.near, made.far):
            in_netns(netns, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.lan0.rp_filter=0")
            in_netns(netns, "ip", "route", "add", "blackhole", "10.99.0.0/16")
        with made.gateways(*ROUTER):
            yield made


def handshakes_of(lab: Lab) -> list[bytes]:
    """The INITs that the near gateway sends when it starts."""
    with Wire(lab) as wire:
        lab.stop("near")
        wire.recorded()
        lab.start("near", *ROUTER)
        lab.wait_accelerating()
        found = [payload for payload in wire.recorded() if payload.startswith(HANDSHAKE)]
    assert found
    return found


def changed(message: bytes, at: int, to: int) -> bytes:
    return message[:at] + bytes([to]) + message[at + 1 :]


@pytest.mark.alone
def test_a_transfer_beside_a_flood_of_spoofed_handshakes(lab: Lab) -> None:
    asks = handshakes_of(lab)[0]
    answer = changed(asks, 8, 3)[:112]
    made_up = [
        asks,
        changed(asks, 100, asks[100] ^ 1),
        changed(asks, 119, 1),
        changed(asks, 7, 1),
        asks[:60],
        asks + bytes(100),
        answer,
        b"\xde\xad\xbe\xef" + random.Random(5).randbytes(1000),
        b"\0\0\1",
    ]
    templates = [(source, payload) for payload in made_up for source in (ANYBODY, LEFT)]
    began_s = time.monotonic()
    before, near_before = counters(lab), counters(lab, "near")
    with Witness(tolerates_ms=1, ordinary=False) as witness, transfer(lab, PORT) as flow:
        with Flood(lab.server, RIGHT, templates, A_SECOND, COUNT) as flood:
            rate = flood.a_second()
        with Flood(lab.client, LEFT, templates, A_SECOND, A_SECOND) as flood:
            near_rate = flood.a_second()
        during = flow.received
        flow.check()
    state, now, near_now = lab.show("far"), counters(lab), counters(lab, "near")
    counted_s = time.monotonic()
    grown = {name: now[name] - before[name] for name in now}
    cpu_s = state["cpu_ns"] / 1e9
    print(f"{rate:.0f} and {near_rate:.0f} a second; {during} octets meanwhile; far gateway {cpu_s:.2f} CPU s")
    print(f"{ ({name: count for name, count in grown.items() if count}) }, overflows {state['io']['rx_overflows']}")
    # After an outage, which a busy machine may cause, gateways rightly shake hands.
    witness.at_most(lab.show()["tunnel"]["outages"], 0, "outages", "of the tunnel")
    kinds = ("bad_mac", "cookies", "limited", "bad_cookie", "stale", "wrong_version", "malformed")
    for name in (*(f"handshake_{kind}" for kind in kinds), "rx_unknown_spi", "rx_truncated"):
        assert grown[name] > 0, name
    for name in ("handshake_wrong_source", "handshake_wrong_version", "handshake_malformed"):
        assert near_now[name] > near_before[name], f"near {name}"
    for name in ("handshake_completed", "associations", "rekeys", "rx_malformed", "rx_bad_ack"):
        assert grown[name] == 0 and near_now[name] == near_before[name], f"{name}: something was believed"
    most = 2 * 2 * 12 + STALE_A_SECOND * (counted_s - began_s + 1)
    assert grown["handshake_cookies"] <= most, "more answers to recordings than FORMAT.md allows"
    witness.at_least(during, 3_000_000, "bytes", "transfer meanwhile")
    assert state["engine"]["expected_number"] > WRAP, "no wrap"
    # The machine may be too slow for the test's own flood, so that is judged last.
    slowest = min(rate, near_rate)
    judge(slowest >= 0.9 * A_SECOND, True, f"the flood itself: {slowest:.0f} of {A_SECOND} datagrams a second")


@pytest.mark.alone
def test_a_restarted_peer_gets_in_beside_a_flood_of_its_old_handshakes(lab: Lab) -> None:
    templates = [(ANYBODY, payload) for payload in handshakes_of(lab)]
    flood = Flood(lab.server, RIGHT, templates, A_SECOND, 4 * IN_S * A_SECOND)  # it is ended before
    with Witness(tolerates_ms=1, ordinary=False) as witness, flood:
        before = counters(lab)
        lab.stop("near")
        lab.start("near", *ROUTER)
        began = time.monotonic()
        while lab.show()["bypassed"] and time.monotonic() < began + IN_S:
            time.sleep(0.02)
        took_s, now = time.monotonic() - began, counters(lab)
        assert flood.running(), "it was not beside a flood"
    unanswered = now["handshake_limited"] - before["handshake_limited"]
    print(f"in after {took_s:.2f} s; {unanswered} not answered")
    witness.at_most(took_s, IN_S, "s", "until the restarted peer was in")
    assert unanswered > 0
    assert now["associations"] == before["associations"] + 1
