"""pktlogger's account of a path that goes down or becomes longer, compared with the box's record, in virtual time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as parquet
import pytest

import pktlogger
from netcommon.binaries import find
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

Times = npt.NDArray[np.int64]
ROOT = Path(__file__).resolve().parents[2]
MS = 1_000_000
OUTAGE = """
[scenario]
name = "outage"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "1 BDP"
loss = "time:2s-{end_s}s"
change = "{change}"
[transfer]
duration = "4s"
[capture]
points = ["snd", "box", "rcv"]
"""


def trial_of(folder: Path, text: str) -> Path:
    """The folder of the only trial of a scenario."""
    (folder / "one.toml").write_text(text)
    argv = [sys.executable, "-m", "lfp", "run", folder / "one.toml", "--time", "virtual", "--seed", 1]
    done = subprocess.run(
        [*map(str, argv), "--runs-dir", str(folder / "runs")], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (folder / "runs").iterdir()
    return run / "trials" / "0000"


def main_flow(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    (flow,) = (flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"])
    return dict(flow)


def test_a_stop_by_an_outage_is_known_without_a_record(tmp_path: Path) -> None:
    """A queue stood before the path went down, so the burst looked like a tail drop."""
    before = 'loss = "time:2s-{end_s}s"\nchange = "{change}"'
    text = OUTAGE.replace(before, 'change = "1500ms loss=100%; 1900ms loss=0"')
    text = text.replace('["snd", "box", "rcv"]', '["snd", "rcv"]').replace("50Mbit", "20Mbit")
    flow = main_flow(trial_of(tmp_path, text))
    (stop,) = (stop for stop in flow["stops"] if stop["cause"].startswith("rto"))
    lost = flow["losses_by_cause"]["outage"]
    assert stop["cause"] == "rto_after_loss" and stop["lost_packets"] == lost > 8
    assert f"the loss of {lost} packets" in stop["text"] and stop["text"].endswith("to an outage")


def limits_of(folder: Path) -> list[tuple[float, float, str]]:
    """The limits of the main flow: from, to (ms since its first packet), cause."""
    found, flow = pktlogger.read_analysis(folder), main_flow(folder)
    names = found.summary["limit_causes"]
    return [
        ((row["t0_ns"] - flow["t0_ns"]) / MS, (row["t1_ns"] - flow["t0_ns"]) / MS, names[row["cause"]])
        for row in found.limits.to_pylist()
        if row["flow"] == flow["flow"]
    ]


@pytest.mark.parametrize("change", ["none", "2s delay=30ms", "2020ms delay=12ms"])
@pytest.mark.parametrize("lasts_ms", [50, 200, 1000])
def test_a_path_that_is_down_is_the_limit_and_the_reason(tmp_path: Path, lasts_ms: int, change: str) -> None:
    """However long the path is down, and whatever the delay does meanwhile: packets that the outage drops are lost to
    the outage, and nothing else limits the sender from its beginning until the sender could notice its end. Then the
    sender waits for its time-out. The captures alone do not show when the path came up: by them it is down from the
    first to the last packet that the outage dropped, so the outage lasted at least so long. Neither account names queue
    management, which the path does not have."""
    folder = trial_of(tmp_path, OUTAGE.format(end_s=2 + lasts_ms / 1000, change=change))
    flow = main_flow(folder)
    assert flow["box"]["outage"] > 50 and flow["box"]["loss"] == 0
    assert flow["losses_by_cause"]["outage"] == flow["box"]["outage"]
    assert flow["losses_by_cause"].get("tail_drop", 0) == flow["box"]["queue"]
    assert flow["lost"] == flow["box"]["outage"] + flow["box"]["queue"]
    (down,) = (limit for limit in limits_of(folder) if limit[2] == "path_down")
    back_ms = 20 if change == "none" else 30 if "30ms" in change else 12
    assert down[1] - down[0] == pytest.approx(lasts_ms + back_ms, abs=0.02), "the base delay of a packet has 10 us more"
    waits = [limit for limit in limits_of(folder) if limit[2] == "timeout" and limit[0] == down[1]]
    assert len(waits) == (lasts_ms > 100), "while packets come back there is no time-out"
    alone = without_record(folder)
    assert "aqm" not in flow["losses_seen"] and main_flow(alone)["losses_by_cause"] == flow["losses_by_cause"]
    seen = [limit for limit in limits_of(alone) if limit[2] == "path_down"]
    assert seen[0][0] == pytest.approx(down[0], abs=1.0)
    assert all(down[0] - 0.02 <= one[0] and one[1] <= down[1] + 0.02 for one in seen), "so long at least, never longer"
    # Acknowledgements that had passed the box let the sender go on for 20 ms, less the time of a packet or two. A long
    # outage dropped a retransmission in its second half.
    assert sum(one[1] - one[0] for one in seen) >= min(0.4 * lasts_ms, 19)
    shutil.rmtree(tmp_path / "runs")


def test_short_outages_are_as_long_as_they_were(tmp_path: Path) -> None:
    """Both outages drop packets in each direction, and the sender misses acknowledgements 20 ms later. It goes on at
    its pace, so captures alone cannot tell such an outage of a single connection from a burst of losses: by them there
    is no outage, or one that is no longer than the real one."""
    spans = "2s-2.010s,2.5s-2.52s"
    folder = trial_of(tmp_path, OUTAGE.format(end_s="", change="none").replace("time:2s-s", f"time:{spans}"))
    lengths = [one[1] - one[0] for one in limits_of(folder) if one[2] == "path_down"]
    assert lengths == pytest.approx([10, 10, 20, 20], abs=0.001)
    alone = [one[1] - one[0] for one in limits_of(without_record(folder)) if one[2] == "path_down"]
    assert all(18.5 < length <= 20 for length in alone), alone


def test_an_outage_that_begins_with_a_full_queue_is_told_from_it(tmp_path: Path) -> None:
    """The first outage is shorter than the queue takes to drain by half. Its packets once counted as lost to the full
    queue, which drops packets until the outage begins."""
    text = OUTAGE.format(end_s="", change="none").replace("time:2s-s", "time:560ms-580ms,900ms-950ms")
    folder = trial_of(tmp_path, text.replace('"4s"', '"2s"\ncongestion = "reno"'))
    flow = main_flow(folder)
    assert flow["box"]["queue"] > 200 and flow["box"]["outage"] > 100
    assert flow["losses_seen"] == {"tail_drop": flow["box"]["queue"], "outage": flow["box"]["outage"]}
    assert flow["losses_by_cause"] == flow["losses_seen"]


SHORT_QUEUE = """
[scenario]
name = "short"
[path]
delay = "20ms"
rate = "1Mbit"
queue = "1 BDP"
[transfer]
duration = "8s"
congestion = "reno"
[capture]
points = ["snd", "box", "rcv"]
"""


def test_a_queue_of_three_packets_in_the_record_is_no_policer(tmp_path: Path) -> None:
    """5,000 octets: bursts and losses look like those of a policer, and the record says that a queue was full."""
    flow = main_flow(trial_of(tmp_path, SHORT_QUEUE))
    assert flow["losses_by_cause"] == {"tail_drop": flow["box"]["queue"]}
    assert flow["verdict"]["cause"] in ("losses", "path_rate", "congestion_avoidance"), flow["verdict"]
    assert "policer" not in flow["verdict"]["text"]


SHARED = """
[scenario]
name = "shared"
[path]
delay = "20ms"
rate = "40Mbit"
{path}
[transfer]
duration = "8s"
parallel = {streams}
[capture]
points = ["snd", "box", "rcv"]
"""


@pytest.mark.parametrize(
    ("streams", "path"),
    [
        (4, 'queue = "1 BDP"\nqueue_drop = "head"'),
        (8, 'queue = "4 BDP"\nab_aqm = "policer:rate=20Mbit,burst=100KB"'),
        (4, 'queue = "4 BDP"\nab_aqm = "codel"'),
    ],
)
def test_streams_that_share_a_line_get_no_wrong_cause_without_a_record(tmp_path: Path, streams: int, path: str) -> None:
    """A queue that drops its oldest part looked like a managed one, and a policer that several streams overload looked
    like a managed one. A cause that the captures do not show is unknown, never another one."""
    folder = trial_of(tmp_path, SHARED.format(streams=streams, path=path))
    by_record, alone = losses_of(folder), losses_of(without_record(folder))
    assert len(by_record) > 20 and by_record.keys() == alone.keys()
    wrong = {(by_record[part], cause) for part, cause in alone.items() if cause not in (by_record[part], "unknown")}
    assert not wrong


def losses_of(folder: Path) -> dict[tuple[int, int], str]:
    """The cause of each lost part, by the sender's port and the time the part was sent."""
    found = pktlogger.read_analysis(folder)
    ports = {flow["flow"]: flow["sender"]["port"] for flow in found.summary["flows"]}
    names = found.summary["loss_causes"]
    return {(ports[row["flow"]], row["t_sent_ns"]): names[row["cause"]] for row in found.losses.to_pylist()}


