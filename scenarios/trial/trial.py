"""One trial: profile, box, receiver, capture and sender start in this order; then the trial's files are written.

Everything is started anew for every trial, so no trial depends on another. The folder is written under a temporary name
and renamed when it is complete.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rttcp
from netcommon import netns
from netcommon.errors import EXIT_FAILED, LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool, ToolError
from scenarios.network import sysctls
from scenarios.network.tcp_memory import TcpMemory
from scenarios.network.topology import Topology
from scenarios.plan import estimate, lateness, params, profiles
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Trial
from scenarios.trial import analysis, attempts, beside, clock, delay_box, gateways, transfer_tool, verdicts, witness
from scenarios.trial.delay_box import BackEnd
from scenarios.trial.files import write_json
from scenarios.trial.validity import CpuTimes, Observation, reasons
from scenarios.trial.verdicts import Reason

if TYPE_CHECKING:
    from comet_delay.backend import Box

READY_TIMEOUT_S = 10.0
RECORD_TIMEOUT_S = 120.0  # for writing the rest of a record when its box has ended


@dataclass
class Ends:
    """The ``end`` objects of the tools."""

    transfer: dict[str, Any]
    box: dict[str, Any]
    capture: dict[str, Any]


def folder_of(run_dir: Path, number: int) -> Path:
    """The folder of a complete trial."""
    return run_dir / "trials" / f"{number:04d}"


def run_trial(
    net: Topology, trial: Trial, run_dir: Path, scratch: Path, ledger: Ledger, *,
    back_end: BackEnd = "comet", digested: bool = True, watched: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Measures, and writes the trial's folder; returns the content of status.json. A failed measurement is a result
    too. An error of status 2 or 3 (wrong input, something missing) is raised, because it would hit every trial.
    ``digested`` False: the caller calls `digest`. ``watched``: a witness of this machine's timers runs beside the
    transfer; virtual time has no use for one."""
    final = folder_of(run_dir, trial.number)
    with _temporary(final, ledger) as folder:
        status: dict[str, Any] = {"state": "done", "error": None, "started_realtime_ns": time.time_ns()}
        status |= {"attempt": attempts.next_attempt(final), "witness": None}
        status["clock"] = clock.pair()  # the clocks where the trial runs: in virtual time the guest's
        write_json(folder / "params.json", params.of(trial))
        try:
            found, status["witness"] = _measure(net, trial, folder, scratch, ledger, back_end, watched)
            if digested:
                digest(trial, folder)
        except LfpError as error:
            if error.status != EXIT_FAILED:
                raise
            status |= {"state": "failed", "error": str(error)}
            found = [verdicts.FAILED]
        status["ended_realtime_ns"] = time.time_ns()
        status["verdict"] = verdicts.of_trial(found)
        write_json(folder / "status.json", status)
    return status


def digest(trial: Trial, folder: Path) -> None:
    """Turns samples and captures of a measured trial into tables. LfpError when the analysis fails."""
    samples = _samples(folder)
    if samples.exists():
        if samples.stat().st_size:
            import pyarrow.json as arrow_json  # not on top: measuring does not need it, and a guest loads it slowly
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
        attempts.supersede(final)
        folder.rename(final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


def _measure(
    net: Topology, trial: Trial, folder: Path, scratch: Path, ledger: Ledger, back_end: BackEnd, watched: bool
) -> tuple[list[Reason], dict[str, Any] | None]:
    """Runs the tools and writes their files. Returns the reasons why the trial is not valid, and the witness's
    figures."""
    profile = profiles.load(trial.setting.profile.name)
    back = net.apply(profile, trial.setting.transfer.window or profile.window_bytes)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_no_connections_left(net))
        wanted = analysis.BOX in trial.setting.capture.points
        record = stack.enter_context(delay_box.record_file(ledger)) if wanted else None
        box = stack.enter_context(path_up(net, trial, scratch, folder / "log", ledger, back_end, record))
        reader = stack.enter_context(_reader(record, folder, ledger)) if record else None
        with gateways.running(net, trial.setting, scratch, folder / "log", ledger) as pair:
            sleeper = stack.enter_context(witness.sleeper(ledger, folder / "log")) if watched else None
            before = _observe(net)
            ends = _transfer(net, trial, folder, ledger, box, sleeper)
            after = _observe(net)
            slept = witness.figures(sleeper.stop()) if sleeper else None
            found = pair.stop()
        ends.box = box.stop()
        if reader:
            reader.finish(RECORD_TIMEOUT_S)
    write_json(folder / "transfer.json", ends.transfer)
    write_json(folder / "delay.json", ends.box)
    if found:
        write_json(folder / "gateway.json", found)
    why = reasons(before, after, ends.box, ends.capture, ends.transfer, found, slept)
    not_taken = sysctls.refused(profile, back)
    why += [Reason("profile", f"profile {profile.name}: {text}", "TCP settings refused") for text in not_taken]
    if slept is None:
        return why, None
    limit_ns = lateness.limit_ns(trial.setting)
    return why, slept | {"steal_share": before.cpu.steal_share(after.cpu), "limit_ns": limit_ns}


