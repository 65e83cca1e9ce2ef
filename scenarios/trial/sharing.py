"""How the flows of a trial shared its line, from the files of the trial: `flows.parquet`, second by second, of each
direction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netcommon import trial_tables
from scenarios.plan import pair_path
from scenarios.plan.columns import REVERSE
from scenarios.plan.path import PathTable
from scenarios.statistics import fairness, rfc6349
from scenarios.statistics.fairness import Count, Shared
from scenarios.trial import arrivals, captured
from scenarios.trial.files import read_json

_KEPT = "lfp_shared"  # key in the table's metadata
_AROUND = {"plain": {"gateway": None}}  # a flow next to the transfer that goes around its gateways
WAYS = ("forward", "reverse")  # values of column `direction`: what senders and what receivers sent
_DOUBLES = ("bps", "flows_bps", "flow_jain")
_BACK = ("flows_bps", "flow_share", "flow_jain", "flow_jain_min")  # columns that the reverse direction has, too
SAMPLES = "tcp_info.parquet"
FLOWS = "flows"  # name of the table, of the folder of other flows, and of their key in transfer.json


@dataclass(frozen=True)
class Flow:
    """A flow of one direction: its parameters, its sender's last object, and the folder of its samples in the
    trial's."""

    name: str
    params: Mapping[str, Any]
    end: Mapping[str, Any]
    folder: str = ""


def bulk(folder: Path, *, back: bool = False) -> list[Flow]:
    """The flows of a trial whose octets go one way, from senders to receivers, or with ``back`` in the reverse
    direction of flows that send both ways at once. Empty where a flow has failed. Flows of request and response are
    left out, because their octets go both ways."""
    end, params = read_json(folder / "transfer.json") or {}, read_json(folder / "params.json")
    others, asked = end.get(FLOWS) or {}, read_json(folder / "flows.json") or []
    if {flow["flow_name"] for flow in asked} != others.keys():
        return []
    flows = [Flow(params.get("flow_name") or fairness.MAIN, params, end)]
    flows += [Flow(name, params | _AROUND.get(name, {}), end[name]) for name in fairness.BESIDE if end.get(name)]
    names = [flow["flow_name"] for flow in asked]
    flows += [
        Flow(name, params | flow, others[name], f"{FLOWS}/{name}") for name, flow in zip(names, asked, strict=True)
    ]
    flows = [flow for flow in flows if not (flow.end.get("summary") or {}).get("exchange")]
    return [replace(flow, end=flow.end["reverse"]) for flow in flows if flow.end.get("reverse")] if back else flows


def of_trial(folder: Path, *, back: bool = False) -> Shared | None:
    """How the flows of a trial shared the line. None for a single flow that sends one way, and where one of several
    flows has no count. ``back``: see `bulk`."""
    end, params = read_json(folder / "transfer.json") or {}, read_json(folder / "params.json")
    flows = bulk(folder, back=back)
    alone = not (end.get(FLOWS) or any(end.get(name) for name in (*fairness.BESIDE, "reverse")))
    if alone or not flows:
        return None
    offset_ns = clock_offset_ns(end) if params.get("topology") == "existing" else None
    beside = any(flow.name in fairness.BESIDE for flow in flows)
    home = folder / captured.REVERSE if back else folder
    known = _arrived(home, flows) or (not beside and _sampled(home, flows, offset_ns))
    known = known or fairness.counts({flow.name: flow.end for flow in flows}, offset_ns)
    if len({flow.params.get("pair") or 1 for flow in flows}) > 1 or end.get("plain") or back:
        params = params | {"nic_rate_bps": None}  # no NIC is common to all flows; plain TCP's has no limit
    behind = [own for flow in flows if back and (own := pair_path.of(flow.params))]  # in front of [path] otherwise
    params = params | {"pair_path": None}
    bound_bps = _bound_bps(_turned(params) if back else params, flows[0].end)
    return fairness.shared(known, None if any(_delay_varies(_turned(own)) for own in behind) else bound_bps, least=1)


