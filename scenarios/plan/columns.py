"""The columns of results.parquet: one table that says what each column is, and how a scenario names its setting.

A scenario says ``path.queue``, and the results say ``queue_bytes`` (a name with a unit, docs/reference/interfaces.md).
This table is the only map between the two. Code that reads a name from a person accepts both, through ``find``. Code
that shows a name shows the scenario's, through ``spelling`` or ``cells.heading``. One setting may fill several columns:
``path.loss`` is a number (``loss_ppb``) and a text (``loss``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from scenarios.plan import causes
from scenarios.plan.gateway import Gateway
from scenarios.plan.keys import Kind, column_of, kind_of, rows
from scenarios.plan.path import DIRECTION_KEYS, ONCE, PathKeys, columns_of
from scenarios.plan.transfer import Transfer
from scenarios.plan.values import Table

# identity: which trial it is; setting: what was asked for; verdict: whether the trial counts; outcome: what was
# measured
Role = Literal["identity", "setting", "verdict", "outcome"]


@dataclass(frozen=True)
class Column:
    """A column of the results. ``setting``: TABLE.KEY in a scenario, empty where no scenario sets it. ``label``: the
    column in words, without unit."""

    name: str
    kind: Kind
    role: Role
    label: str
    setting: str = ""


def _label(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _setting(name: str, kind: Kind, setting: str, label: str = "") -> Column:
    return Column(name, kind, "setting", label or _label(setting.rpartition(".")[2]), setting)


# Columns of [transfer] that come before the path's columns and after them; the others follow in the order of the rows.
_AHEAD = ("window", "pace", "pace_burst", "bytes", "request", "response", "exchanges", "duration", "length")
_AFTER = ("congestion", "second", "plain", "short", "parallel", "omit")
_BOX = ("poll", "spin", "granularity", "memory")  # columns of settings that the path has once


def _of(name: str, table: type[Table], keys: Iterable[str]) -> Iterator[Column]:
    """The columns of these keys of a table, as their rows have them."""
    own = dict(rows(table))
    for key in keys:
        if column := column_of(key, own[key]):
            yield _setting(column, kind_of(table, key), f"{name}.{key}", own[key].label)


def _transfer(*keys: str) -> Iterator[Column]:
    return _of("transfer", Transfer, keys)


def _path(*keys: str) -> Iterator[Column]:
    return _of("path", PathKeys, keys)


def _outcomes(kind: Kind, labels: dict[str, str]) -> list[Column]:
    return [Column(name, kind, "outcome", label) for name, label in labels.items()]


def _directions() -> Iterator[Column]:
    """The delay box's parameters: those from sender to receiver, then, with ``ba_``, those of the reverse direction."""
    known = dict(rows(PathKeys))
    for prefix in ("", "ba_"):
        for key in DIRECTION_KEYS:
            label = (known[key].label or _label(key)) + (", reverse direction" if prefix else "")
            for name in columns_of(key):
                text = name == key and (len(columns_of(key)) > 1 or kind_of(PathKeys, key) == "text")
                yield _setting(prefix + name, "text" if text else "int", f"path.{prefix}{key}", label)


LATENCIES = {
    "min": "minimum",
    "mean": "mean",
    "p50": "median",
    "p90": "90 %",
    "p99": "99 %",
    "p999": "99.9 %",
    "max": "maximum",
}

# Columns of lost packets, each with its causes (pktlogger's FORMAT.md, "Losses") and its words. A cause that no column
# lists gets a column of its own name. Packets lost by the box itself, or only by the capture, are not losses of the
# path.
_TOGETHER = {"queue": ("tail_drop", "aqm"), "chance": ("random", "random_before", "random_behind")}
_LABELS = {"queue": "full queue", "chance": "chance"}
_NOT_THE_PATHS = ("emulator", "capture_loss")
_FIRST = ("queue", "receiver", "corrupted", "chance", "outage", "policer", "unknown")


def _loss_columns() -> dict[str, tuple[str, ...]]:
    gathered = {cause for causes in _TOGETHER.values() for cause in causes}
    alone = {name: (name,) for name in causes.LOSSES if name not in gathered and name not in _NOT_THE_PATHS}
    found = _TOGETHER | alone
    return {name: found[name] for name in (*_FIRST, *(name for name in found if name not in _FIRST))}


LOSS_CAUSES = _loss_columns()
LOSSES = {name: _LABELS.get(name) or causes.LOSSES[name].words for name in LOSS_CAUSES}

