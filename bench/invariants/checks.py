"""Invariants of any trial, whatever its settings: each check yields a line for every violation in a trial.

The expectation is derived from the trial's draw, not from what the product made of it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.invariants import oracle
from bench.invariants.trials import Array, Json, Trial, until
from scenarios.trial import clock

LATE_ECN = (0, 2, 5)  # values of net.ipv4.tcp_ecn with which an opened connection does not ask for ECN
JIFFY_NS = 1_000_000  # the unit of times in TCP_INFO of the virtual kernel
SPAN_NS = 100_000_000
CALL_NS = 10_000  # the longest time of a program between two of its calls
IPERF3_COOKIE = 37
RTO = 1  # a kind of pktlogger's events
NOT_DROPPED = ("sent", "held", "unseen")  # packets that the box's account of a flow does not count as dropped
NEAR = 1 + 1e-9


def ends(trial: Trial) -> Iterator[str]:
    """A trial in virtual time ends and is valid, unless other settings ran than were asked for. Between two hosts this
    happens where a congestion control needs ECN and is set too late: iperf3's connection gets its control when it is
    already open. A lost SYN is sent again without ECN, and gateways have settings of their own. A gateway may report
    that its tunnel was down where several gateways together overfill the line."""
    if trial.status["state"] != "done":
        yield f"{trial.status['state']}: {trial.status['error']}"
        return
    causes = trial.status["verdict"]["causes"]
    kinds = {cause["kind"] for cause in causes if not (_is_tunnel_down(cause) and _overfilled(trial))}
    differs = any(row["ran"] != row["asked"] for row in trial.status["asked"])
    if ("asked" in kinds) != differs or kinds - {"asked", "transfer"} or ("transfer" in kinds and not differs):
        yield f"differs: {differs}; verdict: {trial.status['verdict']['reasons']}"


def _is_tunnel_down(cause: Json) -> bool:
    return bool(cause["kind"] == "gateway" and " outages " in cause["short"])


def _overfilled(trial: Trial) -> bool:
    """Whether the limits of all pairs of gateways together exceed the line's rate. Full queues may then drop all of one
    tunnel's packets for a second, so that the gateway takes its peer for dead."""
    if trial.gateway in ("none", "socat"):
        return False
    first = trial.json("gateway")
    pairs = [first, *(first.get("others") or {}).values()]
    return sum(int(pair["near"]["parameters"]["rate_bps"]) for pair in pairs) > int(trial.rows[0]["rate_bps"])


def _falls_back(trial: Trial, row: Json) -> bool | None:
    """Whether a row's DCTCP must run as Reno because there is no ECN; None: it may."""
    if _flow_table(trial, row)["congestion"] != "dctcp":
        return False
    if _may_lack_ecn(trial, row):
        return None
    return bool(_flow_table(trial, row)["tool"] == "iperf3" and trial.draw.values["ecn"] in LATE_ECN)


def _may_lack_ecn(trial: Trial, row: Json) -> bool:
    """Whether gateways, or a SYN that the path lost, may keep a row's connections from using ECN. netem keeps no
    record, so any packet that it dropped, by chance or at a full queue, may have been a SYN."""
    if trial.gateway != "none":
        return True
    if not trial.recorded:
        ways = (trial.json("delay").get("statistics") or {}).values()
        return any(sum(way["drops"].values()) > 0 for way in ways)
    return any(port in trial.lost_syns for port in trial.ports(row))


def _flow_table(trial: Trial, row: Json) -> Json:
    """The draw's values for a row's flow."""
    return dict(trial.asked["transfer"]) | dict(trial.asked["flow"][row["flow_name"]] if row["flow"] else {})


