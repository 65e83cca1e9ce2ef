"""The same path by either back end, compared with theory and with each other.

`test_comet_delay_netem.py` runs this file, in a guest where the machine's own kernel has no netem. A guest's clock is
right, but the guest often runs late: so rates are taken between the least late packets, and the time that a timer takes
to wake a process is measured.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

from comet_delay.backend import BACKENDS, Box, Name, capabilities, open_box
from comet_delay.command import Port
from netcommon.errors import LfpError, UsageError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "netns"))
from comet_box import LEFT, RIGHT, Hosts, in_netns, ip, two_hosts
from udp_trains import DATAGRAM, TRAIN, Trains

pytestmark = pytest.mark.netns

NOTHING: dict[str, int | str] = {
    "delay_ns": 0,
    "rate_bps": 0,
    "queue_bytes": 0,
    "access_rate_bps": 0,
    "loss_ppb": 0,
    "framing": "l2",
}
FRAME_BYTES = DATAGRAM + 14 + 20 + 8
RATE_BPS = 5_000_000  # so low that even in a slow guest the sender is faster
# at intervals below 10 ms ping spins until the next request, and in virtual time a spin never ends
PING_S = "0.1" if "time-travel" in Path("/proc/cmdline").read_text(encoding="ascii") else "0.01"
CONFIDENCE = 0.9999  # netem before Linux 6.6 cannot be seeded, so each run is another draw
SMALL = {"memory": "32MB", "spin": "0us"}  # a guest has one processor, and the sender needs it, too


def usable(name: Name) -> None:
    if why := capabilities(name).missing:
        pytest.skip(why)


def address(hosts: Hosts) -> None:
    for netns, own in ((hosts.left, LEFT), (hosts.right, RIGHT)):
        ip("-n", netns, "addr", "add", f"{own}/24", "dev", "wan")
    in_netns(hosts.left, "ping", "-c", "1", "-W", "2", RIGHT)  # address resolution is not part of what is counted


class Lab:
    """Two hosts with a box of one back end between them, for many measurements: a guest starts programs slowly."""

    def __init__(self, name: Name, stack: ExitStack) -> None:
        self.hosts = stack.enter_context(two_hosts())
        for netns in (self.hosts.left, self.hosts.right):
            in_netns(netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        self.box: Box = open_box(Port("wan", self.hosts.left), Port("wan", self.hosts.right), backend=name, box=SMALL)
        stack.callback(self.box.stop)
        address(self.hosts)

    def set(self, back_delay_ns: int = 0, **ab: int | str) -> None:
        """`ab` from left to right, nothing but a delay back."""
        self.box.set(ab={**NOTHING, **ab}, ba={**NOTHING, "delay_ns": back_delay_ns})

    def drops(self) -> dict[str, int]:
        found: dict[str, int] = self.box.show()["statistics"]["ab"]["drops"]
        return found

    def trains(self) -> closing[Trains]:
        """A new sender and receiver, whose datagrams are numbered from 0."""
        return closing(Trains(self.hosts.left, self.hosts.right, RIGHT))

    def train(self, count: int) -> tuple[list[int], list[int]]:
        """Sends trains; numbers and arrival times of what came."""
        with self.trains() as udp:
            udp.send(count)
            return udp.receive(quiet_s=0.2)


@cache
def stack() -> ExitStack:
    return ExitStack()


@cache
def lab(name: Name) -> Lab:
    return Lab(name, stack())


@pytest.fixture(scope="module", autouse=True)
def cleaned_up() -> Iterator[None]:
    yield
    stack().close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Name:
    name: Name = request.param
    usable(name)
    return name


def until(condition: Callable[[], bool], timeout_s: float = 5) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def rtt_ms(hosts: Hosts, count: int = 100) -> float:
    """The smallest round trip. In real time a guest's system call takes tens of µs and now and then some ms. This only
    adds to a round trip, and most with the userspace box, which needs several calls a packet.
    test_comet_delay_path.py bounds it to 0.1 ms outside a guest.
    """
    text = in_netns(hosts.left, "ping", "-n", "-i", PING_S, "-c", str(count), RIGHT)
    times = [float(value) for value in re.findall(r"time=([\d.]+) ms", text)]
    assert len(times) == count
    return min(times)


@cache
def bare_rtt_ms() -> float:
    """Round trip of ping over a veth pair: what this machine itself takes."""
    with two_hosts() as hosts:
        ip("-n", hosts.left, "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", hosts.right)
        for netns in (hosts.left, hosts.right):
            ip("-n", netns, "link", "set", "wan", "up")
        address(hosts)
        return rtt_ms(hosts)


@cache
def wake_ms() -> float:
    """How late a timer wakes a process here, median."""
    late = []
    for _ in range(200):
        start = time.monotonic()
        time.sleep(0.001)
        late.append((time.monotonic() - start) * 1e3 - 1)
    return float(np.median(late))


def spacing_ns(times_ns: list[int], wanted_ns: float) -> float:
    """The spacing of packets, measured between the least late packet of each half, because lateness is never
    negative."""
    times = np.array(times_ns, dtype=float) - times_ns[0]
    late = times - np.arange(len(times)) * wanted_ns
    half = len(times) // 2
    first, last = int(late[:half].argmin()), half + int(late[half:].argmin())
    return float((times[last] - times[first]) / (last - first))


@cache
def added_rtt_ms(name: Name) -> float:
    lab(name).set(delay_ns=4_200_000, back_delay_ns=4_200_000)
    return rtt_ms(lab(name).hosts) - bare_rtt_ms()


@cache
def lost_of(name: Name) -> tuple[int, int]:
    lab(name).set(loss_ppb=20_000_000)
    before = lab(name).drops()["loss"]
    with lab(name).trains() as udp:
        lost = ~udp.arrived(12_000, quiet_s=0.05, trains_at_once=16)
    assert lab(name).drops()["loss"] - before == lost.sum()
    return int(lost.sum()), lost.size


@cache
def rate_bps(name: Name, framing: str) -> float:
    """The highest rate of up to four trains: a guest that gets no processor for long has a slower line, never a faster
    one."""
    lab(name).set(rate_bps=RATE_BPS, delay_ns=5_000_000, framing=framing)
    bits, highest = 8 * (FRAME_BYTES + {"l2": 0, "ethernet": 24, "ip": -14}[framing]), 0.0
    for _ in range(4):
        numbers, times_ns = lab(name).train(6)
        assert numbers == list(range(6 * TRAIN))
        highest = max(highest, bits * 1e9 / spacing_ns(times_ns, bits * 1e9 / RATE_BPS))
        if highest > 0.998 * RATE_BPS:
            break
    return highest


def test_round_trip_is_twice_the_delay(backend: Name) -> None:
    """Within 0.2 ms and what two wake-ups take."""
    assert -0.2 < added_rtt_ms(backend) - 8.4 < 0.2 + 2 * wake_ms()


def test_loss_is_binomial_for_wire_packets(backend: Name) -> None:
    lost, sent = lost_of(backend)
    low, high = binom.interval(CONFIDENCE, sent, 0.02)
    assert low <= lost <= high, f"{lost} of {sent}, want {low}…{high}"


@pytest.mark.parametrize("framing", ["l2", "ethernet", "ip"])
def test_rate_is_kept(backend: Name, framing: str) -> None:
    assert rate_bps(backend, framing) == pytest.approx(RATE_BPS, rel=0.005)


def test_queue_takes_what_it_should(backend: Name) -> None:
    """A train that does not fit: what theory lets through arrives, in order, at the distance of its serialisation.

    The test takes the train with the most drops of up to four: in a guest that gets no processor while a train arrives,
    the line empties the queue meanwhile. In each train the missing packets are those that the queue dropped.
    """
    lab(backend).set(rate_bps=2_000_000, queue_bytes=30 * FRAME_BYTES)
    fewest: tuple[list[int], list[int]] = ([0] * TRAIN, [])
    for _ in range(4):
        before = lab(backend).drops()
        arrived = lab(backend).train(1)
        after = lab(backend).drops()
        assert after["queue"] - before["queue"] == TRAIN - len(arrived[0]) and after["loss"] == before["loss"]
        fewest = min(fewest, arrived, key=lambda train: len(train[0]))
        if len(fewest[0]) <= 32:
            break
    numbers, times_ns = fewest
    assert numbers[:29] == list(range(29))
    assert abs(len(numbers) - 30) <= 2  # netem rounds by one packet, and one leaves meanwhile
    wanted_ns = FRAME_BYTES * 8e9 / 2e6
    assert spacing_ns(times_ns[:29], wanted_ns) == pytest.approx(wanted_ns, rel=0.01)


def test_access_line_spaces_what_comes(backend: Name) -> None:
    """A train finds room in a queue for little more than half of it: the access line is twice as fast as the queue's
    rate. Then the access line alone, then with loss behind it.
    """
    access_bps, rate = 4_000_000, 2_000_000
    room = (TRAIN // 2 + 3) * FRAME_BYTES
    lab(backend).set(access_rate_bps=access_bps, rate_bps=rate, queue_bytes=room)
    before = lab(backend).drops()
    numbers, times_ns = lab(backend).train(1)
    assert numbers == list(range(TRAIN)) and lab(backend).drops() == before
    wanted_ns = FRAME_BYTES * 8e9 / rate
    assert spacing_ns(times_ns, wanted_ns) == pytest.approx(wanted_ns, rel=0.01)
    lab(backend).set(access_rate_bps=access_bps)
    numbers, times_ns = lab(backend).train(1)
    assert spacing_ns(times_ns, wanted_ns / 2) == pytest.approx(wanted_ns / 2, rel=0.01)
    lab(backend).set(access_rate_bps=access_bps, loss_ppb=10**9, rate_bps=rate, queue_bytes=room)
    before = lab(backend).drops()
    assert lab(backend).train(1)[0] == []
    after = lab(backend).drops()
    assert (after["loss"] - before["loss"], after["queue"] - before["queue"]) == (TRAIN, 0)


def test_changes_under_way(backend: Name) -> None:
    box, hosts = lab(backend).box, lab(backend).hosts
    lab(backend).set(delay_ns=1_000_000)
    pings = ["ip", "netns", "exec", hosts.left, "ping", "-n", "-q", "-i", PING_S, "-c", "60", RIGHT]
    flow = subprocess.Popen(pings, stdout=subprocess.PIPE, text=True)
    for step in range(30):
        box.set(ab={"delay_ns": 1_000_000 + step * 10_000, "queue_bytes": 100_000 + step})
    assert " 0% packet loss" in flow.communicate(timeout=20)[0]
    with pytest.raises(UsageError):
        box.set(ab={"delay_ns": 50_000_000, "framing": "atm"})
    assert box.show()["parameters"]["ab"]["delay_ns"] == 1_290_000
    box.set(ba={"delay_ns": 50_000_000}, ab={"delay_ns": 0, "rate_bps": 50_000_000})
    assert rtt_ms(hosts, 20) - bare_rtt_ms() == pytest.approx(50, abs=3)  # a rough check that `set` took effect
    box.set(ab={"rate_bps": 0, "loss_ppb": 10**9})
    assert box.show()["parameters"]["ab"]["rate_bps"] == 0
    gone = subprocess.run([*pings[:4], "ping", "-c", "2", "-i", "0.1", "-W", "1", RIGHT], capture_output=True)
    assert gone.returncode == 1


def test_nothing_was_dropped_but_by_the_model(backend: Name) -> None:
    reasons = lab(backend).box.show()["verdict"]["reasons"]
    assert all("late" in reason for reason in reasons), reasons


def test_a_taken_name_is_one_line_and_leaves_nothing(backend: Name) -> None:
    with two_hosts() as hosts:
        ip("-n", hosts.right, "link", "add", "wan", "type", "veth", "peer", "name", "other")
        with pytest.raises(LfpError) as raised:
            open_box(Port("wan", hosts.left), Port("wan", hosts.right), backend=backend, box=SMALL)
        assert "wan" in str(raised.value) and "\n" not in str(raised.value)
        assert until(lambda: "wan" not in in_netns(hosts.left, "ip", "link"))  # a namespace ends a moment later


def test_netem_sees_wire_packets_and_says_so() -> None:
    usable("netem")
    lab("netem").set()
    before = lab("netem").box.show()["statistics"]["ab"]
    assert len(lab("netem").train(10)[0]) == 10 * TRAIN
    shown = lab("netem").box.show()
    after = shown["statistics"]["ab"]
    grown = {name: after[name] - before[name] for name in ("in_frames", "in_packets", "out_packets")}
    assert grown["in_packets"] == grown["out_packets"] >= 10 * TRAIN
    assert grown["in_frames"] < 20  # so they came as super-packets: the host's offloads stay on
    assert shown["offloads"] == {"s1": {"segmentation": False}, "s4": {"segmentation": False}}
    assert "super-packets are taken apart" in shown["notes"][0]


def test_netem_refuses_what_it_cannot_do() -> None:
    usable("netem")
    port = Port("wan")
    for ab, seed, said in (
        ({"queue_packets": 5}, None, "queue_packets: its queue is in bytes"),
        ({"loss": "gilbert:1%,10"}, None, "loss: only independent loss"),
    ):
        with pytest.raises(UsageError, match=said):
            open_box(port, port, ab=ab, seed=seed, backend="netem")


def test_round_trips_agree() -> None:
    for name in BACKENDS:
        usable(name)
    rtt = [added_rtt_ms(name) for name in BACKENDS]
    assert abs(rtt[0] - rtt[1]) < 0.2 + 2 * wake_ms(), rtt


def test_rate_and_loss_agree() -> None:
    for name in BACKENDS:
        usable(name)
    rate = [rate_bps(name, "l2") for name in BACKENDS]
    assert rate[0] == pytest.approx(rate[1], rel=0.005)
    (lost_a, sent_a), (lost_b, sent_b) = (lost_of(name) for name in BACKENDS)
    pooled = (lost_a + lost_b) / (sent_a + sent_b)
    bound = norm.ppf(0.5 + CONFIDENCE / 2) * np.sqrt(pooled * (1 - pooled) * (1 / sent_a + 1 / sent_b))
    assert abs(lost_a / sent_a - lost_b / sent_b) <= bound


def test_stopping_takes_the_interfaces_away(backend: Name) -> None:
    """Must be the last test, because it stops the box of the lab."""
    hosts = lab(backend).hosts
    assert "wan" in in_netns(hosts.left, "ip", "link")
    lab(backend).box.stop()
    assert "wan" not in in_netns(hosts.left, "ip", "link") + in_netns(hosts.right, "ip", "link")
