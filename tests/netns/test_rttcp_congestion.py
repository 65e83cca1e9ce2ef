"""Each BPF congestion control in a real transfer: it loads, sends, and reduces its window at a loss by its own factor.
test_rttcp_congestion_exact.py tests its equation over time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from congestion_lab import Curve, columns

from netcommon.errors import LfpError
from rttcp.congestion import congestion

# The whole machine shares the algorithms that its kernel has loaded, and the records that `lfp clean` works from.
pytestmark = [pytest.mark.netns, pytest.mark.one_at_a_time]

LOSSES = "packets:2000,12000"  # the first ends slow start, the second comes in congestion avoidance


@pytest.fixture(autouse=True, scope="module")
def _possible() -> Iterator[None]:
    try:
        with congestion("lfp_cpeak"):
            yield
    except LfpError as error:
        if error.status != 3:
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("control", "share"),
    [
        ("lfp_scalable", 7 / 8),
        ("lfp_hstcp:per_segment=1", None),
        ("lfp_htcp:beta_max=0.5", 0.5),
        ("lfp_cpeak", 0.5),
        ("lfp_xys:x=4,y=400", 1 / 4),
        ("lfp_fast", 0.5),
    ],
    ids=str,
)
def test_it_sends_and_gives_up_its_share_at_a_loss(control: str, share: float | None) -> None:
    curve = Curve.of(columns(control, "2.5s", {"delay": "20ms", "ab_loss": LOSSES, "memory": "64MB"}))
    assert curve.retransmitted[-1] >= 1 and curve.delivered[-1] > 5000
    # The window grows on between the last sample and the loss, so the share looks larger the busier the machine is, and
    # may even exceed 1. test_rttcp_congestion_exact.py is exact.
    assert curve.kept_at_the_last_cut() >= (share or 0) - 0.1