SOJOURNS = ("p50", "p90", "p99", "max")  # percentiles of the time that a direction's packets wait
QUEUED = ("mean", "p50", "p99", "max")  # mean and percentiles of the octets at its bottleneck

REVERSE = "reverse_"  # columns of what the receiver sends: responses, and the reverse direction of `bidir`

# Classes of packets that LFT's gateways send (lft_ref's CONTROL.md, ``engine.sent``).
CLASSES = ("data", "retransmission", "redundant", "ack")

# Where octets waited between the gateways' outer sides.
STALLED = {"near": "near gateway", "tunnel": "tunnel", "far": "far gateway"}

LIMITS = tuple(causes.ALL_LIMITS)  # limits of a sender and, with gateways, of the gateways
# A label ends at the first comma of the cause's words. These causes would lose their meaning there.
_SHORT_LIMITS = {
    "congestion_avoidance": "congestion avoidance",
    "timeout": "time-outs",
    "capture_loss": "an unknown cause (the capture missed packets)",
    "emulator_late": "a late delay box",
    "path_down": "an outage of the path",
    "ecn": "ECN marks",
}
_LIMIT_LABELS = {
    name: _SHORT_LIMITS.get(name) or cause.words.partition(",")[0] for name, cause in causes.ALL_LIMITS.items()
}

# What the captures of both ends show of ECN's marks (pktlogger's FORMAT.md, summary.json).
MARKS = {
    "ce_marked": "Packets of this flow that the box marked CE",
    "ce_received": "Packets that arrived with CE",
    "ece_received": "Acknowledgements with ECE",
    "ce_reported": "Packets that AccECN reported as CE",
    "ecn_reductions": "Reductions of the window for marks",
}

