"""Made-up but complete run directories for tests of the dashboard (docs/reference/interfaces.md, "Run directory").

`sweep(parent)` writes an `lfp-syndrome` run (windows × two profiles × repeats, one capture deep in the collapse, one
invalid trial), `seqack(parent)` an `lfp-seqack` run (one captured trial). Both give the run directory's path.
As a program: `python synthetic_run.py PARENT [SEGMENTS]` writes both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from netcommon import run_format
from support.synthetic_capture import MAIN_FLOW, MSS_BYTES, QUEUE_BYTES, RATE_BPS, RTT_NS, Capture, capture

STARTED_NS = 1_760_000_000_000_000_000
MONOTONIC_NS = 5_000_000_000_000
GUEST_MONOTONIC_NS = 2_000_000_000  # a guest of virtual time has just booted
HOST_AHEAD_NS = 28_087_577 * 10**9  # and its CLOCK_REALTIME is not the host's
WINDOWS_KB = (8, 16, 24, 32, 48, 64, 96, 128, 144, 160, 176, 192, 224, 256, 320, 384, 520)
PROFILES = ("bsd-1995", "modern")
BYTES = 80_000_000
INVALID_TRIAL = 7
MATRIX_INVALID = 5
INVALID_REASON = "delay box late: p99 2.3 ms, allowed 1 ms"
REPORTS: dict[str, dict[str, Any]] = {
    "lfp-seqack": {"kind": "timeline", "reference": ["lfp-1995-fig4"], "regions": []},
    "comet-timeline": {"kind": "timeline", "reference": [], "regions": []},
    "comet-fig12": {
        "kind": "sweep", "x": "loss_ppb", "y": "short_term_bps", "series": "case", "reference": ["comet-2004-fig12"],
        "regions": [],
    },
    "comet-fig1": {
        "kind": "matrix", "x": "rtt_ns", "y": "loss_ppb", "value": "short_term_bps", "series": "profile",
        "reference": ["comet-2004-fig1"],
    },
    "lfp-syndrome": {
        "kind": "sweep", "x": "window_bytes", "y": "short_term_bps", "series": "profile",
        "reference": ["lfp-1995-fig3"],
        "regions": [
            {"label": "1: linear, slope 1/RTT", "from": 0, "to": 102400},
            {"label": "2: line rate", "from": 102400, "to": 174080},
            {"label": "3: LFP syndrome", "from": 174080, "to": 532480},
        ],
    },
}  # fmt: skip


# As scenarios name what they sweep; the values are in the trials.
SWEEPS: dict[str, dict[str, Any]] = {
    "lfp-syndrome": {"profile.name": list(PROFILES), "transfer.window": [f"{kb}KB" for kb in WINDOWS_KB]},
    "comet-fig1": {"profile.name": [], "path.loss": [], "path.delay": []},
    "comet-fig12": {"scenario.case": [], "path.loss": []},
}


def sweep(parent: Path, *, repeats: int = 3, seed: int = 1) -> Path:
    """Write an `lfp-syndrome` run; the one captured trial is bsd-1995 at 256 KB, first repeat."""
    run = start(parent, "lfp-syndrome", "lfp-1995/fig3", "The LFP syndrome: throughput against window", "a1b2c3")
    rng = np.random.default_rng(seed)
    rows, trial = [], -1
    for profile in PROFILES:
        for window_kb in WINDOWS_KB:
            for repeat in range(repeats):
                trial += 1
                params = make_params(trial, repeat, profile, window_kb * 1024) | {"capture": "snd,rcv"}
                kept = (profile, window_kb, repeat) == ("bsd-1995", 256, 0)
                cap = capture(1200, t0_ns=STARTED_NS + trial * 10**10) if kept else None
                rows.append(write_trial(run, params, _throughput_bps(profile, params["window_bytes"], rng), cap))
    finish(run, rows)
    return run


def seqack(parent: Path, *, segments: int = 1200, cycle_segments: int = 130, virtual: bool = False) -> Path:
    """Write an `lfp-seqack` run with one captured trial of at least `segments` data segments."""
    title = "Seq and Ack of one collapsed transfer"
    run = start(parent, "lfp-seqack", "lfp-1995/fig4", title, "d4e5f6", virtual=virtual)
    params = make_params(0, 0, "bsd-1995", 256 * 1024) | {"capture": "snd,rcv"}
    cap = capture(segments, t0_ns=STARTED_NS, cycle_segments=cycle_segments)
    params["bytes"] = cap.summary["flows"][MAIN_FLOW]["bytes"]
    finish(run, [write_trial(run, params, params["bytes"] * 8e9 / cap.elapsed_ns, cap)])
    return run


def matrix(parent: Path) -> Path:
    """Write a `comet-fig1` run: three profiles × four losses × three round-trip times, throughput by a simple law."""
    run = start(parent, "comet-fig1", "comet-2004/fig1", "Plain TCP by round-trip time and loss", "f7a8b9")
    rows: list[dict[str, Any]] = []
    for profile in ("linux-2003", "modern", "bbr"):
        for loss_ppb in (0, 100_000, 1_000_000, 10_000_000):
            for rtt_ns in (0, 20_000_000, 200_000_000):
                params = make_params(len(rows), 0, profile, 96 * 1024) | {
                    "loss_ppb": loss_ppb,
                    "rtt_ns": rtt_ns,
                    "delay_ns": rtt_ns // 2,
                    "ba_delay_ns": rtt_ns // 2,
                }
                law = 96 * 1024 * 8e9 / max(rtt_ns, 1_000_000) / (1 + loss_ppb / 1e6)
                rows.append(write_trial(run, params, law))
    rows[MATRIX_INVALID] |= {"valid": False, "reasons": INVALID_REASON}
    finish(run, rows)
    return run


def losses(parent: Path) -> Path:
    """Write a `comet-fig12` run: three cases × four losses × two repeats, one trial not valid, one failed."""
    run = start(parent, "comet-fig12", "comet-2004/fig12", "LFT and plain TCP by loss at RTT 200 ms", "c1c2c3")
    rows: list[dict[str, Any]] = []
    for case, gateway, law in (("selective", "lft", 0.0), ("bbr", "none", 1e-6), ("cubic", "none", 1e-4)):
        for loss_ppb in (0, 1_000_000, 10_000_000, 100_000_000):
            for repeat in range(2):
                params = make_params(len(rows), repeat, "modern", 0) | {
                    "case": case, "loss_ppb": loss_ppb, "rtt_ns": 200_000_000, "gateway": gateway,
                    "delay_ns": 100_000_000, "ba_delay_ns": 100_000_000,
                    "rate_bps": 800_000_000, "gateway_rate_bps": 800_000_000 if gateway == "lft" else None,
                }  # fmt: skip
                bps = 750e6 * (1 - loss_ppb / 1e9) / (1 + law * loss_ppb) * (1 - 0.02 * repeat)
                rows.append(write_trial(run, params, bps))
    rows[MATRIX_INVALID] |= {"valid": False, "reasons": INVALID_REASON}
    rows[-1] |= {"valid": False, "state": "failed", "short_term_bps": None}
    finish(run, rows)
    return run


def _throughput_bps(profile: str, window_bytes: int, rng: np.random.Generator) -> float:
    """The three regions of lfp-1995/fig3 for bsd-1995; no collapse for modern."""
    linear = window_bytes * 8e9 / RTT_NS
    bps = min(linear, 0.97 * RATE_BPS)
    if window_bytes < 16 * 1024:
        bps *= 0.8
    if profile == "bsd-1995" and window_bytes > 170 * 1024:
        bps = 13e6
    return float(bps * rng.normal(1.0, 0.01 if bps > 20e6 else 0.06))


def make_params(trial: int, repeat: int, profile: str, window_bytes: int) -> dict[str, Any]:
    return {
        "trial": trial, "repeat": repeat, "seed": 1000 + trial, "profile": profile, "window_bytes": window_bytes,
        "bytes": BYTES, "duration_ns": None, "length_bytes": 4096, "rate_bps": RATE_BPS, "delay_ns": RTT_NS // 2,
        "queue_bytes": QUEUE_BYTES, "loss_ppb": 0, "access_rate_bps": 100_000_000, "mtu": 4352, "congestion": "reno",
        "gateway": "none", "tool": "rttcp", "capture": "", "ba_delay_ns": RTT_NS // 2,
    }  # fmt: skip


def write_trial(run: Path, params: dict[str, Any], bps: float, cap: Capture | None = None) -> dict[str, Any]:
    """Write one trial's folder; gives its row of results.parquet."""
    folder = run / "trials" / f"{params['trial']:04d}"
    folder.mkdir(parents=True)
    elapsed = cap.elapsed_ns if cap else int(params["bytes"] * 8e9 / bps)
    invalid = run.name.startswith("lfp-syndrome") and params["trial"] == INVALID_TRIAL
    verdict: dict[str, Any] = {"valid": not invalid, "reasons": [INVALID_REASON] if invalid else []}
    started = STARTED_NS + params["trial"] * 10**10
    status = {"state": "done", "error": None, "started_realtime_ns": started, "ended_realtime_ns": started + elapsed,
              "verdict": verdict, "clock": clock(run, started)}  # fmt: skip
    summary = {"bytes": params["bytes"], "connect_ns": RTT_NS, "first_byte_ns": 2 * RTT_NS, "short_term_bps": bps,
               "peak_bps": min(1.1 * bps, RATE_BPS), "elapsed_ns": elapsed, "retransmits": 0 if bps > 20e6 else 600,
               "verdict": verdict}  # fmt: skip
    _dump(folder / "params.json", params)
    _dump(folder / "status.json", status)
    _dump(folder / "transfer.json", {"v": 1, "event": "end", "summary": summary})
    _dump(folder / "delay.json", {"v": 1, "event": "end", "verdict": verdict})
    pq.write_table(_tcp_info(status["clock"]["monotonic_ns"], elapsed), folder / "tcp_info.parquet")
    if cap:
        write_capture(folder, cap)
    measured = {key: summary[key] for key in ("short_term_bps", "peak_bps", "elapsed_ns", "connect_ns", "retransmits")}
    return params | measured | {
        "flow": 0, "state": "done", "valid": not invalid, "reasons": "; ".join(verdict["reasons"]),
        "rtt_min_ns": RTT_NS, "rtt_median_ns": RTT_NS + 100_000,
        "stopped_share": cap.summary["flows"][MAIN_FLOW]["stopped_share"] if cap else None,
        "timeouts": len(cap.summary["flows"][MAIN_FLOW]["stops"]) if cap else 0,
        "window_granted_bytes": params["window_bytes"], "cpu_sender_ns": 300_000_000, "cpu_receiver_ns": 400_000_000,
    }  # fmt: skip


