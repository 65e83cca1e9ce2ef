"""The accuracy bench on a real box, shortened: its measurements must match the box's parameters.

Times are judged in virtual time, where no timer is late. On the real machine counts and fates are judged, which are
exact on any machine.
"""

from __future__ import annotations

from pathlib import Path

import accuracy_measures
import numpy as np
import pytest
from support.virtual import in_virtual_time, virtual

from bench import two_hosts
from bench.accuracy import bursts, jitter, loss, theory, times
from bench.registry import Place
from netcommon import netns
from netcommon.ledger import Ledger
from scenarios.network import host_pair, sysctls

pytestmark = pytest.mark.netns


def test_counts_and_fates_are_those_that_the_box_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jitter, "SPACING_S", 0.005)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Ledger.open(tmp_path / "state") as ledger, host_pair.hosts(ledger) as pair:
        for pid in (pair.sender, pair.receiver):
            netns.call_in(pid, sysctls.write_sysctls, {"net.ipv6.conf.all.disable_ipv6": "1"})
        place = Place(ledger, scratch, None, print, seconds=1)
        _, median, _ = times.delay(pair, place, "idle", 100)
        (spacing,) = times.spacing(pair, place)
        fates = loss.fates(pair, place, "gilbert:5%,4", 200_000)
        exact = [*loss.by_packet(pair, place), *loss.by_sequence(pair, place)]
        exact += [*loss.by_retransmission(pair, place), *bursts.bucket(pair, place)]
        jitter_ms, backwards = jitter.added_ms(pair, place, "1ms")
    assert median.measured > -20, "packets left before their time"
    assert spacing.note == "439 gaps of 1153.6 us", spacing
    chain = theory.gilbert(0.05, 4)
    assert len(set(fates.seeds)) == 3
    assert chain.losses(fates.sent)[0] <= fates.lost <= chain.losses(fates.sent)[1], fates.seeds
    assert all(row.within for row in exact), exact
    assert backwards == 0 and np.median(jitter_ms) > -1.1
    assert not list(scratch.glob("*.pcapng"))


@virtual[0]
@virtual[1]
def test_times_are_those_that_the_box_was_told() -> None:
    """The only errors left are the bench's: one packet more or less in a second of the rate, and 10 to 25 us for the
    first packet. The bench's own bounds are wider, for real machines."""
    found = in_virtual_time(accuracy_measures.delay_rate_spacing, memory_bytes=1 << 30)
    assert found["rate_bps"] == pytest.approx(45e6, rel=0.0005)
    assert 0 <= found["median_us"] <= found["p99_us"] <= 30, found
    assert 0 <= found["spacing_us"] <= 5, found


def test_offloads_off_makes_every_packet_come_on_its_own(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "state") as ledger, host_pair.hosts(ledger) as pair:
        with two_hosts.box(pair, 1500, {"delay_ns": 1_000_000}, tmp_path, ledger) as box:
            host_pair.offloads_off(pair)
            assert two_hosts.stream_bps(pair, two_hosts.Load(seconds=1, warm_up_s=0), ledger) > 1e7
            end = box.stop(10.0) or {}
        with host_pair.veth(pair, 1500):
            host_pair.offloads_off(pair)
    assert end["statistics"]["ab"]["in_frames"] == end["statistics"]["ab"]["in_packets"] > 1000
