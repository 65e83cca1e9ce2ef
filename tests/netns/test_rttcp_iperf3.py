"""rttcp's iperf3 document and text next to iperf3's own, on one path: the same keys mean the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from comet_box import RIGHT, Box, Hosts, in_netns, introduce, iperf3_server, two_hosts

from netcommon.binaries import find

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

RATE, QUEUE, BLOCK, SECONDS = 20_000_000, 200 * 1024, 128 * 1024, 3
BUFFERED = 4_000_000  # the most octets that a sender's socket buffer holds: written, but not yet on the line


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as found, Box(found, delay="20ms", rate="20Mbit", queue="200KB"):
        introduce(found)
        for netns in (found.left, found.right):
            in_netns(netns, "sysctl", "-qw", f"net.ipv4.tcp_wmem=4096 16384 {BUFFERED}")
        argv = ["ip", "netns", "exec", found.right, str(find("rttcp")), "-r"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            server.stdout.readline()
            yield found
            server.kill()


def ours(hosts: Hosts, *options: str) -> str:
    return in_netns(hosts.left, str(find("rttcp")), "-t", RIGHT, "-d", f"{SECONDS}s", "-C", "cubic", *options)


@pytest.fixture(scope="module")
def documents(hosts: Hosts) -> dict[str, Any]:
    with iperf3_server(hosts.right):
        theirs = json.loads(in_netns(hosts.left, "iperf3", "-c", RIGHT, "-t", str(SECONDS), "-C", "cubic", "-J"))
    return {"iperf3": theirs, "rttcp": json.loads(ours(hosts, "--format", "iperf3"))}


def keys(value: Any, path: str = "") -> set[str]:
    """Every key at every depth; of lists only those of the first element."""
    if isinstance(value, dict):
        return {key for name, one in value.items() for key in keys(one, f"{path}.{name}")}
    return keys(value[0], f"{path}[]") if isinstance(value, list) and value else {path}


def test_every_key_of_iperf3_is_there(documents: dict[str, Any]) -> None:
    assert keys(documents["iperf3"]) <= keys(documents["rttcp"])


@pytest.mark.parametrize("tool", ["iperf3", "rttcp"])
def test_what_is_sent_is_what_was_written_in_the_senders_time(documents: dict[str, Any], tool: str) -> None:
    document = documents[tool]
    sent, got = document["end"]["sum_sent"], document["end"]["sum_received"]
    # One write may be under way when the time is over: it ends when the buffer has room for a block again.
    assert SECONDS <= sent["seconds"] <= SECONDS + 2 * (BLOCK + QUEUE) * 8 / RATE
    assert sent["bytes"] == sum(one["sum"]["bytes"] for one in document["intervals"])
    assert document["intervals"][-1]["sum"]["end"] == pytest.approx(sent["end"], abs=0.01)
    assert sent["bits_per_second"] == pytest.approx(sent["bytes"] * 8 / sent["seconds"], rel=1e-3)
    assert got["seconds"] > sent["seconds"] and got["bytes"] <= sent["bytes"]
    assert got["bits_per_second"] < RATE, "headers take a part of the line"
    assert sent["bits_per_second"] > got["bits_per_second"], "what waits in the buffer was written as well"
    assert sent["retransmits"] == sum(one["sum"]["retransmits"] for one in document["intervals"])


@pytest.mark.parametrize("tool", ["iperf3", "rttcp"])
def test_round_trips_are_smoothed_ones_at_the_ends_of_intervals(documents: dict[str, Any], tool: str) -> None:
    (stream,) = documents[tool]["end"]["streams"]
    seen = [one["streams"][0]["rtt"] for one in documents[tool]["intervals"]]
    assert stream["sender"]["min_rtt"] == min(seen) and stream["sender"]["max_rtt"] == max(seen)
    assert stream["sender"]["mean_rtt"] == pytest.approx(sum(seen) / len(seen), abs=1)
    assert min(seen) >= 40_000, "twice the delay"
    windows = [one["streams"][0]["snd_cwnd"] for one in documents[tool]["intervals"]]
    assert stream["sender"]["max_snd_cwnd"] >= max(windows)


def test_what_rttcp_received_is_all_that_was_sent(documents: dict[str, Any]) -> None:
    end = documents["rttcp"]["end"]
    assert end["sum_received"]["bytes"] == end["sum_sent"]["bytes"]


def test_the_text_names_what_it_counts_and_its_last_line_is_no_collapse(hosts: Hosts) -> None:
    lines = ours(hosts, "--human").splitlines()
    assert lines[1].split() == ["interval", "written", "rate", "retr", "cwnd", "rtt"]
    row = re.compile(r" +\d+\.\d\d-\d+\.\d\d +s +\S+ \S+ +[\d.]+ \S+bit/s +\d+ +[\d.]+ \S?B +[\d.]+ ms$")
    assert all(row.match(line) for line in lines[2 : 2 + SECONDS]), lines
    assert lines[2 + SECONDS].endswith("ms  the last octets, until all are acknowledged")
    assert "bit/s" not in lines[2 + SECONDS]


def test_an_iperf3_server_is_named(hosts: Hosts) -> None:
    with iperf3_server(hosts.right):
        argv = ["ip", "netns", "exec", hosts.left, str(find("rttcp")), "-t", RIGHT, "-p", "5201", "-d", "1s", "--human"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "as an iperf3 server does; want 'rttcp -r' there" in done.stderr and done.stderr.count("\n") == 1
