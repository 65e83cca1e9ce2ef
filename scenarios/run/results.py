"""results.parquet: one row for each trial and flow, from the files of the trials."""

from __future__ import annotations

import time
from itertools import zip_longest
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from netcommon import result_rows, run_format, trial_tables
from netcommon.strangers import replacing
from scenarios.plan.columns import CLASSES, COLUMNS, LATENCIES, LIMITS, LOSS_CAUSES, MARKS, REVERSE
from scenarios.plan.plan import Trial
from scenarios.statistics import fairness, rfc6349
from scenarios.trial import (
    baseline,
    bottleneck,
    captured,
    clock,
    dwell,
    latencies,
    points,
    recovery,
    rise,
    sharing,
    trial,
)
from scenarios.trial.captured import Captured
from scenarios.trial.files import read_json
from scenarios.trial.transfers import FLOWS

_KINDS = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
SCHEMA = pa.schema(
    [(name, _KINDS[column.kind]) for name, column in COLUMNS.items()],
    {run_format.METADATA: str(run_format.VERSION).encode()},
)


def row(folder: Path) -> dict[str, Any]:
    """A trial's first row: that of [transfer]'s flow."""
    return rows(folder)[0]


def rows(folder: Path) -> list[dict[str, Any]]:
    """A trial's rows, one for each flow. Columns that a failed trial cannot fill are null."""
    status, asked = read_json(folder / "status.json"), read_json(folder / "params.json")
    transfer = read_json(folder / "transfer.json") or {}
    box, gateways = (read_json(folder / f"{name}.json") or {} for name in ("delay", "gateway"))
    verdict = {
        "state": status["state"],
        "valid": status["verdict"]["valid"],
        "reasons": "; ".join(status["verdict"]["reasons"]),
    }
    flows = read_json(folder / "flows.json") or []
    ends = [transfer, *((transfer.get(FLOWS) or {}).get(flow["flow_name"], {}) for flow in flows)]
    params = [asked | {"flow": 0}, *(asked | flow for flow in flows)]
    shared, recovered = sharing.columns(folder), recovery.of_flows(folder)
    of_all = bottleneck.columns(folder) | latencies.columns(folder)
    nothing = {name: None for name, column in COLUMNS.items() if column.role == "outcome"}
    return [
        {
            **nothing,
            **flow,
            **verdict,
            **_measured(flow, end, box),
            **of_all,
            **shared.get(flow.get("flow_name") or fairness.MAIN, {}),
            **recovery.columns(recovered.get(flow.get("flow_name") or fairness.MAIN, [])),
            **rise.columns(flow, end.get("receiver") or {}, clock.origin_ns(end, "monotonic")),
            **_of_gateways(flow, gateways),
            **_of_tables(folder, flow, end, box, alone=not flows),
            **(_of_captures_alone(folder) if asked.get("topology") == points.CAPTURED else {}),
        }
        for flow, end in zip(params, ends, strict=True)
    ]


def _measured(params: dict[str, Any], end: dict[str, Any], box: dict[str, Any]) -> dict[str, Any]:
    """Columns from a flow's tools and the delay box. ``end``: the sender's last object, empty without one."""
    summary, sender, receiver = (end.get(key) or {} for key in ("summary", "sender", "receiver"))
    return {
        "verified": summary.get("verified"),
        **{key: summary.get(key) for key in ("short_term_bps", "peak_bps", "elapsed_ns", "connect_ns")},
        "steady_bps": receiver.get("steady_bps"),
        "second_bps": ((end.get("second") or {}).get("summary") or {}).get("short_term_bps"),
        "plain_bps": ((end.get("plain") or {}).get("summary") or {}).get("short_term_bps"),
        **_shorts((end.get("short") or {}).get("elapsed_ns")),
        "reverse_bps": ((end.get("reverse") or {}).get("summary") or {}).get("short_term_bps"),
        **_exchanges(summary.get("exchange") or {}),
        "ecn_marks_box": ((box.get("statistics") or {}).get("ab") or {}).get("marked"),
        "reverse_ecn_marks_box": ((box.get("statistics") or {}).get("ba") or {}).get("marked"),
        "window_granted_bytes": receiver.get("window_granted_bytes") or None,  # 0: the kernel sizes it
        "cpu_sender_ns": _cpu_ns(sender),
        "cpu_receiver_ns": _cpu_ns(receiver),
        "transfer_time_ratio": rfc6349.transfer_time_ratio(
            params, summary, _began_ns(sender, box), timestamps=rfc6349.timestamps_of(end, otherwise=True)
        ),
    }


