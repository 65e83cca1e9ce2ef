"""One trial: profile, box, receiver, capture, sender, in that order; then the files that say what happened.

Everything is started fresh for every trial, so trials do not know of each other. The folder is written under a
temporary name and renamed when complete.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon import netns
from netcommon.errors import EXIT_FAILED, LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool, ToolError
from scenarios import analysis, delay_box, estimate, gateways, params, tcp_profile, transfer_tool
from scenarios.delay_box import BackEnd, DelayBox
from scenarios.files import write_json
from scenarios.model import Scenario
from scenarios.plan import Trial
from scenarios.tcp_memory import TcpMemory
from scenarios.topology import Topology
from scenarios.validity import CpuTimes, Observation, reasons

READY_TIMEOUT_S = 10.0
RECORD_TIMEOUT_S = 120.0  # to write what is left of a record when its box has ended


@dataclass
class Ends:
    """The ``end`` objects of the tools."""

    transfer: dict[str, Any]
    box: dict[str, Any]
    capture: dict[str, Any]


def folder_of(run_dir: Path, number: int) -> Path:
    """Where a complete trial is."""
    return run_dir / "trials" / f"{number:04d}"


def run_trial(
    net: Topology, trial: Trial, run_dir: Path, scratch: Path, ledger: Ledger, *,
    back_end: BackEnd = "comet", digested: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Makes the measurement and its folder; status.json's content. A failed measurement is a result too; an error of
    status 2 or 3 (wrong input, something missing) is raised, for it would hit every trial. ``digested`` False leaves
    `digest` to the caller."""
    final = folder_of(run_dir, trial.number)
    with _temporary(final, ledger) as folder:
        status: dict[str, Any] = {"state": "done", "error": None, "started_realtime_ns": time.time_ns()}
        write_json(folder / "params.json", params.of(trial))
        try:
            found = _measure(net, trial, folder, scratch, ledger, back_end)
            if digested:
                digest(trial, folder)
        except LfpError as error:
            if error.status != EXIT_FAILED:
                raise
            status |= {"state": "failed", "error": str(error)}
            found = ["the measurement failed"]
        status["ended_realtime_ns"] = time.time_ns()
        status["verdict"] = {"valid": not found, "reasons": found}
        write_json(folder / "status.json", status)
    return status


def digest(trial: Trial, folder: Path) -> None:
    """Samples and captures of a measured trial to tables. LfpError when the analysis fails."""
    samples = _samples(folder)
    if samples.exists():
        if samples.stat().st_size:
            import pyarrow.json as arrow_json  # not on top: measuring does not need it, and in a guest loading is slow
            import pyarrow.parquet as parquet

            parquet.write_table(arrow_json.read_json(samples), folder / "tcp_info.parquet")
        samples.unlink()
    analysis.analyse(trial.setting, folder)


def _samples(folder: Path) -> Path:
    return folder / "log" / "samples.jsonl"


@contextlib.contextmanager
def _temporary(final: Path, ledger: Ledger) -> Iterator[Path]:
    folder = final.with_name(f".{final.name}.tmp")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "log").mkdir(parents=True)
    ledger.add_directory(folder)
    try:
        yield folder
        shutil.rmtree(final, ignore_errors=True)  # a failed one that is done again
        folder.rename(final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


def _measure(net: Topology, trial: Trial, folder: Path, scratch: Path, ledger: Ledger, back_end: BackEnd) -> list[str]:
    """Runs the tools, writes their files and returns why the trial is not valid."""
    profile = tcp_profile.load(trial.setting.profile.name)
    net.apply(profile)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_no_connections_left(net))
        wanted = analysis.BOX in trial.setting.capture.points
        record = stack.enter_context(delay_box.record_file(ledger)) if wanted else None
        box = stack.enter_context(path_up(net, trial, scratch, folder / "log", ledger, back_end, record))
        reader = stack.enter_context(_reader(record, folder, ledger)) if record else None
        with gateways.running(net, trial.setting, scratch, folder / "log", ledger) as pair:
            before = _observe(net)
            ends = _transfer(net, trial, folder, ledger, box)
            after = _observe(net)
            found = pair.stop()
        ends.box = box.stop() or {}
        if reader:
            reader.finish(RECORD_TIMEOUT_S)
    write_json(folder / "transfer.json", ends.transfer)
    write_json(folder / "delay.json", ends.box)
    if found:
        write_json(folder / "gateway.json", found)
    return reasons(before, after, ends.box, ends.capture, ends.transfer, found)


