"""How long octets stay between the gateways' outer sides, and where they wait: dwell.json of a trial that is captured
at snd, gw1-in, gw2-out and rcv.

In a stall the far gateway does not send the next octet for `STALL_NS` or more, although the shortest dwell of the
transfer has passed since this octet came to the near gateway. The side of a stall is where the tunnel's packets
(gw1-out, gw2-in) stood still meanwhile:

    near      none left the near gateway, until the one that ended the stall
    tunnel    some left it, but none arrived at the far gateway; or a packet was lost that the far gateway may have
              waited for, because it delivers octets in order. That is a packet that may have carried the octets, or one
              of any connection that was lost shortly before
    far       all that may have carried them arrived, and the far gateway kept them

Times at the near gateway are compared after the shortest dwell has been added. Octets reach the far gateway at the
earliest when the shortest dwell has passed since they came to the near one, or later, by the amounts below. Only a
packet that arrived after that time may have carried them. A repair takes a round trip, plus the time to detect the
loss, so "shortly before" means `_REPAIR_ROUNDS` round trips.

A tunnel's packets are encrypted, so captures do not show which octets are in which packet. The dwell of each side is
therefore estimated from amounts (`_sides`): octets are carried in the order in which they leave, and each takes the
same share of the tunnel's octets. That share is the largest with which no octet leaves the far gateway before its
packet has arrived, so at least one octet is assumed to leave as soon as its packet has arrived. The error is the time
by which the amounts contradict these assumptions, because the tunnel also has copies or frames of another kind. If the
error is large compared with the dwell, the sides have no figures. Rejected: the order of arrival, since a gateway that
is fair lets octets overtake others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netcommon import trial_tables
from scenarios.plan import pair_path
from scenarios.plan.columns import STALLED
from scenarios.trial.files import read_json, write_json

if TYPE_CHECKING:
    import pyarrow as pa

STALL_NS = 100 * 10**6
TABLE, VERSION = "dwell.json", 1
SIDES = tuple(STALLED)
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
_EDGE_NS = STALL_NS // 4  # left out at both ends of a stall, because packets before and after the stall may fall there
_SETTLED = 20  # the share is computed after a 20th of all octets: the first packets are padded
_CONTRADICTS = 0.25  # share of the median dwell that the error may be; a millisecond is always allowed
_REPAIR_ROUNDS = 2  # round trips of the path that a repair may take
_DATA_BYTES = 200  # least size of a packet with data; shorter ones are acknowledgements
I64 = NDArray[np.int64]


Missed = tuple[I64, I64]  # sorted times, and how many of the tunnel's packets had been lost before each


def of_flow(
    t_in_ns: I64,
    t_out_ns: I64,
    out_near: I64 | None,
    in_far: I64 | None,
    path_ns: int,
    missed: Missed | None = None,
    carried_ns: I64 | None = None,
    round_ns: int | None = None,
) -> dict[str, Any]:
    """Dwell and stalls of one connection, its segments in the order of the stream. ``out_near``, ``in_far``: sorted
    times of the tunnel's packets with data at gw1-out and gw2-in, each repeated for its number of wire packets; None
    where these were not captured. ``path_ns``: the path's own delay, before which no packet arrives. ``missed``: the
    lost packets by the box's record; None: they are found from the captures, which is right as long as the path keeps
    that delay. ``carried_ns``: for each segment the earliest time at which it can have arrived at the far gateway;
    None: the shortest dwell after it came. ``round_ns``: the path's round trip; None: twice its delay."""
    dwell = t_out_ns - t_in_ns
    least_ns = int(dwell.min())
    found: dict[str, Any] = {**_percentiles(dwell)}
    stalls = _stalls(t_in_ns, t_out_ns, least_ns, t_in_ns + least_ns if carried_ns is None else carried_ns)
    found["stalls"] = len(stalls)
    repair_ns = _REPAIR_ROUNDS * (2 * path_ns if round_ns is None else round_ns)
    for side in SIDES:
        found |= {side: None, f"{side}_max_ns": None}
    if out_near is None or in_far is None:
        return found
    lasted: dict[str, list[int]] = {side: [] for side in SIDES}
    missed = missed or (in_far, _lost(path_ns, out_near, in_far) if stalls else in_far)
    for begin, end, carried in stalls:
        lasted[_side(begin, end, carried - repair_ns, least_ns, out_near, in_far, missed)].append(end - begin)
    for side, times in lasted.items():
        found |= {side: len(times), f"{side}_max_ns": max(times, default=0)}
    return found


def _percentiles(times: I64) -> dict[str, int]:
    return {name: int(np.percentile(times, share, method="inverted_cdf")) for name, share in PERCENTILES.items()}


