"""The pair of gateways of a trial: lft-gateway, or any two command lines (SCENARIO.md, [gateway]).

Each is a process in its node's namespace, started when the path is up and ended before it goes. The near one is on the
sender's side. The kinds differ in two functions only: what is started, and when it is ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import socket
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from netcommon import binaries, quantity
from netcommon.errors import LfpError, UsageError
from netcommon.ledger import Ledger
from netcommon.netns import call_in
from netcommon.process import Tool
from scenarios import tcp_profile
from scenarios.model import Scenario
from scenarios.topology import Topology
from scenarios.transfer_tool import DATA_PORT, PORT

Which = Literal["near", "far"]
TUNNEL_PORT = 2004
READY_TIMEOUT_S = 15.0
_LEAST_EXPECTED_RTT_NS = 200 * 10**6  # lft-gateway's own default
_NODE_PROFILE = "modern"  # a gateway is a machine of its own: its TCP is today's whatever the hosts' is


@dataclass
class Pair:
    """Running gateways by end; none at all for ``kind = "none"``."""

    setting: Scenario
    tools: dict[Which, Tool]

    def stop(self) -> dict[str, Any]:
        """Ends them; gateway.json's content. LfpError when one had gone by itself."""
        if not self.tools:
            return {}
        gateway = self.setting.gateway
        found: dict[str, Any] = {"kind": gateway.kind, "model": gateway.model, "cpu_ns": 0}
        for tool in self.tools.values():
            if not tool.running():
                tool.finish(1.0)  # raises the tool's own words, if it has any
                raise LfpError(f"{tool.name} ended during the transfer; see log/")
            found["cpu_ns"] += _cpu_ns(tool.pid)
        for which, tool in self.tools.items():
            found[which] = tool.stop() or {"argv": tool.argv}
        return found


@contextlib.contextmanager
def running(net: Topology, setting: Scenario, scratch: Path, log: Path, ledger: Ledger) -> Iterator[Pair]:
    """Both gateways, ready to carry connections."""
    if setting.gateway.kind == "none":
        yield Pair(setting, {})
        return
    lft = setting.gateway.kind == "lft"
    pair = Pair(setting, {})
    with contextlib.ExitStack() as stack:
        for which in ("far", "near"):
            pid = net.pids()[_node(setting, which)]
            if setting.gateway.has_nodes:
                tcp_profile.apply(tcp_profile.load(_NODE_PROFILE), pid)
            argv = _lft(net, setting, which, scratch) if lft else _command(net, setting, which)
            name = f"{which}-gateway"
            said = log / f"{name}.stderr"
            tool = Tool(argv, netns_pid=pid, name=name, stderr_path=said, ledger=ledger, json_lines=lft)
            pair.tools[which] = stack.enter_context(tool)
        if lft:
            _wait_lft(pair, scratch)
        else:
            _wait_commands(pair, net)
        yield pair


def target(net: Topology, setting: Scenario) -> str:
    """Whom the sender connects to: the receiver, or the near gateway when it is a proxy."""
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


def _lft(net: Topology, setting: Scenario, which: Which, scratch: Path) -> list[str]:
    gateway = setting.gateway
    key = scratch / "psk"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_text(secrets.token_hex(32), encoding="ascii")
    near, far = (_with_port(_outer(net, setting, end), TUNNEL_PORT) for end in ("near", "far"))
    rtt_ns = max(setting.path.rtt_ns(), _LEAST_EXPECTED_RTT_NS)
    argv = [
        str(binaries.find("lft-gateway")), "run", "--parent-death", "--psk-file", str(key), "--drain", "0s",
        "--control", str(_control(scratch, which)), "--carriage", gateway.carriage, "--cipher", gateway.cipher,
        "--recovery", gateway.recovery, "--rate-mode", gateway.rate_mode, "--rate", f"{gateway.rate}bit",
        "--expected-rtt", f"{rtt_ns}ns", "--listen", near if which == "near" else far,
    ]  # fmt: skip
    argv += ["--peer", far] if which == "near" else []
    argv += [] if gateway.redundancy else ["--no-redundancy"]
    return argv + _relay(net, setting, which)


