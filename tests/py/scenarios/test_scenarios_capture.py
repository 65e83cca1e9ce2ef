"""A trial's capture keeps headers. Its rings are only as large as the packets that may arrive while nobody reads them,
because the kernel clears the rings' memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon import quantity
from scenarios.network.topology import Topology
from scenarios.plan import params
from scenarios.plan.plan import load_plan
from scenarios.trial import analysis

STREAM = """
[scenario]
name = "stream"
[path]
delay = "100ms"
rate = "{rate}"
queue = "20MB"
[transfer]
duration = "1s"
[capture]
points = ["snd", "rcv"]
"""
PKTLOGGERS_OWN = 64 * 2**20
ENTRY_BYTES = 128 + 128  # the snap length, plus what the kernel and pktlogger store for each packet


def ring_bytes(
    tmp_path: Path, rate: str, stalls: bool, monkeypatch: pytest.MonkeyPatch, more: str = "", stream: str = STREAM
) -> int:
    monkeypatch.setattr(Topology, "pid", lambda *_: 1)
    path = tmp_path / "stream.toml"
    path.write_text(stream.format(rate=rate) + more)
    setting = load_plan(str(path), seed=1).base
    argv = analysis.capture_command(Topology.of(setting), setting, tmp_path, stalls)
    assert argv
    assert ("--one-thread" in argv) == ("--uncached" in argv) == (not stalls)
    sizes = {argv[argv.index(option) + 1] for option in ("--buffer", "--ring") if option in argv}
    assert len(sizes) <= 1
    return quantity.parse(quantity.BYTES, sizes.pop()) if sizes else PKTLOGGERS_OWN


def held_by_packets_of_the_mtu(rate_bps: float) -> float:
    """What path and queue hold, because a sender may send that at once."""
    return (rate_bps * 0.2 / 8 + 20 * 2**20) / 1500 * ENTRY_BYTES


def test_rings_are_small_where_nothing_stalls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In virtual time. TCP builds super-packets, here of the 8 KB that rttcp writes at a time."""
    size = ring_bytes(tmp_path, "800Mbit", False, monkeypatch)
    assert held_by_packets_of_the_mtu(800e6) * 1500 / 8192 < size < PKTLOGGERS_OWN / 8
    assert ring_bytes(tmp_path, "800Mbit", True, monkeypatch) == PKTLOGGERS_OWN


@pytest.mark.parametrize(
    ("key", "value", "section"),
    [
        ("length", "700B", "transfer"),
        ("nic_rate", "1Gbit", "path"),  # such an interface takes single packets
        ("jitter", "normal:20ms", "path"),  # packets that wait for an earlier one leave with it
        ("bunch", "50ms", "path"),
    ],
)
def test_rings_hold_all_packets_that_may_come_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str, section: str
) -> None:
    more = f'[{section}]\n{key} = "{value}"\n'
    stream = STREAM.replace(f"[{section}]\n", more)
    assert stream != STREAM
    assert ring_bytes(tmp_path, "800Mbit", False, monkeypatch, stream=stream) > held_by_packets_of_the_mtu(800e6)


def test_short_messages_are_packets_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = STREAM.replace("duration", 'request = "100B"\nresponse = "100B"\nduration')
    assert ring_bytes(tmp_path, "800Mbit", False, monkeypatch, stream=exchange) > held_by_packets_of_the_mtu(800e6)


@pytest.mark.parametrize(("rate", "more"), [("100Gbit", ""), ("800Mbit", '[gateway]\nkind = "lft"\n')])
def test_no_ring_is_larger_than_pktloggers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: str, more: str
) -> None:
    """Gateways take data from their hosts at once, however slow the line is."""
    assert ring_bytes(tmp_path, rate, False, monkeypatch, more) == PKTLOGGERS_OWN


@pytest.mark.parametrize(
    ("override", "snap", "no_data"), [("path.loss=0%", 128, True), ("capture.snap=64B", 64, False)]
)
def test_headers_are_kept_unless_the_scenario_says_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str, snap: int, no_data: bool
) -> None:
    monkeypatch.setattr(Topology, "pid", lambda *_: 1)
    path = tmp_path / "stream.toml"
    path.write_text(STREAM.format(rate="800Mbit"))
    (trial,) = load_plan(str(path), overrides=[override], seed=1).trials
    argv = analysis.capture_command(Topology.of(trial.setting), trial.setting, tmp_path)
    assert argv and argv[argv.index("--snap") + 1] == str(snap)
    assert ("--no-data" in argv) == no_data
    assert params.of(trial)["snap_bytes"] == snap
