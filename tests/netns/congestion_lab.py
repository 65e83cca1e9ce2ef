"""One rttcp transfer over a comet-delay path with a BPF congestion control; TCP_INFO samples as arrays."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from comet_box import RIGHT, Box, in_netns, two_hosts

from netcommon.binaries import find

MTU_PAYLOAD = 1448
FIELDS = ("t_ns", "snd_cwnd", "snd_ssthresh", "delivered", "ca_state", "rtt_us", "min_rtt_us")


@dataclass(frozen=True)
class Curve:
    """Samples of one connection, in order; windows in segments."""

    t_s: np.ndarray
    cwnd: np.ndarray
    ssthresh: np.ndarray
    delivered: np.ndarray
    open: np.ndarray  # not in recovery
    rtt_us: np.ndarray
    min_rtt_us: np.ndarray
    end: dict[str, Any]

    def losses(self) -> list[tuple[int, int]]:
        """Each recovery: the last sample before it and the first after it."""
        into = np.flatnonzero(self.open[:-1] & ~self.open[1:])
        out = np.flatnonzero(~self.open[:-1] & self.open[1:]) + 1
        return [(int(i), int(out[out > i][0])) for i in into if (out > i).any()]


def transfer(congestion: str, duration: str = "2.5s", *, offload: bool = True, **path: str) -> Curve:
    """Sends for ``duration`` with ``congestion`` (NAME or NAME:KEY=VALUE,…), a sample every 2 ms. Without ``offload``
    the receiver acknowledges every second segment; with it, super-packets of up to 45."""
    rttcp = str(find("rttcp"))
    with two_hosts() as hosts, Box(hosts, **path), tempfile.TemporaryDirectory() as folder:
        for host in (hosts.left, hosts.right):
            for key in ("rmem", "wmem"):
                in_netns(host, "sysctl", "-qw", f"net.ipv4.tcp_{key}=4096 8388608 33554432")
            in_netns(host, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
            if not offload:
                in_netns(host, "ethtool", "-K", "wan", "tso", "off", "gso", "off", "gro", "off")
        samples = Path(folder) / "samples"
        inside = ["ip", "netns", "exec"]
        server = subprocess.Popen(
            [*inside, hosts.right, rttcp, "-r", "--once", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert server.stdout
            assert json.loads(server.stdout.readline())["event"] == "ready"
            client = [
                rttcp,
                "-t",
                RIGHT,
                "--json",
                "--duration",
                duration,
                "--length",
                "64KB",
                "--congestion",
                congestion,
            ]
            out = in_netns(hosts.left, *client, "--sample", "2ms", "--samples", str(samples))
        finally:
            server.kill()
            server.communicate()
        end = json.loads(out.splitlines()[-1])
        assert end["event"] == "end" and end["complete"], end
        rows = [json.loads(line) for line in samples.read_text().splitlines()]
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in FIELDS}
    return Curve(
        (columns["t_ns"] - columns["t_ns"][0]) / 1e9,
        columns["snd_cwnd"],
        columns["snd_ssthresh"],
        columns["delivered"],
        columns["ca_state"] == 0,
        columns["rtt_us"],
        columns["min_rtt_us"],
        end,
    )
