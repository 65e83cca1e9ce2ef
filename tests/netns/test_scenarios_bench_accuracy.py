"""The accuracy bench on a real box, shortened: what it measures has to be what the box was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon.ledger import Ledger
from scenarios.bench import delay_accuracy as accuracy
from scenarios.bench import two_hosts
from scenarios.bench.registry import Place

pytestmark = pytest.mark.netns


def test_accuracy_measures_rate_loss_and_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "RATES_BPS", (45_000_000,))
    monkeypatch.setattr(accuracy, "WARM_UP_S", 1)
    monkeypatch.setattr(accuracy, "LOSS_PACKETS", 440_000)
    monkeypatch.setattr(accuracy, "LOSS_PPB", 10_000_000)
    monkeypatch.setattr(accuracy, "DELAY_LOADS", (("idle", 100),))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Ledger.open(tmp_path / "state") as ledger, two_hosts.hosts(ledger) as pair:
        place = Place(ledger, scratch, None, print, seconds=1)
        (rate,) = accuracy.rate_rows(pair, place)
        (loss,) = accuracy.loss_rows(pair, place)
        median, _ = accuracy.delay_rows(pair, place)
    assert rate.measured == pytest.approx(45e6, rel=0.02)  # how exact is the bench's to say, on a quiet machine
    low, high = accuracy.binom.interval(1 - 1e-6, 440_000, 0.01)
    assert low <= loss.measured <= high, loss
    assert abs(median.measured) < 5000, median
    assert not list(scratch.glob("*.pcapng"))


def test_offloads_off_makes_every_packet_come_on_its_own(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "state") as ledger, two_hosts.hosts(ledger) as pair:
        with two_hosts.box(pair, 1500, {"delay_ns": 1_000_000}, tmp_path, ledger) as box:
            two_hosts.offloads_off(pair)
            assert two_hosts.stream_bps(pair, two_hosts.Load(seconds=1, warm_up_s=0), ledger) > 1e7
            end = box.stop(10.0) or {}
        with two_hosts.veth(pair, 1500):
            two_hosts.offloads_off(pair)
    assert end["statistics"]["ab"]["in_frames"] == end["statistics"]["ab"]["in_packets"] > 1000
