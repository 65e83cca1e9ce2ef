"""Two hosts in namespaces of their own, one interface each: for benches, and for measuring what a machine is good for.

What joins the two interfaces is made by the caller: ``veth`` here, or a delay box.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import START_TIMEOUT_S, Tool
from scenarios.network import links, sysctls
from scenarios.plan import profiles

# At most 2^31-1, the kernel's limit for a socket buffer; that is enough for windows of 1 GB.
BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 2147483647", "net.ipv4.tcp_wmem": "4096 16384 2147483647"}
ADDRESSES = ("10.77.200.1", "10.77.200.2")
NIC = "port0"
MTU = 1500


@dataclass(frozen=True)
class Hosts:
    """Ids of the processes that hold the two namespaces."""

    sender: int
    receiver: int


@contextlib.contextmanager
def hosts(ledger: Ledger) -> Iterator[Hosts]:
    """Two empty namespaces with the modern profile and the largest buffers; both are removed afterwards."""
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(_namespace(ledger)) for _ in ADDRESSES]
        for pid in pids:
            sysctls.apply(profiles.load("modern"), pid)
            netns.call_in(pid, sysctls.write_sysctls, BUFFERS)
            links.bring_up(pid, "lo")
        yield Hosts(*pids)


@contextlib.contextmanager
def _namespace(ledger: Ledger) -> Iterator[int]:
    with Tool(
        ["unshare", "--net", "--", "sh", "-c", 'echo "{\\"event\\":\\"ready\\"}"; exec sleep infinity'],
        name="namespace",
        ledger=ledger,
    ) as holder:
        holder.wait_event("ready", START_TIMEOUT_S)
        yield holder.pid


@contextlib.contextmanager
def veth(pair: Hosts, mtu: int) -> Iterator[None]:
    """A veth pair between the hosts, addressed and up."""
    link = f"ip link add name {NIC} type veth peer name {NIC} netns {pair.receiver}"
    subprocess.run(["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", *link.split()], check=True)
    try:
        address(pair, mtu)
        yield
    finally:
        subprocess.run(
            ["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", "ip", "link", "del", NIC], check=True
        )


def address(pair: Hosts, mtu: int) -> None:
    """Gives the NICs of both hosts, which must exist, their addresses and neighbours."""
    ends = (pair.sender, pair.receiver)
    macs = [links.bring_up(pid, NIC, mtu, [("ipv4", a)]) for pid, a in zip(ends, ADDRESSES, strict=True)]
    links.add_neighbours(pair.sender, NIC, [("ipv4", ADDRESSES[1])], macs[1])
    links.add_neighbours(pair.receiver, NIC, [("ipv4", ADDRESSES[0])], macs[0])


def offloads_off(pair: Hosts) -> None:
    """Makes every packet travel on its own: segmentation and receive offload are switched off at both hosts."""
    for pid in (pair.sender, pair.receiver):
        netns.call_in(pid, _run, "ethtool", "-K", NIC, "tso", "off", "gso", "off", "gro", "off")


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise LfpError(f"{' '.join(argv)}: {done.stderr.strip()}")


def received(pair: Hosts) -> tuple[int, int]:
    """Bytes and packets (a super-packet counts as one) that the receiver's NIC has taken in."""
    octets, packets = _counters(pair)[:2]
    return octets, packets


def crossed(pair: Hosts) -> int:
    """Packets that the receiver's NIC has taken in or sent out."""
    counters = _counters(pair)
    return counters[1] + counters[9]


def _counters(pair: Hosts) -> list[int]:
    """The 16 counters of the receiver's NIC, as in /proc/net/dev: 8 of what came in, 8 of what went out."""
    for line in Path(f"/proc/{pair.receiver}/net/dev").read_text(encoding="ascii").splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == NIC:
            return [int(column) for column in columns.split()]
    raise LfpError(f"{NIC}: not in the receiver's namespace")
