"""How flows share a line, in virtual time: equal to tshark's figures where they are captured, and close to them
otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captured_trials import COMPARED, arrivals, ran, shown

pytestmark = COMPARED

SCENARIO = """
[scenario]
name = "share"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "1 BDP"
[transfer]
duration = "2s"
congestion = "cubic"
[flow.rival]
start = "1.7s"
congestion = "bbr"
[capture]
points = ["snd", "rcv"]
"""


@pytest.mark.parametrize(("rival", "path"), [("flow", ""), ("second", ""), ("flow", 'jitter = "30ms"\n')])
def test_shares_of_a_short_common_span_are_tsharks(rival: str, path: str, tmp_path: Path) -> None:
    """All flows run together for about 1.2 s, and their intervals are 1 s long. Interpolated shares were once 2.3 %
    wrong. Behind jitter more arrives in that time than the line carries, and the sum was once cut to the line's
    rate."""
    scenario = SCENARIO.replace("[transfer]", f"{path}[transfer]")
    second = scenario.replace('[flow.rival]\nstart = "1.7s"\ncongestion =', "second =")
    (known,) = ran(tmp_path, scenario if rival == "flow" else second)
    folder = Path(known["path"])
    transfer = json.loads((folder / "transfer.json").read_text())
    ends = {"main": transfer, "rival": transfer["flows"]["rival"] if rival == "flow" else transfer["second"]}
    ports = {name: end["sender"]["local"].rpartition(":")[2] for name, end in ends.items()}
    file = folder / "capture" / "rcv.pcapng"
    came = {name: arrivals(file, f"tcp.srcport == {port}") for name, port in ports.items()}
    begin, end = max(t_ns[0] for t_ns, _ in came.values()), min(t_ns[-1] for t_ns, _ in came.values())
    had = {name: int(new[(t_ns >= begin) & (t_ns <= end)].sum()) for name, (t_ns, new) in came.items()}
    told = known["metrics"]
    assert told["flows_common_ns"] > 0.2e9
    assert rival == "second" or told["flows_common_ns"] < 2e9
    assert told["flows_common_ns"] == pytest.approx(end - begin, abs=2)
    assert told["flow_share"] == pytest.approx(had["main"] / sum(had.values()), abs=1e-9)
    assert told["flows_bps"] * told["flows_common_ns"] / 8e9 == pytest.approx(sum(had.values()), abs=1)
    assert told["flow_share_error"] == 0


def test_without_captures_samples_bound_a_share_and_seconds_do_not(tmp_path: Path) -> None:
    """The octets of each flow are known, except for 10 ms at the line's rate at either end."""
    text = SCENARIO.replace('["snd", "rcv"]', "[]")
    (sampled,) = ran(tmp_path, text)
    assert sampled["metrics"]["flow_share"] is not None
    assert 0 < sampled["metrics"]["flow_share_error"] <= 4 * 10e6 / sampled["metrics"]["flows_common_ns"]
    (counted,) = ran(tmp_path, text.replace('"2s"', '"2s"\nsample = "0s"'))
    assert counted["metrics"]["flows_common_ns"] > 0
    assert counted["metrics"]["flow_share"] is None and counted["metrics"]["flows_bps"] is None
    assert "too coarsely" in shown(tmp_path)


def test_a_paced_flow_next_to_one_that_fills_the_line_is_limited_by_its_pace(tmp_path: Path) -> None:
    """The paced flow sends its 5 of 50 Mbit/s throughout; the other flow causes the queue that it meets."""
    paced = 'congestion = "cubic"\n[flow.rival]\nstart = "300ms"\npace = "5Mbit"\nduration = "1.5s"'
    text = SCENARIO.replace('congestion = "cubic"\n[flow.rival]\nstart = "1.7s"', paced).replace("bbr", "cubic")
    (known,) = ran(tmp_path, text)
    rival = known["flows"][0]["metrics"]
    assert rival["limited_pacing"] > 0.8
    assert rival["limited_path_rate"] < 0.09 / 1.6  # the share of one round trip, at the start, with a full queue