def _relay(net: Topology, setting: Scenario, which: Which) -> list[str]:
    """Options of the relay model."""
    model = setting.gateway.model
    if model == "router":
        lan = net.interface("gw1", "left") if which == "near" else net.interface("gw2", "right")
        return ["--router", "--lan", lan]
    if model == "host":
        return ["--host"]
    here, there = net.address_of("gw1", "left"), net.receiver_address()
    pairs = [f"{_with_port(here, port)}={_with_port(there, port)}" for port in (PORT, DATA_PORT)]
    return [part for pair in pairs for part in ("--forward", pair)] if which == "near" else []


def _control(scratch: Path, which: Which) -> Path:
    return scratch / f"{which}.sock"


def _wait_lft(pair: Pair, scratch: Path) -> None:
    """Until the tunnel carries connections and the path's MTU is known: a gateway in service has that behind it."""
    for tool in pair.tools.values():
        tool.wait_event("ready", READY_TIMEOUT_S)

    def ready() -> bool:
        for tool in pair.tools.values():
            if not tool.running():
                tool.finish(1.0)
        states = [_show(_control(scratch, which)) for which in pair.tools]
        return not any(state["bypassed"] or state["tunnel"]["mtu_search"] for state in states)

    round_trips_s = 40 * pair.setting.path.rtt_ns() / 1e9
    _until(ready, READY_TIMEOUT_S + round_trips_s, "the tunnel of the gateways does not come up")


def _show(control: Path) -> dict[str, Any]:
    """A gateway's state (lft_ref/CONTROL.md)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
        end.settimeout(5)
        end.connect(str(control))
        end.sendall(b'{"op":"show"}\n')
        with end.makefile("rb") as answers:
            state: dict[str, Any] = json.loads(answers.readline())
    return state


def _command(net: Topology, setting: Scenario, which: Which) -> list[str]:
    """A command line with what it wants to know filled in."""
    gateway = setting.gateway
    text = gateway.near if which == "near" else gateway.far
    assert text is not None
    known = {
        "near": _outer(net, setting, "near"), "far": _outer(net, setting, "far"), "receiver": net.receiver_address(),
        "listen": target(net, setting), "port": PORT, "data_port": DATA_PORT, "rate_bps": gateway.rate,
        "rate_mbps": gateway.rate // 10**6,
    }  # fmt: skip
    try:
        return [string.Template(word).substitute(known) for word in shlex.split(text)]
    except (KeyError, ValueError) as error:
        allowed = " ".join(f"${name}" for name in known)
        raise UsageError(f"gateway.{which} = {text!r}: {error}; known: {allowed}; $$ is a dollar sign") from None


def _wait_commands(pair: Pair, net: Topology) -> None:
    """A stranger does not say when it is ready: a while, and as a proxy until it listens."""
    gateway = pair.setting.gateway
    time.sleep(gateway.settle / 1e9)
    for tool in pair.tools.values():
        if not tool.running():
            raise LfpError(f"{tool.name} ended at once: {shlex.join(tool.argv)}; see log/{tool.name}.stderr")
    if gateway.model == "proxy":
        pid = net.pids()["gw1"]
        otherwise = f"the near gateway does not listen at port {PORT}"
        _until(lambda: call_in(pid, _listens, PORT), READY_TIMEOUT_S, otherwise)


def _listens(port: int) -> bool:
    """Whether somebody in the caller's network namespace listens at a TCP port."""
    lines = (line.split() for name in ("tcp", "tcp6") for line in _lines(Path("/proc/thread-self/net", name)))
    return any(fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port for fields in lines)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else []


def _until(true: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            raise LfpError(f"{otherwise} (waited {quantity.format_value(quantity.DURATION, int(timeout_s * 1e9))})")
        time.sleep(0.05)


def _cpu_ns(pid: int) -> int:
    """Processor time so far of a tool and of all that it started: its process group, and what of it has ended and been
    waited for (proc(5): utime, stime, cutime, cstime)."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended: whoever waited for it has its time
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == pid:
                ticks += sum(int(field) for field in fields[11:15])
    return ticks * 10**9 // os.sysconf("SC_CLK_TCK")
