"""Settings drawn at random: control × ECN × queue management × losses × changes of the path × flows × gateway.

Each draw is a case of one scenario, so a run has them all, each with its own trial. The same seed gives the same cases.
"""

from __future__ import annotations

import random
from typing import Any

Table = dict[str, Any]

CONTROLS = ("reno", "cubic", "bbr", "dctcp")
SECONDS = 3  # of [transfer]'s flow; others begin and end within it


def scenario(draws: int, seed: int) -> Table:
    """A scenario with a case for each draw."""
    rng = random.Random(seed)
    cases = {f"d{number:03d}": _case(rng) for number in range(draws)}
    return {
        "scenario": {"name": "invariants", "title": "Settings at random"},
        "path": {"delay": "10ms", "rate": "20Mbit", "queue": "1 BDP"},
        "transfer": {"duration": f"{SECONDS}s", "interval": "100ms"},
        "capture": {"points": ["snd", "box", "rcv"]},
        "case": cases,
        "sweep": {"scenario.case": list(cases)},
    }


def _case(rng: random.Random) -> Table:
    delay_ms, rate_mbit = rng.choice((5, 10, 20, 40)), rng.choice((5, 10, 20, 50))
    ecn = rng.random() < 0.5
    path = {"delay": f"{delay_ms}ms", "rate": f"{rate_mbit}Mbit", "queue": f"{rng.choice((0.2, 0.5, 1, 2))} BDP"}
    path |= _managed(rng, ecn) | _losses(rng) | _changes(rng, delay_ms, rate_mbit)
    transfer: Table = {"congestion": rng.choice(CONTROLS if ecn else CONTROLS[:3])}
    if rng.random() < 0.15:
        transfer["window"] = rng.choice(("16KB", "64KB"))
    if rng.random() < 0.2:
        transfer["pace"] = f"{max(1, rate_mbit // rng.choice((2, 4)))}Mbit"
    sysctls = [f"net.ipv4.tcp_ecn={int(ecn)}"]
    if "window" not in transfer and rng.random() < 0.2:
        sysctls.append("net.ipv4.tcp_wmem=4096 65536 131072")
    case: Table = {"path": path, "transfer": transfer, "profile": {"sysctl": "; ".join(sysctls)}}
    if rng.random() < 0.2:
        case["gateway"] = _gateway(rng, rate_mbit)
    elif rng.random() < 0.5:
        case["flow"] = {"rival": _flow(rng, ecn)}
    return case


def _managed(rng: random.Random, ecn: bool) -> Table:
    mark = "on" if ecn else "off"
    known = ("none", f"codel:target=2ms,interval=20ms,ecn={mark}", f"pie:target=5ms,ecn={mark}", "codel")
    return {"ab_aqm": rng.choice(known)}


def _losses(rng: random.Random) -> Table:
    begin = rng.choice((0.8, 1.2, 1.6))
    outage = f"time:{begin}s-{begin + rng.choice((0.05, 0.2, 0.5)):.2f}s"
    return {"ab_loss": rng.choice(("0%", "0%", "0.1%", "1%", "gilbert:0.5%,5", outage))}


def _changes(rng: random.Random, delay_ms: int, rate_mbit: int) -> Table:
    steps = (
        f"1s delay={2 * delay_ms}ms", f"1s delay={max(1, delay_ms // 2)}ms", f"1s rate={2 * rate_mbit}Mbit",
        f"1s rate={rate_mbit / 2:g}Mbit", f"1s delay={2 * delay_ms}ms; 2s delay={delay_ms}ms",
        f"1.5s delay={delay_ms + 3}ms rate={rate_mbit / 2:g}Mbit",
    )  # fmt: skip
    return {"change": rng.choice(steps)} if rng.random() < 0.5 else {}


def _flow(rng: random.Random, ecn: bool) -> Table:
    begin = rng.choice((0, 0.5, 1, 1.5))
    controls = CONTROLS if ecn else CONTROLS[:3]
    return {"start": f"{begin}s", "duration": f"{rng.choice((0.5, 1, 1.5))}s", "congestion": rng.choice(controls)}


def _gateway(rng: random.Random, rate_mbit: int) -> Table:
    mode = rng.choice(("fixed", "auto"))
    return {"kind": "lft", "rate_mode": mode, "rate": f"{rate_mbit}Mbit", "recovery": rng.choice(("selective", "fec"))}
