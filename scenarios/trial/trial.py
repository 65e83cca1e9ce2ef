"""One trial: profile, box, receiver, capture and sender start in this order; then the trial's files are written.

Everything is restarted for every trial, so no trial depends on another. The folder is written under a temporary name
and renamed when it is complete.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcommon import netns, run_format
from netcommon.errors import EXIT_FAILED, LfpError
from netcommon.ledger import Ledger
from netcommon.process import START_TIMEOUT_S, Tool
from scenarios.network import sysctls
from scenarios.network.place import Network
from scenarios.network.tcp_memory import TcpMemory
from scenarios.plan import flows, lateness, params, profiles
from scenarios.plan.plan import Trial
from scenarios.trial import (
    analysis,
    asked,
    attempts,
    bottleneck,
    captured,
    clock,
    connections,
    delay_box,
    dwell,
    events,
    gateways,
    handshakes,
    latencies,
    path_changes,
    programs,
    recovery,
    senders,
    sharing,
    timed,
    transfers,
    verdicts,
    witness,
)
from scenarios.trial.delay_box import BackEnd, Boxes
from scenarios.trial.files import read_json, write_json
from scenarios.trial.validity import CpuTimes, Observation, reasons
from scenarios.trial.verdicts import Reason

_LONGEST_LINE = 1 << 16  # longest line of samples
RECORD_TIMEOUT_S = 120.0  # time to write the rest of a record when its box has ended


def folder_of(run_dir: Path, number: int) -> Path:
    """The folder of a complete trial."""
    return run_dir / "trials" / f"{number:04d}"


def run_trial(
    net: Network,
    trial: Trial,
    run_dir: Path,
    scratch: Path,
    ledger: Ledger,
    *,
    back_end: BackEnd = "comet",
    digested: bool = True,
    watched: bool = True,
) -> dict[str, Any]:
    """Measures, and writes the trial's folder; returns the content of status.json. A failed measurement is a result
    too. An error of status 2 or 3 (wrong input, something missing) is raised, because it would hit every trial.
    ``digested`` False: the caller calls `digest`. ``watched``: a witness of this machine's timers runs during the
    transfer, and its connections can be followed; virtual time has no use for them."""
    final = folder_of(run_dir, trial.number)
    with attempts.whole(final, ledger) as folder:
        (folder / "log").mkdir(parents=True)
        status: dict[str, Any] = {"v": run_format.VERSION, "state": "done", "error": None}
        status |= {"started_realtime_ns": time.time_ns(), "attempt": attempts.next_attempt(final)}
        status |= {"witness": None, "asked": []}
        status["clock"] = clock.pair()  # in virtual time these are the guest's clocks
        write_json(folder / "params.json", params.of(trial))
        before = programs.hashes(trial.setting) if digested else None  # a guest's host reads them
        try:
            measured, status["witness"], status["asked"] = _measure(
                net, trial, folder, scratch, ledger, back_end, watched
            )
            if digested:
                digest(trial, folder, ledger)
        except LfpError as error:
            if error.status != EXIT_FAILED:
                raise
            status |= {"state": "failed", "error": str(error)}
            measured = [verdicts.FAILED]
            if digested:
                digest_failed(trial, folder, ledger)
        status["ended_realtime_ns"] = time.time_ns()
        if before is not None:
            status["programs"] = programs.after(before, trial.setting)
        status["verdict"] = verdicts.of_trial(measured)
        if digested and status["state"] == "done":
            compare_syns(trial, folder, status)
        write_json(folder / "status.json", status)
    return status


def digest(trial: Trial, folder: Path, ledger: Ledger) -> None:
    """Turns samples and captures of a measured trial into tables. LfpError when the analysis fails."""
    for one in flows.of(trial.setting):
        _digest_samples(transfers.samples(folder, one), transfers.folder_of(folder, one) / "tcp_info.parquet")
        _digest_samples(transfers.latencies(folder, one), transfers.folder_of(folder, one) / latencies.TABLE)
        back = transfers.folder_of(folder / captured.REVERSE, one) / "tcp_info.parquet"
        _digest_samples(transfers.samples_back(folder, one), back)
    try:
        with senders.analysis_options(trial.setting, folder) as known:
            analysis.analyse(trial.setting, folder, ledger, known)
    finally:  # these use the captures' tables where there are any, otherwise the tools' counts
        sharing.write(folder)
        bottleneck.write(folder)
        dwell.write(folder)
        recovery.write(folder)


def compare_syns(trial: Trial, folder: Path, status: dict[str, Any]) -> None:
    """Compares the SYNs in the box's record with the requested settings, and adds the result to a digested trial's
    status."""
    recorded = handshakes.of_record(folder / f"{analysis.BOX}.parquet")
    seen = asked.seen(trial.setting, read_json(folder / "transfer.json"), recorded)
    known = verdicts.reasons(status["verdict"])
    verdict = verdicts.of_trial([*known, *asked.further(seen, known)])
    status |= {"asked": status["asked"] + asked.rows(seen), "verdict": verdict}


def digest_failed(trial: Trial, folder: Path, ledger: Ledger) -> None:
    """Like `digest`, for a failed trial, as far as its samples and captures go. Files that cannot be read stay, and
    their tables are left out."""
    with contextlib.suppress(LfpError, OSError, ValueError, LookupError):  # pyarrow's errors are ValueErrors
        digest(trial, folder, ledger)


def _digest_samples(samples: Path, target: Path) -> None:
    if not samples.exists():
        return
    _cut_last_line(samples)
    if samples.stat().st_size:
        import pyarrow.json as arrow_json  # not on top: measuring does not need it, and a guest loads it slowly
        import pyarrow.parquet as parquet

        target.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(arrow_json.read_json(samples), target)
    samples.unlink()


def _cut_last_line(samples: Path) -> None:
    """Removes an incomplete last line, which a killed sender may leave."""
    with samples.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _LONGEST_LINE, 0))
        tail = file.read()
        file.truncate(size - len(tail) + tail.rfind(b"\n") + 1)


def _measure(
    net: Network, trial: Trial, folder: Path, scratch: Path, ledger: Ledger, back_end: BackEnd, watched: bool
) -> tuple[list[Reason], dict[str, Any] | None, list[dict[str, Any]]]:
    """Runs the tools and writes their files. Returns the reasons why the trial is not valid, the witness's figures, and
    the comparison of requested settings with those that ran."""
    profile = profiles.of(trial.setting.profile)
    back = net.apply(profile, trial.setting.transfer.window or profile.window_bytes)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_no_connections_left(net))
        wanted = analysis.BOX in trial.setting.capture.points
        record = stack.enter_context(delay_box.record_file(ledger)) if wanted else None
        boxes = stack.enter_context(path_up(net, trial, scratch, folder / "log", ledger, back_end, record))
        reader = stack.enter_context(_reader(record, folder, ledger)) if record else None
        stack.enter_context(_kept_when_it_fails(boxes, reader, trial, folder))
        with gateways.running(net, trial.setting, scratch, folder / "log", ledger) as running:
            sleeper = stack.enter_context(witness.sleeper(ledger, folder / "log")) if watched else None
            before = _observe(net)
            followed = connections.followed(net, trial.setting, folder, wanted=watched)
            changes = timed.applied(boxes.began_ns(), path_changes.acts(net, boxes, trial.setting.path.changes()))
            happens = timed.applied(boxes.began_ns(), events.acts(net, running, trial.setting.event, stack))
            with changes, happens, followed:
                ends = transfers.run(net, trial, folder, ledger, boxes, running, sleeper)
            write_json(folder / "transfer.json", ends.transfer)  # now, so that it stays if a gateway has died
            after = _observe(net)
            slept = witness.figures(sleeper.stop()) if sleeper else None
            found = running.stop()
        ends.box = boxes.stop()
        if reader:
            reader.finish(RECORD_TIMEOUT_S)
    _write_flows(trial, folder)
    write_json(folder / "delay.json", ends.box)
    if found:
        write_json(folder / "gateway.json", found)
    priced = trial.setting.cpu.has_price
    shaken = bool(trial.setting.event)
    down = {int(row["pair"] or 1) for row in params.rows(trial) if recovery.has_outages(row)}
    why = reasons(before, after, ends.box, ends.capture, ends.transfer, found, slept, priced, shaken, down)
    not_taken = sysctls.refused(profile, back)
    why += [Reason("profile", f"profile {profile.name}: {text}", "TCP settings refused") for text in not_taken]
    ran = asked.facts(trial.setting, ends.transfer)
    why += asked.reasons(ran)
    if slept is None:
        return why, None, asked.rows(ran)
    limit_ns = lateness.limit_ns(trial.setting)
    return why, slept | {"steal_share": before.cpu.steal_share(after.cpu), "limit_ns": limit_ns}, asked.rows(ran)


def _write_flows(trial: Trial, folder: Path) -> None:
    """The flows other than [transfer]'s, each with the parameters in which it differs."""
    if trial.setting.flow:
        others = flows.of(trial.setting)[1:]
        write_json(folder / "flows.json", [{"flow": one.number} | params.of_flow(trial, one) for one in others])