def _stalls(t_in_ns: I64, t_out_ns: I64, least_ns: int, carried_ns: I64) -> list[tuple[int, int, int]]:
    """Begin and end of each stall at the far gateway's outer side, and the earliest time at which the stalled octets
    can have arrived there."""
    left = np.maximum.accumulate(t_out_ns)
    due = np.maximum(t_in_ns + least_ns, np.concatenate([t_in_ns[:1], left[:-1]]))
    rows = np.flatnonzero(t_out_ns - due >= STALL_NS)
    return [(int(due[row]), int(t_out_ns[row]), int(min(due[row], carried_ns[row]))) for row in rows]


def _side(begin: int, end: int, since: int, least_ns: int, out_near: I64, in_far: I64, missed: Missed) -> str:
    """Where a stall was. ``since``: the earliest time of a loss that may have caused it."""
    first, last = begin + _EDGE_NS, end - _EDGE_NS
    if not _between(in_far, first, end + 1):  # all packets had come before the stall
        return "far"
    if not _between(out_near, first - least_ns, last - least_ns):
        return "near" if _between(out_near, last - least_ns, end - least_ns + 1) else "tunnel"
    if not _between(in_far, first, last):
        return "tunnel"
    times, lost = missed
    before, after = int(np.searchsorted(times, since)) - 1, min(int(np.searchsorted(times, end)), len(lost) - 1)
    return "tunnel" if lost[after] > (lost[before] if before >= 0 else 0) else "far"


@dataclass(frozen=True)
class Tunnel:
    """The tunnel's packets with data at one gateway's inner side: times and octets, in order of time."""

    t_ns: I64
    octets: I64


def _sides(t_in_ns: I64, t_out_ns: I64, octets: I64, near: Tunnel, far: Tunnel, path_ns: int) -> tuple[I64, int] | None:
    """Dwell of all segments of a trial on each side, a row for each of `SIDES`, and its error. None where it cannot be
    estimated."""
    far = _since(far, int(t_in_ns.min()) + path_ns)
    near = _since(near, int(t_in_ns.min()))
    if not (far.t_ns.size and near.t_ns.size):
        return None
    order = np.argsort(t_out_ns, kind="stable")
    upto, came = np.cumsum(octets[order]), np.cumsum(far.octets)
    there = np.searchsorted(far.t_ns, t_out_ns[order], side="right")  # how many packets had come when the segment left
    known = (upto * _SETTLED >= upto[-1]) & (there > 0)
    if not known.any():
        return None
    ratio = came[there[known] - 1] / upto[known]
    share, last = float(ratio.min()), float(ratio[-1])
    number = np.minimum(np.searchsorted(came, upto * share * (1 - 1e-9)), came.size - 1)
    sent = np.minimum(number + _lost(path_ns, near.t_ns, far.t_ns)[number], near.t_ns.size - 1)
    t_in, left_near, at_far, t_out = t_in_ns[order], near.t_ns[sent], far.t_ns[number], t_out_ns[order]
    drift_ns = (last / share - 1) * (at_far[-1] - at_far[0])  # when everything has arrived, amounts and share agree
    too_early_ns = np.percentile(np.maximum(t_in - left_near, 0)[known], 99)  # few may overtake others
    error_ns = int(max(too_early_ns, drift_ns))
    if error_ns > max(10**6, _CONTRADICTS * float(np.median(t_out - t_in))):
        return None
    left_near, at_far = np.clip(left_near, t_in, t_out), np.clip(at_far, t_in, t_out)
    found = np.empty((len(SIDES), order.size), np.int64)
    found[:, order] = left_near - t_in, np.maximum(at_far - left_near, 0), t_out - at_far
    return found, error_ns


def _since(packets: Tunnel, t_ns: int) -> Tunnel:
    first = int(np.searchsorted(packets.t_ns, t_ns))
    return Tunnel(packets.t_ns[first:], packets.octets[first:])


def _lost(path_ns: int, out_near: I64, in_far: I64) -> I64:
    """How many packets had been lost when each packet arrived. Of the packets that had left early enough to arrive by
    then, some are lost and others wait in a queue. Lost ones stay missing, so the smallest number that is missing from
    then on counts."""
    missing = np.searchsorted(out_near, in_far - path_ns, side="right") - np.arange(1, len(in_far) + 1)
    return np.minimum.accumulate(missing[::-1])[::-1]


def _missed(folder: Path) -> Missed | None:
    """The lost packets by the box's record of the trial. For each packet with data to the far gateway: when it left the
    box, and how many packets before it the box had dropped. None without a record."""
    file = folder / "box.parquet"
    if not file.exists():
        return None
    table = trial_tables.read(file, ["direction", "fate", "wire_len", "t_arrival_ns", "t_release_ns"])
    fates = np.asarray(trial_tables.described(table, "pktlogger.record")["fates"])
    way, fate, octets, came, left = (column.to_numpy() for column in table.columns)
    own = (way == 0) & (octets >= _DATA_BYTES)
    order = np.argsort(came[own], kind="stable")
    fate, left = fates[fate[own][order]], left[own][order].astype(np.int64)
    sent = fate == "sent"
    dropped = np.cumsum(~sent & (fate != "held"))
    by_time = np.argsort(left[sent], kind="stable")
    return (left[sent][by_time], np.maximum.accumulate(dropped[sent][by_time])) if sent.any() else None