def _began_ns(sender: dict[str, Any], box: dict[str, Any]) -> int | None:
    """The time from the delay box's start to the transfer's beginning, ns; None where a tool does not report it to the
    nanosecond."""
    began = None if "t0_error_ns" in sender else sender.get("t0_monotonic_ns")
    box_began = (box.get("clock") or {}).get("monotonic_ns")
    return None if began is None or box_began is None else int(began) - int(box_began)


def _of_tables(
    folder: Path, flow: dict[str, Any], end: dict[str, Any], box: dict[str, Any], *, alone: bool
) -> dict[str, Any]:
    """Columns from a flow's samples and its captured connections. ``alone``: the trial has no other flow."""
    own = folder / FLOWS / flow["flow_name"] if flow["flow"] else folder
    trips = _round_trips(own / "tcp_info.parquet", flow, box, (end.get("sender") or {}).get("streams") or [])
    behind = _behind_gateway(flow)
    capture = captured.of_flow(folder, end, behind_gateway=behind, alone=alone)
    back, responses = captured.sent_back(end), bool(flow.get("request_bytes")) and _mostly_responses(end)
    found_back = captured.of_reverse(folder, back, behind_gateway=behind, alone=alone) if back else captured.NOTHING
    counted, streams = _of_streams(flow, end, own / "tcp_info.parquet")
    home = folder / captured.REVERSE
    samples_back = (home / FLOWS / flow["flow_name"] if flow["flow"] else home) / "tcp_info.parquet"
    counted_back = _counted(back or {}, samples_back)
    return {
        **trips,
        "buffer_delay": _buffer_delay(trips, behind_gateway=behind),
        **streams,
        **_retransmits((end.get("summary") or {}).get("retransmits"), counted, capture),
        **_reverse(_retransmits((back or {}).get("retransmits"), counted_back, found_back)),
        "timeouts": counted.get("total_rto"),
        "reverse_timeouts": counted_back.get("total_rto"),
        "tcp_efficiency": rfc6349.tcp_efficiency(counted_back if responses else counted),
        **_marks(capture),
        **_losses(capture),
        **_reverse(_losses(found_back)),
        **_limits(found_back if responses else capture),
        **dwell.columns(folder, capture.numbers),
        "limits_direction": _direction(flow, capture, found_back, responses=responses),
    }


def _of_captures_alone(folder: Path) -> dict[str, Any]:
    """Columns of imported captures, which replace a transfer tool's results, for the connection with the most data. The
    transfer's time is from the first data packet until all data were acknowledged."""
    summary = read_json(folder / "summary.json") or {}
    flow = captured.flow_of(summary, int(summary.get("main_flow", -1)))
    took_ns, octets = flow.get("elapsed_ns"), flow.get("bytes")
    return {
        "short_term_bps": octets * 8e9 / took_ns if took_ns and octets is not None else None,
        "elapsed_ns": took_ns,
        "retransmits": flow.get("retransmitted"),
        "retransmitted_bytes": flow.get("retransmitted_bytes"),
        "timeouts": flow.get("timeouts"),
        "rtt_min_ns": flow.get("min_rtt_ns"),
    }


def _mostly_responses(end: dict[str, Any]) -> bool:
    exchange = (end.get("summary") or {}).get("exchange") or {}
    return int(exchange.get("response_bytes") or 0) > int(exchange.get("request_bytes") or 0)


def _direction(flow: dict[str, Any], found: Captured, back: Captured, *, responses: bool) -> str | None:
    """With request and response, the messages that the limits describe. None for other transfers, and without
    captures."""
    if not flow.get("request_bytes") or not (back if responses else found).numbers:
        return None
    return "responses" if responses else "requests"


def _reverse(columns: dict[str, Any]) -> dict[str, Any]:
    return {f"{REVERSE}{name}": value for name, value in columns.items()}


def _counted(side: dict[str, Any], samples: Path) -> dict[str, Any]:
    """The kernel's counters at a sending end, all streams together. TCP_INFO covers the first stream only, so for
    several streams the samples are used."""
    streams = [stream.get("stream") for stream in side.get("streams") or []]
    if len(streams) < 2:
        return side.get("tcp_info") or {}
    return sharing.counted(samples, streams, ("total_rto", "bytes_sent", "bytes_retrans"))


def _retransmits(total: int | None, info: dict[str, Any], found: Captured) -> dict[str, Any]:
    """The retransmitted packets with data, their octets, and the retransmitted SYNs and FINs. The kernel has one count
    for all packets. If no octet was retransmitted, all of them are SYNs and FINs; otherwise the captures tell the two
    kinds apart. Without captures the number of SYNs and FINs is unknown, and they count among the packets with data."""
    octets, control = info.get("bytes_retrans"), None
    if total is not None and octets is not None:
        control = total if not octets else None if found.retransmitted is None else max(total - found.retransmitted, 0)
    return {
        "retransmits": None if total is None else total - (control or 0),
        "retransmitted_bytes": octets,
        "retransmits_syn_fin": control,
    }


