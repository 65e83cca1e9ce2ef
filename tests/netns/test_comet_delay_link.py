"""CometLink in real Mininet networks, as a script written for TCLink uses it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mininet.net import Mininet
from mininet.node import Node
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo
from scipy.stats import binom
from support.waiting import wait_until

from comet_delay.link import CometLink
from netcommon.errors import LfpError, UsageError

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"memory": "32MB"}  # options of the box, small because many boxes start here
# How late the fastest of some pings may be on any machine. It is less than the difference between any two delays that
# the tests set. test_comet_delay_exact.py is exact.
LATE_MS = 4


@contextmanager
def network(topo: Topo | None = None) -> Iterator[Any]:
    """A started Mininet whose links are CometLinks; stopped afterwards."""
    Mininet.inited = True  # skips Mininet.init(), which raises limits of the whole machine
    net = Mininet(topo=topo, link=CometLink, controller=None, build=topo is not None)
    try:
        net.start()
        yield net
    finally:
        net.stop()


@contextmanager
def two_hosts(**link: Any) -> Iterator[Any]:
    with network() as net:
        net.addHost("h1", ip="10.76.0.1/24")
        net.addHost("h2", ip="10.76.0.2/24")
        net.addLink("h1", "h2", box=SMALL, **link)
        net.configHosts()
        yield net


def ping(
    net: Any, source: str = "h1", target: str = "10.76.0.2", count: int = 20, interval_s: float = 0.01
) -> np.ndarray:
    """Round-trip times that came back, ms."""
    text = net[source].cmd(f"ping -n -c {count} -i {interval_s} -W 5 {target}")
    return np.array([float(value) for value in re.findall(r"time=([\d.]+) ms", text)])


def test_host_to_host_has_mininets_names_and_tclinks_parameters() -> None:
    with two_hosts(bw=45, delay="5ms", loss=0, addr1="02:00:00:00:00:01") as net:
        assert [str(net[h].defaultIntf()) for h in ("h1", "h2")] == ["h1-eth0", "h2-eth0"]
        assert "02:00:00:00:00:01" in net["h1"].cmd("ip link show h1-eth0")
        assert 10 <= ping(net).min() < 10 + LATE_MS
        shown = net.links[0].show()["parameters"]
        assert {shown[d]["rate_bps"] for d in ("ab", "ba")} == {45_000_000}
        pid = net.links[0].box._tool.pid
        link = net.links[0]
    assert link.end["statistics"]["ab"]["drops"]["queue"] == 0
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the box to end")


def test_each_end_has_its_direction() -> None:
    with two_hosts(delay="1ms", params1={"delay": "10ms"}, ba={"loss": "0.5%", "queue_bytes": "64KB"}) as net:
        shown = net.links[0].show()["parameters"]
        assert (shown["ab"]["delay_ns"], shown["ba"]["delay_ns"]) == (10_000_000, 1_000_000)
        assert (shown["ab"]["loss"], shown["ba"]["loss"], shown["ba"]["queue_bytes"]) == ("0%", "0.5%", 65536)


def test_jitter_and_a_queue_in_packets() -> None:
    with two_hosts(bw=100, delay="20ms", jitter="5ms", max_queue_size=50) as net:
        shown = net.links[0].show()["parameters"]["ab"]
        assert (shown["jitter"], shown["queue_packets"]) == ("5ms", 50)
        ping(net, count=2, interval_s=0.2)  # address resolution takes its own time
        times = ping(net, count=60)
        assert 30 <= times.min() < 40
        assert times.std() > 2.5  # ms: 4.08 for two uniform delays of ±5 ms, less as packets keep their order


def test_loss_in_percent_is_what_is_lost() -> None:
    with two_hosts(params1={"loss": 10}, seed=5) as net:
        ping(net, count=1)
        net.links[0].show()
        lost = 1000 - len(ping(net, count=1000, interval_s=0.001))
    low, high = binom.interval(0.99, 1000, 0.1)
    assert low <= lost <= high, f"{lost} of 1000, want {low}…{high}"


def test_an_interface_is_reconfigured_while_packets_flow() -> None:
    with two_hosts(delay="2ms") as net:
        h1, h2 = net["h1"], net["h2"]
        ping(net, count=2)
        pings = ["ping", "-n", "-q", "-c", "200", "-i", "0.005", "10.76.0.2"]
        flow = h1.popen(pings, stdout=subprocess.PIPE, text=True)
        for i in range(40):
            h1.intf().config(delay=f"{2 + i % 5}ms")
            h2.intf().config(bw=100 + i, delay="3ms")
            time.sleep(0.01)  # spread over the flow
        assert " 0% packet loss" in flow.communicate(timeout=30)[0]
        h1.intf().config(delay="20ms")
        assert 23 <= ping(net).min() < 23 + LATE_MS
        with pytest.raises(UsageError, match="more than 100%"):
            h1.intf().config(loss=101, delay="1ms")
        assert net.links[0].show()["parameters"]["ab"]["delay_ns"] == 20_000_000  # nothing of it was taken


def test_link_status_down_and_up() -> None:
    with two_hosts() as net:
        assert len(ping(net, count=3)) == 3
        net.configLinkStatus("h1", "h2", "down")
        assert len(ping(net, count=2)) == 0
        net.configLinkStatus("h1", "h2", "up")
        wait_until(lambda: len(ping(net, count=1)) == 1, "an answer")


def test_hosts_around_a_router_and_a_deleted_link() -> None:
    with network() as net:
        router = net.addHost("r0", cls=Node, ip=None)
        router.cmd("sysctl -qw net.ipv4.ip_forward=1")
        for i in (1, 2):
            net.addHost(f"h{i}", ip=f"10.76.{i}.1/24", defaultRoute=f"via 10.76.{i}.254")
            net.addLink(f"h{i}", "r0", delay="3ms", params2={"ip": f"10.76.{i}.254/24"}, box=SMALL)
        net.configHosts()
        assert 12 <= ping(net, "h1", "10.76.2.1").min() < 12 + LATE_MS
        assert router.intfNames() == ["r0-eth0", "r0-eth1"]
        net.delLinkBetween(net["h2"], router)
        assert router.intfNames() == ["r0-eth0"]
        assert "r0-eth1" not in router.cmd("ip link")
        assert len(ping(net, "h1", "10.76.1.254", count=2)) == 2


@pytest.mark.skipif(not shutil.which("brctl"), reason="Mininet's LinuxBridge needs brctl; install bridge-utils")
def test_hosts_at_a_switch() -> None:
    class Star(Topo):  # type: ignore[misc]
        def build(self) -> None:
            self.addSwitch("s1", cls=LinuxBridge, inNamespace=True)
            for i in (1, 2):
                self.addHost(f"h{i}", ip=f"10.76.0.{i}/24")
                self.addLink(f"h{i}", "s1", delay="2ms", box=SMALL)

    with network(Star()) as net:
        assert net["s1"].intfNames() == ["s1-eth1", "s1-eth2"]
        wait_until(lambda: len(ping(net, count=1)) == 1, "an answer")  # the bridge is listening first
        assert 8 <= ping(net).min() < 8 + LATE_MS


def interfaces() -> set[str]:
    """Names of this namespace's interfaces. Mininet makes interfaces here before it moves them to their hosts."""
    return {path.name for path in Path("/sys/class/net").iterdir()}