def _turned(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the reverse direction under the forward direction's names."""
    back = {name.removeprefix("ba_"): value for name, value in params.items() if name.startswith("ba_")}
    turned = dict(params) | {name: value for name, value in back.items() if value is not None}
    return turned if params.get("change") in (None, "none") else turned | {"rate_trace": "unknown"}


def columns(folder: Path) -> dict[str, dict[str, Any]]:
    """The columns of what flows share, by flow; empty with one flow. `write` stores them in the table's metadata,
    because computing them from a large capture takes long."""
    file = folder / f"{FLOWS}.parquet"
    if file.is_file():
        import pyarrow.parquet as parquet

        schema = parquet.read_schema(file)
        if _KEPT.encode() in (schema.metadata or {}):
            return trial_tables.described(schema, _KEPT)
    return _told(of_trial(folder), of_trial(folder, back=True))


def _told(found: Shared | None, back: Shared | None) -> dict[str, dict[str, Any]]:
    forth = {name: fairness.of_flow(found, name) for name in (found.names if found else ())}
    for name in back.names if back else ():
        own = fairness.of_flow(back, name)
        forth.setdefault(name, {}).update({f"{REVERSE}{key}": own.get(key) for key in _BACK})
    return forth


def ends_at_gateway(params: Mapping[str, Any]) -> bool:
    return params.get("gateway") not in (None, "none") and params.get("gateway_model") != "host"


def _arrived(folder: Path, flows: Sequence[Flow]) -> list[Count]:
    """What arrived at the receivers, by their captures; empty where one of the flows is not captured there."""
    found, offset_ns = [], _common_offset_ns([flow.end for flow in flows])
    for flow in flows:
        series = arrivals.of_flow(folder, flow.end, behind_gateway=ends_at_gateway(flow.params), alone=False)
        if series is None:
            return []
        found.append(Count.of_arrivals(flow.name, series[0] - offset_ns, series[1]))
    return found


def _sampled(folder: Path, flows: Sequence[Flow], offset_ns: int | None) -> list[Count]:
    """What was acknowledged at the senders, by their samples; empty where one of the flows has none. Empty with
    gateways, too: a gateway acknowledges what it has received itself, not what the receiver has."""
    if any(flow.params.get("gateway") not in (None, "none") for flow in flows):
        return []
    found = [_of_samples(folder / flow.folder / SAMPLES, flow.name, flow.end, offset_ns) for flow in flows]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def _of_samples(samples: Path, name: str, end: Mapping[str, Any], offset_ns: int | None) -> Count | None:
    """The octets of a flow acknowledged over time. It begins with the last sample before the first octet was
    acknowledged, or with the transfer's beginning if the first sample came later. It ends with the first sample after
    the last octet was acknowledged, or with the sender's end if that came earlier. None where beginning and end are not
    known to the nanosecond (iperf3). The kernel counts the SYN and the FIN as an octet each."""
    sender = end.get("sender") or {}
    streams = [row["stream"] for row in sender.get("streams") or [] if "stream" in row]
    each = acknowledged(samples, streams)
    if not each or "elapsed_ns" not in sender or "t0_error_ns" in sender:
        return None
    edges = np.unique(np.concatenate([t_ns for t_ns, _ in each]))
    octets = np.sum([np.interp(edges, t_ns, np.maximum(acked - 1, 0)) for t_ns, acked in each], axis=0)
    octets = np.minimum(octets, float(sender["bytes"]))
    began = int(sender["t0_monotonic_ns"])
    ended = began + int(sender["elapsed_ns"])
    if octets[0] > 0 and began < edges[0]:
        edges, octets = np.append(began, edges), np.append(0.0, octets)
    if octets[-1] < sender["bytes"] or edges[-1] > ended:  # the last acknowledgement came then, whatever samples say
        before = edges < ended
        edges, octets = np.append(edges[before], ended), np.append(octets[before], float(sender["bytes"]))
    first, last = np.searchsorted(octets, 0.5) - 1, np.searchsorted(octets, octets[-1])
    if first < 0 or last <= first:
        return None
    clock_ns = clock_offset_ns(end) - offset_ns if offset_ns is not None else 0
    return Count(name, edges[first : last + 1] + clock_ns, octets[first : last + 1])


def _bound_bps(params: Mapping[str, Any], end: Mapping[str, Any]) -> float | None:
    """The largest rate at which octets of a trial's flows may arrive in any span; None where no bound is known. There
    is none where the delay behind the line varies, because octets that passed the line in a longer span may then arrive
    in a shorter one."""
    line = None if _delay_varies(params) else fairness.line_bps(params)
    return line and line * rfc6349.payload_share(params, timestamps=rfc6349.timestamps_of(end, otherwise=False))


def _delay_varies(params: Mapping[str, Any]) -> bool:
    """Whether the delay of packets to the receivers varies, apart from the queue."""
    now = [params.get("jitter") not in (None, "none"), params.get("reorder_ppb"), params.get("bunch_ns")]
    if params.get("change") in (None, "none") or any(now):
        return any(now)
    try:
        changes = PathTable.model_validate({"change": params["change"]}).changes()
    except ValueError:  # the file of a change's model is not on this machine
        return True
    return any(key in change.ab for change in changes for key in ("delay", "jitter", "reorder", "bunch"))


def clock_offset_ns(end: Mapping[str, Any]) -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC at a flow's sender. Hosts that exist share only CLOCK_REALTIME."""
    sender = end.get("sender") or {}
    return int(sender.get("t0_realtime_ns", 0)) - int(sender.get("t0_monotonic_ns", 0))


def _common_offset_ns(ends: Sequence[Mapping[str, Any]]) -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC for flows on one machine, which share both clocks. The first sender or
    receiver that reports both clocks gives it."""
    sides = [end.get(side) or {} for side in ("sender", "receiver") for end in ends]
    known = [side for side in sides if {"t0_realtime_ns", "t0_monotonic_ns"} <= side.keys()]
    return int(known[0]["t0_realtime_ns"]) - int(known[0]["t0_monotonic_ns"]) if known else 0


def write(folder: Path) -> None:
    """Writes flows.parquet (docs/reference/interfaces.md, "Run directory") where there are several flows, or one that
    sends both ways at once."""
    both = (of_trial(folder), of_trial(folder, back=True))
    if any(both):
        import pyarrow as pa
        import pyarrow.parquet as parquet

        tables = []
        for direction, found in zip(WAYS, both, strict=True):
            if found:
                columns = found.columns()
                doubles = {name: pa.array(columns.pop(name), pa.float64()) for name in _DOUBLES}
                tables.append(pa.table(columns | doubles | {"direction": [direction] * len(columns["t0_ns"])}))
        table = pa.concat_tables(tables).replace_schema_metadata({_KEPT: json.dumps(_told(*both))})
        parquet.write_table(table, folder / f"{FLOWS}.parquet", compression="zstd")


def acknowledged(samples: Path, streams: Sequence[int]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each of these streams of a transfer the times of its TCP_INFO samples and the octets that were acknowledged
    by then. Those that only SACK acknowledges count too, because they arrived earlier than the repair that acknowledges
    them all at once. Empty where one of them has none."""
    names = ("t_ns", "bytes_acked")
    found = _of_streams(samples, streams, (*names, "sacked", "snd_mss")) or _of_streams(samples, streams, names)
    return [(one["t_ns"], np.maximum.accumulate(one["bytes_acked"] + _sacked(one))) for one in found]


def _sacked(samples: dict[str, NDArray[np.int64]]) -> NDArray[np.int64] | int:
    """Octets that only SACK acknowledges. The kernel counts them in packets, each of which is taken for a full one."""
    return samples["sacked"] * samples["snd_mss"] if "sacked" in samples else 0


def counted(samples: Path, streams: Sequence[int], names: Sequence[str]) -> dict[str, int]:
    """What the kernel had counted (``total_rto``, ``bytes_sent``) at the last sample of each stream, all streams
    together; empty where one of them has none."""
    found = _of_streams(samples, streams, names)
    return {name: sum(int(one[name][-1]) for one in found) for name in names} if found else {}


def _of_streams(samples: Path, streams: Sequence[int], names: Sequence[str]) -> list[dict[str, NDArray[np.int64]]]:
    """Columns of the samples of each of these streams, in order of time; empty where one of them has none."""
    if not samples.exists():
        return []
    with trial_tables.judged(samples) as file:
        if not {"stream", *names} <= set(file.schema_arrow.names):
            return []
        table = file.read(columns=["stream", *names], use_threads=False)
    columns = {name: np.asarray(table[name].to_numpy(), np.int64) for name in ("stream", *names)}
    rows = [np.flatnonzero(columns["stream"] == number) for number in streams]
    return [{name: columns[name][own] for name in names} for own in rows] if all(own.size for own in rows) else []
