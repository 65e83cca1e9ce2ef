"""Random configuration changes under load, as fast as the box answers.

LFP_STRESS_SECONDS (5) is how long; LFP_STRESS_SEED repeats a run. The full figure is 1e5 changes in 60 s:
``LFP_STRESS_SECONDS=60 pytest -s tests/netns/test_comet_delay_changes.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from comet_box import LEFT, RIGHT, Box, Hosts, in_netns, two_hosts
from config_changes import Changer, Generator

from netcommon.binaries import find
from netcommon.process import Tool

SECONDS = float(os.environ.get("LFP_STRESS_SECONDS", "5"))
SEED = int(os.environ.get("LFP_STRESS_SEED", str(time.time_ns() % 10**9)))
NOT_WIRE_PACKETS = ("malformed", "receive_ring")  # frames dropped before the box counts their packets

pytestmark = [pytest.mark.netns, pytest.mark.timeout(SECONDS + 120)]


# Both ways at once: TCP, which adapts to the path, and UDP, which keeps its rate whatever is set.
LOADS = {5201: ["-w", "1M", "-C", "cubic"], 5202: ["-u", "-b", "200M", "-l", "1400"]}


@contextlib.contextmanager
def load(hosts: Hosts) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Running iperf3 clients, which are killed at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(netns: str, *command: str) -> None:
        argv = ["ip", "netns", "exec", netns, "iperf3", *command]
        started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        for port in LOADS:
            start(hosts.right, "-s", "-1", "-p", str(port))
        deadline = time.monotonic() + 30
        while len(in_netns(hosts.right, "ss", "-Hltn").splitlines()) < len(LOADS):
            assert time.monotonic() < deadline, "iperf3 does not listen"
        for port, options in LOADS.items():
            start(hosts.left, "-c", RIGHT, "-p", str(port), "-t", str(int(SECONDS) + 100), "--bidir", *options)
        wait_for_connections(hosts)
        yield started[len(LOADS) :]
    finally:
        for process in started:
            process.kill()
            process.wait()


def wait_for_connections(hosts: Hosts) -> None:
    """Waits until every client has its control and data connections. A client gives up if a change disturbs it while
    it connects, which would say nothing about the box."""
    wanted = sum(1 if "-u" in options else 3 for options in LOADS.values())  # both directions have one of their own
    deadline = time.monotonic() + 60
    while len(in_netns(hosts.left, "ss", "-Htn", "state", "established").splitlines()) < wanted:
        assert time.monotonic() < deadline, "iperf3 does not connect"


@contextlib.contextmanager
def strays(hosts: Hosts, folder: Path) -> Iterator[Tool]:
    """Captures, at the receiver, packets that are not between the two hosts."""
    between = f"not (host {LEFT} and host {RIGHT})"
    argv = [str(find("pktlogger")), "capture", "-i", f"wan@{hosts.right}", "-w", str(folder / "strays.pcapng")]
    with Tool([*argv, "--filter", between], name="pktlogger") as tool:
        tool.wait_event("ready", 30)
        yield tool


def quiet(hosts: Hosts) -> None:
    for netns in (hosts.left, hosts.right):
        in_netns(netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")


def received_frames(netns: str) -> int:
    link = json.loads(in_netns(netns, "ip", "-json", "-stats", "link", "show", "dev", "wan"))[0]
    return int(link["stats64"]["rx"]["packets"])


def resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def balance(direction: dict[str, Any]) -> int:
    """The number of wire packets that came in, or that the model duplicated, and that neither left nor were dropped."""
    drops = sum(n for cause, n in direction["drops"].items() if cause not in NOT_WIRE_PACKETS)
    return int(direction["in_packets"] + direction.get("duplicated", 0) - direction["out_packets"] - drops)


def drained(box: Box) -> dict[str, Any]:
    """Statistics once nothing is held and nothing moves; fails with the last ones if that never happens."""
    deadline, before = time.monotonic() + 30, dict[str, Any]()
    while True:
        statistics: dict[str, Any] = box.show()["statistics"]
        if statistics == before and all(d["held_bytes"] == 0 for d in statistics.values()):
            return statistics
        assert time.monotonic() < deadline, f"seed {SEED}: does not drain: {statistics}"
        before = statistics
        time.sleep(0.5)


def counted(box: Box, hosts: Hosts) -> tuple[dict[str, Any], dict[str, int]]:
    """The box's statistics and the frames that each host received, at one moment: if a frame passes between the two
    readings, such as a host's ARP request, both are read again."""
    deadline = time.monotonic() + 30
    while True:
        statistics = drained(box)
        seen = {"ab": received_frames(hosts.right), "ba": received_frames(hosts.left)}
        if box.show()["statistics"] == statistics:
            return statistics, seen
        assert time.monotonic() < deadline, f"seed {SEED}: frames keep coming"


def change_for(changer: Changer, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        changer.batch()


def test_random_changes_under_load_break_and_leak_nothing(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    # the box touches all of its memory at its start, so later growth is a leak
    with two_hosts() as hosts, Box(hosts, memory="32MB", delay="25ms", rate="10Gbit") as box:
        quiet(hosts)
        in_netns(hosts.left, "ping", "-c", "1", RIGHT)
        with strays(hosts, tmp_path) as capture:
            changer = Changer(box.socket, Generator(SEED))
            with load(hosts) as clients:
                change_for(changer, max(SECONDS / 5, 1))
                before, packets, changes = resident_kb(box.pid), sum_in(box), changer.accepted + changer.refused
                started, files = time.monotonic(), descriptors(box.pid)
                change_for(changer, SECONDS)
                elapsed_s = time.monotonic() - started
                after, files_after = resident_kb(box.pid), descriptors(box.pid)
                assert all(client.poll() is None for client in clients), f"seed {SEED}: the load ended"
                packets = sum_in(box) - packets
                assert packets > 200 * SECONDS, f"seed {SEED}: there was no load"
            changer.neutral()
            changer.close()
            statistics, seen = counted(box, hosts)
            stray = (capture.stop() or {})["points"][0]["packets"]
        end = box.stop()
    changes = changer.accepted + changer.refused - changes
    print(
        f"{changes} changes in {elapsed_s:.1f} s ({changes / elapsed_s:.0f}/s), {changer.refused} refused in all for "
        f"{len(changer.reasons)} reasons, VmRSS {before} → {after} KB, {packets} wire packets"
    )
    assert changer.accepted and changer.refused
    for way in ("ab", "ba"):
        assert balance(statistics[way]) == 0, f"seed {SEED}, {way}: {statistics[way]}"
        assert seen[way] == statistics[way]["out_frames"], f"seed {SEED}, {way}: frames that the box did not send"
    assert stray == 0, f"seed {SEED}"
    assert after - before < 8192, f"seed {SEED}: VmRSS {before} → {after} KB"
    assert files_after <= files + 1, f"seed {SEED}: descriptors {files} → {files_after}"
    assert end["event"] == "end"


def sum_in(box: Box) -> int:
    return sum(direction["in_packets"] for direction in box.show()["statistics"].values())
