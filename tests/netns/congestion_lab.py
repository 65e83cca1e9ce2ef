"""One rttcp transfer over a comet-delay path with one of rttcp's congestion controls; TCP_INFO samples as arrays.

On the real machine the control is a BPF program; in virtual time it is a module of the guest's kernel, made of the same
source (rttcp/cc/algo). `columns` runs in either and returns what JSON can carry.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from comet_box import RIGHT, Box, Hosts, in_netns, two_hosts

import rttcp
from netcommon.binaries import find

MTU_PAYLOAD = 1448
_TCP_CC_INFO = 26
FIELDS = ("t_ns", "snd_cwnd", "snd_ssthresh", "delivered", "ca_state", "rtt_us", "min_rtt_us", "total_retrans")


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
    retransmitted: np.ndarray

    @classmethod
    def of(cls, columns: Mapping[str, list[int]]) -> Curve:
        """From what `columns` returned."""
        found = {name: np.array(columns[name], dtype=np.int64) for name in FIELDS}
        t_s = (found["t_ns"] - found["t_ns"][0]) / 1e9
        return cls(t_s, found["snd_cwnd"], found["snd_ssthresh"], found["delivered"], found["ca_state"] == 0,
                   found["rtt_us"], found["min_rtt_us"], found["total_retrans"])  # fmt: skip

    def losses(self) -> list[tuple[int, int]]:
        """Each recovery: the last sample before it and the first after it."""
        into = np.flatnonzero(self.open[:-1] & ~self.open[1:])
        out = np.flatnonzero(~self.open[:-1] & self.open[1:]) + 1
        return [(int(i), int(out[out > i][0])) for i in into if (out > i).any()]

    def kept(self, loss: int) -> float:
        """The share of the window that was left after the ``loss``-th recovery."""
        before, after = self.losses()[loss]
        return float(self.ssthresh[after] / self.cwnd[before])

    def kept_at_the_last_cut(self) -> float:
        """Lowered ssthresh as a share of the window before it. A sampler that slept through a whole recovery sees it
        too."""
        before = int(np.flatnonzero(np.diff(self.ssthresh) < 0)[-1])
        return float(self.ssthresh[before + 1] / self.cwnd[before])


def columns(
    congestion: str, duration: str, path: Mapping[str, str], offload: bool = True, sample: str = "2ms"
) -> dict[str, list[int]]:
    """Sends for ``duration`` with ``congestion`` (NAME or NAME:KEY=VALUE,…). Without ``offload`` the receiver
    acknowledges every second segment; with it, super-packets of up to 45."""
    with two_hosts() as hosts, Box(hosts, **path), tempfile.TemporaryDirectory() as folder:
        for host in (hosts.left, hosts.right):
            _prepare(host, offload)
        samples = Path(folder) / "samples"
        _transfer(hosts, congestion, duration, sample, samples)
        rows = [json.loads(line) for line in samples.read_text().splitlines()]
    return {name: [row[name] for row in rows] for name in FIELDS}


def stopped_share_of_a_sender_that_pauses(pause_s: float, pauses: int) -> float:
    """The s of `lfp_xys` (the third word of TCP_CC_INFO) after a program has several times sent 64 KB over the loopback
    interface (RTT 20 ms) and paused."""
    for command in ("ip link set lo up", "tc qdisc add dev lo root netem delay 10ms"):
        subprocess.run(command.split(), check=True)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lfp_xys")
        sender.connect(server.getsockname())
        receiver, _ = server.accept()
        with receiver:
            for _ in range(pauses):
                sender.sendall(bytes(65536))
                receiver.recv(65536, socket.MSG_WAITALL)
                time.sleep(pause_s)
        words = sender.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, 12)
    return float(struct.unpack("=3I", words)[2] / 65536)


def _prepare(host: str, offload: bool) -> None:
    for key in ("rmem", "wmem"):
        in_netns(host, "sysctl", "-qw", f"net.ipv4.tcp_{key}=4096 8388608 33554432")
    in_netns(host, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
    if not offload:
        in_netns(host, "ethtool", "-K", "wan", "tso", "off", "gso", "off", "gro", "off")


def _transfer(hosts: Hosts, congestion: str, duration: str, sample: str, samples: Path) -> None:
    binary, inside = find("rttcp"), ["ip", "netns", "exec", hosts.right]
    receive = rttcp.receiver_argv(binary, once=True)
    server = subprocess.Popen([*inside, *receive], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdout
        assert json.loads(server.stdout.readline())["event"] == "ready"
        send = rttcp.sender_argv(RIGHT, binary, congestion=congestion, length_bytes=64 << 10, samples=samples)
        out = in_netns(hosts.left, *send, "--duration", duration, "--sample", sample)
    finally:
        server.kill()
        server.communicate()
    end = json.loads(out.splitlines()[-1])
    assert end["event"] == "end" and end["complete"], end
