"""Lists of facts: about a run, a trial, the data between a trial's gateways, the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from dashboard.core.grouping import between_trials, in_words
from dashboard.core.parts import Facts, known
from dashboard.core.runs import Json, Run, Trial, behind_gateway
from dashboard.timeline.timeline import Timeline
from netcommon import readable
from scenarios.plan import columns
from scenarios.plan.shared_settings import shared_settings


def trial_row(run: Run, number: int) -> Json:
    """The trial's first row of the results; empty while there is none."""
    return next((row for row in run.rows if row.get("trial") == number), {})


def trial_name(run: Run, trial: Trial) -> str:
    """`Trial 40: profile.name bsd-1995, transfer.window 256 KB, repeat 1`: the settings that tell the trial from the
    run's others. Where no setting does, the trial's profile and path. In a run without repeats the repeat is not
    named."""
    names, row = between_trials(run), trial_row(run, trial.number) or trial.params
    parts = in_words(run, names, row) if names else _usual_words(trial.params)
    if any(one.get("repeat") for one in (trial.params, *run.rows)):
        parts.append(f"repeat {trial.params.get('repeat')}")
    return f"Trial {trial.number}: " + ", ".join(parts)


def _usual_words(params: Json) -> list[str]:
    """Case or profile, congestion control, and the window. If the kernel sizes the window: round-trip time and
    loss instead."""
    names = ["case" if params.get("case") else "profile", "congestion", "window_bytes"]
    parts = [f"{columns.spelling(name)} {readable.named(name, params[name])}" for name in names if params.get(name)]
    if not params.get("window_bytes") and params.get("rtt_ns"):
        parts += [f"RTT {readable.duration(params['rtt_ns'])}", f"path.loss {loss_text(params)}"]
    return parts


def loss_text(params: Json) -> str:
    """The path's loss: a ratio, or the text of a model."""
    ppb = params.get("loss_ppb")
    return str(params.get("loss") or readable.NOTHING) if ppb is None else readable.ratio_ppb(ppb)


def flow_name(trial: Trial, flow: int) -> str:
    """`flow 1: 10.0.0.1:40001 → 10.0.3.1:50000, 80 MB`."""
    summary = trial.flow_summary(flow)
    ends = " → ".join(_endpoint(summary.get(end)) for end in ("sender", "receiver"))
    return f"flow {flow}: {ends}, {readable.size(summary.get('bytes'))}"


def trial_facts(run: Run, trial: Trial) -> Facts:
    """The measured numbers, then the settings that they belong to. Numbers from the capture describe [transfer]'s flow:
    counts cover all of its streams, everything else the stream with the most data."""
    row, params = trial_row(run, trial.number), trial.params
    summaries = [trial.flow_summary(number) for number in trial.own_flows]
    flow = summaries[0] if summaries else {}
    exchanging = bool(row.get("exchanges_per_s"))
    stopped = row.get("stopped_share") if exchanging else flow.get("stopped_share", row.get("stopped_share"))
    whose = "RTT to the near gateway" if behind_gateway(params) else "RTT of the sender's TCP"
    facts = [
        *(_exchanged(row) if exchanging else []),
        ("Throughput of the requests" if exchanging else "Throughput", readable.rate(row.get("short_term_bps"))),
        ("Peak", readable.rate(row.get("peak_bps"))),
        ("Sending stopped", f"s = {readable.share(stopped)} of the time" if stopped is not None else "not captured"),
        ("Retransmissions", readable.count(_sum(summaries, "retransmitted", row.get("retransmits")))),
        ("Lost segments", readable.count(_sum(summaries, "lost"))),
        ("Time-outs", readable.count(_sum(summaries, "timeouts", row.get("timeouts")))),
        ("ECN marks: in the box, arrived", _marks(row, flow)),
        ("ECN: reported to the sender", _reported(flow)),
        (f"{whose}: least, median", _both(row.get("rtt_min_ns"), row.get("rtt_median_ns"))),
        ("Unacknowledged, most", readable.size(flow.get("max_unacknowledged_bytes"))),
        ("Moved", _moved(trial, row)),
        ("Window granted", readable.size(row.get("window_granted_bytes") or None)),
    ]
    if not run.virtual:  # in virtual time it counts readings of the clock, not work
        facts.append(("CPU time of both gateways", readable.duration(row.get("cpu_gateways_ns"))))
    return known(facts) + _settings(run, params)


