"""Settings drawn at random, for every test and bench that draws any: control, ECN, queue management, losses, outages,
changes of the path, flows, gateways, tools, windows, buffers, pacing, and both boxes.

`SPACE` has the values of each dimension, the plainest first; a value that is listed several times is drawn more often.
A draw is a function of (seed, index), and so is each of its dimensions alone: a test that narrows one leaves the others
as they are, and a failing draw is made plainer dimension by dimension (`shrink.py`). `_settle` says which values do not
go together. Each draw has a seed of its own in `path.seed`, so its scenario file gives the same trial alone as among
others. Rejected: one generator for all draws of a seed. Whenever draw 6 changed, draw 7 would change too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]
Space = Mapping[str, tuple[Any, ...]]

CONTROLS = ("cubic", "reno", "bbr", "dctcp")
MARKING = (
    "codel:target=2ms,interval=20ms,ecn=on",
    "pie:target=5ms,update=5ms,ecn=on",
    "red:min=5KB,max=60KB,p=50%,weight=50%,gentle=on,ecn=on",
    "red:min=15KB,max=16KB,p=100%,weight=100%,gentle=off,ecn=on",  # a threshold, as for DCTCP
)
MOST_BESIDE = 3
PROXY = "sh -c 'for p in $ports; do socat {listen},reuseaddr,fork tcp:{to}:$$p & done; wait'"
SOCAT = {
    "kind": "command",
    "model": "proxy",
    "programs": ["socat"],
    "settle": "200ms",
    "near": PROXY.format(listen="tcp-l:$$p,bind=$listen", to="$far"),
    "far": PROXY.format(listen="tcp-l:$$p,bind=$far", to="$receiver"),
}
GATEWAYS: dict[str, Table] = {
    "none": {},
    "router": {"kind": "lft"},
    "proxy": {"kind": "lft", "model": "proxy"},
    "host": {"kind": "lft", "model": "host"},
    "socat": SOCAT,
}
# Possible changes of the path, by its initial values.
CHANGES = {
    "none": "none",
    "longer": "800ms delay={longer}",
    "shorter": "800ms delay={shorter}",
    "faster": "800ms rate={faster}",
    "slower": "800ms rate={slower}",
    "there and back": "700ms delay={longer}; 1.3s delay={delay}",
    "both": "1s delay={longer} rate={slower}",
    "down": "1s loss=100%; 1.2s loss=0%",
    "steps": "600ms rate={slower}; 1s rate={faster}; 1.4s rate={rate}",
}
SPACE: Space = {
    "box": ("comet", "comet", "comet", "netem"),
    "path.delay": (10, 1, 2, 5, 20, 40),  # ms
    "path.rate": (20, 5, 10, 50),  # Mbit/s
    "path.queue": (1, 0.2, 0.5, 2, 4),  # BDP
    "path.mtu": (1500, 1500, 1500, 1280, 9000),
    "path.granularity": (None, None, "60us", "1ms"),
    "path.ab_aqm": ("none", "none", "codel", "pie:target=5ms", "red:min=10KB,max=60KB", *MARKING),
    "path.ab_loss": (
        "0%",
        "0%",
        "0%",
        "0.1%",
        "1%",
        "gilbert:0.5%,5",
        "time:800ms-850ms",
        "time:700ms-1200ms",
        "time:600ms-650ms,1000ms-1200ms",
    ),
    "path.ba_loss": ("0%", "0%", "0%", "0%", "1%", "time:900ms-1100ms"),
    "change": tuple(CHANGES) + ("none",) * 5,
    "tool": ("rttcp", "rttcp", "rttcp", "rttcp", "iperf3"),
    "family": ("ipv4", "ipv4", "ipv6"),
    "control": CONTROLS,
    "parallel": (1, 1, 1, 1, 2, 3),
    "bidir": (False,) * 8 + (True,),
    "window": (None, None, None, None, None, "16KB", "64KB"),
    "pace": (None, None, None, None, None, 2, 4),  # parts of the line
    "burst": (None, None, "16KB"),
    "profile": ("modern", "modern", "modern", "modern", "linux", "sack-1998"),
    "ecn": (0, 1, 1, 2, 3, 3, 4, 5),
    "sack": (1, 1, 1, 1, 0),
    "timestamps": (1, 1, 1, 2, 0),
    "scaling": (1, 1, 1, 1, 0),
    "wmem": (None, None, None, None, "4096 65536 131072"),
    "gateway": ("none",) * 8 + ("router", "router", "proxy", "host", "socat"),
    "gateway.rate": (1, 1, 0.5),  # parts of the line
    "gateway.rate_mode": ("fixed", "fixed", "auto"),
    "gateway.recovery": ("selective", "selective", "gbn", "fec"),
    "beside": (0, 0, 0, 1, 1, 2, 3),
    "flow.start": ("0s", "300ms", "500ms", "800ms", "1.2s"),
    "flow.amount": ("1s", "500ms", "800ms", "60KB", "600KB"),
    "flow.control": CONTROLS,
    "flow.parallel": (1, 1, 1, 2),
    "flow.pair": (1, 1, 1, 2),
    "flow.tool": ("rttcp", "rttcp", "rttcp", "rttcp", "iperf3"),
}
SECONDS = 2  # [transfer]'s flow; others begin and end within this time, or a little later


@dataclass(frozen=True)
class Draw:
    """A setting. ``values`` by dimension, those of `flow.…` once for each additional flow (`flow.start 1`)."""

    name: str
    seed: int
    values: Mapping[str, Any]

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of its case, or of its scenario file."""
        return _tables(_settle(dict(self.values)), self.seed)

    def file(self) -> str:
        """A scenario file with this draw alone: `lfp run FILE --time virtual` makes the trial again."""
        head = {"scenario": {"name": self.name.replace(" ", "-"), "title": "A setting drawn at random"}}
        return "\n".join(_toml(head | self.tables)) + "\n"

    def plainer(self, name: str) -> Draw:
        """The draw with the plainest value in this dimension."""
        return Draw(self.name, self.seed, dict(self.values) | {name: SPACE[name.partition(" ")[0]][0]})


