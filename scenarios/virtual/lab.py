"""The network of a scenario, for a trial in a guest, for a command of ``lfp virtual``, or for a bench."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netcommon.ledger import Ledger
from scenarios.network import links
from scenarios.network.topology import Topology
from scenarios.plan import profiles
from scenarios.plan.plan import Trial
from scenarios.trial import gateways
from scenarios.trial.delay_box import BackEnd, Boxes
from scenarios.trial.trial import path_up
from scenarios.virtual import mounts

HOSTS = Path("/etc/hosts")
NAMESPACES = Path("/run/netns")  # where 'ip netns' looks


@dataclass(frozen=True)
class Network:
    """A trial's network without its transfer. ``super_bytes``: see `boxes.super_packets`."""

    trial: Trial
    box: BackEnd
    super_bytes: tuple[int, int]

    def nodes(self) -> list[str]:
        """The names of the nodes, from the sender to the receiver."""
        return Topology.of(self.trial.setting).names


@contextmanager
def topology(trial: Trial, super_bytes: tuple[int, int]) -> Iterator[tuple[Topology, Ledger]]:
    """The nodes and links of a trial."""
    with Ledger.open() as ledger, Topology.of(trial.setting, ledger) as net:
        for ends, most in zip(net.graph.into_path(), super_bytes, strict=True):
            for node, link in ends if most else ():
                links.limit_super_packets(net.pid(node), net.graph.interface(link, node), most)
        yield net, ledger


@contextmanager
def laid(network: Network, scratch: Path) -> Iterator[tuple[Topology, Boxes]]:
    """Nodes, path and gateways as in a trial, with the boxes that run."""
    setting = network.trial.setting
    with topology(network.trial, network.super_bytes) as (net, ledger):
        profile = profiles.of(setting.profile)
        net.apply(profile, setting.transfer.window or profile.window_bytes)
        with (
            path_up(net, network.trial, scratch, scratch, ledger, network.box) as boxes,
            gateways.running(net, setting, scratch, scratch, ledger),
        ):
            yield net, boxes


@contextmanager
def running(network: Network, scratch: Path) -> Iterator[None]:
    """Like `laid`, in a guest, where 'ip netns exec' and /etc/hosts know the nodes by their names."""
    with laid(network, scratch) as (net, _):
        _name(net)
        yield


def _name(net: Topology) -> None:
    NAMESPACES.mkdir()
    known = [HOSTS.read_text(encoding="utf-8")] if HOSTS.exists() else []
    for name, pid in net.pids().items():
        (NAMESPACES / name).touch()
        mounts.bind(f"/proc/{pid}/ns/net", NAMESPACES / name)
        known.append(f"{net.address_of(name, 'left' if net.graph.at(name, 'left') else 'right')} {name}\n")
    HOSTS.write_text("".join(known), encoding="utf-8")