def _exchanged(row: Json) -> Facts:
    """What a trial of request and response measured, and what became of its responses."""
    latencies = ", ".join(readable.duration(row.get(f"latency_{key}_ns")) for key in ("p50", "p99", "max"))
    known_lost = [row.get(f"{columns.REVERSE}lost_{cause}") for cause in columns.LOSSES]
    lost = [int(count) for count in known_lost if count is not None]
    again = readable.count(row.get(f"{columns.REVERSE}retransmits"))
    return [
        ("Exchanges a second", readable.number(row["exchanges_per_s"])),
        ("Latency: median, 99 %, largest", latencies),
        ("Throughput of the responses", readable.rate(row.get("response_bps"))),
        ("Responses: lost packets", readable.count(sum(lost)) if lost else readable.NOTHING),
        ("Responses: packets sent again", again),
    ]


def _sum(flows: list[Json], key: str, otherwise: Any = None) -> Any:
    """A count of several captured flows together; ``otherwise`` where a flow has none, or none was captured."""
    counts = [flow.get(key) for flow in flows]
    return otherwise if not counts or None in counts else sum(counts)


def _settings(run: Run, params: Json) -> Facts:
    """The trial's settings under the scenario's names."""
    found = shared_settings([params], run.sweep)
    return found if params.get("window_bytes") else [*found, (columns.spelling("window_bytes"), "sized by the kernel")]


def _marks(row: Json, flow: Json) -> str:
    """Marks that the delay box counted, of all flows and of this one, and those that arrived; empty without any."""
    boxes, own, arrived = row.get("ecn_marks_box"), flow.get("ce_marked"), flow.get("ce_received")
    if not boxes and not arrived:
        return readable.NOTHING
    of_this = f" ({readable.count(own)} of this flow)" if own is not None and own != boxes else ""
    return f"{readable.count(boxes)}{of_this}, {readable.count(arrived)}"


def _reported(flow: Json) -> str:
    """The marks that acknowledgements reported, and the sender's reactions; empty where nothing was reported."""
    reductions = flow.get("ecn_reductions")
    times = f"window reduced {'once' if reductions == 1 else f'{readable.count(reductions)} times'}"
    if flow.get("ce_reported"):
        return f"{readable.count(flow['ce_reported'])} packets (AccECN), {times}"
    if flow.get("ece_received"):
        return f"{readable.count(flow['ece_received'])} ACKs with ECE, {times}"
    return readable.NOTHING


def _both(least_ns: Any, median_ns: Any) -> str:
    return ", ".join(text for text in map(readable.duration, (least_ns, median_ns)) if text != readable.NOTHING)


def _moved(trial: Trial, row: Json) -> str:
    moved = (trial.transfer.get("summary") or {}).get("bytes")
    took = readable.duration(row.get("elapsed_ns"))
    return readable.size(moved) + ("" if took == readable.NOTHING else f" in {took}")


def passage_facts(loaded: Timeline) -> Facts:
    """What a timeline shows about its gateways; empty without gateways."""
    if loaded.server is None:
        return []
    took = loaded.through_gateways.value
    passage = ", ".join(readable.duration(float(ns)) for ns in np.quantile(took, (0, 0.5, 0.99))) if took.size else ""
    most = int(loaded.inside_gateways.value.max(initial=0))
    return known(
        [
            (f"{'Far to near gateway' if loaded.back else 'Gateway in to gateway out'}: least, median, 99 %", passage),
            ("Most inside gateways and tunnel", readable.size(most)),
        ]
    )


def _endpoint(value: Any) -> str:
    return f"{value.get('address')}:{value.get('port')}" if isinstance(value, dict) else str(value or "?")