LONGER = """
[scenario]
name = "longer"
[path]
delay = "20ms"
rate = "100Mbit"
queue = "0.2 BDP"
change = "{change}"
[transfer]
duration = "8s"
congestion = "{control}"
[capture]
points = ["snd", "box", "rcv"]
"""
CHANGES = ["2s delay=30ms", "1500ms delay=30ms; 3s delay=30.4ms; 4500ms delay=12ms; 6s ba_delay=50ms"]


def without_record(folder: Path) -> Path:
    """The same captures, analysed without the box's record."""
    alone, captures = folder.parent / "alone", folder / "capture"
    argv = [find("pktlogger"), "analyse", "--sender", captures / "snd.pcapng", "--receiver", captures / "rcv.pcapng"]
    subprocess.run([*map(str, argv), "-o", str(alone)], check=True, stdout=subprocess.DEVNULL, timeout=120)
    return alone


def true_queues(folder: Path, flow: dict[str, Any]) -> tuple[Times, Times]:
    """For every packet of the sender's capture whose first part arrived: when it was sent, and how long that part
    waited in the box's queue, which is first in, first out."""
    rows = parquet.read_table(folder / "box.parquet")
    mine = (rows["direction"].to_numpy() == 0) & (rows["t_queue_exit_ns"].to_numpy() >= 0)
    came, left = (rows[name].to_numpy()[mine] for name in ("t_arrival_ns", "t_queue_exit_ns"))
    wait = dict(zip(left.tolist(), np.maximum(np.append(0, left[:-1]) - came, 0).tolist(), strict=True))
    table = pktlogger.read_analysis(folder).segments
    names = ("flow", "sender_frame", "t_received_ns", "t_sent_ns", "t_box_exit_ns")
    number, frame, received, sent, exit_ns = (table[name].to_numpy() for name in names)
    own = np.flatnonzero(number == flow["flow"])
    first = own[np.unique(frame[own], return_index=True)[1]]
    first = first[received[first] >= 0]
    return sent[first], np.asarray([wait[left] for left in exit_ns[first].tolist()])


@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_longer_path_is_no_queue(tmp_path: Path, change: str, control: str) -> None:
    """The smallest queue of each limit equals the box's to 0.1 ms, with its record and without. So a path that becomes
    longer or shorter, in one direction or both, by a lot or by little, does not count as a queue. The box polls for
    arrivals and departures each RTT/400. Without its record, both waits for a poll count as queue. But among many
    packets at least one waits for neither poll."""
    folder = trial_of(tmp_path, LONGER.format(change=change, control=control))
    flow = main_flow(folder)
    sent, wait = true_queues(folder, flow)
    for analysis in (folder, without_record(folder)):
        found = pktlogger.read_analysis(analysis)
        rows = [row for row in found.limits.to_pylist() if row["flow"] == flow["flow"] and row["queue_ns"] >= 0]
        assert len(rows) >= 3
        for row in rows:
            inside = wait[(sent >= row["t0_ns"]) & (sent < row["t1_ns"])]
            looks_ns = 2 * 50 * MS // 400 if inside.size < 10 and analysis != folder else 0
            assert not inside.size or abs(row["queue_ns"] - inside.min()) <= MS // 10 + looks_ns, (analysis.name, row)
    shutil.rmtree(tmp_path / "runs")