def line(trial: Trial) -> Iterator[str]:
    """Neither one flow nor all together exceed the line's rate: on average, while all run, and in any 100 ms at the
    receiver. Packets that are due within the box's granularity leave together, so octets may be early by that time, and
    a gateway hands over at once what it held. A steady rate counts
    from the first octet that the program read. If that octet filled a hole, the octets behind it had arrived before it
    and are read at once; so the bound is what the line carried since the transfer began. A packet occupies the line
    before it arrives, so the bound's time is longer by the time of one packet."""
    fastest = _fastest_bps(trial)
    packet_ns = 8e9 * trial.asked["path"]["mtu"] / fastest
    for row, end in zip(trial.rows, trial.ends, strict=True):
        receiver = end.get("receiver") or {}
        first, last = receiver.get("first_byte_ns") or 0, receiver.get("last_byte_ns") or 0
        for name in ("short_term_bps", "reverse_bps", "steady_bps"):
            carried_ns = last + packet_ns
            most = fastest * carried_ns / (last - first) if name == "steady_bps" and last > first else fastest
            if (row.get(name) or 0) > most * NEAR:
                yield f"{name} {row[name]:.0f} of flow {row['flow_name']} on a line of {fastest:.0f}"
    if trial.gateway != "none":
        return
    first = trial.rows[0]
    if first.get("flows_bps") and first["flows_bps"] > _together_bps(trial, first["flows_common_ns"]):
        yield f"flows_bps {first['flows_bps']:.0f} on a line of {fastest:.0f}"
    when, octets = _arrivals(trial)
    if when.size == 0:
        return
    total = np.concatenate(([0], np.cumsum(octets)))
    most = int((total[np.searchsorted(when, when + SPAN_NS, "right")] - total[:-1]).max())
    if most * 8e9 / SPAN_NS > _together_bps(trial, SPAN_NS):
        yield f"{most} octets arrived within 100 ms on a line of {fastest:.0f}"


def _together_bps(trial: Trial, span_ns: Any) -> Any:
    """The largest rate at which all flows' octets may arrive together in a span, or in each of several."""
    early_ns = trial.json("params")["granularity_ns"] + _held_back_ns(trial)
    return (_fastest_bps(trial) * (span_ns + early_ns) / 8e9 + 2 * trial.asked["path"]["mtu"]) * 8e9 / span_ns


def _arrivals(trial: Trial) -> tuple[Array, Array]:
    """When data from senders arrived, in order, and their lengths."""
    senders = {str((end.get("sender") or {}).get("local")).rpartition(":")[0].strip("[]") for end in trial.ends}
    own = [one["flow"] for one in trial.summary["flows"] if one["sender"]["address"] in senders]
    table = trial.segments
    there = (table["t_received_ns"] >= 0) & np.isin(table["flow"], own)
    order = np.argsort(table["t_received_ns"][there], kind="stable")
    return table["t_received_ns"][there][order], table["len"][there][order].astype(np.int64)


def _changed(trial: Trial, key: str) -> list[float]:
    """The values that a key of the path takes over time."""
    words = str(trial.asked["path"]["change"]).replace(";", " ").split()
    return [float(word.partition("=")[2].rstrip("Mbitms")) for word in words if word.startswith(f"{key}=")]


def possible(trial: Trial) -> Iterator[str]:
    """Checks that no verdict claims a possible rate above the line's capacity."""
    if trial.gateway != "none":
        return
    for flow in trial.summary.get("flows") or ():
        found = flow["verdict"] or {}
        if (found.get("possible_bps") or 0) > _fastest_bps(trial) * NEAR:
            yield f"flow {flow['flow']}: {found['text']}"


def path_rate(trial: Trial) -> Iterator[str]:
    """The path's rate limits while the bottleneck works, by the box's record. During all times attributed to the path's
    rate the bottleneck may be idle for at most 5 % of the time, plus one round trip of the path per flow. The 5 % are
    allowed because pktlogger accepts a round that kept the bottleneck busy for 98 %, and the round trip because a round
    may begin or end in between."""
    if not trial.recorded or not trial.summary.get("flows"):
        return
    box, limits = trial.table("box"), trial.limits
    own = limits["cause"] == trial.summary["limit_causes"].index("path_rate")
    there = (box["direction"] == 0) & (box["t_queue_exit_ns"] >= 0)
    if not own.any() or not there.any():
        return
    came, left = (np.sort(box[name][there]) for name in ("t_arrival_ns", "t_queue_exit_ns"))
    worked = np.append(0, np.cumsum(np.minimum(came[1:], left[:-1]) - came[:-1]))
    spent = [np.interp(limits[edge][own], came, worked) for edge in ("t0_ns", "t1_ns")]
    limited, busy = float((limits["t1_ns"] - limits["t0_ns"])[own].sum()), float((spent[1] - spent[0]).sum())
    round_ns = 2e6 * max(float(trial.draw.values["path.delay"]), *_changed(trial, "delay"), 0.0)
    if busy < 0.95 * limited - len(trial.summary["flows"]) * round_ns:
        yield f"{limited / 1e9:.3f} s by the path's rate, in which the bottleneck worked for {busy / 1e9:.3f} s"