_IN_ORDER = (
    *(Column(name, "int", "identity", name.capitalize()) for name in ("trial", "repeat", "seed")),
    _setting("case", "text", "scenario.case"),
    Column("flow_name", "text", "setting", "Flow"),
    Column("pair", "int", "setting", "Host pair"),
    Column("start_ns", "int", "setting", "Start of the flow"),
    Column("beside", "text", "setting", "Concurrent flows"),
    Column("pair_path", "text", "setting", "Path of this host pair"),
    _setting("topology", "text", "topology.kind", "Topology"),
    _setting("hops", "int", "topology.hops", "Bottlenecks in a row"),
    _setting("profile", "text", "profile.name", "Profile"),
    _setting("sysctl", "text", "profile.sysctl", "Additional sysctls"),
    *_transfer(*_AHEAD),
    *_directions(),
    *_path(*_BOX),
    Column("rtt_ns", "int", "setting", "Round-trip time"),
    *_path(*(key for key in ONCE if key not in _BOX)),
    *_transfer(*_AFTER),
    *_transfer(*(key for key, _ in rows(Transfer) if key not in (*_AHEAD, *_AFTER, "tool"))),
    *_of("gateway", Gateway, Gateway.model_fields),
    _setting("events", "text", "event", "Events at the gateways"),
    _setting("cpu_of", "text", "cpu.of", "Programs whose system calls cost CPU time"),
    _setting("cpu_call_ns", "int", "cpu.call", "Cost of a system call"),
    _setting("cpu_rate_bps", "int", "cpu.rate", "Rate at which a system call moves bytes"),
    *_transfer("tool"),
    _setting("capture", "text", "capture.points", "Capture points"),
    _setting("snap_bytes", "int", "capture.snap", "Snap length"),
    Column("flow", "int", "identity", "Flow number"),
    *(Column(name, "text", "verdict", name.capitalize()) for name in ("state", "reasons")),
    Column("valid", "bool", "verdict", "Valid"),
    Column("verified", "text", "verdict", "Content verified"),
    *_outcomes("float", {
        "short_term_bps": "Short-term throughput", "peak_bps": "Peak throughput",
        "second_bps": "Throughput of the second flow", "plain_bps": "Throughput of the concurrent plain TCP transfer",
        "reverse_bps": "Throughput in the reverse direction",
        "stream_min_bps": "Goodput of the slowest stream",
        "stream_max_bps": "Goodput of the fastest stream", "stream_jain": "Jain's index of the streams",
        "flows_bps": "Throughput of all flows while all run", "flow_share": "Share of this flow while all run",
        "flow_share_error": "Largest error of the flow's share", "flow_jain": "Jain's index of the flows while all run",
        "steady_bps": "Throughput after the warm-up",
        "transfer_time_ratio": "TCP transfer time ratio", "tcp_efficiency": "TCP efficiency",
        "buffer_delay": "Buffer delay",
    }),
    *_outcomes("int", {
        "flows_common_ns": "Time in which all flows run",
        "elapsed_ns": "Time taken", "connect_ns": "Time to connect",
        "rise_ns": "Time from the start until 90 % of the rate", "retransmits": "Retransmissions",
        "retransmitted_bytes": "Retransmitted octets", "retransmits_syn_fin": "Retransmitted SYN and FIN",
        "reverse_retransmits": "Retransmissions, reverse direction",
        "reverse_retransmitted_bytes": "Retransmitted octets, reverse direction",
        "reverse_retransmits_syn_fin": "Retransmitted SYN and FIN, reverse direction",
        "outages": "Outages of the path during the transfer", "recovery_ns": "Time to recover from the last outage",
        "recovery_error_ns": "Largest error of the recovery time",
        "recovery_max_ns": "Longest time to recover from an outage",
        "rtt_min_ns": "Minimum RTT of the sender's TCP", "rtt_median_ns": "Median RTT of the sender's TCP",
    }),
    *_outcomes("int", {
        **{f"dwell_{key}_ns": f"Time between the gateways' outer sides, {label}" for key, label in
           {"p50": "median", "p95": "95 %", "p99": "99 %", "max": "longest"}.items()},
        "stalls": "Stalls between the gateways' outer sides",
        **{f"stalls_{side}": f"Stalls in the {where}" for side, where in STALLED.items()},
        **{f"stall_{side}_max_ns": f"Longest stall in the {where}" for side, where in STALLED.items()},
        **{f"dwell_{side}_{key}_ns": f"Time in the {where}, {label}" for side, where in STALLED.items()
           for key, label in {"p50": "median", "p95": "95 %", "p99": "99 %", "max": "longest"}.items()},
        "dwell_error_ns": "Error of the times in gateways and tunnel",
    }),
    *_outcomes("float", {"stopped_share": "Stopped share of the time (s)"}),
    Column("limits_direction", "text", "outcome", "Direction of the limits"),
    Column("limits_cause", "text", "outcome", "Main limit"),
    Column("limits_share", "float", "outcome", "Share of time under the main limit"),
    *_outcomes("float", {
        f"limited_{key}": f"Share of time limited by {words}" for key, words in _LIMIT_LABELS.items()
    }),
    *_outcomes("int", {"ecn_marks_box": "Packets of all flows that the box marked CE"} | MARKS),
    *_outcomes("int", {f"lost_{key}": f"Lost: {label}" for key, label in LOSSES.items()}),
    *_outcomes("int", {f"seen_{key}": f"Lost, by the ends' captures: {label}" for key, label in LOSSES.items()}),
    *_outcomes("int", {
        f"{REVERSE}lost_{key}": f"Lost in the reverse direction: {label}" for key, label in LOSSES.items()
    }),
    *_outcomes("int", {
        f"{REVERSE}seen_{key}": f"Lost in the reverse direction, by the ends' captures: {label}"
        for key, label in LOSSES.items()
    }),
    *_outcomes("int", {
        "timeouts": "Time-outs", "reverse_timeouts": "Time-outs, reverse direction",
        "window_granted_bytes": "Window granted", "cpu_sender_ns": "CPU time of the sender",
        "cpu_receiver_ns": "CPU time of the receiver", "cpu_gateways_ns": "CPU time of both gateways",
    }),
    *_outcomes("float", {f"gateway_{key}_share": f"Share of {key} in what the near gateway sent" for key in CLASSES}),
    *_outcomes("int", {
        "shorts": "Short transfers", "short_median_ns": "Median time of a short transfer",
        "short_max_ns": "Longest time of a short transfer",
    }),
    *_outcomes("float", {
        "exchanges_per_s": "Exchanges a second", "request_bps": "Goodput of the requests",
        "response_bps": "Goodput of the responses",
    }),
    *_outcomes("int", {f"latency_{key}_ns": f"Latency of an exchange, {label}" for key, label in LATENCIES.items()}),
    *_outcomes("float", {
        "flow_jain_min": "Minimum over seconds of Jain's index, while all flows run",
        "reverse_flows_bps": "Throughput of all flows in the reverse direction while all run",
        "reverse_flow_share": "Share of this flow in the reverse direction while all run",
        "reverse_flow_jain": "Jain's index of the flows in the reverse direction while all run",
        "reverse_flow_jain_min": "Minimum over seconds of Jain's index in the reverse direction",
        "responsiveness_rpm": "Responsiveness under load, round trips a minute",
        "responsiveness_foreign_rpm": "Responsiveness of the exchanges, round trips a minute",
        "responsiveness_loaded_rpm": "Responsiveness of the load's own connections, round trips a minute",
    }),
    Column("responsiveness_confidence", "text", "outcome", "Confidence in the responsiveness"),
    *_outcomes("int", {"reverse_ecn_marks_box": "Packets in the reverse direction that the box marked CE"}),
    *_outcomes("int", {
        f"{prefix}{name}": f"{label}{end}"
        for prefix, end in (("", ""), (REVERSE, ", reverse direction"))
        for name, label in (
            *((f"sojourn_{key}_ns", f"Time at the bottleneck, {LATENCIES[key]}") for key in SOJOURNS),
            *((f"queued_{key}_bytes", f"Octets at the bottleneck, {LATENCIES[key]}") for key in QUEUED),
        )
    }),
)  # fmt: skip
COLUMNS: dict[str, Column] = {column.name: column for column in _IN_ORDER}