@contextlib.contextmanager
def _kept_when_it_fails(boxes: Boxes, reader: Tool | None, trial: Trial, folder: Path) -> Iterator[None]:
    """If the measurement fails inside the block, the trial keeps its flows, and the box's account and record so far."""
    try:
        yield
    except LfpError:
        _write_flows(trial, folder)
        with contextlib.suppress(LfpError):
            write_json(folder / "delay.json", boxes.stop())
            if reader:
                reader.finish(RECORD_TIMEOUT_S)
        raise


@contextlib.contextmanager
def _no_connections_left(net: Network) -> Iterator[None]:
    """Ends abandoned connections afterwards, so that the next trial has the machine's TCP memory to itself."""
    try:
        yield
    finally:
        for pid in net.host_pids():
            netns.end_abandoned_connections(pid)


@contextlib.contextmanager
def _reader(record: Path, folder: Path, ledger: Ledger) -> Iterator[Tool]:
    """Reads the box's record into the trial's folder while the box writes it."""
    with delay_box.recorder(record, folder / analysis.BOX, folder / "log" / "record.stderr", ledger) as tool:
        tool.wait_event("ready", START_TIMEOUT_S)
        yield tool


@contextlib.contextmanager
def path_up(
    net: Network,
    trial: Trial,
    scratch: Path,
    log: Path,
    ledger: Ledger,
    back_end: BackEnd = "comet",
    record: Path | None = None,
) -> Iterator[Boxes]:
    """Runs the delay boxes between the routers, with addresses and routes. ``record``: the first box's, see
    `delay_box.box`."""
    limit_ns = lateness.limit_ns(trial.setting)
    with contextlib.ExitStack() as stack:
        boxes = {}
        for hop in net.hops:
            name = "box" if hop == 1 else f"box{hop}"
            own = flows.own_path(trial.setting, net.pair_of(hop))
            made = delay_box.box(
                net.wan_ports(hop),
                scratch / f"{name}.sock",
                own or trial.setting.path,
                seed=trial.seed + hop - 1,
                log=log / ("comet-delay.stderr" if hop == 1 else f"comet-delay-{hop}.stderr"),
                ledger=ledger,
                back_end=back_end,
                record=record if hop == 1 else None,
                lateness_limit_ns=limit_ns,
            )
            boxes[hop] = stack.enter_context(made)
        net.attach_wan(profiles.of(trial.setting.profile))
        yield Boxes(boxes, {hop: pair for hop in boxes if (pair := net.pair_of(hop))})


def _observe(net: Network) -> Observation:
    return Observation(net.counters(), net.offloads(), CpuTimes.now(), TcpMemory.now(net.host_pids()))