def _fastest_bps(trial: Trial) -> float:
    """The fastest line that the path ever has."""
    return max(float(trial.draw.values["path.rate"]), *_changed(trial, "rate"), 0.0) * 1e6


def _held_back_ns(trial: Trial) -> float:
    """The largest reduction of the delay by a change: packets sent within this time before it arrive together with
    later ones."""
    delays = [float(trial.draw.values["path.delay"]), *_changed(trial, "delay")]
    return max(0.0, *(before - after for before, after in zip(delays, [*delays[1:], delays[-1]], strict=True))) * 1e6


def shares(trial: Trial) -> Iterator[str]:
    """Shares are from 0 to 1, and the shares of one whole add up to 1. Only pair 1 is captured, and hosts with gateways
    of their own have no connection to capture. A flow whose SYNs were lost until its time was over has no limits."""
    for row, end in zip(trial.rows, trial.ends, strict=True):
        limits = [value for name, value in row.items() if name.startswith("limited_") and value is not None]
        unseen = row["pair"] > 1 or trial.gateway == "host"
        nothing = not limits and (end.get("summary") or {}).get("bytes") == 0
        if unseen and limits:
            yield f"limits of flow {row['flow_name']}, which is not captured"
        if not unseen and not nothing and (not limits or min(limits) < 0 or abs(sum(limits) - 1) > 1e-6):
            yield f"limits of flow {row['flow_name']} add up to {sum(limits):.6f}"
        for name in ("stopped_share", "flow_share"):
            if row.get(name) is not None and not 0 <= row[name] <= 1:
                yield f"{name} {row[name]}"
        jain = row.get("flow_jain")
        if jain is not None and not 1 / len(trial.rows) - 1e-9 <= jain <= NEAR:
            yield f"flow_jain {jain} of {len(trial.rows)} flows"
    together = [row["flow_share"] for row in trial.rows if row.get("flow_share") is not None]
    if together and abs(sum(together) - 1) > 1e-6:
        yield f"the flows' shares add up to {sum(together):.6f}"


def sums(trial: Trial) -> Iterator[str]:
    """The flows second by second have all octets of the flows in both directions, and no more than the line brings.
    iperf3's receiver does not read all that arrives, and its connection begins with a cookie. The span that is common
    to all flows is at most as long as each of them; iperf3's own time ends before its last octets arrive."""
    for row in trial.rows:
        if row["tool"] == "rttcp" and (row["flows_common_ns"] or 0) > row["elapsed_ns"]:
            yield f"flow {row['flow_name']} took {row['elapsed_ns']}, all together {row['flows_common_ns']}"
    if len(trial.rows) < 2 or not (trial.folder / "flows.parquet").exists():
        return
    seconds = trial.table("flows")
    lasted_ns = seconds["t1_ns"] - seconds["t0_ns"]
    if trial.gateway == "none" and (seconds["flows_bps"] > _together_bps(trial, lasted_ns)).any():
        yield f"{seconds['flows_bps'].max():.0f} bit/s of all flows in a second"
    octets = float((seconds["bps"] * lasted_ns).sum() / 8e9)
    back = sum(((end.get("reverse") or {}).get("receiver") or {}).get("bytes", 0) for end in trial.ends)
    least = back + sum(end["summary"]["bytes"] for end in trial.ends)
    most = back + sum(
        (end.get("sender") or {})["bytes"] + IPERF3_COOKIE * (row["tool"] == "iperf3")
        for row, end in zip(trial.rows, trial.ends, strict=True)
    )
    if not least * (1 - 1e-6) <= octets <= most * (1 + 1e-6):
        yield f"{octets:.0f} octets second by second, {least} read of {most} sent"


def asked(trial: Trial) -> Iterator[str]:
    """Everything that was asked for ran, or the trial says otherwise: control, ECN, window and all other settings that
    are compared."""
    for row, end in zip(trial.rows, trial.ends, strict=True):
        table, ran = _flow_table(trial, row), (end.get("sender") or {}).get("congestion")
        back = _falls_back(trial, row)
        wanted = {table["congestion"]} if not back else set()
        wanted |= {f"{table['congestion']}-reno"} if back is not False else set()
        if ran not in wanted:
            yield f"flow {row['flow_name']}: {table['congestion']} ran as {ran}"
        window = row["window_bytes"] if table["tool"] == "rttcp" else None
        if window and (row.get("window_granted_bytes") or 0) < window:
            yield f"flow {row['flow_name']}: window {row['window_granted_bytes']} for {window}"
    free = any(_falls_back(trial, row) is not False or _may_lack_ecn(trial, row) for row in trial.rows)
    allowed = {"congestion control", "ECN"} if free else set()
    for row in trial.status["asked"]:
        if row["ran"] is None or (row["ran"] != row["asked"] and row["setting"] not in allowed):
            yield f"{row['end']}: {row['setting']} {row['asked']} was asked, {row['ran']} ran"


