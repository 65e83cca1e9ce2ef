"""``log.operators``: whether the first line of `pktlogger analyse` names the cause that an operator must fix.

Each trial is one recipe (operators_recipes): a line, two hosts, small programs and plain ``tcpdump`` at both ends
(operators_world), in virtual time. `pktlogger analyse` gets the two captures and nothing else. ``--pairs N`` makes N
trials of each cause. ``log.operators_real`` makes the same in real time, over veth pairs and the delay box. ``--publish
docs/reference/causes.md`` writes the confusion tables of both into that page.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.log import operators_world as world
from bench.log.operators_recipes import CAUSES, MTU, Json, Recipe, recipe
from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import find
from netcommon.errors import LfpError
from scenarios.network.topology import Topology
from scenarios.plan.plan import Trial, load_plan
from scenarios.trial import validity
from scenarios.virtual import boxes, kernel, lab, memory, program
from scenarios.virtual.lab import Network
from scenarios.virtual.machine import Machine

NAME, REAL = "log.operators", "log.operators_real"
EACH, EACH_REAL, FIRST_SEED, JOBS = 20, 5, 3000, 2
GOAL, GOAL_REAL = 0.95, 0.9
ATTEMPTS = 3  # how often a trial that was not valid is made
TIMEOUT_S, MEMORY_BYTES = 300, 2**29
NO_VERDICT = "none"
_AND_LOSSES = "(?:, or by losses at it and what followed them)?"
_SAYS = re.compile(rf"limited for \d+ % of the time by (.+?){_AND_LOSSES}\. |as fast as the (receiver's window) allows")
_MISSED = re.compile(r"^[1-9]\d* packets dropped by kernel$", re.MULTILINE)
_MOST = re.compile(r"were lost \([^)]*\), most of them to (.+?)\.")


@dataclass(frozen=True)
class Judged:
    """A trial and the first line of what `analyse` printed. ``name``: the verdict's name."""

    recipe: Recipe
    seed: int
    line: str
    name: str

    @property
    def right(self) -> bool:
        return self.name.split(":")[0] in self.recipe.right and self.recipe.says in self.line


def trial_of(one: Recipe, folder: Path, seed: int) -> Trial:
    """The trial whose network the recipe asks for. Its transfer never runs."""
    tables: dict[str, Json] = {
        "scenario": {"name": "operators"},
        "path": {"mtu": MTU} | one.path,
        "transfer": {"duration": "1s"},
    }
    file = folder / "operators.toml"
    lines = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    ]
    file.write_text("".join(lines) + f'[profile]\nname = "linux"\nsysctl = "{_BUFFERS}"\n', encoding="utf-8")
    return load_plan(str(file), seed=seed).trials[0]


_BUFFERS = "net.ipv4.tcp_wmem=4096 16384 33554432"  # a long queue needs more than Linux's 4 MB


def world_of(one: Recipe, net: Topology, folder: Path, enter: Callable[[str], list[str]]) -> Json:
    """The argument of `operators_world`: the recipe's part, and the paths and addresses."""
    names = {"snd": "snd", "rcv": "rcv", "router": net.names[-2], "far": net.names[-2]}
    nodes = {role: enter(name) for role, name in names.items()}
    lines = {
        host: [["sysctl", "-q", "-w", f"{name}={value}"] for name, value in settings.items()]
        for host, settings in one.sysctl.items()
    }
    if policer := one.world.get("policer"):
        bucket = ["tbf", "rate", f"{policer['rate_bps']}bit", "burst", str(policer["burst"]), "limit", "1600"]
        nic = net.interface(names["router"], "right")
        lines["router"] = [["tc", "qdisc", "add", "dev", nic, "root", *bucket]]
        lines["snd"].append(["ip", "link", "set", "dev", net.host_interface("snd"), "gso_max_segs", "1"])
    address = {"rcv": net.receiver_address(), "far": net.address_of(names["far"], "right")}
    nics = {host: net.host_interface(host) for host in ("snd", "rcv")}
    places: Json = {"enter": nodes, "set": lines, "address": address, "folder": str(folder), "nic": nics}
    return one.world | {"client": one.client, "server": one.server} | places


