"""A stand-in for the network: trials that write their files by contract without measuring anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from netcommon import binaries
from netcommon.ledger import Ledger
from scenarios.plan import params
from scenarios.plan.plan import Trial
from scenarios.run import runner
from scenarios.trial import attempts, trial, verdicts
from scenarios.trial.files import write_json

TINY = """\
[scenario]
name = "tiny"
paper = "lfp-1995/fig3"
[path]
delay = "4.2ms"
[transfer]
bytes = "1MB"
[run]
seed = 7
[sweep]
"transfer.window" = ["8KB", "16KB", "32KB", "64KB"]
"""


LATE = verdicts.Reason("machine_late", "delay box: p99 lateness 42 ms (limit 1 ms): …", "machine late 38 ms (p99)")


class FakeNet:
    """The interface of a topology that the runner uses."""

    def __init__(self, *_: object) -> None: ...

    @classmethod
    def of(cls, *_: object) -> FakeNet:
        return cls()

    def __enter__(self) -> FakeNet:
        return self

    def __exit__(self, *_: object) -> None: ...

    def offloads(self) -> dict[str, dict[str, bool]]:
        return {"snd:snd-r1": {"rx-gro": False}}

    def apply(self, profile: Any) -> dict[str, str]:
        return dict(profile.sysctls)


class FakeTrials:
    """Replaces trial.run_trial. ``fail``: numbers of trials whose measurement fails; ``late``: how many attempts of a
    trial, by number, are not valid; ``stop_at``: trials before Ctrl-C comes; ``speed``: factor of all throughputs;
    ``rate``: the throughput of a trial."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.ran: list[int] = []
        self.fail: set[int] = set()
        self.late: dict[int, int] = {}
        self.stop_at: int | None = None
        self.speed = 1.0
        self.rate: Callable[[Trial], float] = lambda one: 1e6 * (one.number + 1)
        tool = tmp_path / "tool"
        tool.write_text("x")
        monkeypatch.setattr(binaries, "find", lambda name: tool)
        monkeypatch.setattr(runner, "Topology", FakeNet)
        monkeypatch.setattr(runner, "state_directory", lambda: tmp_path / "state")
        monkeypatch.setattr(Ledger, "open", classmethod(lambda cls: _ledger(tmp_path / "state")))
        monkeypatch.setattr(trial, "run_trial", self.run)

    def run(self, net: object, one: Trial, run_dir: Path, scratch: Path, ledger: Ledger) -> dict[str, Any]:
        if self.stop_at is not None and len(self.ran) == self.stop_at:
            raise KeyboardInterrupt
        self.ran.append(one.number)
        folder = trial.folder_of(run_dir, one.number)
        attempt = attempts.next_attempt(folder)
        attempts.supersede(folder)
        folder.mkdir()
        write_json(folder / "params.json", params.of(one))
        failed = one.number in self.fail
        found = [verdicts.FAILED] if failed else [LATE] if attempt <= self.late.get(one.number, 0) else []
        status = {
            "state": "failed" if failed else "done",
            "error": "rttcp: no route" if failed else None,
            "started_realtime_ns": time.time_ns(),
            "ended_realtime_ns": time.time_ns(),
            "attempt": attempt,
            "witness": None,
            "verdict": verdicts.of_trial(found),
        }
        write_json(folder / "status.json", status)
        if not failed:
            write_json(folder / "transfer.json", transfer(one, self.speed * self.rate(one)))
            samples = pa.table({"t_ns": [1, 2, 3, 4], "rtt_us": [0, 9000, 8400, 12000]})
            parquet.write_table(samples, folder / "tcp_info.parquet")
        return status


def transfer(one: Trial, bps: float) -> dict[str, Any]:
    """rttcp's end object as far as results read it."""
    side = {"cpu_user_ns": 5, "cpu_system_ns": 6, "window_granted_bytes": one.setting.transfer.window}
    return {
        "sender": side | {"tcp_info": {"total_rto": 2}},
        "receiver": side,
        "summary": {
            "short_term_bps": bps,
            "peak_bps": 2e6,
            "elapsed_ns": 10,
            "connect_ns": 3,
            "retransmits": 4,
        },
    }


def _ledger(folder: Path) -> Ledger:
    from netcommon.ledger import OwnedProcess

    return Ledger(folder / "1.json", OwnedProcess(1, 1, "lfp"))
