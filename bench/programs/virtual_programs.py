"""virtual.programs: third-party programs over a path of 100 ms and 1 % loss in virtual time, each twice.

A script (``scripts/*.sh``) runs in the sending host of the network and prints a result with times in it. Its two runs
have one seed, so they should print the same. A program that computed for long is named, and then the times of both runs
may differ by 1 %. A script whose programs the machine does not have is left out, and a line names these programs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan
from scenarios.virtual import boxes, kernel, memory, program
from scenarios.virtual.lab import Network
from scenarios.virtual.machine import Machine

FOLDER = Path(__file__).parent / "scripts"
SCENARIO = """
[scenario]
name = "programs"
[path]
delay = "50ms"
rate = "100Mbit"
queue = "2MB"
loss = "1%"
[transfer]
duration = "1s"
"""
TIMEOUT_S, MEMORY_BYTES = 600, 2 * 2**30
SHARE = 0.01  # share by which times may differ if a program computed for long
_FIGURE = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Script:
    """A script and what its head says. ``build``: a command line that is run on the host before, or empty."""

    path: Path
    title: str
    needs: tuple[str, ...]
    build: str

    @classmethod
    def read(cls, path: Path) -> Script:
        """Reads the head, lines of the form ``# key: value``."""
        head = dict(re.findall(r"^# (title|needs|build): ?(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE))
        return cls(path, head["title"], tuple(head["needs"].split()), head.get("build", ""))

    def missing(self) -> list[str]:
        """The programs that this machine does not have."""
        return [name for name in self.needs if not shutil.which(name)]


def scripts() -> list[Script]:
    """All scripts, by file name."""
    return [Script.read(path) for path in sorted(FOLDER.glob("*.sh")) if path.name != "common.sh"]


def alike(first: str, second: str, share: float) -> bool:
    """Whether two outputs say the same, and their figures differ by ``share`` at most."""
    if _FIGURE.sub("#", first) != _FIGURE.sub("#", second):
        return False
    pairs = zip(_FIGURE.findall(first), _FIGURE.findall(second), strict=True)
    return all(abs(float(a) - float(b)) <= share * max(float(a), float(b)) for a, b in pairs)


def _network(folder: Path) -> Network:
    path = folder / "programs.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    trial = boxes.settled(load_plan(str(path), seed=1).trials[0], "auto")
    return Network(trial, boxes.choose(trial, "auto"), boxes.super_packets(trial))


def _built(script: Script, environment: dict[str, str]) -> None:
    if not script.build:
        return
    done = subprocess.run(script.build, shell=True, cwd=FOLDER, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise LfpError(f"virtual.programs: {script.build}: {done.stderr}")


def _twice(script: Script, network: Network, build: str) -> tuple[program.Result, program.Result]:
    environment = dict(os.environ) | {"BUILD": build, "TERM": "dumb"}
    _built(script, environment)
    machine = Machine(environment | {"TMPDIR": "/run/tmp", "PYTHONHASHSEED": "0"}, network=network)
    size, argv = MEMORY_BYTES + memory.guest_bytes(network.trial.setting), ["sh", str(script.path)]

    def once() -> program.Result:
        return program.run(argv, folder=FOLDER, memory_bytes=size, timeout_s=TIMEOUT_S, machine=machine)

    return once(), once()


def _row(script: Script, network: Network) -> Row:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as build:  # not below /run, because a guest has its own /run
        one, other = _twice(script, network, build)
    wall_s = (time.monotonic() - began) / 2
    computed = sorted({*one.computed, *other.computed})
    ended = not one.status and not other.status
    same = ended and alike(one.output, other.output, SHARE if computed else 0)
    note = [*one.output.strip().splitlines()[-1:], f"{one.taken_ns / 1e9:.1f} virtual s in {wall_s:.1f} s"]
    note += [f"{name} computed for long" for name in computed]
    if ended and not same and alike(one.output, other.output, SHARE):
        note.append(f"the other run: {other.output.strip().splitlines()[-1]}")
    return Row(script.title, "equal runs", 2 * same, 2, 2, "; ".join(note))


def measure(place: Place) -> Iterator[Result]:
    """One result. Without a built kernel there is none, and a line says why."""
    if why := kernel.missing():
        place.say(f"virtual.programs: left out: {why}")
        return
    network, rows = _network(place.scratch), []
    for script in scripts():
        if lacks := script.missing():
            place.say(f"virtual.programs: {script.title}: left out: no {', '.join(lacks)} here")
            continue
        place.say(f"virtual.programs: {script.title}")
        rows.append(_row(script, network))
    if not rows:
        raise LfpError("virtual.programs: none of the programs is here")
    method = "Each script ran twice with one seed over 100 Mbit/s, RTT 100 ms and 1 % loss in virtual time."
    yield Result("virtual.programs", "within bounds", None, rows=rows, method=method)


BENCH = Bench("virtual.programs", "programs of others in virtual time, twice each; needs 'make virtual'", measure)
