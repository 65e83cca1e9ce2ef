"""The process on a worker's machine that runs trials, one after the other: ``python -m scenarios.cluster.child KIND``.

It reads the path of a job's folder from stdin, runs the job's trial in its main thread, writes record.json into that
folder, and answers with a line on stdout. It is a process of its own because a worker runs tasks in threads, where a
trial could neither handle signals nor be ended. It stays for the next trial because loading its modules takes a second.
``KIND`` is real or virtual: an ordinary user's real time needs namespaces, which a process enters when it starts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import pickle
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from netcommon import unprivileged
from netcommon.errors import LfpError
from netcommon.ledger import state_directory
from scenarios.cluster import carried
from scenarios.network.topology import Topology
from scenarios.plan import profiles
from scenarios.plan.plan import Trial
from scenarios.run import checks, machine, runner
from scenarios.run.interrupt import orderly
from scenarios.trial import trial
from scenarios.trial.ended import Ended
from scenarios.trial.files import write_json

JOB, RECORD = "job.pickle", "record.json"


def measure(folder: Path) -> dict[str, Any]:
    """Runs the trial of the job in ``folder``, and leaves the trial's folder in ``folder``/trials. Returns the record,
    which the orchestrator gets in addition to the files. It contains the message and status of an error that ended the
    trial."""
    job = pickle.loads((folder / JOB).read_bytes())
    with contextlib.suppress(OSError):
        os.chdir(job["folder"])  # names of files in a scenario are relative to it
    (folder / "trials").mkdir()
    record = {"host": platform.node(), "machine": machine.describe(), "error": None, "virtual_s": None}
    began_s = time.monotonic()
    try:
        checks.require(job["tools"], virtual=job["box"] is not None)
        setting = carried.placed(job["trial"].setting, job["files"], folder)
        one = dataclasses.replace(job["trial"], setting=setting)
        record |= _virtual(one, folder, job["box"]) if job["box"] else _real(one, folder)
    except LfpError as error:
        record["error"] = {"message": str(error), "status": error.status}
    return record | {"wall_s": time.monotonic() - began_s}


def _virtual(trial: Trial, folder: Path, box: str) -> dict[str, Any]:
    from scenarios.virtual import engine

    ended: list[Ended] = []
    with runner.owned() as (ledger, _):
        engine.run_all(folder, [trial], ledger, 1, box, ended.append, alone=False)
    return {"virtual_s": ended[0].virtual_s}


def _real(one: Trial, folder: Path) -> dict[str, Any]:
    with runner.owned() as (ledger, scratch), _alone(), Topology.of(one.setting, ledger) as net:
        profile = profiles.of(one.setting.profile)
        state = {"offloads": net.offloads(), "sysctls": {profile.name: net.apply(profile)}}
        trial.run_trial(net, one, folder, scratch, ledger)
    return state


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Waits until no other trial of a cluster runs in real time on this machine: they would disturb each other, however
    many workers and threads the user started."""
    opened = os.open(state_directory(), os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _serve(jobs: TextIO, answers: TextIO) -> None:
    for line in jobs:
        folder = Path(line.removesuffix("\n"))
        write_json(folder / RECORD, measure(folder))
        answers.write("done\n")
        answers.flush()


def main() -> None:
    """Serves until stdin ends. Output of the trial's code goes to stderr."""
    if sys.argv[1] == "real":
        try:
            checks.require([])
        except LfpError:
            pass  # each trial reports it again as its error
        except unprivileged.Outside:
            unprivileged.enter(unprivileged.own_command_line())
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, orderly():
        os.dup2(2, 1)
        _serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
