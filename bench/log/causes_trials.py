"""The trials of log.causes: one setting for each seed, drawn so that every cause of a limit and of a loss that the
testbed can make occurs, alone and mixed. For losses there are more trials: each kind with each control, BBR among
them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from scenarios.plan.plan import Trial, load_plan

Tables = dict[str, dict[str, Any]]
SECONDS, LOSS_SECONDS = 3, 4
CONTROLS = ("bbr", "cubic", "reno")


def trials(folder: Path, seeds: range) -> list[tuple[str, Trial]]:
    """The kind and the trial of each seed, numbered from 0."""
    return [_trial(folder, number, seed) for number, seed in enumerate(seeds)]


def loss_trials(folder: Path, seeds: range) -> list[tuple[str, Trial]]:
    """The kind and the trial of each kind of loss with each control, for each of the seeds."""
    grid = [(seed, kind, control) for seed in seeds for kind in LOSS_KINDS for control in CONTROLS]
    return [
        (kind, _planned(folder, number, seed, _loss_setting(kind, control, seed)))
        for number, (seed, kind, control) in enumerate(grid)
    ]


def _loss_setting(kind: str, control: str, seed: int) -> Tables:
    """Equal for all controls."""
    draw = random.Random(f"{kind} {seed}")
    rate_mbit, delay_ms = draw.choice([20, 40, 60, 100]), draw.choice([5, 10, 20, 40])
    product_kb = max(rate_mbit * 2 * delay_ms * 1000 // 8 // 1024, 30)
    path = {"rate": f"{rate_mbit}Mbit", "delay": f"{delay_ms}ms", "mtu": 1500, "granularity": "0", "poll": "0"}
    return {
        "scenario": {"name": "losses"},
        "path": path | LOSS_KINDS[kind](draw, product_kb),
        "transfer": {"duration": f"{LOSS_SECONDS}s", "length": "64KB", "sample": "10ms", "congestion": control},
        "capture": {"points": ["snd", "rcv", "box"]},
    }


def _trial(folder: Path, number: int, seed: int) -> tuple[str, Trial]:
    kind, tables = _setting(seed)
    return kind, _planned(folder, number, seed, tables)


def _planned(folder: Path, number: int, seed: int, tables: Tables) -> Trial:
    file = folder / f"{tables['scenario']['name']}-{number}.toml"
    with file.open("w", encoding="utf-8") as out:
        for name, table in tables.items():
            out.write(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    return replace(load_plan(str(file), seed=seed).trials[0], number=number)


def _setting(seed: int) -> tuple[str, Tables]:
    draw = random.Random(seed)
    rate_mbit, delay_ms = draw.choice([20, 40, 60, 100]), draw.choice([10, 20, 30, 40])
    product_kb = rate_mbit * 2 * delay_ms * 1000 // 8 // 1024
    path: dict[str, Any] = {
        "rate": f"{rate_mbit}Mbit",
        "delay": f"{delay_ms}ms",
        "mtu": 1500,
        "granularity": "0",
        "poll": "0",
    }
    transfer: dict[str, Any] = {
        "duration": f"{SECONDS}s",
        "length": "64KB",
        "sample": "2ms",
        "congestion": draw.choice(["cubic", "reno"]),
    }
    tables: Tables = {"scenario": {"name": "causes"}, "path": path, "transfer": transfer}
    tables["capture"] = {"points": ["snd", "rcv", "box"]}
    kinds = list(KINDS)
    kind = kinds[seed % len(kinds)]
    path["queue"] = f"{max(int(product_kb * draw.uniform(0.3, 1)), 45)}KB"
    for key, value in KINDS[kind](draw, product_kb, rate_mbit).items():
        tables.setdefault(_TABLES.get(key, "path"), {})[key] = value
    return kind, tables


_TABLES = dict.fromkeys(("window", "pace", "pace_burst", "congestion"), "transfer") | {"sysctl": "profile"}


def _ample(product_kb: int) -> str:
    return f"{product_kb * 6}KB"


KINDS: dict[str, Any] = {
    "full queue": lambda draw, kb, mbit: {},
    "small window": lambda draw, kb, mbit: {"window": f"{max(int(kb * draw.uniform(0.2, 0.8)), 8)}KB"},
    "random before": lambda draw, kb, mbit: {"ab_loss": f"{draw.uniform(0.05, 0.5):.3f}%", "queue": _ample(kb)},
    "random behind": lambda draw, kb, mbit: {"ab_loss_after": f"{draw.uniform(0.05, 0.5):.3f}%", "queue": _ample(kb)},
    "CoDel": lambda draw, kb, mbit: {"ab_aqm": "codel:target=5ms,interval=100ms", "queue": _ample(kb)},
    "outage": lambda draw, kb, mbit: {
        "loss": f"time:{draw.uniform(0.6, 1.1):.3f}s-{draw.uniform(1.2, 1.6):.3f}s", "queue": _ample(kb)},
    "paced": lambda draw, kb, mbit: {"pace": f"{int(mbit * draw.uniform(300, 900))}Kbit"},
    "large queue": lambda draw, kb, mbit: {"queue": _ample(kb)},
    "bursts of loss": lambda draw, kb, mbit: {"ab_loss": f"gilbert:{draw.uniform(0.05, 0.3):.3f}%,4",
                                              "queue": _ample(kb)},
    "PIE": lambda draw, kb, mbit: {"ab_aqm": "pie", "queue": _ample(kb)},
    "full queue and chance": lambda draw, kb, mbit: {"ab_loss": "0.02%"},
    "application pauses": lambda draw, kb, mbit: {"pace": f"{int(mbit * draw.uniform(100, 600))}Kbit",
                                                  "pace_burst": f"{int(kb * draw.uniform(0.3, 1))}KB"},
    "window over the path": lambda draw, kb, mbit: {"window": f"{int(kb * draw.uniform(1.2, 1.6))}KB",
                                                    "queue": _ample(kb)},
    "small send buffer": lambda draw, kb, mbit: {
        "sysctl": f"net.ipv4.tcp_wmem=4096 16384 {int(kb * draw.uniform(0.2, 0.8)) * 1024}"},
}  # fmt: skip
LOSS_KINDS: dict[str, Any] = {
    "full queue": lambda draw, kb: {"queue": f"{max(int(kb * draw.uniform(0.3, 1)), 45)}KB"},
    "large queue": lambda draw, kb: {"queue": f"{int(kb * draw.uniform(1, 3))}KB"},
    "README": lambda draw, kb: {"queue": "110KB", "rate": "45Mbit", "delay": "4.2ms"},
    "CoDel": lambda draw, kb: {"ab_aqm": "codel", "queue": _ample(kb)},
    "PIE": lambda draw, kb: {"ab_aqm": "pie", "queue": _ample(kb)},
    "RED": lambda draw, kb: {"ab_aqm": "red", "queue": f"{max(int(kb * draw.uniform(1, 3)), 150)}KB"},
    "random before": lambda draw, kb: {"ab_loss": f"{draw.uniform(0.05, 0.5):.3f}%", "queue": _ample(kb)},
    "random behind": lambda draw, kb: {"ab_loss_after": f"{draw.uniform(0.05, 0.5):.3f}%", "queue": _ample(kb)},
    "full queue and chance": lambda draw, kb: {
        "ab_loss": "0.05%",
        "queue": f"{max(int(kb * draw.uniform(0.3, 1)), 45)}KB",
    },
}
