"""Parallel streams of one transfer (transfer.parallel): what excludes what, the command line, memory, the spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.tiny_scenario import Tiny, row

from netcommon import binaries
from scenarios.plan import estimate, profiles
from scenarios.statistics import fairness
from scenarios.trial import transfer_tool
from scenarios.virtual import memory

TINY = Tiny("""\
[path]
delay = "10ms"
rate = "1Gbit"
[transfer]
duration = "1s"
window = "25KB"
parallel = 4
""")
S = 10**9


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('tool = "iperf3"\n', 'transfer.parallel = 4: iperf3 as it is run here has one stream; use tool = "rttcp"'),
        ("[quick.transfer]\nparallel = 129\n", "transfer.parallel = 129: out of range"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, more: str, says: str) -> None:
    TINY.refused(tmp_path, says, more=more)


def test_each_stream_has_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four windows of 25 KB in 20 ms are 40.96 Mbit/s, which are 5.12 MB in a second."""
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    setting = TINY.trial(tmp_path).setting
    line = transfer_tool.commands(setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender
    assert line[line.index("--parallel") + 1] == "4"
    assert memory.in_flight_bytes(setting) == 4 * 25 * 1024
    assert estimate.moved_bytes(setting) == pytest.approx(5.12e6)


def test_a_proxy_knows_a_port_for_each_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports have four digits, because products put a digit in front of them, and differ from the ports of other
    flows and of short transfers."""
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    more = '[gateway]\nkind = "lft"\nmodel = "proxy"\n'
    transfer = TINY.trial(tmp_path, more=more).setting.transfer
    found = [transfer_tool.data_ports(transfer, number) for number in range(20)]
    assert all(len(one) == 4 and one[-1] < 10_000 for one in found)
    others = {port for number in range(32) for port in transfer_tool.ports(number)} | {*transfer_tool.ports(1000)}
    assert len({port for one in found for port in one} - others) == 80
    both_ways = transfer.model_copy(update={"bidir": True})
    assert len(transfer_tool.data_ports(both_ways, 0)) == 8
    assert transfer_tool.data_ports(transfer.model_copy(update={"parallel": 1}), 0) == (transfer_tool.DATA_PORT,)


def streams(*pairs: tuple[int, int]) -> dict[str, Any]:
    """A receiver's result: for each stream its octets and the time of the last one."""
    return {"streams": [{"bytes": octets, "last_byte_ns": last} for octets, last in pairs]}


def test_the_spread_is_in_the_results(tmp_path: Path) -> None:
    """The streams have 8, 4 and 0 Mbit/s. Jain's index is 12² / (3 · 80)."""
    account = streams((10**6, S), (500_000, S), (0, 0))
    made = row(tmp_path, TINY.trial(tmp_path), {"summary": {}, "receiver": account})
    assert [made[key] for key in ("parallel", "stream_min_bps", "stream_max_bps")] == [4, 0.0, 8e6]
    assert made["stream_jain"] == pytest.approx(0.6)


def test_equal_amounts_differ_by_their_times() -> None:
    found = fairness.of_streams(streams((10**6, S), (10**6, 2 * S)))
    assert (found["stream_min_bps"], found["stream_max_bps"]) == (4e6, 8e6)
    assert fairness.of_streams(streams((10**6, S))) == {}
