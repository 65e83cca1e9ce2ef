#!/usr/bin/env python3
"""A Mininet script for a slow link, with one class name changed: CometLink instead of TCLink. Run as root.

h1 ──── 20 ms, 45 Mbit/s, 1 % loss ──── r0 ──── 5 ms ──── h2
"""

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo

from comet_delay.link import CometLink  # was: from mininet.link import TCLink


class Router(Node):
    """A node that forwards."""

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


class Path(Topo):
    """Two hosts with a router between them."""

    def build(self):
        router = self.addNode("r0", cls=Router, ip="10.0.1.254/24")
        left = self.addHost("h1", ip="10.0.1.1/24", defaultRoute="via 10.0.1.254")
        right = self.addHost("h2", ip="10.0.2.1/24", defaultRoute="via 10.0.2.254")
        self.addLink(left, router, bw=45, delay="20ms", loss=1)
        self.addLink(right, router, delay="5ms", params2={"ip": "10.0.2.254/24"})


if __name__ == "__main__":
    setLogLevel("output")
    net = Mininet(topo=Path(), link=CometLink, controller=None)  # was: link=TCLink
    net.start()
    print(net["h1"].cmd("ping -c 20 -i 0.05 10.0.2.1"))
    print(net["h1"].cmd("ip -brief link"))
    net.stop()