def in_virtual_time(place: Place, one: Recipe, folder: Path, seed: int) -> None:
    """Makes the captures of a recipe in a guest."""
    trial = boxes.settled(trial_of(one, folder, seed), "auto")
    back_end = boxes.choose(trial, "auto")
    network = Network(trial, back_end, boxes.super_packets(trial) if back_end == "netem" else (0, 0))
    made = world_of(one, Topology.of(trial.setting), folder, lambda name: ["ip", "netns", "exec", name])
    environment = dict(os.environ) | {"TMPDIR": "/run/tmp", "PYTHONHASHSEED": "0", "TERM": "dumb"}
    done = program.run(
        [sys.executable, "-I", "-S", world.__file__, "run", json.dumps(made)],
        folder=folder,
        seed=seed,
        memory_bytes=MEMORY_BYTES + memory.guest_bytes(trial.setting),
        timeout_s=TIMEOUT_S,
        ledger=place.ledger,
        machine=Machine(environment, (str(folder),), network),
    )
    if done.status:
        raise LfpError(f"{NAME}: {one.cause}, seed {seed}: {done.output[-2000:]}")


class NotValid(LfpError):
    """The path was not as asked: the delay box was late, or an interface dropped packets."""


def in_real_time(place: Place, one: Recipe, folder: Path, seed: int) -> None:
    """Makes the captures of a recipe over veth pairs of this machine and the delay box."""
    network = Network(trial_of(one, folder, seed), "comet", (0, 0))
    with lab.laid(network, place.scratch) as (net, boxes):
        made = world_of(one, net, folder, lambda name: ["nsenter", f"--net=/proc/{net.pid(name)}/ns/net", "--"])
        argv = [sys.executable, "-I", "-S", world.__file__, "run", json.dumps(made)]
        before = net.counters()
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S)
        after = net.counters()
        end = boxes.stop()
    if done.returncode:
        raise LfpError(f"{REAL}: {one.cause}, seed {seed}: {done.stderr[-2000:]}")
    found = [reason.text for reason in validity.of_path(before, after, end)]
    found += [f"tcpdump missed packets ({line})" for line in _MISSED.findall(done.stdout)]
    if found:
        raise NotValid(f"{REAL}: {one.cause}, seed {seed}: not valid: {'; '.join(found)}")


