"""The box attached to existing interfaces, between two veth pairs: hosts notice the path and nothing else."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attach_lab import AttachedBox, Lab, address, attach_lab, no_offloads, offloads
from comet_box import LEFT, LEFT6, RIGHT, RIGHT6, in_netns, ip, iperf3_server
from raw_frames import RawSocket, checksum, udp_super_packet
from scipy.stats import binom
from udp_trains import TRAIN, Trains

from comet_delay import Port
from netcommon.binaries import find
from netcommon.netns import call_in

pytestmark = pytest.mark.netns

MIB = 1 << 20


def ping(netns: str, target: str, *arguments: str, count: int = 5) -> str:
    """Standard output of a ping that loses nothing."""
    text = in_netns(netns, "ping", "-c", str(count), "-i", "0.05", "-W", "10", *arguments, target)
    assert f"{count} received" in text and "duplicates" not in text
    return text


@contextmanager
def in_background(netns: str, *argv: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A command inside a namespace, ended afterwards."""
    process = subprocess.Popen(
        ["ip", "netns", "exec", netns, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=10)


def iperf3(lab: Lab, target: str = RIGHT, amount: str = "100M") -> None:
    """One TCP stream from left to right."""
    with iperf3_server(lab.right) as server:
        text = in_netns(lab.left, "iperf3", "-c", target, "-n", amount, "-C", "cubic")
        server.wait(timeout=30)
    assert "receiver" in text


def settled(box: AttachedBox) -> dict[str, Any]:
    """Statistics at a moment when nothing is on its way."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        statistics: dict[str, Any] = box.show()["statistics"]
        if not statistics["ab"]["held_bytes"] and not statistics["ba"]["held_bytes"]:
            return statistics
        time.sleep(0.01)
    raise AssertionError(f"packets stay in the box: {statistics}")


def entered(box: AttachedBox) -> None:
    """Waits until the box has read something from the left."""
    deadline = time.monotonic() + 30
    while not box.show()["statistics"]["ab"]["in_frames"]:
        assert time.monotonic() < deadline, "nothing comes to the box"
        time.sleep(0.01)


def whole(statistics: dict[str, Any]) -> None:
    """Everything that came in went out, exactly once."""
    assert statistics["in_packets"] == statistics["out_packets"], statistics["drops"]
    assert statistics["in_bytes"] == statistics["out_bytes"]
    assert not any(statistics["drops"].values()), statistics["drops"]


def test_arp_neighbour_discovery_and_ping_take_twice_the_delay() -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        for netns, v4, v6 in ((lab.left, RIGHT, RIGHT6), (lab.right, LEFT, LEFT6)):
            for target in (v4, v6):
                best_ms = float(ping(netns, target).split("= ")[-1].split("/")[0])
                assert best_ms >= 2  # test_comet_delay_exact.py has the upper bound
                assert "lladdr" in in_netns(netns, "ip", "neigh", "show", "dev", "wan", "to", target)
        ping(lab.left, RIGHT, "-s", "4000")  # fragments
        end = settled(box)
        box.stop()
        assert "promiscuity 0" in in_netns(lab.middle, "ip", "-d", "link", "show", "left")
    whole(end["ab"])
    whole(end["ba"])


FRAMES = {
    "lldp": bytes.fromhex("0180c200000e 02a77ac40001 88cc"),
    "a stranger's": bytes.fromhex("02a77ac4ffff 02a77ac40002 88b5"),
    "vlan": bytes.fromhex("02a77ac4ffff 02a77ac40003 8100 6007 88b5"),
    "vlan 0, priority 7": bytes.fromhex("02a77ac4ffff 02a77ac40003 8100 e000 88b5"),
    "service vlan": bytes.fromhex("02a77ac4ffff 02a77ac40003 88a8 0123 88b5"),
    "two vlans": bytes.fromhex("02a77ac4ffff 02a77ac40003 88a8 0123 8100 0fff 88b5"),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("to_right", [True, False], ids=["ab", "ba"])
def test_frames_of_any_kind_arrive_once_and_byte_for_byte(name: str, to_right: bool) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    header, generator = FRAMES[name], random.Random(seed)
    largest = 1518 if header[12:14] == b"\x81\0" else 1514  # the longest frame that a packet socket sends at MTU 1500
    frames = [header + generator.randbytes(size - len(header)) for size in (60, 61, 700, largest)]
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        near, far = (lab.left, lab.right) if to_right else (lab.right, lab.left)
        with RawSocket(near, "wan") as sender, RawSocket(far, "wan") as receiver:
            for frame in frames:
                sender.send(frame)
            assert receiver.collect(len(frames), header) == frames
            assert receiver.collect(1, header, wait_s=0.1) == []
            assert sender.collect(1, header, wait_s=0) == [], "the sender heard itself"
        statistics = settled(box)
    whole(statistics["ab"])
    whole(statistics["ba"])


def test_jumbo_frames() -> None:
    with attach_lab(mtu=9000) as lab, AttachedBox(lab, delay="1ms"):
        ping(lab.left, RIGHT, "-s", "8900", "-M", "do")
        ping(lab.left, RIGHT6, "-s", "8900", "-M", "do")


def test_vlan_interfaces() -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        made = subprocess.run(
            ["ip", "-n", lab.left, "link", "add", "link", "wan", "name", "wan.7", "type", "vlan", "id", "7"],
            capture_output=True,
            text=True,
            timeout=10,
        )
        if made.returncode:
            pytest.skip(f"this kernel has no VLAN interfaces: {made.stderr.strip()}")
        ip("-n", lab.right, "link", "add", "link", "wan", "name", "wan.7", "type", "vlan", "id", "7")
        for netns, v4, v6 in ((lab.left, "10.78.0.1", "fd78::1"), (lab.right, "10.78.0.2", "fd78::2")):
            ip("-n", netns, "link", "set", "wan.7", "up")
            address(netns, v4, v6, "wan.7")
        ping(lab.left, "10.78.0.2")
        ping(lab.left, "fd78::2")
        ping(lab.left, "10.78.0.2", "-s", "1472", "-M", "do")
        iperf3(lab, "10.78.0.2", amount="20M")
        ab = settled(box)["ab"]
    whole(ab)
    assert ab["in_frames"] < ab["in_packets"] / 4


@pytest.mark.parametrize("tag", [b"", bytes.fromhex("8100a00b")], ids=["plain", "vlan"])
@pytest.mark.parametrize("loss", ["0%", "20%"], ids=["whole", "cut"])
def test_a_super_packet_carries_right_headers_into_every_part(tag: bytes, loss: str) -> None:
    parts, size = 40, 1000
    payload = os.urandom(parts * size - 300)
    with attach_lab() as lab:
        no_offloads(lab.middle, "right")  # so the kernel makes wire packets of what the box writes
        in_netns(lab.left, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        in_netns(lab.right, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        header = bytes.fromhex("02a77ac4ffff 02a77ac40004") + tag + bytes.fromhex("0800")
        with (
            AttachedBox(lab, ab_loss=loss) as box,
            RawSocket(lab.left, "wan", super_packets=True) as sender,
            RawSocket(lab.right, "wan") as receiver,
        ):
            sender.send(udp_super_packet(header, LEFT, RIGHT, payload, size))
            entered(box)
            ab = settled(box)["ab"]
            arrived = receiver.collect(ab["out_packets"], header, wait_s=20)
            assert receiver.collect(1, header, wait_s=0.1) == []
    assert ab["in_frames"] == 1 and ab["in_packets"] == parts
    assert len(arrived) == ab["out_packets"] == parts - ab["drops"]["loss"]
    assert (ab["drops"]["loss"] > 0) == (loss != "0%")
    expected = [payload[at : at + size] for at in range(0, len(payload), size)]
    for frame in arrived:
        packet = frame[len(header) :]
        pseudo = packet[12:20] + struct.pack(">HH", 17, len(packet) - 20)
        assert checksum(packet[:20]) == 0 and checksum(pseudo + packet[20:]) == 0
        expected = expected[expected.index(packet[28:]) + 1 :]  # in order, each once


def test_tcp_keeps_its_options() -> None:
    def connected(listener: socket.socket) -> socket.socket:
        return socket.create_connection(listener.getsockname(), timeout=5)

    with attach_lab() as lab, AttachedBox(lab, delay="1ms"):
        listener = call_in(lab.right, socket.create_server, (RIGHT, 0))
        with listener, call_in(lab.left, connected, listener) as client:
            options = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 16)[5]
            assert options & 7 == 7  # TCPI_OPT_TIMESTAMPS, _SACK, _WSCALE


@pytest.mark.parametrize("super_packets", [True, False])
def test_tcp_with_and_without_offloads(super_packets: bool) -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        if not super_packets:
            no_offloads(lab.left, "wan")
            no_offloads(lab.right, "wan")
        iperf3(lab)
        iperf3(lab, RIGHT6, amount="20M")
        statistics = settled(box)
    ab = statistics["ab"]
    whole(ab)
    whole(statistics["ba"])
    assert ab["in_bytes"] > 100 * MIB
    if super_packets:
        assert ab["in_frames"] < ab["in_packets"] / 4
    else:
        assert ab["in_frames"] == ab["in_packets"]


def test_packets_that_the_interface_merges_are_super_packets() -> None:
    """Generic receive offload, as physical NICs do it: wire packets arrive, super-packets are read."""
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        no_offloads(lab.left, "wan")
        offloads(lab.middle, "left", "gro", "on", "rx-udp-gro-forwarding", "on")
        iperf3(lab, amount="50M")
        iperf3(lab, RIGHT6, amount="20M")
        ab = settled(box)["ab"]
    whole(ab)
    assert ab["in_frames"] < ab["in_packets"] / 2


def test_a_file_arrives_intact_over_a_lossy_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(np.random.default_rng(1).bytes(20 * MIB))
    with attach_lab() as lab, AttachedBox(lab, delay="1ms", loss="1%") as box:
        with in_background(lab.left, "python3", "-m", "http.server", "8080", "--bind", LEFT, cwd=tmp_path):
            in_netns(
                lab.right, "curl", "-sSf", "--retry", "20", "--retry-connrefused", "--retry-delay", "1",
                "-o", str(tmp_path / "copy"), f"http://{LEFT}:8080/file",
            )  # fmt: skip
        ab = settled(box)["ab"]
    sums = [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("file", "copy")]
    assert sums[0] == sums[1]
    low, high = binom.interval(0.999, ab["in_packets"], 0.01)
    assert low <= ab["drops"]["loss"] <= high
    assert ab["out_packets"] == ab["in_packets"] - ab["drops"]["loss"]
    assert ab["in_frames"] < ab["in_packets"] / 2, "there was nothing to cut"


@pytest.mark.parametrize("loss", [0.0, 0.01])
def test_udp_super_packets_as_quic_sends_them(loss: float) -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms", ab_loss=f"{loss:%}") as box:
        ping(lab.left, RIGHT, count=1)
        udp = Trains(lab.left, lab.right, RIGHT)
        arrived = udp.arrived(100 * TRAIN, quiet_s=0.1)
        udp.close()
        ab = settled(box)["ab"]
    low, high = binom.interval(0.999, arrived.size, loss) if loss else (0, 0)
    assert low <= arrived.size - arrived.sum() <= high
    assert ab["in_frames"] < ab["in_packets"] / 20
    assert ab["out_packets"] == ab["in_packets"] - ab["drops"]["loss"]


def test_a_tap_on_one_side_and_an_interface_on_the_other() -> None:
    with attach_lab() as lab:
        ip("-n", lab.left, "link", "del", "wan")
        with AttachedBox(lab, Port("wan", lab.left), delay="1ms") as box:
            address(lab.left, LEFT, LEFT6)
            ping(lab.left, RIGHT)
            ping(lab.right, LEFT6)
            iperf3(lab)
            statistics = settled(box)
    whole(statistics["ab"])
    assert statistics["ab"]["in_frames"] < statistics["ab"]["in_packets"] / 4


def cpu_share(pid: int, seconds: float = 0.5) -> float:
    """Share of one processor that the process uses, over so long."""

    def used_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, deadline = used_s(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.02)
    return (used_s() - before) / seconds


def test_an_interface_that_goes_down_and_comes_back() -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        ping(lab.left, RIGHT)
        ip("-n", lab.middle, "link", "set", "right", "down")
        lost = subprocess.run(["ip", "netns", "exec", lab.left, "ping", "-c", "3", "-i", "0.05", "-W", "0.2", RIGHT])
        assert lost.returncode == 1
        assert cpu_share(box.pid) < 0.3
        state = box.show()
        assert state["statistics"]["ab"]["drops"]["write"] >= 1
        assert any("far port did not take" in reason for reason in state["verdict"]["reasons"])
        ip("-n", lab.middle, "link", "set", "right", "up")
        ping(lab.left, RIGHT)
        ping(lab.right, LEFT)


def test_an_interface_that_is_deleted_does_not_take_the_box_with_it() -> None:
    with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box:
        ping(lab.left, RIGHT)
        ip("-n", lab.middle, "link", "del", "right")
        assert cpu_share(box.pid) < 0.3
        subprocess.run(["ip", "netns", "exec", lab.left, "ping", "-c", "2", "-i", "0.05", "-W", "0.2", RIGHT])
        assert box.stop()["statistics"]["ab"]["drops"]["write"] >= 1


def test_different_mtus_are_warned_of_in_one_line() -> None:
    with attach_lab() as lab:
        ip("-n", lab.middle, "link", "set", "right", "mtu", "9000")
        with AttachedBox(lab) as box:
            os.kill(box.pid, signal.SIGINT)
            box.finish()
            said = box.log.read_text(encoding="utf-8")
    assert "MTU 1500 of 'left' and 9000 of 'right' differ" in said
    assert len([line for line in said.splitlines() if "sandbox" not in line]) == 1


def test_a_tap_that_is_deleted_does_not_keep_the_box_busy() -> None:
    with attach_lab() as lab:
        ip("-n", lab.left, "link", "del", "wan")
        with AttachedBox(lab, Port("wan", lab.left)) as box:
            ip("-n", lab.left, "link", "del", "wan")
            assert cpu_share(box.pid) < 0.3
            assert any("port a" in reason for reason in box.stop()["verdict"]["reasons"])


def failed(*arguments: str, status: int) -> str:
    """The one line that `comet-delay run` prints when it fails with this status."""
    done = subprocess.run([str(find("comet-delay")), "run", *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == status, done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_interfaces_that_cannot_be_attached_to_are_named() -> None:
    with attach_lab() as lab:
        left, right = f"if:left@{lab.middle}", f"if:right@{lab.middle}"
        assert "no such interface" in failed("--a", f"if:nosuch@{lab.middle}", "--b", right, status=3)
        assert "not an Ethernet" in failed("--a", f"if:lo@{lab.middle}", "--b", right, status=3)
        assert "a box's port already" in failed("--a", left, "--b", left, status=2)
        assert "1 to 15 characters" in failed("--a", "if:", "--b", right, status=2)
        with AttachedBox(lab):
            assert "a box's port already" in failed("--a", left, "--b", right, status=2)
        ip("-n", lab.middle, "link", "set", "right", "down")
        assert "'ip link set right up' first" in failed("--a", left, "--b", right, status=3)
