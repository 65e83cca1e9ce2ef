"""Two namespaces with a veth pair or the delay box between them, and one CUBIC stream of iperf3 over it.

iperf3 and not our own tool: what carries the load is not what is measured.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comet_delay import Port
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios import delay_box, links, tcp_profile
from scenarios.bench.registry import Place, Result
from scenarios.model import Direction

# No more than 2^31-1: the kernel's limit for a socket buffer, and enough for 1 GB windows.
BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 2147483647", "net.ipv4.tcp_wmem": "4096 16384 2147483647"}
ADDRESSES = ("10.77.200.1", "10.77.200.2")
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
    link = f"ip link add name port0 type veth peer name port0 netns {pair.receiver}"
    subprocess.run(["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", *link.split()], check=True)
    try:
        _address(pair, mtu)
        yield
    finally:
        subprocess.run(
            ["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", "ip", "link", "del", "port0"], check=True
        )


@contextlib.contextmanager
def box(pair: Hosts, mtu: int, delay_ns: int, scratch: Path, ledger: Ledger) -> Iterator[Tool]:
    """Ours: comet-delay with constant delay one way, no rate, no loss."""
    model = Direction(delay_ns=delay_ns, rate_bps=0, queue_bytes=0, loss_ppb=0, access_rate_bps=0)
    ports = (Port("port0", pair.sender), Port("port0", pair.receiver))
    log = scratch / "comet-delay.stderr"
    with delay_box.box(ports, scratch / "box.sock", ab=model, ba=model, mtu=mtu, log=log, ledger=ledger) as tool:
        tool.wait_event("ready", delay_box.READY_TIMEOUT_S)
        _address(pair, mtu)
        yield tool


def _address(pair: Hosts, mtu: int) -> None:
    ends = (pair.sender, pair.receiver)
    macs = [links.bring_up(pid, "port0", mtu, [("ipv4", a)]) for pid, a in zip(ends, ADDRESSES, strict=True)]
    links.add_neighbours(pair.sender, "port0", [("ipv4", ADDRESSES[1])], macs[1])
    links.add_neighbours(pair.receiver, "port0", [("ipv4", ADDRESSES[0])], macs[0])


@dataclass(frozen=True)
class Load:
    """How long a stream runs: ``seconds`` count, the ``warm_up_s`` before them do not."""

    seconds: int
    warm_up_s: int


def against_veth(name: str, place: Place, *, one_way_ns: int, base: Load, ours: Load, pairs: int) -> Result:
    """Alternates veth pair and delay box, MTU 1,500, ``pairs`` times unless the user asked for another number."""
    measured: list[dict[str, Any]] = []
    count = place.pairs or pairs
    with hosts(place.ledger) as pair:
        for number in range(1, count + 1):
            with veth(pair, MTU):
                base_bps = stream_bps(pair, base, place.ledger)
            with box(pair, MTU, one_way_ns, place.scratch, place.ledger) as tool:
                ours_bps = stream_bps(pair, ours, place.ledger)
                drops = non_model_drops(tool)
            measured.append({"ours": ours_bps, "base": base_bps, "non_model_drops": drops})
            place.say(
                f"{name} {number}/{count}: veth {base_bps / 1e9:.2f} Gbit/s, box {ours_bps / 1e9:.2f} Gbit/s, "
                f"ratio {ours_bps / base_bps:.3f}, {drops} drops that are not the model's"
            )
    return Result(name, "bit/s", "veth", measured)


def stream_bps(pair: Hosts, load: Load, ledger: Ledger) -> float:
    """bit/s of one stream that arrive at the receiver."""
    seconds, warm_up_s = load.seconds, load.warm_up_s
    with Tool(["iperf3", "--server", "--one-off", "--port", str(PORT)], netns_pid=pair.receiver, name="iperf3 server",
              json_lines=False, ledger=ledger) as server:  # fmt: skip
        _wait_listening(server)
        client = ["nsenter", f"--net={netns.namespace_path(pair.sender)}", "--", "iperf3", "--client", ADDRESSES[1]]
        client += ["--port", str(PORT), "--time", str(seconds), "--omit", str(warm_up_s), "--congestion", "cubic"]
        client += ["--length", "128K", "--json"]
        with Tool(client, name="iperf3 client", json_lines=False, ledger=ledger) as stream:
            text = stream.output(seconds + warm_up_s + 60.0)
    result = json.loads(text)
    if "error" in result:
        raise LfpError(f"iperf3: {result['error']}")
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
