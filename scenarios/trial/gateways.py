"""The pair of gateways of a trial: lft-gateway, or any two command lines (SCENARIO.md, [gateway]).

Each gateway is a process in its node's namespace. It starts when the path is up and ends before the path is removed.
The near gateway is on the sender's side. The kinds of gateways differ in two functions only: one says what to start,
the other waits until it is ready.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lft_ref import TUNNEL_PORT, Gateway, Settings, wait_accelerating, write_key
from netcommon import quantity
from netcommon.errors import LfpError, UsageError
from netcommon.ledger import Ledger
from netcommon.netns import call_in
from netcommon.process import Tool
from scenarios.network import sysctls
from scenarios.network.topology import Topology
from scenarios.plan import profiles
from scenarios.plan.model import Scenario
from scenarios.trial.transfer_tool import DATA_PORT, PORT, ports

Which = Literal["near", "far"]
READY_TIMEOUT_S, READY = 15.0, "ready"
_LOOK_S = 0.01
_LEAST_EXPECTED_RTT_NS = 200 * 10**6  # lft-gateway's own default
_NODE_PROFILE = "modern"  # a gateway is a machine of its own: its TCP is today's, whatever profile the hosts have


@dataclass
class Pair:
    """The running gateways, near and far; none for ``kind = "none"``."""

    setting: Scenario
    tools: dict[Which, Tool]

    def stop(self) -> dict[str, Any]:
        """Ends the gateways and returns the content of gateway.json. LfpError if one of them had ended by itself."""
        if not self.tools:
            return {}
        gateway = self.setting.gateway
        found: dict[str, Any] = {"kind": gateway.kind, "model": gateway.model}
        for tool in self.tools.values():
            if not tool.running():
                tool.finish(1.0)  # raises with the tool's own message, if it gave one
                raise LfpError(f"{tool.name} ended during the transfer; see log/")
        found["cpu_ns"] = _cpu_ns({tool.pid for tool in self.tools.values()})
        for tool in self.tools.values():
            tool.ask_to_end()
        for which, tool in self.tools.items():
            found[which] = tool.stop() or {"argv": tool.argv}
        return found


@contextlib.contextmanager
def running(net: Topology, setting: Scenario, scratch: Path, log: Path, ledger: Ledger) -> Iterator[Pair]:
    """Starts both gateways and waits until they are ready to carry connections."""
    if setting.gateway.kind == "none":
        yield Pair(setting, {})
        return
    lft = setting.gateway.kind == "lft"
    pair, shared = Pair(setting, {}), _fresh(scratch / "gateways")
    with contextlib.ExitStack() as stack:
        for which in ("far", "near"):
            pid = net.pids()[_node(setting, which)]
            if setting.gateway.has_nodes:
                sysctls.apply(profiles.load(_NODE_PROFILE), pid)
            name = f"{which}-gateway"
            said = log / f"{name}.stderr"
            if lft:
                settings = _lft(net, setting, which, scratch)
                tool: Tool = Gateway(settings, netns_pid=pid, name=name, stderr_path=said, ledger=ledger)
            else:
                argv = _command(net, setting, which, shared)
                tool = Tool(argv, netns_pid=pid, name=name, stderr_path=said, ledger=ledger, json_lines=False)
            pair.tools[which] = stack.enter_context(tool)
        if lft:
            _wait_lft(pair)
        else:
            stack.callback(net.forget_routes)
            _wait_commands(pair, net)
        yield pair


def target(net: Topology, setting: Scenario) -> str:
    """The address that the sender connects to: the receiver's, or the near gateway's if that is a proxy."""
    proxy = setting.gateway.kind != "none" and setting.gateway.model == "proxy"
    return net.address_of("gw1", "left") if proxy else net.receiver_address()


def _node(setting: Scenario, which: Which) -> str:
    names = ("gw1", "gw2") if setting.gateway.has_nodes else ("snd", "rcv")
    return names[which == "far"]


def _outer(net: Topology, setting: Scenario, which: Which) -> str:
    """A gateway's address towards the path."""
    return net.address_of(_node(setting, which), "right" if which == "near" else "left")


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _lft(net: Topology, setting: Scenario, which: Which, scratch: Path) -> Settings:
    gateway = setting.gateway
    near, far = (_with_port(_outer(net, setting, end), TUNNEL_PORT) for end in ("near", "far"))
    proxy = gateway.model == "proxy" and which == "near"
    return Settings(
        psk=write_key(scratch / "psk"),
        listen=near if which == "near" else far,
        peer=far if which == "near" else None,
        control=scratch / f"{which}.sock",
        lan=(_lan(net, which),) if gateway.model == "router" else (),
        host=gateway.model == "host",
        forwards=_forwards(net, setting) if proxy else (),
        carriage=gateway.carriage,
        cipher=gateway.cipher,
        recovery=gateway.recovery,
        rate_mode=gateway.rate_mode,
        rate_bps=gateway.rate,
        host_rate_bps=gateway.host_rate,
        expected_rtt_ns=max(setting.path.rtt_ns(), _LEAST_EXPECTED_RTT_NS),
        redundancy=gateway.redundancy,
    )


