"""The recorder against a capture at the receiver: what it says was sent arrives, what it says was dropped does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from comet_box import LEFT, RIGHT, Box, Hosts, in_netns, introduce, two_hosts
from pktlogger_lab import command
from support.waiting import wait_until

import pktlogger
from netcommon.binaries import find
from netcommon.process import Tool, ToolError

pytestmark = pytest.mark.netns

DELAY_NS = 5_000_000
SEND = """
import socket, sys
s = socket.create_connection((sys.argv[1], 7000))
s.sendall(bytes(int(sys.argv[2])))
s.shutdown(socket.SHUT_WR)
s.recv(1)
"""
RECEIVE = """
import socket
s = socket.create_server(("", 7000))
print("listening", flush=True)
c, _ = s.accept()
while c.recv(1 << 20):
    pass
"""


@pytest.fixture
def record() -> Iterator[Path]:
    """A file name for a record, in memory and removed afterwards."""
    path = Path(f"/dev/shm/comet-test-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def transfer(hosts: Hosts, size: int) -> None:
    """`size` bytes of TCP from left to right."""
    with Tool(["ip", "netns", "exec", hosts.right, "python3", "-c", RECEIVE], json_lines=False) as server:
        wait_until(lambda: any("listening" in event["text"] for event in server.events()), "the receiver listens")
        in_netns(hosts.left, "python3", "-c", SEND, RIGHT, str(size))


def reader(record: Path, folder: Path, *more: str) -> Tool:
    files: list[str | Path] = [
        "--port-a",
        folder / "a.pcapng",
        "--port-b",
        folder / "b.pcapng",
        "-w",
        folder / "box.pcapng",
    ]
    return Tool([find("pktlogger"), "record", record, *files, "-o", folder / "packets", *more])


def quiet(hosts: Hosts) -> None:
    """Switches IPv6 off, so that only the test's own packets cross the box."""
    for netns in (hosts.left, hosts.right):
        in_netns(netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")


def column(table: pa.Table, name: str) -> Any:
    return table[name].to_numpy()


def received(capture: Path, folder: Path) -> Any:
    """Relative sequence numbers of all data that a capture shows arriving from the left."""
    command(find("pktlogger"), "index", capture, "-o", folder)
    table = pktlogger.read_index(folder)
    return table.filter(pc.and_(pc.equal(table["dir"], 0), pc.greater(table["len"], 0)))


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_was_sent_arrives_and_what_was_dropped_does_not(tmp_path: Path, record: Path, threads: str) -> None:
    """1 % loss and a queue that overflows: every wire packet's recorded fate agrees with the receiver's capture."""
    path = {
        "ab_delay": "5ms",
        "ba_delay": "5ms",
        "ab_rate": "100Mbit",
        "ab_queue": "60KB",
        "ab_loss": "1%",
        "threads": threads,
    }
    with two_hosts() as hosts, Box(hosts, record=str(record), **path) as box, reader(record, tmp_path) as tool:
        quiet(hosts)
        assert tool.wait_event("ready", 30)["live"]
        in_netns(hosts.right, "ethtool", "-K", "wan", "gro", "off")
        listen: list[str | Path] = ["capture", "-i", f"wan@{hosts.right}", "-w", tmp_path / "rcv.pcapng"]
        with Tool([find("pktlogger"), *listen]) as capture:
            capture.wait_event("ready", 30)
            transfer(hosts, 6_000_000)
            assert capture.stop()
        shown = box.stop()
        end = tool.finish(30)
    assert end["box"] == "ended"
    rows = pktlogger.read_record(tmp_path / "packets")
    fates = pktlogger.record_description(tmp_path / "packets")["fates"]
    for number, name in enumerate(("ab", "ba")):
        counters_agree(rows.filter(pc.equal(rows["direction"], number)), fates, shown["statistics"][name], end[name])
    data = rows.filter(pc.and_(pc.equal(rows["direction"], 0), pc.greater(rows["len"], 0)))
    lost = int(pc.sum(pc.greater(data["fate"], 0)).as_py())
    assert lost > 20

    # the receiver's capture, row by row in the order of leaving
    sent = data.filter(pc.equal(data["fate"], fates.index("sent"))).sort_by("t_release_ns")
    arrived = received(tmp_path / "rcv.pcapng", tmp_path / "rcv")
    # the capture may merge neighbouring packets: compare how often each byte of sequence space arrived
    assert sum(column(sent, "len")) == sum(column(arrived, "len"))
    assert np.array_equal(byte_counts(sent), byte_counts(arrived))
    times_follow_the_model(sent)


def counters_agree(rows: pa.Table, fates: list[str], statistics: Any, said: Any) -> None:
    """The rows of one direction, the box's statistics and pktlogger's summary agree."""
    counted = {fate: int(pc.sum(pc.equal(rows["fate"], i)).as_py() or 0) for i, fate in enumerate(fates)}
    assert counted["sent"] == statistics["out_packets"] == said["sent"]
    assert len(rows) == statistics["in_packets"] == statistics["record"]["packets"]
    for cause in ("loss", "queue", "aqm", "pace", "drain"):
        assert counted[cause] == statistics["drops"][cause] == said["dropped"][cause], cause
    assert said["skipped_packets"] == said["damaged"] == said["unmatched"] == 0
    assert np.array_equal(np.sort(column(rows, "number")), np.arange(len(rows)))


def times_follow_the_model(sent: pa.Table) -> None:
    """Packets leave the queue one after another, depart a delay later, and the box never releases one early."""
    wait = column(sent, "t_departure_ns") - column(sent, "t_queue_exit_ns")
    assert (wait == DELAY_NS).all()
    late = column(sent, "t_release_ns") - column(sent, "t_departure_ns")
    assert late.min() >= 0
    assert (column(sent, "t_queue_exit_ns") > column(sent, "t_arrival_ns")).all()
    first = np.sort(column(sent, "t_queue_exit_ns"))
    assert np.diff(first).min() >= column(sent, "wire_len").min() * 8 * 10 - 1, "100 Mbit/s is 10 ns a bit"


def byte_counts(table: pa.Table) -> Any:
    """How often each 4 bytes of the sequence space were sent or received."""
    begin, end = column(table, "seq") // 4, (column(table, "seq") + column(table, "len")) // 4
    edges = np.zeros(2_000_000, np.int64)
    np.add.at(edges, begin.astype(np.int64), 1)
    np.add.at(edges, end.astype(np.int64), -1)
    return np.cumsum(edges)


def test_wireshark_tcpdump_and_analyse_read_it(tmp_path: Path, record: Path) -> None:
    with two_hosts() as hosts, Box(hosts, record=str(record), delay="5ms", ab_loss="3%", ab_corrupt="2%") as box:
        quiet(hosts)
        with reader(record, tmp_path) as tool:
            tool.wait_event("ready", 30)
            transfer(hosts, 2_000_000)
            shown = box.stop()["statistics"]["ab"]
            end = tool.finish(30)
    dropped, corrupted = shown["drops"]["loss"], shown["corrupted"]
    assert dropped > 5 and corrupted > 5
    said = subprocess.run(
        ["tshark", "-r", tmp_path / "box.pcapng", "-T", "fields", "-e", "frame.interface_name", "-e", "frame.comment"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "malformed" not in said.stderr.lower() and "cut short" not in said.stderr
    lines = [line.split("\t") for line in said.stdout.splitlines()]
    assert sum(line[0] == "a-in" for line in lines) == end["ab"]["packets"]
    assert sum(line[0] == "b-out" for line in lines) == end["ab"]["sent"]
    comments = [tuple(line) for line in lines if line[1]]
    assert comments.count(("a-in", "dropped: loss")) == dropped
    assert comments.count(("b-out", "corrupted: one bit of the payload")) == corrupted
    assert len(comments) == dropped + corrupted
    text = command("tcpdump", "-nr", tmp_path / "a.pcapng", "tcp")
    assert f"{LEFT}." in text
    info = command("capinfos", "-o", tmp_path / "box.pcapng")
    assert "True" in info, "packets are in order of time"

    files: list[str | Path] = ["--sender", tmp_path / "a.pcapng", "--receiver", tmp_path / "b.pcapng"]
    command(find("pktlogger"), "analyse", *files, "-o", tmp_path / "joined")
    joined = pktlogger.read_analysis(tmp_path / "joined")
    lost = pc.equal(joined.segments["t_received_ns"], -1)
    data = pktlogger.read_record(tmp_path / "packets")
    truth = data.filter(
        pc.and_(pc.equal(data["direction"], 0), pc.and_(pc.greater(data["len"], 0), pc.greater(data["fate"], 0)))
    )
    assert int(pc.sum(lost).as_py()) == len(truth), "the captures alone tell the same losses"
    delays = column(joined.segments, "delay_ns")[~lost.to_numpy()]
    assert delays.min() >= DELAY_NS


def test_a_killed_box_and_a_full_record(tmp_path: Path, record: Path) -> None:
    """No reader runs at first: the record keeps the first packets and counts the rest. Then the box is killed, and the
    record is read."""
    with two_hosts() as hosts, Box(hosts, record=str(record), record_memory="1MB", ab_loss="10%") as box:
        quiet(hosts)
        introduce(hosts)
        flood = "import socket\ns = socket.socket(2, 2)\nfor i in range(12000): s.sendto(b'x' * 100, ('10.77.0.2', 9))"
        in_netns(hosts.left, "python3", "-c", flood)
        wait_until(lambda: box.show()["statistics"]["ab"]["in_packets"] >= 12000, "the box has them all")
        shown = box.show()
        kept, skipped = (shown["statistics"]["ab"]["record"][key] for key in ("packets", "skipped_packets"))
        assert kept > 1000 and kept + skipped == shown["statistics"]["ab"]["in_packets"]
        assert any("not in the record" in reason for reason in shown["verdict"]["reasons"])
        os.kill(box.pid, signal.SIGKILL)
        with pytest.raises(ToolError, match="SIGKILL"):
            box.finish()
        for attempt in ("first", "again"):  # reading leaves the record as it is
            folder = tmp_path / attempt
            folder.mkdir()
            with reader(record, folder) as tool:
                end = tool.finish(30)
            assert end["box"] == "died"
            assert end["ab"]["packets"] == kept and end["ab"]["skipped_packets"] >= skipped
            assert len(pktlogger.read_record(folder / "packets")) == kept + end["ba"]["packets"]


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path, record: Path) -> None:
    with two_hosts() as hosts, Box(hosts, record=str(record)), reader(record, tmp_path) as tool:
        tool.wait_event("ready", 30)
        argv = [str(find("pktlogger")), "record", str(record), "-w", str(tmp_path / "x")]
        second = subprocess.run(argv, capture_output=True, text=True, timeout=10)
        assert second.returncode == 2 and "another reader" in json.loads(second.stdout.splitlines()[-1])["message"]
        box = [str(find("comet-delay")), "run", "--a", f"tap:x@{hosts.left}", "--b", f"tap:y@{hosts.right}"]
        other = subprocess.run([*box, "--record", str(record)], capture_output=True, text=True, timeout=10)
        assert other.returncode == 2 and "a running box writes to it" in other.stderr
        os.kill(tool.pid, signal.SIGINT)
        assert tool.finish(30)["box"] == "runs"
    bad = tmp_path / "bad"
    for content, words in ((b"", "not a comet-delay record"), (b"x" * 20000, "not a comet-delay record")):
        bad.write_bytes(content)
        done = subprocess.run([*argv[:2], str(bad), *argv[3:]], capture_output=True, text=True, timeout=10)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
    cut = record.read_bytes()[:100000]
    bad.write_bytes(cut)
    done = subprocess.run([*argv[:2], str(bad), *argv[3:]], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and "cut off" in done.stderr