def write_capture(folder: Path, cap: Capture) -> None:
    """The files that the analysis of a connection writes."""
    for name in ("segments", "acks", "events", "round_trips"):
        pq.write_table(getattr(cap, name), folder / f"{name}.parquet")
    _dump(folder / "summary.json", cap.summary)


def clock(run: Path, realtime_ns: int) -> dict[str, int]:
    """Both clocks at that time, where the trial ran: in virtual time in a guest that has just booted."""
    if json.loads((run / "manifest.json").read_text()).get("virtual"):
        return {"monotonic_ns": GUEST_MONOTONIC_NS, "realtime_ns": realtime_ns}
    return {"monotonic_ns": realtime_ns - STARTED_NS + MONOTONIC_NS, "realtime_ns": realtime_ns}


def _tcp_info(monotonic_ns: int, elapsed_ns: int) -> pa.Table:
    """TCP_INFO every 10 ms, times CLOCK_MONOTONIC: a sawtooth of cwnd with the stop's period."""
    t = np.arange(0, elapsed_ns, 10_000_000, dtype=np.int64)
    phase = (t % 1_250_000_000) / 1.25e9
    cwnd = np.where(phase < 0.18, 2 + 360 * phase, 1).astype(np.uint32)
    columns = {
        "t_ns": monotonic_ns + t,
        "snd_cwnd": cwnd,
        "snd_mss": np.full(t.size, MSS_BYTES, np.uint32),
        "rtt_us": (RTT_NS / 1000 + 80 * cwnd).astype(np.uint32),
        "snd_ssthresh": np.full(t.size, 30, np.uint32),
    }
    return pa.table(columns)