def windows(trial: Trial) -> Iterator[str]:
    """Where the receiver's window is the limit, and only there, the sender's kernel counts (`tcpi_rwnd_limited`),
    sample by sample. It counts while data wait for room in the window. Bounds:

    - Limits end with the last data packet (FORMAT.md section 3). iperf3 may leave unsent data after it, for which the
      kernel goes on counting.
    - The kernel's clock has steps of a jiffy. So between two samples its count may be wrong by one jiffy. Where it has
      counted the whole time between two samples, all but two jiffies of it must have been limited.
    - A recovery, a time-out or a path that is down is the cause, however full the window is (FORMAT.md section 4). The
      kernel counts there, too.
    - The kernel waits for room for a whole super-packet (tcp_tso_should_defer), but by pktlogger's rule room for one
      segment is enough. Where the window has room for a segment, by the kernel's own records, the cause of the round
      decides, and a standing queue comes first.
    - A gap between two packets has one cause. A gap that begins with a full window may end with another cause, which
      the kernel counts from the first acknowledgement in the gap on.
    - The kernel checks the receiver's window only when congestion window and pacing allow a packet. So it counts all
      the time if data wait, the congestion window is larger than what the receiver's window can hold, and the kernel
      does not pace. Data wait if both samples have at least a segment of unsent data, and the kernel's records show no
      moment with less. A shorter remainder waits for the program's next octets although the window has room (Nagle's
      rule), and the counter stands still. The window may hold two segments that are shorter than the others: its own
      remainder, and that of a super-packet.
    """
    for row in trial.rows:
        flow, samples = trial.captured(row), trial.samples(row)
        if flow is None or not samples:
            continue
        t_ns, counted = samples["t_ns"], np.diff(samples["rwnd_limited_us"].astype(np.int64)) * 1000
        lasted = np.diff(t_ns)
        most = lasted - np.diff(_may_be_windows(trial, flow)(t_ns))
        told = t_ns[1:] <= trial.rows_of(flow)[1][-1]
        if (wrong := told & (counted >= lasted - JIFFY_NS) & (most > 2 * JIFFY_NS)).any():
            yield f"flow {row['flow_name']}: {_told(wrong, lasted)} by windows to the kernel alone"
        if row["congestion"] == "bbr" or row["sender_pace_bps"]:
            continue
        waits = samples["snd_wnd"] // samples["snd_mss"] + 2 < samples["snd_cwnd"]
        waits &= samples["notsent_bytes"] >= samples["snd_mss"]
        own = trial.records_of(flow)
        sent_all = np.searchsorted(own["t_ns"][own["unsent"] < flow["mss_in_use"]], t_ns)
        ours = (
            (np.diff(trial.time_of(flow, *WINDOWS)(t_ns)) == lasted) & waits[:-1] & waits[1:] & (np.diff(sent_all) == 0)
        )
        if (wrong := ours & (counted < lasted - 2 * JIFFY_NS)).any():
            yield f"flow {row['flow_name']}: {_told(wrong, lasted)} by windows, and not to the kernel"


WINDOWS = "receiver_window", "zero_window"
BEFORE_WINDOWS = ("path_down", "timeout", "fast_recovery", "emulator_late")


