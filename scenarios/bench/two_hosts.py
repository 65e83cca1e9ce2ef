"""Two namespaces with a veth pair or the delay box between them, and one CUBIC stream of iperf3 over it.

iperf3 and not our own tool: what carries the load is not what is measured.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comet_delay import Port, run_argv
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios import delay_box, links, tcp_profile
from scenarios.bench.registry import Place, Result, scaled

# No more than 2^31-1: the kernel's limit for a socket buffer, and enough for 1 GB windows.
BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 2147483647", "net.ipv4.tcp_wmem": "4096 16384 2147483647"}
ADDRESSES = ("10.77.200.1", "10.77.200.2")
NIC = "port0"
PORT = 5201
MTU = 1500


@dataclass(frozen=True)
class Hosts:
    """Process ids that hold the two namespaces."""

    sender: int
    receiver: int


@contextlib.contextmanager
def hosts(ledger: Ledger) -> Iterator[Hosts]:
    """Two empty namespaces with the modern profile and the largest buffers; gone afterwards."""
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(_namespace(ledger)) for _ in ADDRESSES]
        for pid in pids:
            tcp_profile.apply(tcp_profile.load("modern"), pid)
            netns.call_in(pid, tcp_profile.write_sysctls, BUFFERS)
            links.bring_up(pid, "lo")
        yield Hosts(*pids)


@contextlib.contextmanager
def _namespace(ledger: Ledger) -> Iterator[int]:
    with Tool(["unshare", "--net", "--", "sh", "-c", 'echo "{\\"event\\":\\"ready\\"}"; exec sleep infinity'],
              name="namespace", ledger=ledger) as holder:  # fmt: skip
        holder.wait_event("ready", 5)
        yield holder.pid


@contextlib.contextmanager
def veth(pair: Hosts, mtu: int) -> Iterator[None]:
    """The base: a veth pair between the hosts."""
    link = f"ip link add name {NIC} type veth peer name {NIC} netns {pair.receiver}"
    subprocess.run(["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", *link.split()], check=True)
    try:
        address(pair, mtu)
        yield
    finally:
        subprocess.run(
            ["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", "ip", "link", "del", NIC], check=True
        )


PathParameters = Mapping[str, int | str]


@contextlib.contextmanager
def box(pair: Hosts, mtu: int, path: PathParameters, scratch: Path, ledger: Ledger, **options: Any) -> Iterator[Tool]:
    """Ours: comet-delay, ``path`` in both directions by the names of its `show`; ``options`` are run_argv's."""
    ports = (Port(NIC, pair.sender), Port(NIC, pair.receiver))
    argv = run_argv(*ports, scratch / "box.sock", both=path, mtu=mtu, **options)
    with Tool(argv, name="comet-delay", stderr_path=scratch / "comet-delay.stderr", ledger=ledger) as tool:
        tool.wait_event("ready", delay_box.READY_TIMEOUT_S)
        address(pair, mtu)
        yield tool


def offloads_off(pair: Hosts) -> None:
    """Every packet on its own: no segmentation offload at the sender, no receive offload, at both hosts."""
    for pid in (pair.sender, pair.receiver):
        netns.call_in(pid, _run, "ethtool", "-K", NIC, "tso", "off", "gso", "off", "gro", "off")


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise LfpError(f"{' '.join(argv)}: {done.stderr.strip()}")


def received(pair: Hosts) -> tuple[int, int]:
    """Bytes and packets (super-packets as one) that the receiver's NIC has taken in."""
    for line in Path(f"/proc/{pair.receiver}/net/dev").read_text(encoding="ascii").splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == NIC:
            octets, packets = columns.split()[:2]
            return int(octets), int(packets)
    raise LfpError(f"{NIC}: not in the receiver's namespace")


def address(pair: Hosts, mtu: int) -> None:
    """Addresses and neighbours for the NICs of both hosts, once they are there."""
    ends = (pair.sender, pair.receiver)
    macs = [links.bring_up(pid, NIC, mtu, [("ipv4", a)]) for pid, a in zip(ends, ADDRESSES, strict=True)]
    links.add_neighbours(pair.sender, NIC, [("ipv4", ADDRESSES[1])], macs[1])
    links.add_neighbours(pair.receiver, NIC, [("ipv4", ADDRESSES[0])], macs[0])


