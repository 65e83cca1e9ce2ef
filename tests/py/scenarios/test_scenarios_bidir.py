"""Both ways at once (transfer.bidir): what excludes what, the command line, memory, the reverse direction's verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenario import Tiny, row

from netcommon import binaries
from scenarios.network.tcp_memory import TcpMemory
from scenarios.plan import estimate, profiles
from scenarios.trial import transfer_tool
from scenarios.trial.validity import CpuTimes, Observation, reasons
from scenarios.virtual import memory

TINY = Tiny("""\
[path]
delay = "10ms"
ab_rate = "8Mbit"
ba_rate = "80Mbit"
[transfer]
duration = "1s"
bidir = true
""")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('tool = "iperf3"\n', 'transfer.bidir = true: iperf3 as it is run here sends one way; use tool = "rttcp"'),
        ('second = "reno"\n', "transfer.second = 'reno': not with 'bidir'"),
        ("parallel = 65\n", "transfer.parallel = 65: at most 64 streams each way with 'bidir'"),
        ('[quick.transfer]\nrequest = "1"\nresponse = "1"\n', "transfer.bidir = true: not with 'request'"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, more: str, says: str) -> None:
    TINY.refused(tmp_path, says, more=more)


def test_the_faster_way_counts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    setting = TINY.trial(tmp_path).setting
    assert "--bidir" in transfer_tool.commands(setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender
    assert memory.in_flight_bytes(setting) == 200_000
    assert estimate.moved_bytes(setting) == pytest.approx(2e6)


def test_goodput_each_way_is_in_the_results(tmp_path: Path) -> None:
    end = {"summary": {"short_term_bps": 7e6}, "reverse": {"summary": {"short_term_bps": 70e6}}}
    made = row(tmp_path, TINY.trial(tmp_path), end)
    assert (made["bidir"], made["short_term_bps"], made["reverse_bps"]) == (True, 7e6, 70e6)


def test_a_reverse_direction_that_is_not_valid_spoils_the_trial() -> None:
    quiet = Observation({}, {}, CpuTimes(0, 0, 0), TcpMemory(False, 0))
    end = {"summary": {}, "reverse": {"summary": {"verdict": {"valid": False, "reasons": ["ended early"]}}}}
    found = reasons(quiet, quiet, {"verdict": {"valid": True}}, {}, end)
    assert [reason.text for reason in found] == ["transfer, reverse direction: ended early"]
