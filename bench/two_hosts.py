"""Two hosts with a veth pair or the delay box between them, and one CUBIC stream of iperf3 over it.

The load comes from iperf3 and not from our own tool, because the program that makes the load should not be what is
measured.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.registry import Place, Result, scaled
from comet_delay import Port
from comet_delay.userspace import UserspaceBox
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.network.host_pair import ADDRESSES, MTU, NIC, Hosts, address, hosts, veth

PORT = 5201
PathParameters = Mapping[str, int | str]


@contextlib.contextmanager
def box(
    pair: Hosts, mtu: int, path: PathParameters, scratch: Path, ledger: Ledger, **options: Any
) -> Iterator[UserspaceBox]:
    """comet-delay between the hosts, ``path`` in both directions under the names of its `show`; ``options`` are
    ``run_argv``'s."""
    seed, record = options.pop("seed", 1), options.pop("record", None)
    with UserspaceBox(
        Port(NIC, pair.sender),
        Port(NIC, pair.receiver),
        both=path,
        mtu=mtu,
        seed=seed,
        record=record,
        box=options,
        control=scratch / "box.sock",
        log=scratch / "comet-delay.stderr",
        ledger=ledger,
    ) as running:
        address(pair, mtu)
        yield running


@dataclass(frozen=True)
class Load:
    """How long a stream runs. Its average is over ``seconds``; the ``warm_up_s`` before them do not count."""

    seconds: int
    warm_up_s: int


def no_preparation(pair: Hosts) -> None:
    """Leaves the hosts as they are."""


@dataclass(frozen=True)
class Comparison:
    """Measures the same load alternately over a veth pair and over the box. ``path``: the box's parameters; ``unit``:
    the figure's; ``prepare``: called before every measurement, once the hosts have their NICs."""

    name: str
    path: PathParameters
    pairs: int
    unit: str = "bit/s"
    prepare: Callable[[Hosts], None] = no_preparation

    def run(self, place: Place, base: Callable[[Hosts], float], ours: Callable[[Hosts], float] | None = None) -> Result:
        """Measures ``pairs`` times, unless the user asked for another number, at MTU 1,500. ``base`` measures both
        paths unless ``ours`` is given."""
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
    """The rate of one CUBIC stream at the receiver, bit/s."""
    options = ["--time", str(load.seconds), "--omit", str(load.warm_up_s), "--congestion", "cubic", "--length", "128K"]
    with iperf3(pair, ledger, *options) as stream:
        result = iperf3_result(stream, load.seconds + load.warm_up_s + 60.0)
    return float(result["end"]["sum_received"]["bits_per_second"])


def _wait_listening(server: Tool, timeout_s: float = 5.0) -> None:
    """Waits until the server listens. iperf3 does not flush its announcement, so the namespace's socket table is
    read."""
    wanted = f":{PORT:04X} "
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and server.running():
        tables = [Path(f"/proc/{server.pid}/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6")]
        if any(wanted in line and " 0A " in line for table in tables for line in table.splitlines()):
            return
        time.sleep(0.01)
    raise LfpError("iperf3: the server does not listen")


def non_model_drops(box: UserspaceBox) -> int:
    """Stops the box. Returns how many wire packets it dropped for any reason but its model (loss, queue), in both
    directions."""
    end = box.stop()
    model = ("loss", "queue")
    return sum(
        count
        for direction in ("ab", "ba")
        for cause, count in end["statistics"][direction]["drops"].items()
        if cause not in model
    )