@contextlib.contextmanager
def _no_connections_left(net: Topology) -> Iterator[None]:
    """The next trial has the machine's TCP memory to itself."""
    try:
        yield
    finally:
        for pid in (net.sender, net.receiver):
            netns.end_abandoned_connections(pid)


@contextlib.contextmanager
def _reader(record: Path, folder: Path, ledger: Ledger) -> Iterator[Tool]:
    """Reads the box's record into the trial's folder while it is being written."""
    with delay_box.recorder(record, folder / analysis.BOX, folder / "log" / "record.stderr", ledger) as tool:
        tool.wait_event("ready", READY_TIMEOUT_S)
        yield tool


@contextlib.contextmanager
def path_up(
    net: Topology, trial: Trial, scratch: Path, log: Path, ledger: Ledger, back_end: BackEnd = "comet",
    record: Path | None = None,
) -> Iterator[DelayBox]:  # fmt: skip
    """The delay box running between the routers, with addresses and routes. ``record``: as `delay_box.box` says."""
    box_tool = delay_box.box(
        net.wan_ports(), scratch / "box.sock", trial.setting.path, seed=trial.seed, log=log / "comet-delay.stderr",
        ledger=ledger, back_end=back_end, record=record,
    )  # fmt: skip
    with box_tool as box:
        box.wait_event("ready", delay_box.READY_TIMEOUT_S)
        net.attach_wan(tcp_profile.load(trial.setting.profile.name))
        yield box


def _observe(net: Topology) -> Observation:
    return Observation(net.counters(), net.offloads(), CpuTimes.now(), TcpMemory.now((net.sender, net.receiver)))


def _transfer(net: Topology, trial: Trial, folder: Path, ledger: Ledger, box: DelayBox) -> Ends:
    setting = trial.setting
    profile = tcp_profile.load(setting.profile.name)
    host = gateways.target(net, setting)
    commands = transfer_tool.commands(setting, profile, host, _samples(folder))
    log = folder / "log"

    def tool(argv: list[str], name: str, pid: int) -> Tool:
        return Tool(argv, netns_pid=pid, name=name, stderr_path=log / f"{name}.stderr", ledger=ledger)

    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(tool(commands.receiver, "receiver", net.receiver))
        receiver.wait_event("ready", READY_TIMEOUT_S)
        second: Tool | None = None
        if commands.second:
            other = stack.enter_context(tool(commands.second.receiver, "receiver-2", net.receiver))
            other.wait_event("ready", READY_TIMEOUT_S)
        capture = _start_capture(net, setting, folder, ledger, stack)
        if commands.second:
            second = stack.enter_context(tool(commands.second.sender, "sender-2", net.sender))
        sender = stack.enter_context(tool(commands.sender, "sender", net.sender))
        end = _finish(sender, box, _timeout_s(setting))
        if second:
            end["second"] = _finish(second, box, _timeout_s(setting))
        with contextlib.suppress(ToolError):  # its figures are in the sender's end object too
            receiver.finish(2.0)
        captured = (capture.stop(30.0) or {}) if capture else {}
    return Ends(end, {}, captured)


def _start_capture(
    net: Topology, setting: Scenario, folder: Path, ledger: Ledger, stack: contextlib.ExitStack
) -> Tool | None:
    argv = analysis.capture_command(net, setting.capture.points, setting.capture.snap, folder / "capture")
    if argv is None:
        return None
    (folder / "capture").mkdir()
    tool = Tool(argv, name="pktlogger", stderr_path=folder / "log" / "pktlogger.stderr", ledger=ledger)
    capture = stack.enter_context(tool)
    capture.wait_event("ready", READY_TIMEOUT_S)
    return capture


def _finish(sender: Tool, box: DelayBox, timeout_s: float) -> dict[str, Any]:
    """The sender's end; when it fails because the box has gone, the box's reason is the one to tell."""
    try:
        return sender.finish(timeout_s)
    except ToolError as error:
        if not box.running():
            box.finish(1.0)
            raise ToolError(f"comet-delay ended during the transfer ({error})") from error
        raise


def _timeout_s(setting: Scenario) -> float:
    if setting.run.timeout is not None:
        return setting.run.timeout / 1e9
    return 60.0 + 10.0 * estimate.trial_s(setting)