def start(parent: Path, name: str, paper: str, title: str, run_id: str, *, virtual: bool = False) -> Path:
    """A run directory with its manifest; the clock in it is the host's."""
    run = parent / f"{name}-20251009T085320-{run_id}"
    run.mkdir(parents=True)
    scenario = {
        "scenario": {"name": name, "title": title, "paper": paper, "description": "Synthetic data for tests."},
        "path": {"delay_ns": RTT_NS // 2, "rate_bps": RATE_BPS, "queue_bytes": QUEUE_BYTES, "mtu": 4352},
        "report": REPORTS[name],
        "sweep": SWEEPS.get(name, {}),
        "transfer": {"tool": "rttcp", "bytes": BYTES, "congestion": "reno"},
    }
    _dump(run / "manifest.json", {
        "v": run_format.VERSION,
        "name": name, "title": title, "paper": paper, "scenario": scenario, "seed": 1,
        "started_realtime_ns": STARTED_NS,
        "clock": {"monotonic_ns": MONOTONIC_NS, "realtime_ns": STARTED_NS + HOST_AHEAD_NS * virtual},
        **({"virtual": {"box": "kernel"}} if virtual else {}),
        "machine": {"cpu": "Synthetic CPU @ 2 GHz", "cores": 2, "memory_bytes": 8 << 30}, "kernel": "6.1.0-test",
        "sysctls": {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_reordering": "127"}, "offloads": {"snd": {"tso": True}},
        "versions": {"lfp": "0.1.0"}, "hashes": {"rttcp": "0" * 64}, "plan": 0,
        "verdict": {"valid": True, "reasons": []}, "ended_realtime_ns": None, "state": "running",
    })  # fmt: skip
    return run


def finish(run: Path, rows: list[dict[str, Any]]) -> None:
    whole = run / ".results.parquet.tmp"  # renamed into place, as lfp run does it, because a page may read meanwhile
    pq.write_table(pa.Table.from_pylist(rows), whole)
    whole.rename(run / "results.parquet")
    manifest = json.loads((run / "manifest.json").read_text())
    reasons = [f"trial {row['trial']}: {row['reasons']}" for row in rows if not row["valid"]]
    manifest |= {
        "plan": len(rows),
        "state": "done",
        "ended_realtime_ns": STARTED_NS + 10**12,
        "verdict": {"valid": not reasons, "reasons": reasons},
    }
    _dump(run / "manifest.json", manifest)


def _dump(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    print(sweep(target))
    print(seqack(target, segments=int(sys.argv[2]) if len(sys.argv) > 2 else 1200))