def _lan(net: Topology, which: Which) -> str:
    """A gateway's interface towards its host."""
    return net.interface("gw1", "left") if which == "near" else net.interface("gw2", "right")


def _forwards(net: Topology, setting: Scenario) -> tuple[str, ...]:
    """The proxy model: from the near gateway's ports to the receiver's."""
    here, there = net.address_of("gw1", "left"), net.receiver_address()
    return tuple(f"{_with_port(here, port)}={_with_port(there, port)}" for port in ports(setting))


def _wait_lft(pair: Pair) -> None:
    """Waits until the tunnel carries connections and the path's MTU is known, as in a gateway that is in service."""
    gateways = [tool for tool in pair.tools.values() if isinstance(tool, Gateway)]
    for gateway in gateways:
        gateway.wait_ready()
    round_trips_s = 40 * pair.setting.path.rtt_ns() / 1e9
    wait_accelerating(gateways, READY_TIMEOUT_S + round_trips_s, whole_frames=True)


def _fresh(folder: Path) -> Path:
    """An empty folder for the files of one trial's gateways."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _command(net: Topology, setting: Scenario, which: Which, scratch: Path) -> list[str]:
    """A command line with its ``$`` words filled in. ``scratch``: a folder for both gateways."""
    gateway = setting.gateway
    text = gateway.near if which == "near" else gateway.far
    assert text is not None
    known = {
        "near": _outer(net, setting, "near"), "far": _outer(net, setting, "far"), "receiver": net.receiver_address(),
        "sender": net.address_of("snd", "right"), "listen": target(net, setting), "port": PORT, "data_port": DATA_PORT,
        "ports": " ".join(map(str, ports(setting))), "rate_bps": gateway.rate, "rate_mbps": gateway.rate // 10**6,
        "scratch": scratch,
    }  # fmt: skip
    try:
        return [string.Template(word).substitute(known) for word in shlex.split(text)]
    except (KeyError, ValueError) as error:
        allowed = " ".join(f"${name}" for name in known)
        raise UsageError(f"gateway.{which} = {text!r}: {error}; known: {allowed}; $$ is a dollar sign") from None


def _wait_commands(pair: Pair, net: Topology) -> None:
    """Waits ``settle``, or less where the near gateway prints "ready"; in the proxy model, also until the port accepts
    connections. Third-party gateways do not report readiness, but a script around one may."""
    gateway = pair.setting.gateway
    pair.tools["near"].said(READY, gateway.settle / 1e9)
    for tool in pair.tools.values():
        if not tool.running():
            raise LfpError(f"{tool.name} ended at once: {shlex.join(tool.argv)}; see log/{tool.name}.stderr")
    if gateway.model == "proxy":
        pid = net.pids()["gw1"]
        otherwise = f"the near gateway does not listen at port {PORT}"
        _until(lambda: call_in(pid, _listens, PORT), READY_TIMEOUT_S, otherwise)


def _listens(port: int) -> bool:
    """Whether a process in the caller's network namespace listens at a TCP port."""
    lines = (line.split() for name in ("tcp", "tcp6") for line in _lines(Path("/proc/thread-self/net", name)))
    return any(fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port for fields in lines)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else []


def _until(true: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            raise LfpError(f"{otherwise} (waited {quantity.format_value(quantity.DURATION, int(timeout_s * 1e9))})")
        time.sleep(_LOOK_S)


def _cpu_ns(groups: set[int]) -> int:
    """CPU time so far of these process groups, and of those of their children that have ended and been waited for
    (proc(5): utime, stime, cutime, cstime)."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has just ended: its time is in that of the one that waited
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) in groups:
                ticks += sum(int(field) for field in fields[11:15])
    return ticks * 10**9 // os.sysconf("SC_CLK_TCK")