def _buffer_delay(trips: dict[str, Any], *, behind_gateway: bool) -> float | None:
    """RFC 6349's buffer delay, which removes the entries it needs from ``trips``; None behind a gateway, where the
    sender's RTT does not cover the whole path."""
    baseline_ns, mean_ns = trips.pop("baseline_ns"), trips.pop("rtt_mean_ns")
    return None if behind_gateway else rfc6349.buffer_delay(baseline_ns, mean_ns)


_NO_RTT_US = 2**32 - 1  # tcpi_min_rtt before the first measurement


def _behind_gateway(flow: dict[str, Any]) -> bool:
    return flow.get("gateway") not in (None, "none") and flow.get("gateway_model") != "host"


def _of_streams(flow: dict[str, Any], end: dict[str, Any], samples: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the kernel counted at a flow's sender, all streams together, and how evenly these shared the flow."""
    sender, receiver = (end.get(key) or {} for key in ("sender", "receiver"))
    streams = [stream.get("stream") for stream in sender.get("streams") or []]
    acked = sharing.acknowledged(samples, streams) if len(streams) > 1 else []
    return _counted(sender, samples), fairness.of_streams(receiver, acked, by_time=bool(flow.get("duration_ns")))


def _of_gateways(flow: dict[str, Any], gateways: dict[str, Any]) -> dict[str, Any]:
    """The CPU time of the gateways that a flow's pair is behind, and the share of each class of LFT's packets in the
    octets that the near gateway sent."""
    site = str((gateways.get("behind") or {}).get(str(flow.get("pair", 1)), gateways.get("pair", 1)))
    other = (gateways.get("others") or {}).get(site)
    behind = not gateways.get("behind") or str(flow.get("pair", 1)) in gateways["behind"]
    own: dict[str, Any] = (other or gateways) if behind else {}
    sent = ((own.get("near") or {}).get("engine") or {}).get("sent") or {}
    whole = sum(sent[name]["wire_bytes"] for name in CLASSES) if sent else 0
    shares = {f"gateway_{name}_share": sent[name]["wire_bytes"] / whole for name in CLASSES} if whole else {}
    return {"cpu_gateways_ns": own.get("cpu_ns"), **shares}


def write(run_dir: Path, found: list[dict[str, Any]]) -> None:
    """Rewrites results.parquet, sorted by trial number, as a whole."""
    ordered = sorted(found, key=lambda r: (r["trial"], r["flow"]))
    with replacing(run_dir / "results.parquet") as file:
        parquet.write_table(pa.Table.from_pylist(ordered, schema=SCHEMA), file)


def differing(one: Path, other: Path) -> dict[tuple[int, int], list[str]]:
    """The rows of two runs' results that are not equal to the bit, by trial and flow, each with the columns in which
    they differ: all columns of a row that only one run has."""
    ours, theirs = _by_flow(one), _by_flow(other)
    found = {key: _differing(ours.get(key, []), theirs.get(key, [])) for key in sorted(ours.keys() | theirs.keys())}
    return {key: names for key, names in found.items() if names}


def _by_flow(run_dir: Path) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for one in result_rows.rows(run_dir / "results.parquet"):
        found.setdefault((one["trial"], one["flow"]), []).append(one)
    return found


def _differing(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[str]:
    """The columns in which two rows differ. They are compared by `repr`, which distinguishes 0.0 from -0.0 and makes
    NaN equal to itself. A missing value is an ellipsis."""
    nothing: dict[str, Any] = {}
    pairs = list(zip_longest(ours, theirs, fillvalue=nothing))
    names = dict.fromkeys(name for pair in pairs for one in pair for name in one)
    return [name for name in names if any(repr(a.get(name, ...)) != repr(b.get(name, ...)) for a, b in pairs)]


class Table:
    """results.parquet of a run that is under way. A context manager: its end writes the rows that are not written yet.
    ``found``: the rows of each trial by its number; `add` adds to them.

    A trial's rows are written at once, unless the last writing took more than a twentieth of the time that has passed
    since: a table of 10,000 rows takes longer to write than some trials take."""

    def __init__(self, run_dir: Path, found: dict[int, list[dict[str, Any]]]) -> None:
        self._run_dir, self._rows = run_dir, found
        self._unwritten, self._wrote_s, self._took_s = False, 0.0, 0.0

    def __enter__(self) -> Table:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._unwritten:
            self._write()

    def add(self, one: Trial) -> None:
        """Takes the rows of a trial that has its folder."""
        self._rows[one.number] = rows(trial.folder_of(self._run_dir, one.number))
        self._unwritten = True
        if time.monotonic() - self._wrote_s >= _SHARE * self._took_s:
            self._write()

    def _write(self) -> None:
        began_s = time.monotonic()
        write(self._run_dir, [row for own in self._rows.values() for row in own])
        self._unwritten, self._wrote_s = False, time.monotonic()
        self._took_s = self._wrote_s - began_s


_SHARE = 20  # pause before the table is written again, as a multiple of the time that the last writing took


def _cpu_ns(side: dict[str, Any]) -> int | None:
    return side["cpu_user_ns"] + side["cpu_system_ns"] if "cpu_user_ns" in side else None


def _shorts(took_ns: list[int] | None) -> dict[str, int | None]:
    """The columns of the short transfers during the transfer; nulls in a trial that has none."""
    names = ("short_median_ns", "short_max_ns")
    if not took_ns:
        return {"shorts": None if took_ns is None else 0, **dict.fromkeys(names)}
    return {"shorts": len(took_ns), **dict(zip(names, (round(median(took_ns)), max(took_ns)), strict=True))}


def _exchanges(exchange: dict[str, Any]) -> dict[str, Any]:
    """What request and response measured; nulls for other transfers. Goodputs are over the time of all exchanges."""
    took_ns = exchange.get("elapsed_ns")
    goodputs = {
        f"{key}_bps": exchange[f"{key}_bytes"] * 8e9 / took_ns if took_ns else None
        for key in ("request", "response")
        if f"{key}_bytes" in exchange
    }
    return goodputs | {
        key: exchange.get(key) for key in ("exchanges_per_s", *(f"latency_{name}_ns" for name in LATENCIES))
    }


def _limits(found: Captured) -> dict[str, Any]:
    """The share of the time in which the sender was stopped (s of the paper lfp-1995), the verdict, and each limit's
    share of the time. Nulls without captures of the flow."""
    lasted_ns = found.limits_ns or {}
    all_ns = sum(lasted_ns.values())
    limits = {f"limited_{name}": lasted_ns.get(name, 0) / all_ns if all_ns else None for name in LIMITS}
    cause, share = found.verdict or (None, None)
    return {"stopped_share": found.stopped_share, "limits_cause": cause, "limits_share": share} | limits


def _marks(found: Captured) -> dict[str, Any]:
    return {name: None if found.marks is None else found.marks.get(name) for name in MARKS}


def _losses(found: Captured) -> dict[str, Any]:
    """Why packets were lost, by the box's record and by the captures of the ends alone. Nulls without captures."""
    columns: dict[str, Any] = {}
    for prefix, counts in (("lost", found.losses), ("seen", found.losses_seen)):
        for name, causes in LOSS_CAUSES.items():
            columns[f"{prefix}_{name}"] = None if counts is None else sum(counts.get(cause, 0) for cause in causes)
    return columns


def _round_trips(
    samples: Path, flow: dict[str, Any], box: dict[str, Any], streams: list[dict[str, Any]]
) -> dict[str, Any]:
    """The least RTT that the sender's TCP measured, the median and the mean of the smoothed RTT in its samples, and the
    mean RTT of the empty path at the samples' times, ns. ``streams``: the streams on which the sender sends. On other
    streams it only receives, and their samples have the RTT of the handshake."""
    none: dict[str, Any] = dict.fromkeys(("rtt_min_ns", "rtt_median_ns", "rtt_mean_ns", "baseline_ns"))
    if not samples.exists():
        return none
    with trial_tables.judged(samples) as file:
        if not {"rtt_us", "t_ns"} <= set(file.schema_arrow.names):
            return none
        names = [name for name in ("rtt_us", "t_ns", "min_rtt_us", "stream") if name in file.schema_arrow.names]
        table = file.read(columns=names, use_threads=False)
    if streams and "stream" in names:
        sends = np.isin(table["stream"].to_numpy(), [row["stream"] for row in streams])
        table = table.filter(pa.array(sends))
    samples_us = table["rtt_us"].to_numpy()
    least_us = table["min_rtt_us"].to_numpy() if "min_rtt_us" in names else samples_us
    measured = samples_us > 0  # a sample before the first measurement has no RTT
    if "min_rtt_us" in names:  # the kernel reports one clock tick here for a measured RTT of 0
        measured |= (least_us > 0) & (least_us < _NO_RTT_US)
    known = samples_us[measured]
    if not len(known):
        return none
    least_us = least_us[(least_us > 0) & (least_us < _NO_RTT_US)] if known.min() > 0 else known
    least, median_us, mean = float(min(least_us, default=known.min())), float(np.median(known)), float(known.mean())
    return {
        "rtt_min_ns": int(least * 1000),
        "rtt_median_ns": int(median_us * 1000),
        "rtt_mean_ns": int(mean * 1000),
        "baseline_ns": baseline.mean_ns(flow, box, table["t_ns"].to_numpy()[measured]),
    }