def draw(seed: int, index: int, space: Space = SPACE) -> Draw:
    """Draw number ``index`` of a seed. ``space``: SPACE, or some of its dimensions narrowed."""
    whole = dict(SPACE) | dict(space)
    names = [name for name in whole if not name.startswith("flow.")]
    names += [f"{name} {one}" for one in range(1, MOST_BESIDE + 1) for name in whole if name.startswith("flow.")]
    values = {name: random.Random(f"{seed} {index} {name}").choice(whole[name.partition(" ")[0]]) for name in names}
    return Draw(f"s{seed}-d{index:03d}", random.Random(f"{seed} {index}").randrange(2**32), values)


def draws(seed: int, count: int, space: Space = SPACE, first: int = 0) -> list[Draw]:
    """Draws number ``first`` to ``first + count - 1``."""
    return [draw(seed, index, space) for index in range(first, first + count)]


def scenario(drawn: list[Draw]) -> dict[str, Any]:
    """A scenario with a case for each draw, so that one run has them all. Each case has its own [transfer]."""
    cases = {one.name: one.tables for one in drawn}
    return {
        "scenario": {"name": "drawn", "title": "Settings drawn at random"},
        "transfer": {"duration": f"{SECONDS}s"},
        "case": cases,
        "sweep": {"scenario.case": list(cases)},
    }


def text(drawn: list[Draw]) -> str:
    """The same as a scenario file."""
    return "\n".join(_toml(scenario(drawn))) + "\n"


def _settle(values: Table) -> Table:
    """Makes values compatible: a value that a tool, gateway or box does not support becomes the plainest one."""
    if values["box"] == "netem":
        plain = ("path.granularity", "path.ab_aqm", "change")
        values |= {name: SPACE[name][0] for name in plain}
        values |= {name: "0%" for name in ("path.ab_loss", "path.ba_loss") if ":" in str(values[name])}
    if values["tool"] == "iperf3":
        values |= {name: SPACE[name][0] for name in ("parallel", "bidir", "pace")}
    if values["gateway"] != "none":
        values["window"] = None  # the sender sees the gateway's window
        values |= {name: "600KB" for name in values if name.startswith("flow.amount")}
    if values["gateway"] in ("proxy", "socat"):
        values |= {"parallel": 1, "bidir": False}
        values |= {name: 1 for name in values if name.startswith("flow.parallel")}
    if values["gateway"] == "socat":
        # socat wants brackets around an address of IPv6
        values |= {"beside": 0, "family": "ipv4"}
    if not values["scaling"] and values["window"] == "64KB":
        values["window"] = None  # the largest window without scaling is one octet smaller
    return values


