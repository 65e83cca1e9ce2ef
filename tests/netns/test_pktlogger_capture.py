"""pktlogger against tcpdump, tshark, capinfos, the interface's own counters and a queue's drop counter."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pktlogger_lab import ERA, Lab, command, direct, pumped, routed
from support.waiting import wait_until
from support.witness import Witness

import pktlogger
from netcommon.binaries import find
from netcommon.process import Tool

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

MARK = b"pktlogger-last-packet"
TIME_BOUND_US = 50


def index(capture: Path) -> pa.Table:
    folder = capture.with_name(capture.name + ".index")
    command(find("pktlogger"), "index", capture, "-o", folder)
    return pktlogger.read_index(folder)


def analyse(folder: Path) -> pktlogger.Analysis:
    ends = ("--sender", folder / "a.pcapng", "--receiver", folder / "b.pcapng")
    command(find("pktlogger"), "analyse", *ends, "-o", folder / "analysis")
    return pktlogger.read_analysis(folder / "analysis")


@contextlib.contextmanager
def tcpdump(lab: Lab, file: Path) -> Iterator[None]:
    """tcpdump on b's interface. When the block ends, the file holds everything up to the mark."""
    options = ["--immediate-mode", "-U", "-Z", "root", "-B", "65536", "-s", "128", "--time-stamp-precision=nano"]
    argv = [*lab.inside(lab.b), "tcpdump", "-i", "v0", *options, "-w", str(file)]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr and "listening" in process.stderr.readline()
        yield
        lab.mark(MARK)
        wait_until(lambda: MARK in file.read_bytes()[-4096:], "tcpdump has written the mark")
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert "\n0 packets dropped by kernel" in said, said


TSHARK_FIELDS = {
    "frame.number": "frame",
    "frame.time_epoch": "t_ns",
    "frame.len": "wire_len",
    "tcp.seq_raw": "seq",
    "tcp.ack_raw": "ack",
    "tcp.len": "len",
    "tcp.flags": "flags",
    "tcp.window_size": "window",
    "ip.id": "ip_id",
    "ip.dsfield.ecn": "ecn",
    "tcp.options.timestamp.tsval": "tsval",
    "tcp.options.timestamp.tsecr": "tsecr",
    "tcp.options.sack_le": "sack_left",
    "tcp.options.sack_re": "sack_right",
}


def tshark(capture: Path) -> dict[str, list[str]]:
    """tshark's fields of every TCP packet, under the names of pktlogger's columns; sequence numbers as on the wire."""
    options = ["-o", "tcp.relative_sequence_numbers:FALSE", "-Y", "tcp", "-T", "fields"]
    fields = [word for name in TSHARK_FIELDS for word in ("-e", name)]
    lines = command("tshark", "-r", capture, *options, *fields, timeout_s=120).splitlines()
    columns = zip(*(line.split("\t") for line in lines), strict=True)
    return dict(zip(TSHARK_FIELDS.values(), map(list, columns), strict=True))


