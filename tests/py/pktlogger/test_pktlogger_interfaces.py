"""`pktlogger analyse --interface`: which packets of a capture of several interfaces count."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest
from support.pktlogger_conversation import Conversation
from support.pktlogger_frames import Packet, Pcapng

from netcommon.binaries import find

WINDOWS = r"\Device\NPF_{0A1B2C3D-0000-4000-8000-%012X}"
SLL2 = 276


def cooked(packet: Packet, index: int) -> tuple[bytes, int]:
    """The packet behind the header of a Linux cooked capture, version 2."""
    data, wire = packet.frame()
    head = struct.pack("!HHIHBB8x", int.from_bytes(data[12:14], "big"), 0, index, 1, 0, 6)
    return head + data[14:], wire - 14 + len(head)


def in_gre(frame: tuple[bytes, int]) -> tuple[bytes, int]:
    """A cooked packet of IPv4 inside GRE over IPv4."""
    data, wire = frame
    head = struct.pack("!BBHHHBBH", 0x45, 0, wire - 20 + 24, 0, 0, 64, 47, 0) + bytes([192, 0, 2, 1, 192, 0, 2, 2])
    return data[:20] + head + struct.pack("!HH", 0, 0x800) + data[20:], wire + 24


def transfer() -> Conversation:
    """Three segments; the second one is lost, and sent again."""
    talk = Conversation(ids=True)
    talk.send(30, 1, 3, arrive=[(0, 1, 10), (2, 1, 10)])
    talk.send(60, 1001, 1, arrive=[(0, 1, 10)])
    return talk


def analyse(tmp_path: Path, file: Path, *options: str, end: str = "sender") -> tuple[dict[str, int], dict[str, int]]:
    """The only flow, and how many packets of which kind there are."""
    argv = [str(find("pktlogger")), "analyse", f"--{end}", str(file), "-o", str(tmp_path / "out"), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    [flow] = summary["flows"]
    return flow, summary["captures"][end]["kinds"]


@pytest.mark.parametrize("wanted", ["inside", "1"])
def test_an_interface_is_chosen_by_its_name_or_its_number(wanted: str, tmp_path: Path) -> None:
    talk, file = transfer(), Pcapng()
    file.interface(name="outside")
    file.interface(name="inside")
    for packet in talk.sender:
        file.packet(packet.frame(), packet.t_ns, 1)
        file.packet(packet.frame(), packet.t_ns + 20_000, 0)
    flow, kinds = analyse(tmp_path, file.write(tmp_path / "a.pcapng"), "--interface", wanted)
    assert (flow["bytes"], flow["retransmitted"]) == (3000, 1)
    assert (kinds["tcp"], kinds["other_interface"]) == (len(talk.sender), len(talk.sender))
    assert flow["t0_ns"] == talk.sender[3].t_ns


def test_names_of_windows_differ_at_their_end(tmp_path: Path) -> None:
    """They have 50 characters."""
    talk, file = transfer(), Pcapng()
    for number in range(2):
        file.interface(name=WINDOWS % number)
    for packet in talk.sender:
        file.packet(packet.frame(), packet.t_ns, 1)
    flow, _ = analyse(tmp_path, file.write(tmp_path / "a.pcapng"), "--interface", WINDOWS % 1)
    assert flow["bytes"] == 3000


@pytest.mark.parametrize("tunnel", [False, True])
@pytest.mark.parametrize("wanted", ["3", "any"])
def test_an_interface_of_a_cooked_capture_is_chosen_by_its_index(wanted: str, tunnel: bool, tmp_path: Path) -> None:
    """A cooked packet has its own interface index. Only packets with index 3 are in the pcapng interface of this
    name."""
    talk, file = transfer(), Pcapng()
    file.interface(name="other", link=SLL2)
    file.interface(name="any", link=SLL2)
    for packet in talk.sender:
        for number, index in ((1, 3), (0, 2)):
            frame = cooked(packet, index)
            file.packet(in_gre(frame) if tunnel else frame, packet.t_ns + (1 - number) * 20_000, number)
    options = ["--interface", wanted] + ["--tunnels"] * tunnel
    flow, kinds = analyse(tmp_path, file.write(tmp_path / "a.pcapng"), *options)
    assert (flow["bytes"], flow["retransmitted"]) == (3000, 1)
    assert (kinds["tcp"], kinds["other_interface"]) == (len(talk.sender), len(talk.sender))


def test_copies_at_another_interface_are_none_of_the_chosen_one(tmp_path: Path) -> None:
    """The network duplicates a segment before the chosen interface. A second interface shows every packet again, but
    the duplicate is still not one of these copies."""
    talk, file = transfer(), Pcapng()
    file.interface(name="inside")
    file.interface(name="outside")
    packets = sorted(talk.receiver, key=lambda packet: packet.t_ns)
    doubled = next(packet for packet in packets if packet.length)
    for packet in packets:
        for number in (0, 1):
            file.packet(packet.frame(), packet.t_ns + number * 20_000, number)
        if packet is doubled:
            file.packet(packet.frame(), packet.t_ns + 50_000, 0)
    flow, kinds = analyse(tmp_path, file.write(tmp_path / "a.pcapng"), "--interface", "inside", end="receiver")
    assert (kinds["tcp"], kinds["copy"]) == (len(packets) + 1, 0)
    assert flow["spurious"] == 1


@pytest.mark.parametrize("form", ["--json", "--human"])
def test_a_terminal_obeys_nothing_that_an_interface_is_called(form: str, tmp_path: Path) -> None:
    talk, file = transfer(), Pcapng()
    file.interface(name="\x1b]0;mine\x07\x9b2J")
    file.interface(name="inside")
    for packet in talk.sender:
        file.packet(packet.frame(), packet.t_ns, 1)
        file.packet(packet.frame(), packet.t_ns + 20_000, 0)
    argv = [str(find("pktlogger")), "analyse", "--sender", str(file.write(tmp_path / "a.pcapng")), form]
    done = subprocess.run(
        [*argv, "-o", str(tmp_path / "out"), "--interface", "inside"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "?]0;mine???2J" in done.stderr and not set(done.stdout + done.stderr) & set("\x1b\x07\x9b"), done