def test_the_example_runs_and_leaves_nothing_behind() -> None:
    script = ROOT / "examples" / "one_class_name.py"
    code = "from mininet.net import Mininet; Mininet.inited = True; "  # as in `network`
    code += f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    before = interfaces()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    times = [float(value) for value in re.findall(r"time=([\d.]+) ms", done.stdout)]
    assert times and 50 <= min(times) < 50 + LATE_MS, done.stdout
    assert "h1-eth0" in done.stdout
    wait_until(lambda: interfaces() <= before, "interfaces to go")  # those of other tests go; leaked ones stay


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"dely": "5ms"}, "dely: not a parameter of CometLink; did you mean delay?"),
        ({"delay": "-5ms"}, "delay='-5ms'"),
        ({"bw": 10, "rate": "1Gbit"}, "rate_bps is given twice"),
        ({"speedup": 100, "bw": 1}, "speedup=100"),
        ({"backend": "ns3"}, "want auto, comet or netem"),
        ({"box": {"memry": "1GB"}}, "memry: no such option of the box"),
    ],
)
def test_wrong_parameters_are_one_line_and_leave_no_interface(link: dict[str, Any], said: str) -> None:
    with network() as net:
        h1, h2 = net.addHost("h1"), net.addHost("h2")
        with pytest.raises(LfpError) as raised:
            net.addLink(h1, h2, **link)
        assert said in str(raised.value) and "\n" not in str(raised.value)
        assert "eth0" not in h1.cmd("ip link") + h2.cmd("ip link")