@contextlib.contextmanager
def _no_connections_left(net: Topology) -> Iterator[None]:
    """Ends abandoned connections afterwards, so that the next trial has the machine's TCP memory to itself."""
    try:
        yield
    finally:
        for pid in (net.sender, net.receiver):
            netns.end_abandoned_connections(pid)


@contextlib.contextmanager
def _reader(record: Path, folder: Path, ledger: Ledger) -> Iterator[Tool]:
    """Reads the box's record into the trial's folder while the box writes it."""
    with delay_box.recorder(record, folder / analysis.BOX, folder / "log" / "record.stderr", ledger) as tool:
        tool.wait_event("ready", READY_TIMEOUT_S)
        yield tool


@contextlib.contextmanager
def path_up(
    net: Topology, trial: Trial, scratch: Path, log: Path, ledger: Ledger, back_end: BackEnd = "comet",
    record: Path | None = None,
) -> Iterator[Box]:  # fmt: skip
    """Runs the delay box between the routers, with addresses and routes. ``record``: see `delay_box.box`."""
    box_tool = delay_box.box(
        net.wan_ports(), scratch / "box.sock", trial.setting.path, seed=trial.seed, log=log / "comet-delay.stderr",
        ledger=ledger, back_end=back_end, record=record, lateness_limit_ns=lateness.limit_ns(trial.setting),
    )  # fmt: skip
    with box_tool as box:
        net.attach_wan(profiles.load(trial.setting.profile.name))
        yield box


def _observe(net: Topology) -> Observation:
    return Observation(net.counters(), net.offloads(), CpuTimes.now(), TcpMemory.now((net.sender, net.receiver)))


def _transfer(net: Topology, trial: Trial, folder: Path, ledger: Ledger, box: Box, sleeper: Tool | None) -> Ends:
    """Runs the transfer and what is beside it. What it needs starts side by side; ``sleeper``: the witness, which has
    been started."""
    setting = trial.setting
    profile = profiles.load(setting.profile.name)
    host = gateways.target(net, setting)
    commands = transfer_tool.commands(setting, profile, host, _samples(folder), net.address_of(beside.FAR, "left"))
    log = folder / "log"

    def place(name: str, pid: int) -> dict[str, Any]:
        return {"netns_pid": pid, "name": name, "stderr_path": log / f"{name}.stderr", "ledger": ledger}

    with contextlib.ExitStack() as stack:
        capture = _start_capture(net, setting, folder, ledger, stack)
        receiver = stack.enter_context(Tool(commands.receiver, **place("receiver", net.receiver)))
        flows = stack.enter_context(beside.ready(net, commands, place))
        if commands.second:
            stack.enter_context(rttcp.listening(commands.second.receiver, **place("receiver-2", net.receiver)))
        for tool in filter(None, (sleeper, receiver, capture)):
            tool.wait_event("ready", READY_TIMEOUT_S)
        second: Tool | None = None
        if commands.second:
            _comment(capture, "the second transfer begins")
            second = stack.enter_context(Tool(commands.second.sender, **place("sender-2", net.sender)))
        _comment(capture, "the transfer begins")
        sender = stack.enter_context(Tool(commands.sender, **place("sender", net.sender)))
        flows.run_until_end_of(sender, _timeout_s(setting))
        end = _finish(sender, box, _timeout_s(setting)) | flows.ended(_timeout_s(setting))
        if second:
            end["second"] = _finish(second, box, _timeout_s(setting))
        _comment(capture, "the transfer has ended" if not second else "both transfers have ended")
        with contextlib.suppress(ToolError):  # the sender's end object has the receiver's figures too
            receiver.finish(2.0)
        captured = (capture.stop(30.0) or {}) if capture else {}
    return Ends(end, {}, captured)


def _start_capture(
    net: Topology, setting: Scenario, folder: Path, ledger: Ledger, stack: contextlib.ExitStack
) -> Tool | None:
    argv = analysis.capture_command(net, setting, folder / "capture")
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


def _finish(sender: Tool, box: Box, timeout_s: float) -> dict[str, Any]:
    """The sender's ``end`` object. If the sender fails because the box has ended, the error gives the box's reason."""
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
