"""The transfers of a trial: receivers, captures, and then each flow's sender when its time has come."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from netcommon.ledger import Ledger
from netcommon.process import START_TIMEOUT_S, Tool, ToolError
from scenarios.network.graph import host_names
from scenarios.network.place import Network, Place
from scenarios.plan import estimate, flows, profiles
from scenarios.plan.flows import One
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Trial
from scenarios.trial import analysis, beside, gateways, transfer_tool
from scenarios.trial.cpu import priced
from scenarios.trial.delay_box import Boxes
from scenarios.trial.transfer_tool import TransferCommands

FLOWS = "flows"  # folder of the files of flows other than [transfer]'s, and their key in transfer.json


@dataclass
class Ends:
    """The ``end`` objects of the tools."""

    transfer: dict[str, Any]
    box: dict[str, Any]
    capture: dict[str, Any]


def samples(folder: Path, one: One) -> Path:
    """Where a flow's sender writes its TCP_INFO samples."""
    return folder / "log" / ("samples.jsonl" if not one.number else f"samples-{one.name}.jsonl")


def samples_back(folder: Path, one: One) -> Path:
    """Where a flow's receiver writes TCP_INFO samples of the data that it sends."""
    return folder / "log" / ("receiver-samples.jsonl" if not one.number else f"receiver-samples-{one.name}.jsonl")


def latencies(folder: Path, one: One) -> Path:
    """Where a flow's sender writes the latency of each exchange."""
    return folder / "log" / ("latencies.jsonl" if not one.number else f"latencies-{one.name}.jsonl")


def folder_of(folder: Path, one: One) -> Path:
    """The folder of a flow's tables in the trial's folder."""
    return folder / FLOWS / one.name if one.number else folder


@dataclass
class _Flow:
    """A flow with its command lines, its two hosts and, once they run, its tools."""

    one: One
    commands: TransferCommands
    sender_at: Place
    receiver_at: Place
    senders: list[Tool]
    receivers: list[Tool]

    def tool_name(self, role: str) -> str:
        """``sender``, ``receiver-2``, ``sender-NAME``."""
        return f"{role}-{self.one.name}" if self.one.number else role


def run(
    net: Network,
    trial: Trial,
    folder: Path,
    ledger: Ledger,
    boxes: Boxes,
    behind: gateways.Running,
    sleeper: Tool | None = None,
) -> Ends:
    """Runs all flows and waits for their ends. Receivers and the capture start first, side by side. ``behind``: the
    running gateways; ``sleeper``: the witness, which has been started; None in virtual time."""
    setting = trial.setting
    started = partial(_started, setting, folder / "log", ledger)
    with contextlib.ExitStack() as stack:
        ready = [_flow(net, setting, one, folder) for one in flows.of(setting)]
        capture = _start_capture(net, setting, folder, ledger, stack, stalls=sleeper is not None)
        for flow in ready:
            for n, commands in enumerate(_each(flow.commands)):
                name = flow.tool_name("receiver") + ("-2" if n else "")
                flow.receivers.append(stack.enter_context(started(name, flow.receiver_at, commands.receiver)))
        more = stack.enter_context(beside.ready(net, ready[0].commands, started))
        for tool in filter(None, (*(tool for flow in ready for tool in flow.receivers), sleeper, capture)):
            tool.wait_event("ready", START_TIMEOUT_S)
        began_s = time.monotonic()
        for flow in sorted(ready, key=lambda flow: flow.one.start_ns):
            time.sleep(max(0.0, began_s + flow.one.start_ns / 1e9 - time.monotonic()))
            for n, commands in reversed(list(enumerate(_each(flow.commands)))):
                _comment(capture, f"{_spoken(flow.one, n)} begins")
                name = flow.tool_name("sender") + ("-2" if n else "")
                flow.senders.insert(0, stack.enter_context(started(name, flow.sender_at, commands.sender)))
        more.run_until_end_of(ready[0].senders[0], _timeout_s(setting))
        ends = {flow.one.name: _finish(flow, boxes, behind, _timeout_s(setting)) for flow in ready}
        ends[flows.MAIN] |= more.ended(_timeout_s(setting))
        _comment(
            capture,
            "the transfer has ended" if len(_each(ready[0].commands)) + len(ready) == 2 else "all transfers have ended",
        )
        for flow in ready:
            with contextlib.suppress(ToolError):  # the sender's end object has the receiver's figures, too
                own = flow.receivers[0].finish(2.0).get("receiver") or {}
                ends[flow.one.name]["receiver"] = own | ends[flow.one.name]["receiver"]
            if flow.commands.samples:
                flow.sender_at.fetch(flow.commands.samples, samples(folder, flow.one))
        captured = (capture.stop(30.0) or {}) if capture else {}
    main = ends.pop(flows.MAIN)
    return Ends(main | ({FLOWS: ends} if ends else {}), {}, captured)