def judged(one: Recipe, folder: Path, seed: int) -> Judged:
    """Output of `analyse` for the two captures, called as an operator would."""
    captures: list[str | Path] = ["--sender", folder / "snd.pcap", "--receiver", folder / "rcv.pcap"]
    argv = [find("pktlogger"), "analyse", *captures, "--human"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise LfpError(f"{one.cause}, seed {seed}: {done.stderr}")
    line = done.stdout.partition("\n")[0]
    return Judged(one, seed, line, verdict_name(line))


def verdict_name(line: str) -> str:
    """The name of the verdict in a line; for losses, also the cause of most of them: "losses: tail_drop"."""
    if not (found := _SAYS.search(line + " ")):
        return NO_VERDICT
    name = _names()[found[1] or f"the {found[2]}"]
    most = _MOST.search(line) if name == "losses" else None
    return f"{name}: {_names()[most[1]]}" if most else name


@cache
def _names() -> dict[str, str]:
    """The name of each cause by its words."""
    done = subprocess.run([find("pktlogger"), "--causes-json"], capture_output=True, text=True, check=True, timeout=60)
    rows = json.loads(done.stdout)
    return {row["words"]: row["name"] for kind in ("losses", "limits", "verdicts") for row in rows[kind]}


Maker = Callable[[Place, Recipe, Path, int], None]


def _trials(place: Place, each: int, make: Maker, jobs: int) -> list[Judged]:
    grid = [(cause, FIRST_SEED + n) for n in range(each) for cause in CAUSES]

    def one(of: tuple[str, int]) -> Judged | None:
        cause, seed = of
        mixed = recipe(cause, seed)
        try:
            found = _made(place, mixed, seed, make)
        except LfpError as error:
            place.say(str(error))
            return None
        told = "right" if found.right else f"WRONG: {found.line}"
        line = f"{mixed.line.rate_bps / 1e6:.4g} Mbit/s, {mixed.line.rtt_ms} ms, {mixed.stack}"
        place.say(f"{cause}, seed {seed} ({line}): {found.name}: {told}")
        return found

    with ThreadPoolExecutor(jobs) as pool:
        return [found for found in pool.map(one, grid) if found]


def _made(place: Place, mixed: Recipe, seed: int, make: Maker) -> Judged:
    """Makes a trial and judges it. One that was not valid is made again a few times."""
    for attempt in range(1, ATTEMPTS + 1):
        with tempfile.TemporaryDirectory(prefix="operators-") as name:  # not in /run: a guest has its own /run
            try:
                make(place, mixed, Path(name), seed)
            except NotValid as error:
                if attempt == ATTEMPTS:
                    raise
                place.say(str(error))
                continue
            return judged(mixed, Path(name), seed)
    raise AssertionError("no attempt")


_METHOD = """\
Each trial is one transfer as an operator has it: two hosts with small programs in Python, `tcpdump` at both
ends (`-s 128`, microseconds), and a line between them of 5 to 200 Mbit/s with a round trip of 10 to 200 ms. Everything
is drawn from cause and seed (`bench/log/operators_recipes.py`), including the hosts' TCP: Linux with
CUBIC or Reno, without time stamps, without SACK, or with a receive buffer that does not grow. {time}
`pktlogger analyse` gets the two captures and nothing else. The bench judges the first line that it prints and, for
losses, the cause that this line names for most of them. Seeds {first} to {last}; the
rules were developed on seeds below 3000.

Rows are the truth, columns the verdict.

{table}

A long queue that overflows keeps the line busy; with a short one losses limit the rate. Both verdicts count as right.
"{none}" stands for a line without a cause. "right" means that the verdict has the name that the recipe asks for, and,
for window scaling, that the text mentions it.

### What looks alike

{apart}
"""
_APART = """\
| what looks alike | why | how to distinguish them |
|---|---|---|
| a line that others share, outside of the captures, and a slow line | the bottleneck is busy either way | a capture \
at the bottleneck, or the counters of its interface |
| a reverse direction that is always congested, and a long path | no acknowledgement shows how short the path is | a \
transfer while the reverse direction is idle, or `ping` then |
| a relay whose far side was not captured, and a server that reads slowly | both close their window | the capture of \
the relay with all of its interfaces (`tcpdump -i any`), or of both ends of its far side, for `lfp legs` |
| a policer that hardly ever drops, and chance | too few losses show a rate | a longer transfer, or one that is \
paced at various rates |
| a black hole for large packets before anything has arrived, and a firewall or a dead path | no packet with data \
shows which sizes pass | `ping -M do -s 1472`, or an interface with a smaller MTU |
| a program that writes seldom, and one that was late to run | both leave the socket empty | `--samples` |
"""


def measure(place: Place) -> Iterator[Result]:
    """One result. Without a built kernel there is none, and a line says why."""
    if why := kernel.missing():
        place.say(f"{NAME}: left out: {why}")
        return
    yield _result(place, NAME, EACH, in_virtual_time, JOBS, GOAL)


def measure_real(place: Place) -> Iterator[Result]:
    """One result, of trials one after the other."""
    yield _result(place, REAL, EACH_REAL, in_real_time, 1, GOAL_REAL)


def _result(place: Place, name: str, each: int, make: Maker, jobs: int, goal: float) -> Result:
    each, began_s = place.pairs or each, time.monotonic()
    found = _trials(place, each, make, jobs)
    if not found:
        raise LfpError(f"{name}: no trial came to its end")
    time_text = "They run in virtual time." if make is in_virtual_time else "They run in real time, over the delay box."
    confusion = Counter((one.recipe.cause, one.name) for one in found)
    right = Counter(one.recipe.cause for one in found if one.right)
    n, of = each * len(CAUSES), Counter(one.recipe.cause for one in found)
    rows = [
        Row("trials done", "trials", len(found), n, n, f"{(time.monotonic() - began_s) / 60:.0f} minutes"),
        Row("first lines", "share right", sum(right.values()) / len(found), goal, 1),
        *(
            Row(cause, "share right", right[cause] / max(of[cause], 1), goal, 1, f"{of[cause]} trials")
            for cause in CAUSES
        ),
    ]
    method = _METHOD.format(
        time=time_text,
        first=FIRST_SEED,
        last=FIRST_SEED + each - 1,
        none=NO_VERDICT,
        apart=_APART,
        table=table(confusion, right),
    )
    return Result(name, "of rows", None, rows=rows, method=method)


def table(confusion: Counter[tuple[str, str]], right: Counter[str]) -> str:
    """The confusion table: a row for each cause, a column for each verdict, and the share that is right."""
    seen = sorted({name for _, name in confusion})
    lines = ["| truth | " + " | ".join(seen) + " | right |", "|---|" + "---:|" * (len(seen) + 1)]
    for cause in CAUSES:
        counts = [confusion[cause, name] for name in seen]
        share = f"{right[cause] / sum(counts):.0%}" if sum(counts) else "–"
        lines.append(f"| {cause} | {' | '.join(str(n) if n else '' for n in counts)} | {share} |")
    return "\n".join(lines)


BENCH = Bench(NAME, "what an operator reads first, for each cause; needs 'make virtual'", measure)
