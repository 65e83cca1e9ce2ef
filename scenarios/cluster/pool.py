"""The orchestrator's side of a Dask cluster: hands trials out, gathers their folders, and survives lost workers.

Dask starts a lost worker's trials again on another worker. The trial of a number has one folder in the run, which is
renamed into place when it is complete, so nothing is doubled. A bounded number of trials is handed out at a time: a
sweep of 10,000 neither fills the scheduler's memory nor waits long for Ctrl-C.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed

from netcommon.errors import EXIT_FAILED, LfpError, MissingError, UsageError
from scenarios.cluster import arrival, sameness, task
from scenarios.plan.plan import Plan, Trial
from scenarios.run import manifest
from scenarios.trial.ended import Ended

CONNECT_S, WORKERS_S, STOP_S = 20.0, 60, 30
_AHEAD = 2  # trials handed out per thread, so that no worker waits for the next one
Work = Callable[[str, str, dict[str, str], list[str], bytes], dict[str, Any]]


class Pool:
    """The workers of a scheduler, while the context lasts. ``work``: what a worker does with a trial; benches put
    something else there."""

    def __init__(self, address: str, work: Work = task.run) -> None:
        self._address, self._work = address, work
        self._run = secrets.token_hex(6)  # prefix of task names, unique to this orchestrator
        self._threads = 1
        self._wanted: dict[str, str] = {}
        self._tools: list[str] = []
        self._programs: list[str] = []
        self._box: str | None = None
        self._machines: dict[str, Any] = {}

    def __enter__(self) -> Pool:
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # Dask's messages are reported by us, in one line
        try:
            self._client = Client(self._address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UsageError(
                f"--scheduler {self._address}: no Dask scheduler answers ({why}); start 'dask scheduler', "
                "or give the address that it prints"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self._client.close(timeout=STOP_S)

    @property
    def slots(self) -> int:
        """Threads of all workers when they were last counted."""
        return self._threads

    def ready(self, plan: Plan, content: dict[str, Any]) -> dict[str, Any]:
        """Waits for a worker, and asks each whether it has what this machine has. MissingError names one that lacks
        something."""
        virtual = "virtual" in content
        self._box = content["virtual"]["box"] if virtual else None
        self._tools, self._programs = manifest.tools(plan), list(manifest.programs(plan))
        self._wanted = sameness.here(self._programs, virtual=virtual)
        with self._said():
            try:
                self._client.wait_for_workers(1, timeout=WORKERS_S)
            except TimeoutError:
                remedy = f"start 'dask worker {self._address}' on the machines that shall measure"
                raise MissingError(f"--scheduler {self._address}: no worker within {WORKERS_S} s; {remedy}") from None
            answers = self._client.run(task.refusal, self._wanted, self._programs, virtual, on_error="return")
            for worker, why in answers.items():
                _check_answer(worker, why)
            self._count()
        return {"cluster": {"scheduler": self._address, "machines": self._machines}}

    def run_all(self, run_dir: Path, todo: list[Trial], ended: Callable[[Ended], None]) -> None:
        """See `runner.Elsewhere`. A trial whose workers are lost again and again is a failed trial."""
        waiting, out = iter(todo), dict[Future[Any], Trial]()
        done = as_completed(loop=self._client.loop)
        with self._stopped(out):
            self._hand_out(waiting, out, done)
            while out:
                with self._said():
                    future = next(done)
                    answer = self._answer(future)
                ended(self._arrived(run_dir, out.pop(future), answer))
                future.release()
                self._hand_out(waiting, out, done)

    def _hand_out(self, waiting: Iterator[Trial], out: dict[Future[Any], Trial], done: as_completed) -> None:
        with self._said():
            self._count()
        while len(out) < _AHEAD * self._threads and (one := next(waiting, None)):
            job = task.job(one, self._box, self._tools, str(Path.cwd()))
            kind = "virtual" if self._box else "real"
            future = self._client.submit(
                self._work,
                self._run,
                kind,
                self._wanted,
                self._programs,
                job,
                key=f"lfp-{self._run}-{secrets.token_hex(4)}",
                pure=False,
            )
            out[future] = one
            done.add(future)

    def _count(self) -> None:
        """Counts threads. When all workers are lost, the last number stays, because others may join."""
        self._threads = sum(self._client.nthreads().values()) or self._threads

    def _answer(self, future: Future[Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = future.result()
            return answer
        except KilledWorker as lost:
            message = f"each worker that had the trial was lost, the last one {lost.last_worker.address}; see its log"
            return {"archive": None, "record": {"error": {"message": message, "status": EXIT_FAILED}, "wall_s": 0.0}}

    def _arrived(self, run_dir: Path, trial: Trial, answer: dict[str, Any]) -> Ended:
        """Moves the trial's folder into the run. An error of status 2 or 3 is raised, because it would hit every
        trial."""
        record, error = answer["record"], answer["record"]["error"]
        if error and error["status"] != EXIT_FAILED:
            where = record.get("host", "a worker")
            raise LfpError(f"--scheduler {self._address}: {where}: {error['message']}", error["status"])
        if "machine" in record:
            self._machines.setdefault(record["host"], record["machine"])
        try:
            if error:
                status = arrival.failed(run_dir, trial, error["message"])
            else:
                status = arrival.place(run_dir, trial, answer["archive"], answer["sha256"], record["host"])
        except OSError as full:
            raise LfpError(f"{run_dir}: {full.strerror}; then go on with: lfp run --resume {run_dir}") from full
        return Ended(trial, status, record["wall_s"], record.get("virtual_s"), manifest=record)

    @contextlib.contextmanager
    def _stopped(self, out: dict[Future[Any], Trial]) -> Iterator[None]:
        """Cancels the run's tasks when it ends early."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):
                self._client.cancel(list(out), force=True)
                self._client.run(task.stop, self._run, on_error="ignore")
            raise

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """Turns Dask's own errors into one line."""
        try:
            yield
        except LfpError:
            raise
        except Exception as error:
            why = (str(error).strip().splitlines() or [""])[0] or type(error).__name__
            raise LfpError(f"--scheduler {self._address}: {why}; the trials that have ended are kept") from error


def _check_answer(worker: str, why: object) -> None:
    if isinstance(why, ModuleNotFoundError):
        raise MissingError(f"worker {worker}: {why}; install this lfp there, and start 'dask worker' from it")
    if isinstance(why, BaseException):
        raise LfpError(f"worker {worker}: {why}")
    if why:
        raise MissingError(f"worker {worker}: {why}; install the same there, and start 'dask worker' again")