@contextlib.contextmanager
def _started(setting: Scenario, log: Path, ledger: Ledger, name: str, place: Place, argv: list[str]) -> Iterator[Tool]:
    """A transfer tool, which has been started and ends with the context."""
    tool = Tool(
        place.command(argv),
        netns_pid=place.netns,
        name=name,
        stderr_path=log / f"{name}.stderr",
        ledger=ledger,
        stdin=place.is_remote,
    )
    with contextlib.ExitStack() as own:
        with priced(setting.cpu, "hosts"):
            own.enter_context(tool)
        yield tool


def _flow(net: Network, setting: Scenario, one: One, folder: Path) -> _Flow:
    snd, rcv = (net.place(host) for host in host_names(one.pair))
    profile = profiles.of(setting.profile)
    host = gateways.target(net, setting, one.pair)
    router = gateways.made(net).address_of(beside.FAR, "left") if one.setting.transfer.plain else None
    back = None if rcv.is_remote else samples_back(folder, one)  # rttcp there may be older, and nothing is captured
    each = None if snd.is_remote else latencies(folder, one)
    commands = transfer_tool.commands(
        one.setting,
        profile,
        host,
        snd.file(samples(folder, one)),
        one.number,
        router,
        back,
        gateways.proxy_of(net, setting, one.pair),
        each,
    )
    return _Flow(one, commands, snd, rcv, [], [])


def _each(commands: TransferCommands) -> list[TransferCommands]:
    """The transfer, and the second one if there is one."""
    return [commands, *([commands.second] if commands.second else [])]


def _spoken(one: One, n: int) -> str:
    return "the second transfer" if n else f"flow {one.name}" if one.number else "the transfer"


def _start_capture(
    net: Network, setting: Scenario, folder: Path, ledger: Ledger, stack: contextlib.ExitStack, stalls: bool
) -> Tool | None:
    argv = analysis.capture_command(net, setting, folder / "capture", stalls)
    if argv is None:
        return None
    (folder / "capture").mkdir()
    log = folder / "log" / "pktlogger.stderr"
    tool = Tool(argv, name="pktlogger", stderr_path=log, ledger=ledger, stdin=True)
    return stack.enter_context(tool)


def _comment(capture: Tool | None, text: str) -> None:
    """A comment in every capture of the trial, at the next packet."""
    if capture:
        capture.say(f"lfp: {text}")


def _finish(flow: _Flow, boxes: Boxes, behind: gateways.Running, timeout_s: float) -> dict[str, Any]:
    """The sender's ``end`` object, with that of a second transfer. If the sender fails because a box, a gateway or its
    receiver has ended, the error gives the reason of that one. If it takes too long, the error gives the limit and
    where it is set."""
    began = time.monotonic()
    try:
        first, *second = (tool.finish(timeout_s) for tool in flow.senders)
        return first | ({"second": second[0]} if second else {})
    except ToolError as error:
        if boxes.ended(1.0):
            raise ToolError(f"comet-delay ended during the transfer ({error})") from error
        if ended := behind.why_ended() or _receiver_ended(flow):
            raise ToolError(f"{ended} ({error})") from error
        if time.monotonic() - began >= timeout_s:
            limit = f"a transfer may take {estimate.spoken(timeout_s)} here, and [run] timeout sets another limit"
            raise ToolError(f"{error}; {limit}") from error
        raise


def _receiver_ended(flow: _Flow) -> str:
    """The exit of a receiver that ended without results; empty where all run or gave results."""
    silent = [tool for tool in flow.receivers if not tool.running() and not (tool.last("end") or tool.last("error"))]
    return "; ".join(str(tool.failed("ended during the transfer")) for tool in silent)


def _timeout_s(setting: Scenario) -> float:
    if setting.run.timeout is not None:
        return setting.run.timeout / 1e9
    return 60.0 + 10.0 * estimate.longest_s(setting)
