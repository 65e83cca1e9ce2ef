"""The gateways' limit towards hosts (gateway.host_rate): bounds, the option of lft-gateway, the column."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenario import Tiny

from scenarios.plan import estimate, params

TINY = Tiny("""\
[path]
rate = "100Mbit"
[transfer]
bytes = 10_000_000
[gateway]
kind = "lft"
host_rate = "20Mbit"
""")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "lft"', "", "gateway.host_rate = '20Mbit': not with kind 'none'"),
        ("20Mbit", "1.5Mbit", "gateway.host_rate = '1.5Mbit': not a multiple of 1Mbit"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    TINY.refused(tmp_path, says, old, new)


def test_the_limit_is_in_estimate_and_parameters(tmp_path: Path) -> None:
    trial = TINY.trial(tmp_path)
    assert estimate.transfer_s(trial.setting) == pytest.approx(4.0)
    assert params.of(trial)["gateway_host_rate_bps"] == 20_000_000
    assert params.of(TINY.trial(tmp_path, 'kind = "lft"\nhost_rate = "20Mbit"'))["gateway_host_rate_bps"] is None
