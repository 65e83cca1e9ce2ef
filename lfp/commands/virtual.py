"""``lfp virtual``: runs any command in virtual time, alone or on the network of a scenario."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from pathlib import Path

import click

from netcommon import quantity, readable
from netcommon.errors import UsageError
from scenarios.plan.plan import Trial, load_plan
from scenarios.run import runner
from scenarios.virtual import boxes, kernel, memory, program
from scenarios.virtual.lab import Network
from scenarios.virtual.machine import Machine

DEFAULT_BYTES = 2**30
_BY_SIGNAL = 128  # a shell's exit status is this plus the signal's number
# Environment variables of the caller that would name other folders in the guest.
_OF_THE_HOST = ("TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY")


@click.command("virtual", context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND...]")
@click.option("--scenario", metavar="SCENARIO", help="Build the network of this scenario's first trial around it.")
@click.option(
    "--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help="Set a value of the scenario (repeatable)."
)
@click.option("--node", default="snd", show_default=True, help="The node of that network in which COMMAND runs.")
@click.option(
    "--box", type=click.Choice(boxes.CHOICES), default="auto", show_default=True, help="Delay box of that network."
)
@click.option(
    "--write",
    "writable",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Keep what changes in this folder (repeatable). Other changes end with COMMAND.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep a record of who ran when in this file, for 'lfp schedule'.",
)
@click.option("--memory", "size", metavar="SIZE", help="Memory of the machine.  [default: 1GB and what the path holds]")
@click.option("--seed", type=click.IntRange(0, 2**53), default=1, show_default=True, help="Seed of all that is random.")
@click.option("--build", is_flag=True, help="Build that kernel, once, in about 3 minutes. Takes no COMMAND.")
def command(
    words: tuple[str, ...],
    scenario: str | None,
    overrides: tuple[str, ...],
    node: str,
    box: str,
    writable: tuple[str, ...],
    record: Path | None,
    size: str | None,
    seed: int,
    build: bool,
) -> int:
    """Run COMMAND in its own kernel, whose clock jumps ahead whenever all processes wait.

    The command sees this machine's files and may change them all; the changes end with it, except in --write folders.
    """
    if build and words:
        raise UsageError(f"--build: takes no COMMAND, and {words[0]} is one; run it afterwards")
    if build:
        kernel.make()
        return 0
    if not words:
        raise UsageError("COMMAND: missing; name the program to run, or build the kernel with --build")
    kernel.require()
    if overrides and not scenario:
        raise UsageError(f"--set {overrides[0]}: changes a scenario; name one with --scenario")
    if record and not record.parent.is_dir():
        raise UsageError(f"--record {record}: the folder {record.parent} does not exist; make it, or name another file")
    argv = [_program(words[0]), *words[1:]]
    network = _network(_first_trial(scenario, overrides, seed, box), box) if scenario else None
    if network and node not in network.nodes():
        raise UsageError(f"--node {node}: the network has {', '.join(network.nodes())}")
    needed = _memory_bytes(size, network)
    memory.jobs_that_fit(needed, 1)
    machine = Machine(_environment(), writable, network, node)
    began = time.monotonic()
    with runner.owned() as (ledger, _):
        done = program.run(
            argv,
            folder=Path.cwd(),
            memory_bytes=needed,
            seed=seed,
            timeout_s=math.inf,
            machine=machine,
            said=_pass_on,
            ledger=ledger,
            record=record,
        )
    _say(done, time.monotonic() - began)
    return done.status if done.status >= 0 else _BY_SIGNAL - done.status


def _program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise UsageError(f"COMMAND {name}: no such program in PATH or at this place")
    return str(Path(found).absolute())


def _say(done: program.Result, wall_s: float) -> None:
    taken, wall = readable.duration(done.taken_ns), readable.duration(wall_s * 1e9)
    click.echo(f"lfp: {taken} of virtual time in {wall}", err=True)
    for name in done.computed:
        click.echo(f"lfp: {name} computed for long without waiting; another run may differ from this one", err=True)


def _first_trial(scenario: str, overrides: tuple[str, ...], seed: int, box: str) -> Trial:
    plan = load_plan(scenario, overrides=overrides, seed=seed)
    if len(plan.trials) > 1:
        click.echo(f"lfp: uses the network of trial 0 of {len(plan.trials)}; --set selects another", err=True)
    return boxes.settled(plan.trials[0], box)


def _network(trial: Trial, box: str) -> Network:
    back_end = boxes.choose(trial, box)
    return Network(trial, back_end, boxes.super_packets(trial) if back_end == "netem" else (0, 0))


def _memory_bytes(size: str | None, network: Network | None) -> int:
    if not size:
        return DEFAULT_BYTES + (memory.guest_bytes(network.trial.setting) if network else 0)
    try:
        given = quantity.parse_bytes(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}") from error
    if given < memory.BASE_BYTES:
        least = readable.size(memory.BASE_BYTES)
        raise UsageError(f"--memory {size}: the machine itself needs {least}; give that or more")
    return given


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in _OF_THE_HOST}
    if not sys.stdout.isatty():
        own["TERM"] = "dumb"
    return own | {"TMPDIR": "/run/tmp", "PYTHONHASHSEED": own.get("PYTHONHASHSEED", "0")}


def _pass_on(said: bytes) -> None:
    sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()
