"""Demonstrations of the class page: one transfer at a time, run by `lfp run` as a process of its own.

Invariants: a setting consists of values that the page offers and of nothing else, so no text from outside gets into a
scenario or a command line. The server has one state, which all browsers look at. The name of each scenario is unique,
so its run is found by name. Rejected: running the trial inside the server, which would crash together with a trial.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from dashboard.core.delete import delete_run
from netcommon.errors import LfpError

KB, MBIT, MS = 1024, 10**6, 10**6
DURATION_S = 10  # duration of a transfer: several time-outs of 1 s fit in
SEED = "1995"  # always the same, so that in virtual time a setting has one result
CHOICES: dict[str, tuple[int | str, ...]] = {
    "window_bytes": tuple(n * KB for n in (16, 32, 64, 96, 128, 160, 192, 256, 384, 520, 1024, 2048)),
    "rtt_ns": tuple(int(n * MS) for n in (2, 8.4, 20, 50, 100, 200)),
    "rate_bps": tuple(n * MBIT for n in (10, 45, 100, 155)),
    "queue_bytes": tuple(n * KB for n in (30, 110, 440, 1024)),
    "loss_ppb": (0, 100_000, 1_000_000, 10_000_000),
    "mtu": (1280, 1500, 4352, 9000),
    "profile": ("bsd-1995", "sack-1998", "modern"),
    "time": ("virtual", "real"),
}


@dataclass(frozen=True)
class Setting:
    """The values of the page's controls. `time`: `virtual` or `real`."""

    window_bytes: int = 16 * KB
    rtt_ns: int = 8_400_000
    rate_bps: int = 45 * MBIT
    queue_bytes: int = 110 * KB
    loss_ppb: int = 0
    mtu: int = 4352  # MTU of lfp-1995's hosts (FDDI)
    profile: str = "bsd-1995"
    time: str = "virtual"


@dataclass(frozen=True)
class State:
    """What all browsers see. `left_s`: None while nothing runs. `error`: why the last demonstration gave no result."""

    running: Setting | None
    left_s: float | None
    runs: tuple[str, ...]
    error: str


def setting_of(values: Mapping[str, Any]) -> Setting:
    """The setting of these values. Raises LfpError (status 2) for a value that the page does not offer."""
    for field in fields(Setting):
        offered, value = CHOICES[field.name], values.get(field.name)
        if type(value) is not type(offered[0]) or value not in offered:
            allowed = ", ".join(map(str, offered))
            raise LfpError(f"{field.name}: {value!r} is not offered; choose one of {allowed}", 2)
    return Setting(**{field.name: values[field.name] for field in fields(Setting)})


def scenario_text(setting: Setting, name: str) -> str:
    """The scenario file of a setting."""
    return f"""[scenario]
name = "{name}"
title = "In class: a window of {setting.window_bytes // KB} KB"

[path]
delay = "{setting.rtt_ns // 2000}us"
rate = "{setting.rate_bps // MBIT}Mbit"
queue = "{setting.queue_bytes // KB}KB"
ab_loss = "{setting.loss_ppb / 10**7}%"
mtu = {setting.mtu}

[profile]
name = "{setting.profile}"

[transfer]
tool = "rttcp"
duration = "{DURATION_S}s"
window = "{setting.window_bytes // KB}KB"

[capture]
points = ["snd", "rcv"]
"""


class Demonstrations:
    """The demonstrations of one server in `runs_dir`, in the order of their ends."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._waiting: threading.Thread | None = None
        self._running: Setting | None = None
        self._cancelled = False
        self._started_s = 0.0
        self._took_s: dict[str, float] = {}
        self._runs: list[str] = []
        self._error = ""

    def state(self) -> State:
        """The state now. The time left follows the last demonstration in the same kind of time. The first one's guess
        is the transfer's own duration."""
        with self._lock:
            left = None
            if self._running:
                expected = self._took_s.get(self._running.time, float(DURATION_S))
                left = max(expected - (time.monotonic() - self._started_s), 0.0)
            return State(self._running, left, tuple(self._runs), self._error)

    def start(self, setting: Setting) -> None:
        """Starts one demonstration. Raises LfpError when one is running, or when it cannot be started."""
        with self._lock:
            if self._running:
                raise LfpError("a demonstration is running; wait for its end or cancel it", 1)
            name = f"class-{secrets.token_hex(4)}"
            file = self._runs_dir / f"{name}.toml"
            try:
                file.write_text(scenario_text(setting, name))
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "lfp",
                        "run",
                        str(file),
                        "--time",
                        setting.time,
                        "--seed",
                        SEED,
                        "--runs-dir",
                        str(self._runs_dir),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            except OSError as error:
                file.unlink(missing_ok=True)
                raise LfpError(f"{self._runs_dir}: no demonstration can be started: {error.strerror}", 1) from error
            self._running, self._cancelled, self._error = setting, False, ""
            self._started_s = time.monotonic()
            self._waiting = threading.Thread(target=self._wait, args=(self._process, name, file), daemon=True)
            self._waiting.start()

    def cancel(self) -> None:
        """Ends the demonstration that is running, if one is; its run is deleted."""
        with self._lock:
            if self._process is not None and not self._cancelled:
                self._cancelled = True
                self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Cancels the demonstration that is running, and waits until it has cleaned up."""
        self.cancel()
        with self._lock:
            waiting = self._waiting
        if waiting:
            waiting.join()

    def _wait(self, process: subprocess.Popen[str], name: str, file: Path) -> None:
        """Waits for the end of a demonstration and records its result."""
        said = process.communicate()[1].strip()
        file.unlink(missing_ok=True)
        run_name = next((path.name for path in self._runs_dir.glob(f"{name}-*") if path.is_dir()), None)
        with self._lock:
            cancelled, setting = self._cancelled, self._running
            assert setting is not None
            if run_name and not cancelled and any((self._runs_dir / run_name / "trials").glob("[0-9]*")):
                self._runs.append(run_name)
                self._took_s[setting.time] = time.monotonic() - self._started_s
            elif not cancelled:
                self._error = said.splitlines()[-1] if said else f"lfp run ended with status {process.returncode}"
            self._process = self._running = None
        if cancelled and run_name and (self._runs_dir / run_name / "manifest.json").is_file():
            delete_run(self._runs_dir, run_name)


class OfferedDemonstrations(Protocol):
    """The demonstrations of one server, as the class page uses them."""

    def state(self) -> State: ...

    def start(self, setting: Setting) -> None: ...

    def cancel(self) -> None: ...
