"""The gateways' limit towards hosts (gateway.host_rate): bounds, the option of lft-gateway, the column."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.plan import estimate, params
from scenarios.plan.plan import load_plan

TINY = """\
[scenario]
name = "tiny"
[path]
rate = "100Mbit"
[transfer]
bytes = 10_000_000
[gateway]
kind = "lft"
host_rate = "20Mbit"
"""


def write(tmp_path: Path, old: str = "", new: str = "") -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.replace(old, new, 1))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "lft"', "", "gateway.host_rate = '20Mbit': not with kind 'none'"),
        ("20Mbit", "1.5Mbit", "gateway.host_rate = '1.5Mbit': not a multiple of 1Mbit"),
    ],
)
def test_what_is_impossible_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_plan(write(tmp_path, old, new))
    assert says in str(caught.value)


def test_the_limit_is_in_estimate_and_parameters(tmp_path: Path) -> None:
    trial = load_plan(write(tmp_path)).trials[0]
    assert estimate.transfer_s(trial.setting) == pytest.approx(4.0)
    assert params.of(trial)["gateway_host_rate_bps"] == 20_000_000
    assert (
        params.of(load_plan(write(tmp_path, 'kind = "lft"\nhost_rate = "20Mbit"')).trials[0])["gateway_host_rate_bps"]
        is None
    )
