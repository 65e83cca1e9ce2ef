"""Recovery from an outage in virtual time, compared with what tshark reads in the receiver's capture."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from captured_trials import COMPARED, arrivals, ran

import lfp

pytestmark = COMPARED

SCENARIO = """
[scenario]
name = "outage"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "1 BDP"
ab_loss = "time:3s-3.6s"
[transfer]
duration = "8s"
[capture]
points = ["snd", "rcv"]
"""
RTT_NS, SECOND_NS = 40 * 10**6, 10**9


def test_the_rate_is_back_when_tshark_says_so(tmp_path: Path) -> None:
    (trial,) = ran(tmp_path, SCENARIO)
    folder = Path(trial["path"])
    transfer, box = (json.loads((folder / f"{name}.json").read_text()) for name in ("transfer", "delay"))
    port = transfer["sender"]["local"].rpartition(":")[2]
    t_ns, new = arrivals(folder / "capture" / "rcv.pcapng", f"tcp.srcport == {port}")
    began, zero = box["clock"]["realtime_ns"], transfer["receiver"]["t0_realtime_ns"]
    begin, end = began + 3 * SECOND_NS, began + 3_600_000_000

    def rate(start: int, stop: int) -> float:
        return float(new[(t_ns >= start) & (t_ns < stop)].sum() / (stop - start))

    first = int(t_ns[t_ns >= zero + (begin - zero) // 2][0])
    enough = 0.9 * rate(first, int(t_ns[t_ns <= begin][-1]))
    later = [int(at) for at in t_ns[t_ns >= end]]

    def next_packet(at_ns: int) -> int:
        return int(t_ns[min(int(np.searchsorted(t_ns, at_ns)), t_ns.size - 1)])

    # A window ends at the first packet that comes a round trip or a second later.
    after = [[next_packet(at + span) for span in (RTT_NS, SECOND_NS)] for at in later]
    back = next(at for at, ends in zip(later, after, strict=True) if all(rate(at, stop) >= enough for stop in ends))
    metrics = trial["metrics"]
    assert (metrics["recovery_ns"], metrics["recovery_error_ns"], metrics["outages"]) == (back - end, 0, 1)
    assert rate(back - RTT_NS, back) < enough, "the round trip before it was not back"
    (outage,) = json.loads((folder / "recovery.json").read_text())["flows"]["main"]
    origin_ns = lfp.load(folder.parents[1]).trial(0).began_realtime_ns
    assert origin_ns == transfer["sender"]["t0_realtime_ns"] < zero, "the zero of all times of the trial"
    # Box and sender each read both clocks at one moment, to a tick of the guest's.
    assert outage["begin_ns"] == pytest.approx(begin - origin_ns, abs=1000)
    assert outage["end_ns"] - outage["begin_ns"] == 600_000_000


def test_without_captures_the_interval_is_the_error(tmp_path: Path) -> None:
    (trial,) = ran(tmp_path, SCENARIO.replace('["snd", "rcv"]', "[]").replace('"8s"', '"8s"\ninterval = "200ms"'))
    assert 0 < trial["metrics"]["recovery_error_ns"] <= 201e6