# These settings say how a trial is run, not what is measured. Real and virtual time each choose them in their own way.
OF_THE_CLOCK = frozenset({"poll_ns", "spin_ns", "granularity_ns", "memory_bytes", "zerocopy", "length_bytes"})
OF_NAMED = ("flow.", "pair.")  # [flow.NAME] and [pair.N]
_DIRECTED = ("ab_", "ba_")  # prefixes of [path]'s keys: sender to receiver, and back


def settings() -> list[str]:
    """Columns that say what was asked for, in the order of the table."""
    return [name for name, column in COLUMNS.items() if column.role == "setting"]


def find(text: str) -> list[str]:
    """Columns that a person means by ``text``, which is a column's name or a scenario's name of a setting. A number
    comes before its text. ``path.ab_queue`` is ``queue_bytes``. A key of another flow or of a host pair
    (``flow.second.congestion``) is part of the text in ``beside``. Empty if there is no such column."""
    if text in COLUMNS:
        return [text]
    if text.startswith(OF_NAMED):
        return ["beside"]
    table, dot, key = text.partition(".")
    wanted = f"{table}{dot}{key.removeprefix('ab_')}"
    return [name for name, column in COLUMNS.items() if column.setting == wanted]


def filled_by(dotted: str) -> list[str]:
    """Columns that a scenario's key fills. ``path.loss`` holds in both directions, so it fills those of the reverse
    direction too."""
    table, _, key = dotted.partition(".")
    if dotted.startswith("flow."):
        return ["beside", *find(f"transfer.{dotted.rpartition('.')[2]}")]
    if ".path." in dotted:  # pair.N.path.KEY
        return ["beside", "pair_path", "rtt_ns"]
    if dotted.startswith("pair."):
        return ["beside", *find(f"gateway.{dotted.rpartition('.')[2]}")]
    back = f"{table}.ba_{key}" if table == "path" and not key.startswith(_DIRECTED) else ""
    return find(dotted) + (find(back) if back else [])


def spelling(column: str) -> str:
    """The scenario's name for a column's setting; the column's own name where no scenario sets it."""
    known = COLUMNS.get(column)
    return known.setting if known and known.setting else column


def is_number(column: str) -> bool:
    """Whether a column holds numbers, so that its values have positions on an axis."""
    return column in COLUMNS and COLUMNS[column].kind in ("int", "float")


def label(column: str) -> str:
    """A column in words, without unit."""
    known = COLUMNS.get(column)
    return known.label if known else column


def did_you_mean(text: str, roles: Iterable[Role]) -> str:
    """``; did you mean 'path.queue'? allowed: …``: the end of an error about an unknown name. There are too many
    settings to list them; SCENARIO.md does."""
    columns = [column for column in COLUMNS.values() if column.role in set(roles)]
    spelled = {name: column.setting or name for column in columns for name in (column.setting, column.name) if name}
    key = [name for name in spelled if name.partition(".")[2] == text]  # the table was left out
    close = key or difflib.get_close_matches(text, spelled, n=1)
    hint = f"; did you mean '{spelled[close[0]]}'?" if close else ";"
    some = ["a setting such as path.queue or transfer.window (SCENARIO.md)"] if "setting" in roles else []
    return f"{hint} allowed: {', '.join([*some, *(column.name for column in columns if not column.setting)])}"