def _may_be_windows(trial: Trial, flow: Json) -> Callable[[Array], Array]:
    """A function of time: for how long until then the kernel may have counted, by pktlogger's causes and the bounds of
    `windows`."""
    began, ended, named = trial.rows_of(flow, *WINDOWS, *BEFORE_WINDOWS)
    came = trial.acks["t_received_ns"][trial.acks["flow"] == flow["flow"]]
    came = np.append(np.sort(came[came >= 0]), ended[-1])
    first = came[np.searchsorted(came[:-1], began, "right")]
    behind = np.append(False, trial.rows_of(flow, *WINDOWS)[2][:-1])
    own = trial.records_of(flow)
    edges = np.unique(np.concatenate((began, ended, first, own["t_ns"].astype(np.int64))))
    edges = np.unique(edges.clip(began[0], ended[-1]))
    middle = (edges[:-1] + edges[1:]) / 2
    row = np.searchsorted(began, middle, "right") - 1
    may = named[row] | (behind[row] & (middle < first[row]))
    if own.size:
        room = own["room"][np.maximum(np.searchsorted(own["t_ns"], middle, "right") - 1, 0)]
        may |= (room >= flow["mss_in_use"]) & (room < 65536)
    return until(edges, may)


def _told(wrong: Array, lasted: Array) -> str:
    return f"{wrong.sum()} times between samples ({lasted[wrong].sum() / 1e9:.3f} s, first is {wrong.argmax()}) limited"


def idle(trial: Trial) -> Iterator[str]:
    """Where the sender's kernel has nothing to send and nothing outstanding, its program is the limit. The kernel's
    counter `tcpi_busy_time` stands still then, and no window, queue or recovery keeps anything back. So the cause is
    application, or pacing if the program keeps to a rate, or send_buffer if a blocked writer has not run yet. Bounds:

    - The counter has steps of a jiffy. Where it stands still from one sample to the next, the kernel was idle for all
      but one jiffy.
    - A silence has a cause of its own, and a round includes the gaps at its edges. So within consecutive samples
      between which the counter stands still, a round trip may have another cause (or the distance of two samples, if
      that is longer).
    - A path that is down and a box that is late come first (FORMAT.md section 4).
    """
    for row in trial.rows:
        flow, samples = trial.captured(row), trial.samples(row)
        if flow is None or not samples:
            continue
        t_ns, counted = samples["t_ns"], np.diff(samples["busy_time_us"].astype(np.int64))
        inside = (t_ns[:-1] >= trial.rows_of(flow)[0][0]) & (t_ns[1:] <= trial.rows_of(flow)[1][-1])
        other_ns = (np.diff(t_ns) - np.diff(trial.time_of(flow, *OF_PROGRAM)(t_ns))) * ((counted == 0) & inside)
        run = np.cumsum(np.append(True, (counted[1:] == 0) != (counted[:-1] == 0)))[: counted.size]
        most_ns = max(int(samples["rtt_us"].max()) * 1000, int(np.diff(t_ns).max(initial=0)))
        if (worst_ns := np.bincount(run, other_ns).max(initial=0)) > most_ns + JIFFY_NS:
            yield f"flow {row['flow_name']}: {worst_ns / 1e9:.3f} s not by the program, and the kernel was idle"


OF_PROGRAM = ("application", "pacing", "send_buffer", "path_down", "capture_loss", "emulator_late")


def buffers(trial: Trial) -> Iterator[str]:
    """rttcp always has data, so its application is never the limit. There are three exceptions. In the opening of a
    transfer with a window, rttcp sends one window at a time (PROTOCOL.md). The others are the time after all data have
    been sent once, and the time between two calls that write. Where the send buffer or any application is the limit,
    nothing is unsent: most samples taken then have less than a segment. The counter `tcpi_sndbuf_limited` is not used:
    it does not count a blocking writer, which exceeds the buffer's bound."""
    for row in trial.rows:
        flow, samples = trial.captured(row), trial.samples(row)
        if flow is None or row["sender_pace_bps"]:
            continue
        own = {name: column[trial.limits["flow"] == flow["flow"]] for name, column in trial.limits.items()}
        names = np.asarray(trial.summary["limit_causes"])[own["cause"]]
        if row["tool"] == "rttcp":
            waits = (names == "application") & (own["t1_ns"] > trial.opened_ns(row, flow))
            waits &= (own["t0_ns"] < trial.all_sent_ns(flow)) & (own["t1_ns"] - own["t0_ns"] > CALL_NS)
            if waits.any():
                waited = (own["t1_ns"] - own["t0_ns"])[waits].sum() / 1e9
                yield f"flow {row['flow_name']}: rttcp always has data, and 'application' has {waited:.3f} s"
        for cause in ("send_buffer", "application") if samples else ():
            place = np.searchsorted(own["t0_ns"], samples["t_ns"], "right") - 1
            inside = (place >= 0) & (samples["t_ns"] < own["t1_ns"][place])
            there = inside & (names[place] == cause)
            unsent = int((samples["notsent_bytes"] >= samples["snd_mss"])[there].sum())
            if unsent * 2 > there.sum():
                yield f"flow {row['flow_name']}: in {unsent} of {there.sum()} samples of {cause!r} data are unsent"


