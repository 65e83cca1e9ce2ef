"""Compares the delay box in the kernel of virtual time with the box's own code in a process, over random paths and the
same arrivals. Called in virtual time."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from comet_box import in_netns, two_hosts

from comet_delay import Port
from comet_delay.in_kernel import KernelBox

FRAMES = 250
_DRAINED_S = 40  # the slowest path is empty by then; virtual time that nobody uses costs nothing
# Counters that depend on the clock or on how packets are batched, not on decisions: the clock decides when a packet
# really leaves.
_BY_THE_CLOCK = ("lateness", "last_out_ns", "out_frames", "held_bytes", "held_peak_bytes", "record")


def different(first: int, n: int, programs: str, replayed_as: int = 0) -> list[str]:
    """Compares kernel and process on ``n`` paths, whose seeds begin at ``first``. Returns a line for each path on which
    they decide differently. ``replayed_as`` is added to the process's seed."""
    with two_hosts() as hosts:
        seeds = range(first, first + n)
        found = [(seed, _compare(seed, seed + replayed_as, hosts.left, Path(programs))) for seed in seeds]
    return [f"seed {seed}: {why}" for seed, why in found if why]


def _compare(seed: int, replayed_as: int, netns: str, programs: Path) -> str | None:
    chance = random.Random(seed)
    paths = [path(chance) for _ in range(2)]
    own = {"granularity_ns": chance.choice([0, 20_000, 100_000, 500_000]), "memory_bytes": 256 << 20}
    own |= {"record_memory_bytes": 16 << 20}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        record = Path(folder, "record")
        box = KernelBox(
            Port("wa", netns), Port("wb", netns), ab=paths[0], ba=paths[1], seed=seed, record=record, box=own
        )
        with box:
            in_netns(netns, str(programs / "lfp-box-frames"), str(seed), str(FRAMES), "wa", "wb")
            time.sleep(_DRAINED_S)
            end = box.stop()
        asked = [str(programs / "lfp-box-replay"), str(record), *box.argv[2:], "--seed", str(replayed_as)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{paths}: {done.stdout or done.stderr}"
    skipped = [end["statistics"][which]["record"]["skipped_packets"] for which in ("ab", "ba")]
    if any(skipped):
        return f"{skipped} packets found no room in the record"
    for which, line in zip(("ab", "ba"), done.stdout.splitlines(), strict=True):
        here, there = (_decided(stats) for stats in (json.loads(line), end["statistics"][which]))
        if here["in_packets"] < FRAMES / 4:
            return f"{which}: only {here['in_packets']} packets came"
        if unlike := {name: (here[name], there.get(name)) for name in here if here[name] != there.get(name)}:
            return f"{paths}: {which} counts otherwise here and in the kernel: {unlike}"
    return None


def _decided(stats: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in stats.items() if name not in _BY_THE_CLOCK}
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]


def path(chance: random.Random) -> dict[str, int | str]:
    """The parameters of one direction, drawn at random: about half of the stages are there."""
    drawn: dict[str, int | str] = {"delay_ns": chance.randrange(50_000_000)}
    drawn |= {"framing": chance.choice(["l2", "ethernet", "ip"])}
    _bottleneck(chance, drawn)
    stages: list[dict[str, int | str]] = [
        {"loss": _loss(chance)},
        {"loss_after": _loss(chance)},
        {"jitter": _jitter(chance), "jitter_order": chance.choice(["keep", "overtake"])},
        {"duplicate_ppb": chance.randrange(10**8)},
        {"corrupt_ppb": chance.randrange(10**8), "forge_ppb": chance.randrange(10**8)},
        {"reorder_ppb": chance.randrange(10**8), "reorder_by_ns": chance.randrange(10**7)},
        {"bunch_ns": chance.randrange(1, 2 * 10**7), "bunch_packets": chance.choice([0, 40, 100])},
        {"pace_bps": chance.randrange(5 * 10**6, 10**9), "pace_buffer_bytes": chance.choice([0, 30_000])},
        {"pace_packets": chance.randrange(500, 10**5)},
        {"drain_rate_bps": chance.randrange(5 * 10**6, 10**9), "drain_buffer_bytes": chance.choice([0, 60_000])},
        {"harmonize_bps": chance.randrange(10**7, 10**9)},
        {"access_rate_bps": chance.randrange(10**7, 10**10)},
        {"only": chance.choice(["data", "ack-only", "udp", "tcp,!ack-only", "src=10.0.0.1", "min-size=400"])},
    ]
    for stage in stages:
        if chance.random() < 0.3:
            drawn |= stage
    return drawn


def _bottleneck(chance: random.Random, drawn: dict[str, int | str]) -> None:
    if chance.random() < 0.1:
        return
    drawn["rate_bps"] = round(2e6 * 1000 ** chance.random())
    if chance.random() < 0.2:
        steps = sorted(chance.sample(range(1, 400), 3))
        rates = [f"{at}ms={chance.randrange(2, 200)}Mbit" for at in steps]
        drawn["rate_trace"] = "rate:0s=20Mbit," + ",".join(rates)
    drawn["aqm"] = _aqm(chance)
    drawn["queue_drop"] = chance.choice(["tail", "tail", "head"])
    drawn["queue_bytes"] = chance.choice([0, 3_000, 30_000, 300_000])
    drawn["queue_packets"] = chance.choice([0, 0, 5, 50])
    if chance.random() < 0.2:
        drawn |= {"channels": chance.randrange(2, 5), "balance": chance.choice(["flow", "packet"])}


def _aqm(chance: random.Random) -> str:
    ecn, target_ms = chance.choice(["on", "off"]), chance.randrange(1, 20)
    low = chance.randrange(3, 40)
    return chance.choice(
        [
            "none",
            f"red:min={low}KB,max={3 * low}KB,p=10%,weight={chance.randrange(1, 20)}%,ecn={ecn}",
            f"codel:target={target_ms}ms,interval={chance.randrange(20, 100)}ms,ecn={ecn}",
            f"pie:target={target_ms}ms,update=15ms,burst={chance.randrange(100)}ms,ecn={ecn}",
            f"pie:target={target_ms}ms,derandomize=on,burst=10ms,ecn={ecn}",
            f"fq_codel:target={target_ms}ms,interval=50ms,limit={chance.randrange(20, 1000)},ecn={ecn}",
            "fq_codel:ways=8,ack_filter=on",
            f"dualpi2:target={target_ms}ms,step={chance.randrange(1, 5)}ms",
            f"step:packets={chance.randrange(2, 30)}",
            f"policer:rate={chance.randrange(2, 50)}Mbit,burst={chance.randrange(10, 100)}KB,ecn={ecn}",
        ]
    )


def _loss(chance: random.Random) -> str:
    return chance.choice(
        [
            f"{chance.randrange(1, 50) / 10}%",
            f"gilbert:{chance.randrange(1, 20)}%,{chance.randrange(2, 12)}",
            f"4state:{chance.randrange(1, 20)}%,40%,10%,60%,2%",
            "packets:5,10-12,100-140",
            f"time:{chance.randrange(1, 100)}ms-{chance.randrange(100, 300)}ms",
            "seq:1000-20000x2",
            "retransmission:1-2",
        ]
    )


def _jitter(chance: random.Random) -> str:
    kind = chance.choice(["uniform", "normal", "pareto", "paretonormal"])
    correlation = chance.choice(["", "", ",25%", ",90%"])
    return f"{kind}:{chance.randrange(10, 3000)}us{correlation}"
