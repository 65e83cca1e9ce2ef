"""The network of a scenario inside a guest, for a trial or for a command of ``lfp virtual``. Runs in the guest."""

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
from scenarios.trial.delay_box import BackEnd
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
        for (pid, interface), most in zip(_ends_of_path(net, trial), super_bytes, strict=True):
            if most:
                links.limit_super_packets(pid, interface, most)
        yield net, ledger


@contextmanager
def running(network: Network, scratch: Path) -> Iterator[None]:
    """Nodes, path and gateways as in a trial. 'ip netns exec' and /etc/hosts know the nodes by their names."""
    setting = network.trial.setting
    with topology(network.trial, network.super_bytes) as (net, ledger):
        profile = profiles.load(setting.profile.name)
        net.apply(profile, setting.transfer.window or profile.window_bytes)
        with (
            path_up(net, network.trial, scratch, scratch, ledger, network.box),
            gateways.running(net, setting, scratch, scratch, ledger),
        ):
            _name(net)
            yield


def _ends_of_path(net: Topology, trial: Trial) -> tuple[tuple[int, str], tuple[int, str]]:
    """Namespace and interface of the two nodes that send into the path: gateways in nodes of their own, or the
    hosts."""
    if not trial.setting.gateway.has_nodes:
        return (net.sender, net.host_interface("snd")), (net.receiver, net.host_interface("rcv"))
    pids = net.pids()
    return (pids["gw1"], net.interface("gw1", "right")), (pids["gw2"], net.interface("gw2", "left"))


def _name(net: Topology) -> None:
    NAMESPACES.mkdir()
    known = [HOSTS.read_text(encoding="utf-8")] if HOSTS.exists() else []
    for name, pid in net.pids().items():
        (NAMESPACES / name).touch()
        mounts.bind(f"/proc/{pid}/ns/net", NAMESPACES / name)
        known.append(f"{net.address_of(name, 'right' if name == 'snd' else 'left')} {name}\n")
    HOSTS.write_text("".join(known), encoding="utf-8")