def limits(trial: Trial) -> Iterator[str]:
    """Checks that the limits of a captured flow agree with what its kernel waited for (`oracle` has the bound)."""
    for flow, found in oracle.flows(trial):
        if sum(found.wrong_s.values()) > found.bound_s:
            yield f"flow {flow['flow']}: {found.told()}"


def timeouts(trial: Trial) -> Iterator[str]:
    """A captured flow has as many time-outs as its kernel counted from its first sample to its last; tail-loss probes
    do not count. No time-out can be over before the first sample, 10 ms after the transfer's beginning. iperf3 ends
    before its connection does, so its time-outs after the last sample are left out."""
    for row in trial.rows:
        flow, samples = trial.captured(row), trial.samples(row)
        if flow is not None and samples:
            counted = int(samples["total_rto"][-1]) - int(samples["total_rto"][0])
            events = trial.table("events")
            late = (events["flow"] == flow["flow"]) & (events["kind"] == RTO) & (events["t1_ns"] > samples["t_ns"][-1])
            timed_out = flow["timeouts"] - int(late.sum()) * (row["tool"] == "iperf3")
            if timed_out != counted:
                yield f"flow {row['flow_name']}: {timed_out} time-outs, the kernel counted {counted}"


def marks(trial: Trial) -> Iterator[str]:
    """The receiver's capture and kernel see as many marks as the box made. The tools' own connections, which have no
    row, may have some of the box's marks. The receiver's kernel does not count the mark of a packet that brings nothing
    new, and its counter is read before the last packet comes, which acknowledges its own FIN. Linux sometimes assumes
    that AccECN's counter has wrapped once more than it has, so its sender may count more marked packets by a multiple
    of 8."""
    marked = [row["ce_marked"] for row in trial.rows if row.get("ce_marked") is not None]
    for row, end in zip(trial.rows, trial.ends, strict=True):
        if row.get("ce_received") is None or not trial.recorded:
            continue
        whose, arrived = f"flow {row['flow_name']}", row["ce_received"]
        if arrived != row["ce_marked"]:
            yield f"{whose}: {arrived} arrived with CE, the box marked {row['ce_marked']}"
        infos = [(end.get(side) or {}).get("tcp_info") or {} for side in ("sender", "receiver")]
        uncounted = arrived - infos[1].get("received_ce", arrived)
        spurious = (trial.captured(row) or {}).get("spurious", 0)
        if row["parallel"] == 1 and not row["bidir"] and not 0 <= uncounted <= 1 + spurious:
            yield f"{whose}: {arrived} arrived with CE, the receiver's kernel counted {infos[1]['received_ce']}"
        if (reported := row.get("ce_reported")) is not None and row["parallel"] == 1:
            if reported > arrived:
                yield f"{whose}: {reported} reported of {arrived}"
            if (infos[0].get("delivered_ce", reported) - reported) % 8:
                yield f"{whose}: {reported} reported, the sender's kernel counted {infos[0]['delivered_ce']}"
            octets = (trial.captured(row) or {}).get("ce_reported_bytes")
            if octets is not None and infos[0].get("delivered_ce_bytes", octets) != octets:
                yield f"{whose}: {octets} octets reported, the sender's kernel counted {infos[0]['delivered_ce_bytes']}"
    if marked and sum(marked) > trial.rows[0]["ecn_marks_box"]:
        yield f"{sum(marked)} marks of the flows, the box made {trial.rows[0]['ecn_marks_box']}"


def causes(trial: Trial) -> Iterator[str]:
    """Every data packet that the box dropped is lost exactly once, with the right cause. No loss has a cause that the
    path does not have."""
    if not trial.recorded:
        return
    path = trial.asked["path"]
    for flow in trial.summary.get("flows") or ():
        dropped = {name: count for name, count in (flow.get("box") or {}).items() if name not in NOT_DROPPED}
        lost, seen = flow.get("losses_by_cause") or {}, flow.get("losses_seen") or {}
        if sum(dropped.values()) != sum(lost.values()):
            yield f"flow {flow['flow']}: the box dropped {dropped}, lost are {lost}"
        pairs = (("queue", "tail_drop"), ("aqm", "aqm"), ("policer", "policer"))
        if any(dropped.get(fate, 0) != lost.get(cause, 0) for fate, cause in pairs):
            yield f"flow {flow['flow']}: the box dropped {dropped}, causes are {lost}"
        if sum(seen.values()) != sum(lost.values()):
            yield f"flow {flow['flow']}: {sum(lost.values())} lost, {sum(seen.values())} explained by captures"
        if seen.get("aqm") and path["ab_aqm"] == "none":
            yield f"flow {flow['flow']}: {seen['aqm']} losses 'by queue management' on a path without"