def bases(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The raw sequence number that is 0 in relative numbers, for each packet's direction and for the opposite one."""
    flows = json.loads(table.schema.metadata[b"pktlogger.flows"])["flows"]
    isn = np.array([[side["isn"] or 0 for side in flow["sides"]] for flow in flows], dtype=np.uint64)
    flow, way = table["flow"].to_numpy(), table["dir"].to_numpy()
    return isn[flow, way], isn[flow, 1 - way]


def expect_equal_to_tshark(capture: Path, table: pa.Table) -> None:
    theirs = tshark(capture)
    own, other = bases(table)
    ours = {name: table[name].to_numpy() for name in table.schema.names if not name.startswith("sack_")}
    acks = ours["ack"] != 2**64 - 1
    raw = 2**32 - 1

    def numbers(name: str, base: int = 10) -> np.ndarray:
        return np.array([int(text, base) if text else 0 for text in theirs[name]], dtype=np.int64)

    times = np.array([int(text.replace(".", "")) for text in theirs["t_ns"]])  # nanoseconds: nine digits
    assert np.array_equal(times, ours["t_ns"])
    assert np.array_equal(numbers("seq"), (ours["seq"] + own) & raw)
    assert np.array_equal(numbers("ack")[acks], ((ours["ack"] + other) & raw)[acks])
    for name in ("frame", "wire_len", "len", "window", "tsval", "tsecr", "ecn"):
        assert np.array_equal(numbers(name), ours[name]), name
    assert np.array_equal(numbers("flags", 16), ours["flags"])
    assert np.array_equal(numbers("ip_id", 16), ours["ip_id"])
    counts = table["sack_n"].to_numpy()
    for name in ("sack_left", "sack_right"):
        edges = table[name].combine_chunks().flatten().to_numpy().reshape(-1, 4)
        flat = (((edges + other[:, None]) & raw)[np.arange(4) < counts[:, None]]).tolist()
        assert [int(edge) for text in theirs[name] if text for edge in text.split(",")] == flat, name


def expect_same_packets(ours: pa.Table, theirs: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Returns the nanoseconds between the two time stamps of each packet, and its direction. Both captures must have
    the same packets. Their order may differ, because two processors may serve the sockets with two packets at one time.
    """
    assert ours.num_rows == theirs.num_rows
    names = ["flow", "dir", "seq", "ack", "len", "flags", "ip_id", "wire_len", "tsval", "t_ns"]  # time: for twins
    orders = [np.lexsort([t[name].to_numpy() for name in reversed(names)]) for t in (ours, theirs)]
    for name in names[:-1]:
        left, right = (t[name].to_numpy()[order] for t, order in zip((ours, theirs), orders, strict=True))
        assert np.array_equal(left, right), name
    times = [t["t_ns"].to_numpy()[order] for t, order in zip((ours, theirs), orders, strict=True)]
    return np.abs(times[0] - times[1]), ours["dir"].to_numpy()[orders[0]]


@pytest.mark.alone
@pytest.mark.parametrize(("offloads", "v6"), [(True, False), (False, False), (True, True)])
def test_agrees_with_tcpdump_and_tshark_on_every_packet(tmp_path: Path, offloads: bool, v6: bool) -> None:
    with direct() as lab:
        for host in (lab.a, lab.b):
            lab.offloads(host, "v0", offloads)
        with Witness(tolerates_ms=0.1) as witness, lab.capture(tmp_path) as tool:
            tool.wait_event("ready", 30)
            with tcpdump(lab, tmp_path / "b.pcap"):
                lab.transfer("-t", "1", "-C", "cubic", "-b", "1G" if offloads else "200M", v6=v6)
            end = tool.stop(30)
    assert end
    witness.at_most(sum(p["dropped_kernel"] + p["dropped_ring"] for p in end["points"]), 0, "packets", "dropped")
    ours = index(tmp_path / "b.pcapng")
    assert ours.num_rows > 1000
    apart_ns, way = expect_same_packets(ours, index(tmp_path / "b.pcap"))
    # b's own packets are stamped once, by the kernel. What comes over a bare veth still carries TCP's departure time in
    # the stamp's place, so both programs read the clock, one after the other.
    assert apart_ns[way == 1].max() == 0
    expect_equal_to_tshark(tmp_path / "b.pcapng", ours)
    assert offloads == (max(index(tmp_path / "a.pcapng")["parts"].to_pylist()) > 1)
    found = analyse(tmp_path)
    assert sum(flow["lost"] for flow in found.summary["flows"]) == 0
    assert all(flow["acked_unseen_bytes"] == 0 for flow in found.summary["flows"])
    delays = found.segments["delay_ns"].to_numpy()
    assert delays.min() > 0  # both points are on one clock
    witness.at_most(float(np.percentile(apart_ns, 99)) / 1e3, TIME_BOUND_US, "us", "apart from tcpdump, p99,")


def test_times_are_tcpdumps_behind_a_box(tmp_path: Path) -> None:
    """A frame from a TAP is stamped once, on entry: both programs show the same nanosecond for every packet."""
    with pumped() as lab, lab.capture(tmp_path, points="b") as tool:
        tool.wait_event("ready", 30)
        with tcpdump(lab, tmp_path / "b.pcap"):
            lab.transfer("-t", "2", "-C", "cubic")
        tool.stop(30)
    apart_ns, _ = expect_same_packets(index(tmp_path / "b.pcapng"), index(tmp_path / "b.pcap"))
    assert len(apart_ns) > 1000
    assert apart_ns.max() == 0


def test_joined_losses_are_the_queues_drops(tmp_path: Path) -> None:
    """A drop-tail queue and a modern sender with SACK, RACK and probes. Each drop of the queue is one lost segment.
    iperf3 closes a connection that still has data in the queue, so the last drop may never be repaired. The captures
    end with the connection's last packets and then say that this segment may still have been in flight."""
    with routed("50mbit", "30kb") as lab:
        with lab.capture(tmp_path) as tool:
            tool.wait_event("ready", 30)
            report = lab.transfer("-t", "3", "-C", "cubic")
            tool.stop(30)
        drops = lab.drops()
    found = analyse(tmp_path)
    assert drops > 10
    counts = [(flow["lost"], flow["in_flight_at_end"]) for flow in found.summary["flows"]]
    assert sum(map(sum, counts)) == drops, counts
    assert sum(under_way for _, under_way in counts) <= 30 * 1024 // 1500, "no more than the queue held"
    main = found.summary["flows"][found.summary["main_flow"]]
    later = main["retransmitted"] - report["end"]["sum_sent"]["retransmits"]  # iperf3 counts before all arrived
    assert 0 <= later <= main["max_unacknowledged_bytes"] / main["mss_in_use"]
    assert main["unresolved"] == main["acked_unseen_bytes"] == 0
    for point in "ab":  # these have SACK blocks
        table = index(tmp_path / f"{point}.pcapng")
        assert max(table["sack_n"].to_pylist()) > 0
        expect_equal_to_tshark(tmp_path / f"{point}.pcapng", table)


def test_the_collapse_of_lfp_1995_is_named(tmp_path: Path) -> None:
    """Loss recovery of 1995 over a small queue: sending stops for a time-out of a second, and the cause is named."""
    with routed("45mbit", "110kb", mtu=4352, rto_min="1s") as lab:
        for host in (lab.a, lab.b):
            lab.sysctl(host, **ERA)
        with lab.capture(tmp_path) as tool:
            tool.wait_event("ready", 30)
            lab.transfer("-n", "3M", "-l", "4096", "-C", "reno")
            tool.stop(30)
        drops = lab.drops()
    found = analyse(tmp_path)
    main = found.summary["flows"][found.summary["main_flow"]]
    assert main["lost"] == drops
    # Delays distinguish a tail drop from other losses, and this machine adds to them. test_scenarios_virtual.py is
    # exact.
    stops = [stop for stop in main["stops"] if stop["cause"] in ("rto_after_tail_drop", "rto_after_loss")]
    assert stops, main["stops"]
    assert stops[0]["t1_ns"] - stops[0]["t0_ns"] > 0.9e9
    assert stops[0]["text"].startswith("retransmission time-out ") and " packets (" in stops[0]["text"]
    assert 0 < main["stopped_share"] < 1
    assert main["timeouts"] == len([s for s in main["stops"] if s["cause"].startswith("rto")])


def test_kernel_drops_are_counted_in_the_file(tmp_path: Path) -> None:
    """The capture is stopped by a signal while packets flow, so its ring overflows. The packets in the file and the
    dropped ones add up to those of the interface."""
    with direct() as lab:
        for host in (lab.a, lab.b):
            lab.offloads(host, "v0", False)
        early = lab.counters(lab.b)
        with lab.capture(tmp_path, "--buffer", "1MB", points="b") as tool:
            tool.wait_event("ready", 30)
            before = lab.counters(lab.b)
            os.kill(tool.pid, signal.SIGSTOP)
            lab.transfer("-t", "1", "-b", "100M")
            os.kill(tool.pid, signal.SIGCONT)
            lab.mark(MARK)
            least = lab.counters(lab.b) - before
            end = tool.stop(30)
            most = lab.counters(lab.b) - early  # neighbour discovery goes on all the while
    assert end
    (point,) = end["points"]
    assert point["dropped_kernel"] > 0
    assert least <= point["packets"] + point["dropped_kernel"] + point["dropped_ring"] <= most <= least + 20
    index(tmp_path / "b.pcapng")
    capture = json.loads((tmp_path / "b.pcapng.index" / "flows.json").read_text())["capture"]
    assert capture["frames"] == point["packets"]
    assert capture["drops"] == {"kernel": point["dropped_kernel"], "interface": 0, "process": point["dropped_ring"]}


def test_wireshark_reads_interface_comment_and_nanoseconds(tmp_path: Path) -> None:
    with direct() as lab, lab.capture(tmp_path, "--comment", "phase 1", "--filter", "udp", points="b") as tool:
        ready = tool.wait_event("ready", 30)
        lab.mark(MARK)
        end = tool.stop(30)
        namespace = lab.b
    assert ready["points"][0]["interface"] == "v0" and ready["points"][0]["netns"] == namespace
    assert end and end["points"][0]["packets"] == 1
    said = command("capinfos", tmp_path / "b.pcapng")
    for words in (
        "nanoseconds (9)",
        "phase 1",
        "Name = v0",
        f"namespace {namespace}",
        "Filter string  = udp",
        "pktlogger",
    ):
        assert words.replace(" ", "") in said.replace(" ", ""), said
    assert "Number of stat entries = 1" in said


def test_lines_of_standard_input_are_comments_of_the_next_packets(tmp_path: Path) -> None:
    with direct() as lab, lab.capture(tmp_path, "--comments", "--filter", "udp", stdin=True) as capture:
        capture.wait_event("ready", 30)
        lab.mark(MARK)
        for line in ("slow start", "the outage begins"):
            capture.say(line)
        for _ in range(5):
            lab.mark(MARK)
        capture.say("the end")
        assert capture.stop(30)
    for file in (tmp_path / "a.pcapng", tmp_path / "b.pcapng"):
        comments = command("tshark", "-r", file, "-T", "fields", "-e", "frame.comment").splitlines()
        assert len(comments) == 6 and comments[0] == ""
        assert "; ".join(filter(None, comments)) == "slow start; the outage begins", comments
        assert b"the end" in file.read_bytes()[-256:], "in the statistics, since no packet follows"


def test_limits_and_both_signals_end_in_order(tmp_path: Path) -> None:
    with direct() as lab:
        with lab.capture(tmp_path, "--packets", "2", "--filter", "udp", points="b") as tool:
            tool.wait_event("ready", 30)
            for _ in range(3):
                lab.mark(MARK)
            assert tool.finish(30)["points"][0]["packets"] == 2
        with lab.capture(tmp_path, "--duration", "50ms", points="a") as tool:
            assert tool.finish(30)["points"][0]["file"].endswith("a.pcapng")
        for number in (signal.SIGINT, signal.SIGTERM):
            with lab.capture(tmp_path, "--filter", "udp") as tool:
                tool.wait_event("ready", 30)
                assert sorted(p.suffix for p in tmp_path.iterdir()) == [".pcapng", ".pcapng", ".tmp", ".tmp"]
                lab.mark(MARK)
                os.kill(tool.pid, number)
                assert [point["packets"] for point in tool.finish(30)["points"]] == [1, 1]
            assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pcapng", "b.pcapng"]


def failure(*arguments: str | Path, before: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    argv = [*before, str(find("pktlogger")), "capture", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.stderr.count("\n") == 1, done.stderr
    event = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"message": done.stderr}
    return done.returncode, event


def test_what_cannot_be_captured_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all")
    cases: list[tuple[int, str, tuple[str | Path, ...], tuple[str, ...]]] = [
        (3, "no such interface", ("-i", "none0", "-w", file), ()),
        (3, "no-such-namespace", ("-i", "lo@no-such-namespace", "-w", file), ()),
        (3, "no privilege", ("-i", "lo", "-w", file), nobody),
        (2, "cannot create it", ("-i", "lo", "-w", tmp_path / "no" / "such"), ()),
        (2, "--filter", ("-i", "lo", "-w", file, "--filter", "this is none"), ()),
        (2, "--snap '1'", ("-i", "lo", "-w", file, "--snap", "1"), ()),
        (2, "one file each", ("-i", "lo"), ()),
        (2, "--files", ("-i", "lo", "-w", file, "--files", "3"), ()),
        (2, "--snap-of 'udp'", ("-i", "lo", "-w", file, "--snap-of", "udp"), ()),
        (2, "given twice", ("-i", "lo", "-w", file, "-i", "lo", "-w", file), ()),
    ]
    for status, words, arguments, before in cases:
        got, event = failure(*arguments, before=before)
        assert got == status and words in event["message"], event
    assert list(tmp_path.iterdir()) == []


def test_a_capture_replaces_no_folder_and_no_device(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, words in (("folder", "Is a directory"), ("fifo", "File exists")):
        got, event = failure("-i", "lo", "-w", tmp_path / name, "--duration", "10ms")
        assert got == 2 and f"{name}': cannot create it: {words}" in event["message"], event
    assert (tmp_path / "fifo").is_fifo() and len(list(tmp_path.iterdir())) == 2


def test_a_vanished_interface_keeps_what_came_before(tmp_path: Path) -> None:
    with direct() as lab, lab.capture(tmp_path, "--filter", "udp", points="b") as tool:
        tool.wait_event("ready", 30)
        lab.mark(MARK)
        command("ip", "-n", lab.b, "link", "del", "v0")
        wait_until(lambda: not tool.running(), "pktlogger ends by itself")
        end = tool.last("end")
    assert end and end["points"][0]["ended_early"]
    assert end["points"][0]["packets"] == 1
    assert (tmp_path / "b.pcapng").exists()


def test_a_full_disk_ends_the_capture_with_a_readable_file(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=2M", "none", disk)
    try:
        with direct() as lab, lab.capture(disk, points="b") as tool:
            for host in (lab.a, lab.b):
                lab.offloads(host, "v0", False)
            tool.wait_event("ready", 30)
            lab.transfer("-n", "60M")
            wait_until(lambda: not tool.running(), "pktlogger ends by itself")
            # its output may be read a moment after it has exited
            wait_until(lambda: bool(tool.last("end") and tool.last("error")), "its last lines")
            end, error = tool.last("end"), tool.last("error")
        assert end and error and error["status"] == 1 and "No space left" in error["message"]
        packets = end["points"][0]["packets"]
        assert packets > 10_000 and f"holds the {packets} packets" in error["message"]
        seen = command("tshark", "-r", disk / "b.pcapng", "-T", "fields", "-e", "frame.number").split()
        assert len(seen) == packets
        assert [p.name for p in disk.iterdir()] == ["b.pcapng"]
    finally:
        command("umount", disk)


def rotating(lab: Lab, file: Path, *options: str) -> Tool:
    """Captures b's interface, whose offloads are off, into a set of files; not entered yet."""
    for host in (lab.a, lab.b):
        lab.offloads(host, "v0", False)
    return Tool([find("pktlogger"), "capture", "-i", f"v0@{lab.b}", "-w", file, *options])


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_a_compressed_set_is_read_as_one_capture_and_cut_by_protocol(tmp_path: Path) -> None:
    file = tmp_path / "b.pcapng.zst"
    lengths = ("--snap-of", "tcp src port 5201=80", "--snap-of", "tcp=96", "--snap", "64")
    with direct() as lab:
        early = lab.counters(lab.b)
        with rotating(lab, file, "--rotate-size", "128KB", *lengths) as tool:
            tool.wait_event("ready", 30)
            before = lab.counters(lab.b)
            lab.mark(MARK * 10)
            lab.transfer("-n", "8M")
            least = lab.counters(lab.b) - before
            end = tool.stop(30)
            most = lab.counters(lab.b) - early  # neighbour discovery goes on all the while
    assert end
    (point,) = end["points"]
    files = files_of(tmp_path)
    assert point["file"] == str(file) and point["files"] == len(files) > 2
    assert least <= point["packets"] + point["dropped_kernel"] + point["dropped_ring"] <= most <= least + 20
    index(file)
    found = json.loads((tmp_path / "b.pcapng.zst.index" / "flows.json").read_text())["capture"]
    assert found["frames"] == point["packets"] and not found["truncated"]
    assert found["drops"] == {"kernel": point["dropped_kernel"], "interface": 0, "process": point["dropped_ring"]}
    first = tmp_path / files[0]
    fields = ("-E", "occurrence=f", "-e", "ip.proto", "-e", "tcp.srcport", "-e", "frame.len", "-e", "frame.cap_len")
    said = command("tshark", "-r", first, "-Y", "ip", "-T", "fields", *fields)
    rows = [line.split("\t") for line in said.splitlines()]
    snaps = {("6", True): 80, ("6", False): 96, ("17", False): 64, ("1", False): 64}  # ICMP: nobody takes the mark
    assert {row[0] for row in rows} >= {"6", "17"}
    for protocol, port, wire, kept in rows:
        assert int(kept) == min(int(wire), snaps[protocol, port == "5201"])


def test_a_capture_killed_inside_a_set_leaves_whole_files(tmp_path: Path) -> None:
    with direct() as lab, rotating(lab, tmp_path / "b.pcapng", "--rotate-size", "64KB", "--files", "4") as tool:
        tool.wait_event("ready", 30)
        lab.transfer("-n", "8M")
        wait_until(lambda: max(files_of(tmp_path)) >= "b_00008_", "eight files are complete")
        os.kill(tool.pid, signal.SIGKILL)
        wait_until(lambda: not tool.running(), "pktlogger is gone")
    files = files_of(tmp_path)
    assert [name.startswith(".") for name in files] == [True, False, False, False]  # the open file was the fourth
    frames = [int(command("capinfos", "-cM", tmp_path / name).split()[-1]) for name in files[1:]]
    event = json.loads(command(find("pktlogger"), "index", tmp_path / "b.pcapng", "-o", tmp_path / "i"))
    assert event["frames"] == sum(frames) > 500 and not event["truncated"]
    assert event["drops"] == {"kernel": 0, "interface": 0, "process": 0}


def test_a_full_disk_inside_a_set_leaves_readable_files(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=2M", "none", disk)
    try:
        with direct() as lab, rotating(lab, disk / "b.pcapng", "--rotate-size", "600KB") as tool:
            tool.wait_event("ready", 30)
            lab.transfer("-n", "60M")
            wait_until(lambda: not tool.running(), "pktlogger ends by itself")
            end, error = tool.last("end"), tool.last("error")
        assert end and error and error["status"] == 1 and "No space left" in error["message"]
        (point,) = end["points"]
        files = files_of(disk)
        assert len(files) == point["files"] == 4 and f"{files[-1]}'" in error["message"]
        event = json.loads(command(find("pktlogger"), "index", disk / "b.pcapng", "-o", tmp_path / "i"))
        assert event["frames"] == point["packets"] > 10_000 and not event["truncated"]
    finally:
        command("umount", disk)


def test_tool_stops_with_its_parent(tmp_path: Path) -> None:
    """With --parent-death, the capture ends in order when the shell that started it has ended."""
    with direct() as lab:
        argv = f"{find('pktlogger')} capture -i v0@{lab.b} -w {tmp_path}/b.pcapng --parent-death & read line"
        with subprocess.Popen(["sh", "-c", argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
            assert shell.stdout and json.loads(shell.stdout.readline())["event"] == "ready"
            assert shell.stdin
            shell.stdin.close()
            assert json.loads(shell.stdout.readline())["event"] == "end"
    assert [p.name for p in tmp_path.iterdir()] == ["b.pcapng"]