def _between(times: I64, begin: int, end: int) -> int:
    return int(np.searchsorted(times, end) - np.searchsorted(times, begin))


def write(folder: Path) -> None:
    """Writes dwell.json where the trial has captures at both sides of both gateways."""
    passes = folder / "passes.parquet"
    if not passes.exists():
        return
    table = trial_tables.read(passes, ["flow", "t_in_ns", "t_out_ns", "len"])
    flow, t_in, t_out, octets = (table[name].to_numpy().astype(np.int64) for name in table.column_names)
    tunnel = folder / "tunnel.parquet"
    near, far = _tunnel(trial_tables.read(tunnel)) if tunnel.exists() else (None, None)
    params = read_json(folder / "params.json") or {}
    paths = pair_path.paths(params)
    path_ns = sum(int(path.get("delay_ns") or 0) for path in paths)
    back_ns = [path.get("ba_delay_ns", path.get("delay_ns")) for path in paths]
    round_ns = path_ns + sum(int(delay or 0) for delay in back_ns)
    sides = _sides(t_in, t_out, octets, near, far, path_ns) if near and far and flow.size else None
    times = (near.t_ns if near else None, far.t_ns if far else None)
    missed = _missed(folder) if tunnel.exists() and len(paths) == 1 else None  # another box has no record
    dwells = {}
    for one in np.unique(flow):
        own = flow == one
        carried = None if sides is None else (t_out - sides[0][SIDES.index("far")] - sides[1])[own]
        dwells[str(one)] = of_flow(t_in[own], t_out[own], *times, path_ns, missed, carried, round_ns)
        if sides:
            each, error_ns = sides
            dwells[str(one)] |= {"dwell_error": error_ns} | {
                f"{side}_dwell_{name}": value
                for row, side in enumerate(SIDES)
                for name, value in _percentiles(each[row][own]).items()
            }
    write_json(folder / TABLE, {"v": VERSION, "stall_ns": STALL_NS, "flows": dwells})


def _tunnel(table: pa.Table) -> tuple[Tunnel | None, Tunnel | None]:
    t_ns, octets, parts, point, way = (
        table[name].to_numpy().astype(np.int64) for name in ("t_ns", "bytes", "parts", "point", "dir")
    )
    data = (way == 0) & (octets >= _DATA_BYTES * np.maximum(parts, 1))
    if not ((point == 0).any() and (point == 1).any()):
        return None, None
    near, far = (_packets(*(one[data & (point == which)] for one in (t_ns, octets, parts))) for which in (0, 1))
    return near, far


def _packets(t_ns: I64, octets: I64, parts: I64) -> Tunnel:
    """Splits super-packets into their packets on the wire, each with an equal share of the octets."""
    order, count = np.argsort(t_ns, kind="stable"), np.maximum(parts, 1)
    t_ns, each, count = t_ns[order], (octets // count)[order], count[order]
    return Tunnel(np.repeat(t_ns, count), np.repeat(each, count))


def columns(folder: Path, own: Iterable[int]) -> dict[str, int | None]:
    """The columns of a flow: dwell of its connection with the most data, stalls of all its connections."""
    flows = (read_json(folder / TABLE) or {}).get("flows") or {}
    dwells = [flows[str(number)] for number in own if str(number) in flows]
    names = [
        *(f"dwell_{name}_ns" for name in PERCENTILES),
        "stalls",
        *(f"stalls_{side}" for side in SIDES),
        *(f"stall_{side}_max_ns" for side in SIDES),
        *(f"dwell_{side}_{name}_ns" for side in SIDES for name in PERCENTILES),
        "dwell_error_ns",
    ]
    if not dwells:
        return dict.fromkeys(names)
    values: dict[str, int | None] = {f"dwell_{name}_ns": dwells[0][name] for name in PERCENTILES}
    values["stalls"] = sum(one["stalls"] for one in dwells)
    known = all(one[SIDES[0]] is not None for one in dwells)
    for side in SIDES:
        values[f"stalls_{side}"] = sum(one[side] for one in dwells) if known else None
        values[f"stall_{side}_max_ns"] = max(one[f"{side}_max_ns"] for one in dwells) if known else None
        for name in PERCENTILES:  # None where the sides cannot be estimated, and in files of earlier versions
            values[f"dwell_{side}_{name}_ns"] = dwells[0].get(f"{side}_dwell_{name}")
    values["dwell_error_ns"] = dwells[0].get("dwell_error")
    return values
