"""Both ways at once (transfer.bidir): what excludes what, the command line, memory, the verdict of the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netcommon import binaries
from netcommon.errors import UsageError
from scenarios.network.tcp_memory import TcpMemory
from scenarios.plan import estimate, params, profiles
from scenarios.plan.plan import load_plan
from scenarios.run import results
from scenarios.trial import transfer_tool
from scenarios.trial.validity import CpuTimes, Observation, reasons
from scenarios.virtual import memory

TINY = """\
[scenario]
name = "tiny"
[path]
delay = "10ms"
ab_rate = "8Mbit"
ba_rate = "80Mbit"
[transfer]
duration = "1s"
bidir = true
"""


def write(tmp_path: Path, more: str = "") -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + more)
    return str(path)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('tool = "iperf3"\n', "transfer.bidir = true: iperf3 as it is run here sends one way; use tool = \"rttcp\""),
        ('second = "reno"\n', "transfer.second = 'reno': not with 'bidir'"),
        ("parallel = 65\n", "transfer.parallel = 65: at most 64 streams each way with 'bidir'"),
        ('[gateway]\nkind = "lft"\nmodel = "proxy"\n', "tiny.toml:9: transfer.bidir = true: a proxy gateway forwards"),
        ('[quick.transfer]\nrequest = "1"\nresponse = "1"\n', "transfer.bidir = true: not with 'request'"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_plan(write(tmp_path, more), quick="quick" in more)
    assert says in str(caught.value)


def test_the_faster_way_counts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    setting = load_plan(write(tmp_path)).trials[0].setting
    assert "--bidir" in transfer_tool.commands(setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender
    assert memory.in_flight_bytes(setting) == 200_000
    assert estimate.moved_bytes(setting) == pytest.approx(2e6)


def test_goodput_each_way_is_in_the_results(tmp_path: Path) -> None:
    told = params.of(load_plan(write(tmp_path)).trials[0])
    (tmp_path / "params.json").write_text(json.dumps(told))
    end = {"summary": {"short_term_bps": 7e6}, "reverse": {"summary": {"short_term_bps": 70e6}}}
    (tmp_path / "transfer.json").write_text(json.dumps(end))
    (tmp_path / "status.json").write_text(json.dumps({"state": "done", "verdict": {"valid": True, "reasons": []}}))
    row = results.row(tmp_path)
    assert (row["bidir"], row["short_term_bps"], row["reverse_bps"]) == (True, 7e6, 70e6)
    results.write(tmp_path, [row])


def test_a_way_back_that_is_not_valid_spoils_the_trial() -> None:
    quiet = Observation({}, {}, CpuTimes(0, 0, 0), TcpMemory(False, 0))
    end = {"summary": {}, "reverse": {"summary": {"verdict": {"valid": False, "reasons": ["ended early"]}}}}
    found = reasons(quiet, quiet, {"verdict": {"valid": True}}, {}, end)
    assert [reason.text for reason in found] == ["transfer, way back: ended early"]
