"""The bench lft.packets: packets are as small as it says, and its rows have bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import lft_packets
from bench.lft_packets import LARGE, SMALL, Size
from bench.registry import Place, load
from netcommon.errors import LfpError

NET_DEV = """\
Inter-|   Receive                          |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:    0    0    0    0    0     0          0         0      0      0    0    0    0     0       0          0
  lan0: 1420   10    0    0    0     0          0         0    660     10    0    0    0     0       0          0
"""


def test_sizes_are_those_of_ip_packets() -> None:
    assert (SMALL.packet_bytes, LARGE.packet_bytes) == (128, 1500)


def test_the_mean_frame_is_that_of_the_interface() -> None:
    assert lft_packets.mean_frame_bytes(NET_DEV, "lan0") == 142
    assert lft_packets.mean_frame_bytes(NET_DEV, "lo") == 0
    with pytest.raises(LfpError, match="wan: not in the gateway's namespace"):
        lft_packets.mean_frame_bytes(NET_DEV, "wan")


@pytest.mark.parametrize(("small_bps", "within"), [(100e6, True), (500e6, False)])
def test_small_packets_have_to_cost_more_than_their_octets(
    monkeypatch: pytest.MonkeyPatch, small_bps: float, within: bool
) -> None:
    def goodput_bps(_: Any, __: str, size: Size, ___: int) -> float:
        return small_bps if size == SMALL else 600e6

    monkeypatch.setattr(lft_packets, "_goodput_bps", goodput_bps)
    place = cast(Place, SimpleNamespace(pairs=1, seconds=1, say=lambda _: None))
    (result,) = load()["lft.packets"].measure(place)
    ratios = [row for row in result.rows if row.unit == "ratio"]
    assert [row.within for row in ratios] == [within, within]
