"""The accuracy bench on a real box, shortened: what it measures has to be what the box was told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcommon import netns
from netcommon.ledger import Ledger
from scenarios.bench import two_hosts
from scenarios.bench.accuracy import jitter, loss, theory, times
from scenarios.bench.registry import Place
from scenarios.network import host_pair, sysctls

pytestmark = pytest.mark.netns


def test_accuracy_measures_what_the_box_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Physical figures are the bench's to judge, on a quiet machine: here they have to be of the right size. Counts and
    the fates of listed packets are exact on any machine."""
    monkeypatch.setattr(times, "WARM_UP_S", 1)
    monkeypatch.setattr(jitter, "SPACING_S", 0.005)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Ledger.open(tmp_path / "state") as ledger, host_pair.hosts(ledger) as pair:
        for pid in (pair.sender, pair.receiver):
            netns.call_in(pid, sysctls.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
        place = Place(ledger, scratch, None, print, seconds=1)
        (rate,) = times.rate(pair, place, 45_000_000)
        _, median, _ = times.delay(pair, place, "idle", 100)
        (spacing,) = times.spacing(pair, place)
        fates = loss.fates(pair, place, "gilbert:5%,4", 200_000)
        exact = [*loss.by_packet(pair, place), *loss.by_sequence(pair, place)]
        exact += loss.by_retransmission(pair, place)
        jitter_ms, backwards = jitter.added_ms(pair, place, "1ms")
    assert rate.measured == pytest.approx(45e6, rel=0.02)
    assert abs(median.measured) < 5000, median
    assert spacing.measured < 5000, spacing
    chain = theory.gilbert(0.05, 4)
    assert len(set(fates.seeds)) == 3
    assert chain.losses(fates.sent)[0] <= fates.lost <= chain.losses(fates.sent)[1], fates.seeds
    assert all(row.within for row in exact), exact
    assert backwards == 0 and -1.1 < np.median(jitter_ms) < 5
    assert not list(scratch.glob("*.pcapng"))


def test_offloads_off_makes_every_packet_come_on_its_own(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "state") as ledger, host_pair.hosts(ledger) as pair:
        with two_hosts.box(pair, 1500, {"delay_ns": 1_000_000}, tmp_path, ledger) as box:
            host_pair.offloads_off(pair)
            assert two_hosts.stream_bps(pair, two_hosts.Load(seconds=1, warm_up_s=0), ledger) > 1e7
            end = box.stop(10.0) or {}
        with host_pair.veth(pair, 1500):
            host_pair.offloads_off(pair)
    assert end["statistics"]["ab"]["in_frames"] == end["statistics"]["ab"]["in_packets"] > 1000
