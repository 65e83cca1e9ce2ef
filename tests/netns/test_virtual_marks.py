"""Marks of ECN in virtual time: the receiver's capture shows exactly the box's marks, and the send buffer is never
named as the limit of such a transfer."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import ran
from support.drawn import TIMEOUT_S, complaints, drawn

import pktlogger
from bench.invariants import draws
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

SCENARIO = """
[scenario]
name = "marks"
[path]
delay = "10ms"
rate = "50Mbit"
queue = "2 BDP"
ab_aqm = "codel:ecn=on,target=1ms,interval=20ms"
[transfer]
duration = "4s"
tool = "iperf3"
[profile]
sysctl = "net.ipv4.tcp_ecn=1"
[capture]
points = ["snd", "box", "rcv"]
[case.dctcp.transfer]
congestion = "dctcp"
tool = "rttcp"
[case.cubic.transfer]
congestion = "cubic"
family = "ipv6"
[case.accecn.profile]
sysctl = "net.ipv4.tcp_ecn=3"
[case.accecn.transfer]
congestion = "cubic"
[sweep]
"scenario.case" = ["dctcp", "cubic", "accecn"]
"""


def by_case(folder: Path, text: str) -> dict[str, dict[str, Any]]:
    """The trials of one run, by case, as `lfp show --json` prints them."""
    return {line["params"]["case"]: line for line in ran(folder, text)}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The trials of SCENARIO."""
    return by_case(tmp_path_factory.mktemp("marks"), SCENARIO)


CASES = ["dctcp", "cubic", "accecn"]


@pytest.mark.parametrize("case", CASES)
def test_the_receivers_capture_has_exactly_the_boxs_marks(shown: dict[str, dict[str, Any]], case: str) -> None:
    """`ecn_marks_box` also counts marks on the tools' control connections, which use the same congestion control."""
    metrics, folder = shown[case]["metrics"], Path(shown[case]["path"])
    box = parquet.read_table(folder / "box.parquet", columns=["direction", "edits", "flow", "len"])
    rows = {name: box[name].to_numpy() for name in box.column_names}
    marked = rows["flow"][(rows["direction"] == 0) & (rows["edits"] & 1 == 1)]
    data = np.bincount(rows["flow"][rows["len"] > 0], rows["len"][rows["len"] > 0]).argmax()
    assert marked.size == metrics["ecn_marks_box"]
    assert 0 < metrics["ce_marked"] == int((marked == data).sum())
    assert metrics["ce_received"] == metrics["ce_marked"]
    segments = parquet.read_table(folder / "segments.parquet", columns=["ecn_received"])
    assert int((segments["ecn_received"].to_numpy() == 3).sum()) == metrics["ce_received"]


def test_the_kernels_counters_are_the_same(shown: dict[str, dict[str, Any]]) -> None:
    """TCP_INFO of both ends: packets that the receiver got with CE, and packets that the sender counts as marked."""
    ends = json.loads(Path(shown["dctcp"]["path"], "transfer.json").read_text())
    arrived = shown["dctcp"]["metrics"]["ce_received"]
    assert ends["receiver"]["tcp_info"]["received_ce"] == arrived
    assert ends["sender"]["tcp_info"]["delivered_ce"] == arrived


@pytest.mark.parametrize("case", CASES)
def test_marks_are_reported_and_limit_the_transfer(shown: dict[str, dict[str, Any]], case: str) -> None:
    """The queue never drops, so marks cause every reduction. AccECN reports each mark exactly, and RFC 3168 one for
    many."""
    metrics = shown[case]["metrics"]
    assert metrics["lost_queue"] == 0
    if case == "accecn":
        assert metrics["ce_reported"] == metrics["ce_received"]
        assert metrics["ece_received"] is None
    else:
        assert metrics["ece_received"] >= metrics["ecn_reductions"]
        assert metrics["ce_reported"] is None
    assert metrics["ecn_reductions"] > 0
    assert metrics["limited_ecn"] > 0
    found = pktlogger.read_analysis(shown[case]["path"])
    main, limits, kinds = (found.summary[key] for key in ("main_flow", "limit_causes", "event_kinds"))
    reduced = [row for row in found.events.to_pylist() if row["flow"] == main and kinds[row["kind"]] == "ecn_reduction"]
    later = [row for row in found.limits.to_pylist() if row["flow"] == main and row["t0_ns"] >= reduced[0]["t0_ns"]]
    causes = {limits[row["cause"]] for row in later}
    assert "ecn" in causes and not causes & {"send_buffer", "application", "congestion_avoidance"}


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
@pytest.mark.parametrize("case", CASES)
def test_tshark_counts_the_same(shown: dict[str, dict[str, Any]], case: str) -> None:
    metrics, captures = shown[case]["metrics"], Path(shown[case]["path"], "capture")
    summary = json.loads(Path(shown[case]["path"], "summary.json").read_text())
    (flow,) = [flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"]]
    own = f"tcp.port == {flow['sender']['port']}"
    ce = "(ip.dsfield.ecn == 3 or ipv6.tclass.ecn == 3)"
    assert counted(captures / "rcv.pcapng", f"{ce} and {own}") == metrics["ce_received"]
    if case != "accecn":
        ece = f"tcp.flags.ece == 1 and tcp.flags.syn == 0 and {own}"
        assert counted(captures / "snd.pcapng", ece) == metrics["ece_received"]


def counted(capture: Path, wanted: str) -> int:
    """The number of packets of a capture that pass a display filter. A super-packet would count once, so there may be
    none."""
    fields = ["-T", "fields", "-e", "tcp.len"]
    argv = ["tshark", "-r", str(capture), "-Y", wanted, *fields]
    lines = subprocess.run(argv, capture_output=True, text=True, timeout=200, check=True).stdout.split()
    assert all(int(line) <= 1460 for line in lines)
    return len(lines)


SPACE = {
    "box": ("comet",), "gateway": ("none",), "beside": (0,), "parallel": (1,), "bidir": (False,), "pace": (None,),
    "path.ab_aqm": draws.MARKING, "path.ab_loss": ("0%", "0%", "0.1%"), "ecn": (1, 1, 3, 3, 3), "path.mtu": (1500,),
}  # fmt: skip


@pytest.mark.timeout(TIMEOUT_S)
def test_whatever_is_drawn_every_mark_is_counted_once(tmp_path: Path) -> None:
    """The box's record, the receiver's capture and the kernels of both ends have the same number of marks, and shares
    of limits add up."""
    found = drawn(tmp_path, 6, SPACE)
    assert not complaints(found)
    for trial in found:
        row = trial.rows[0]
        assert row["ecn_reductions"] or not row["limited_ecn"], trial.draw.file()
    assert sum(trial.rows[0]["ce_marked"] or 0 for trial in found) > 0, "these draws test next to nothing"