def drops(trial: Trial) -> Iterator[str]:
    """The flows lost no more than the box dropped, and nothing by chance where the box dropped nothing by chance. Pairs
    that are not captured have no losses."""
    dropped = (((trial.json("delay").get("statistics") or {}).get("ab") or {}).get("drops")) or {}
    lost = sum(value or 0 for row in trial.rows for name, value in row.items() if name.startswith("lost_"))
    if trial.recorded and not trial.rows[0]["bidir"]:
        if lost > sum(dropped.values()):
            yield f"{lost} lost, the box dropped {dropped}"
        if not dropped.keys() - {"queue", "aqm"} and any(row["lost_chance"] for row in trial.rows):
            yield f"lost by chance where the box dropped {dropped}"
    if any(row["pair"] > 1 and row["lost_queue"] is not None for row in trial.rows):
        yield "losses of a pair that is not captured"


def recoveries(trial: Trial) -> Iterator[str]:
    """A recovery is at most as long as the rest of the transfer. If it is unknown, the reason is given. Times of
    outages count from the trial's origin, those of intervals from the beginning of their own flow."""
    found = trial.json("recovery").get("flows") or {}
    for row, end in zip(trial.rows, trial.ends, strict=True):
        for one in found.get(row["flow_name"]) or ():
            later_ns = end["receiver"]["t0_monotonic_ns"] - (clock.origin_ns(trial.ends[0], "monotonic") or 0)
            took, until = one["recovery_ns"], end["receiver"]["intervals"][-1][1] + later_ns
            if (took is None) != (one["why"] is not None) or not 0 <= (took or 0) <= max(0, until - one["end_ns"]):
                yield f"flow {row['flow_name']}: {one}, and the transfer ended at {until}"


CHECKS: dict[str, Callable[[Trial], Iterator[str]]] = {
    "trials end": ends,
    "sums are below the line": line,
    "possible rates are the line's": possible,
    "the path's rate is a busy line": path_rate,
    "shares add up": shares,
    "sums have all octets": sums,
    "what was asked is what ran": asked,
    "windows are TCP_INFO's": windows,
    "idle time is TCP_INFO's": idle,
    "buffers are TCP_INFO's": buffers,
    "time-outs are TCP_INFO's": timeouts,
    "marks are the box's": marks,
    "causes are the box's": causes,
    "losses are the box's": drops,
    "recoveries end": recoveries,
    "limits are the kernel's": limits,
}


JUDGED = "trials can be judged"


def broken(trial: Trial, checks: dict[str, Callable[[Trial], Iterator[str]]] = CHECKS) -> dict[str, str]:
    """The checks that a trial violates, with the evidence. For a trial that failed or is not valid, only the checks of
    failure and validity count. A check that raises an error counts as violated, so that a long series of trials
    continues."""
    first = {"trials end": ends, "what was asked is what ran": asked}
    try:
        done, valid = trial.status["state"] == "done", bool(trial.rows[0]["valid"])
    except Exception as error:  # any error: a trial's files may lack anything
        return {JUDGED: _where(error)}
    chosen = checks if valid else first if done else {"trials end": ends}
    found = {name: _complaint(check, trial) for name, check in chosen.items()}
    return {name: text for name, text in found.items() if text}


def _complaint(check: Callable[[Trial], Iterator[str]], trial: Trial) -> str:
    """The violations of a check; empty without any."""
    try:
        return "; ".join(check(trial))
    except Exception as error:  # any error: a trial's files may lack anything
        return f"cannot be judged: {_where(error)}"


def _where(error: Exception) -> str:
    """An error, with the line of this package that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = next((one for one in reversed(frames) if "invariants" in one.filename), frames[-1])
    return f"{error!r} in {Path(place.filename).name}, line {place.lineno}"