def _tables(values: Table, seed: int) -> dict[str, Table]:
    delay, rate, behind = values["path.delay"], values["path.rate"], values["gateway"]
    path: Table = {"delay": f"{delay}ms", "rate": f"{rate}Mbit", "queue": _queue(values), "mtu": values["path.mtu"]}
    path |= {key: values[f"path.{key}"] for key in ("granularity", "ab_aqm", "ab_loss", "ba_loss")}
    path |= {"change": _change(values["change"], delay, rate), "seed": seed}
    tables = {"path": path, "transfer": _transfer(values, rate), "profile": _profile(values)}
    if behind != "none":
        own = {"rate": f"{max(1, int(rate * values['gateway.rate']))}Mbit"} if behind != "socat" else {}
        own |= {key: values[f"gateway.{key}"] for key in ("rate_mode", "recovery")} if behind != "socat" else {}
        tables["gateway"] = GATEWAYS[behind] | own
    points = ["snd", "rcv"] if behind in ("none", "host") else ["snd", "gw1-in", "gw2-out", "rcv"]
    tables["capture"] = {"points": points + (["box"] if values["box"] == "comet" else [])}
    tables = {name: {key: value for key, value in own.items() if value is not None} for name, own in tables.items()}
    flows = {f"f{one}": _flow(values, one) for one in range(1, values["beside"] + 1)}
    return tables | ({"flow": flows} if flows else {})


def _queue(values: Table) -> int:
    """The queue in octets: at least three frames, because less is hardly a queue, and netem's token bucket needs
    two."""
    bdp = values["path.delay"] * 2 * values["path.rate"] * 1000 / 8
    return int(max(values["path.queue"] * bdp, 3 * (values["path.mtu"] + 18)))


def _change(kind: str, delay_ms: int, rate_mbit: int) -> str:
    delays = {"delay": delay_ms, "longer": 2 * delay_ms, "shorter": delay_ms / 2}
    rates = {"rate": rate_mbit, "faster": 2 * rate_mbit, "slower": rate_mbit / 2}
    words = {name: f"{value:g}ms" for name, value in delays.items()}
    return CHANGES[kind].format(**words, **{name: f"{value:g}Mbit" for name, value in rates.items()})


def _transfer(values: Table, rate: int) -> Table:
    # with gateways an amount is given, not a time: the data that a host writes in some seconds would wait for minutes
    # in buffers
    amount = {"duration": f"{SECONDS}s"} if values["gateway"] == "none" else {"bytes": rate * 250_000}
    own: Table = {"congestion": values["control"], "family": values["family"], **amount}
    own |= {"tool": values["tool"], "window": values["window"]}
    if values["tool"] == "rttcp":
        own |= {"parallel": values["parallel"], "bidir": values["bidir"], "interval": "50ms"}
        if values["pace"]:
            own |= {"pace": f"{rate * 1000 // values['pace']}Kbit", "pace_burst": values["burst"]}
    return own


def _flow(values: Table, one: int) -> Table:
    """A flow next to [transfer]'s. It overrides the inherited keys that its tool does not support."""
    tool = "iperf3" if values["tool"] == "iperf3" else values[f"flow.tool {one}"]
    amount = values[f"flow.amount {one}"]
    key = "bytes" if amount.endswith("B") else "duration"
    own: Table = {
        "start": values[f"flow.start {one}"],
        "congestion": values[f"flow.control {one}"],
        "pair": values[f"flow.pair {one}"],
        "tool": tool,
        key: amount,
    }
    if tool == "rttcp":
        return own | {"parallel": values[f"flow.parallel {one}"], "bidir": False}
    if values["tool"] == "rttcp":
        own |= {"parallel": 1, "bidir": False, "interval": "1s", "pace": 0, "pace_burst": 0}
    return own | {key: "1s" if key == "duration" else amount}


def _profile(values: Table) -> Table:
    own = {"ecn": "tcp_ecn", "sack": "tcp_sack", "timestamps": "tcp_timestamps", "scaling": "tcp_window_scaling"}
    lines = [f"net.ipv4.{name}={values[key]}" for key, name in own.items()]
    lines += [f"net.ipv4.tcp_wmem={values['wmem']}"] if values["wmem"] else []
    return {"name": values["profile"], "sysctl": "; ".join(lines)}


def _toml(tables: Mapping[str, Any], around: str = "") -> Iterator[str]:
    """The lines of TOML tables; their values are the same in JSON, which writes them."""
    for name, table in tables.items():
        inner = {key: value for key, value in table.items() if isinstance(value, dict)}
        header = around + (name if name.replace(".", "").isalnum() else json.dumps(name))
        if own := {key: value for key, value in table.items() if key not in inner}:
            yield f"[{header}]"
            yield from (f"{json.dumps(key) if '.' in key else key} = {json.dumps(value)}" for key, value in own.items())
        yield from _toml(inner, f"{header}.")