@dataclass(frozen=True)
class Load:
    """How long a stream runs: ``seconds`` count, the ``warm_up_s`` before them do not."""

    seconds: int
    warm_up_s: int


def no_preparation(pair: Hosts) -> None:
    """The hosts as they are."""


@dataclass(frozen=True)
class Comparison:
    """The same load over a veth pair and over the box, alternating. ``prepare``: what is done to the hosts' NICs before
    every measurement. ``measure``: the figure, in ``unit``."""

    name: str
    path: PathParameters
    pairs: int
    unit: str = "bit/s"
    prepare: Callable[[Hosts], None] = no_preparation

    def run(self, place: Place, base: Callable[[Hosts], float], ours: Callable[[Hosts], float] | None = None) -> Result:
        """``pairs`` times unless the user asked for another number; MTU 1,500. ``base`` measures both unless ``ours``
        is given."""
        measured: list[dict[str, Any]] = []
        count = place.pairs or self.pairs
        with hosts(place.ledger) as pair:
            for number in range(1, count + 1):
                with veth(pair, MTU):
                    self.prepare(pair)
                    theirs = base(pair)
                with box(pair, MTU, self.path, place.scratch, place.ledger) as tool:
                    self.prepare(pair)
                    mine = (ours or base)(pair)
                    drops = non_model_drops(tool)
                measured.append({"ours": mine, "base": theirs, "non_model_drops": drops})
                place.say(
                    f"{self.name} {number}/{count}: veth {scaled(theirs, self.unit)}, box {scaled(mine, self.unit)}, "
                    f"ratio {mine / theirs:.3f}, {drops} drops that are not the model's"
                )
        return Result(self.name, self.unit, "veth", measured)


@contextlib.contextmanager
def iperf3(pair: Hosts, ledger: Ledger, *options: str) -> Iterator[Tool]:
    """A running iperf3 client at the sender, with its server at the receiver; it prints JSON when it ends."""
    server_argv = ["iperf3", "--server", "--one-off", "--port", str(PORT)]
    try:
        with Tool(
            server_argv, netns_pid=pair.receiver, name="iperf3 server", json_lines=False, ledger=ledger
        ) as server:
            _wait_listening(server)
            client = ["iperf3", "--client", ADDRESSES[1], "--port", str(PORT), "--json", *options]
            with Tool(client, netns_pid=pair.sender, name="iperf3 client", json_lines=False, ledger=ledger) as stream:
                yield stream
    finally:
        for pid in (pair.sender, pair.receiver):
            netns.end_abandoned_connections(pid)


def iperf3_result(stream: Tool, timeout_s: float) -> dict[str, Any]:
    """What iperf3 printed, once it has ended."""
    result: dict[str, Any] = json.loads(stream.output(timeout_s))
    if "error" in result:
        raise LfpError(f"iperf3: {result['error']}")
    return result


def stream_bps(pair: Hosts, load: Load, ledger: Ledger) -> float:
    """bit/s of one CUBIC stream that arrive at the receiver."""
    options = ["--time", str(load.seconds), "--omit", str(load.warm_up_s), "--congestion", "cubic", "--length", "128K"]
    with iperf3(pair, ledger, *options) as stream:
        result = iperf3_result(stream, load.seconds + load.warm_up_s + 60.0)
    return float(result["end"]["sum_received"]["bits_per_second"])


def _wait_listening(server: Tool, timeout_s: float = 5.0) -> None:
    """iperf3 announces nothing that is flushed, so its namespace's socket table is asked."""
    wanted = f":{PORT:04X} "
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and server.running():
        tables = [Path(f"/proc/{server.pid}/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6")]
        if any(wanted in line and " 0A " in line for table in tables for line in table.splitlines()):
            return
        time.sleep(0.01)
    raise LfpError("iperf3: the server does not listen")


def non_model_drops(box: Tool) -> int:
    """Stops the box; wire packets it dropped for any reason but its model (loss, queue), both directions."""
    end = box.stop(10.0) or {}
    model = ("loss", "queue")
    return sum(
        count
        for direction in ("ab", "ba")
        for cause, count in end["statistics"][direction]["drops"].items()
        if cause not in model
    )
