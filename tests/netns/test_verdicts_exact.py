"""Verdicts of trials in virtual time: their statements agree with the trial's own tables and settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captured_trials import ran

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

SEEN = '[capture]\npoints = ["snd", "box", "rcv"]\n'


def flows(folder: Path, text: str) -> list[dict[str, Any]]:
    """What pktlogger says of the flows of a scenario that carry the transfers."""
    (trial,) = {known["path"] for known in ran(folder, text + SEEN)}
    found = json.loads((Path(trial) / "summary.json").read_text())["flows"]
    return [flow for flow in found if flow["bytes"] > 100_000]


SHARED = """
[scenario]
name = "shared"
[path]
rate = "20Mbit"
delay = "25ms"
queue = "24KB"
[transfer]
duration = "6s"
congestion = "cubic"
[flow.other]
congestion = "cubic"
start = "200ms"
duration = "5s"
"""


def test_a_share_of_time_is_that_of_the_limits_that_the_text_names(tmp_path: Path) -> None:
    """Losses at a line that other flows share also count for the line; the text must say that they are included."""
    named, found = 0, list(flows(tmp_path, SHARED))
    begin_ns, end_ns = (
        pick(flow[key] for flow in found if flow["bytes"] > 100_000) for pick, key in ((max, "t0_ns"), (min, "t1_ns"))
    )
    for flow in found:
        verdict, limits = flow["verdict"], flow["limits_ns"]
        if verdict["cause"] == "cross_traffic":
            causes = ["path_rate"]
            if "losses" in verdict["text"]:
                causes += ["fast_recovery", "timeout", "congestion_avoidance"]
            named += len(causes) > 1
            wanted = sum(limits.get(cause, 0) for cause in causes) / sum(limits.values())
            wanted = min(wanted, (end_ns - begin_ns) / flow["elapsed_ns"])  # how long there are other flows
            assert verdict["share"] == pytest.approx(wanted, abs=1e-9), verdict["text"]
    assert named, "a flow that lost at the shared line"


MANAGED = """
[scenario]
name = "managed"
[path]
rate = "40Mbit"
delay = "15ms"
queue = "3 BDP"
ab_aqm = "red:min=30KB,max=31KB,p=100%,weight=100%,gentle=off,ecn={ecn}"
[transfer]
duration = "3s"
congestion = "reno"
[profile]
sysctl = "net.ipv4.tcp_ecn=1"
"""


@pytest.mark.parametrize("ecn", ["on", "off"])
def test_nobody_is_advised_to_switch_on_what_is_in_use(tmp_path: Path, ecn: str) -> None:
    (flow,) = flows(tmp_path, MANAGED.format(ecn=ecn))
    assert flow["losses_by_cause"].get("aqm") and (flow["ce_received"] > 0) == (ecn == "on")
    assert flow["verdict"]["cause"] == "losses", flow["verdict"]["text"]
    assert "net.ipv4.tcp_ecn = 1" not in flow["verdict"]["text"]


FAR = """
[scenario]
name = "far"
[path]
rate = "40Mbit"
delay = "150ms"
queue = "1 BDP"
[transfer]
bytes = "5MB"
congestion = "reno"
window = "400KB"
parallel = 3
bidir = true
"""


def test_a_box_that_keeps_to_its_granularity_is_not_late(tmp_path: Path) -> None:
    """In virtual time only granularity and poll make packets late, by a millisecond or more on a long path."""
    for flow in flows(tmp_path, FAR):
        assert "emulator_late" not in flow["limits_ns"], flow["limits_ns"]


FAIR = """
[scenario]
name = "fair"
[path]
rate = "30Mbit"
delay = "10ms"
queue = "300KB"
aqm = "{aqm}"
[transfer]
duration = "3s"
congestion = "cubic"
[flow.other]
congestion = "reno"
"""


@pytest.mark.parametrize("aqm", ["fq_codel", "codel"])
def test_queues_for_each_flow_are_not_the_advice_where_there_are_such(tmp_path: Path, aqm: str) -> None:
    found = [flow["verdict"] for flow in flows(tmp_path, FAIR.format(aqm=aqm))]
    texts = [verdict["text"] for verdict in found if verdict["cause"] == "cross_traffic"]
    assert texts, found
    for text in texts:
        assert ("a share of its own" in text) == (aqm == "fq_codel"), text
        assert ("such as fq_codel" in text) == (aqm == "codel"), text


NIC = """
[scenario]
name = "nic"
[path]
rate = "100Mbit"
delay = "20ms"
queue = "1 BDP"
nic_rate = "30Mbit"
nic_queue = 50
[transfer]
duration = "4s"
congestion = "cubic"
"""


def test_a_full_line_whose_queue_no_capture_shows_is_the_path_s_rate(tmp_path: Path) -> None:
    """The slowest stage is the sender's own interface, whose queue lies before its capture."""
    (flow,) = flows(tmp_path, NIC)
    limits = flow["limits_ns"]
    assert limits.get("path_rate", 0) >= 0.7 * sum(limits.values()), limits
    assert flow["verdict"]["cause"] == "path_rate", flow["verdict"]["text"]
