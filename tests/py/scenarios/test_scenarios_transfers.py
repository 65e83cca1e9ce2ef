"""The end of a trial's transfers, with tools that stand for rttcp."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from netcommon.process import Tool, ToolError
from scenarios.plan.model import Scenario
from scenarios.trial import transfers


def flow_of(sender: Tool) -> Any:
    return SimpleNamespace(senders=[sender], receivers=[])


def test_a_transfer_that_takes_too_long_says_where_its_limit_is_set() -> None:
    boxes: Any = SimpleNamespace(ended=lambda _: False)
    gateways: Any = SimpleNamespace(why_ended=lambda: None)
    says = r"sender: gave no answer in time; a transfer may take 1 s here, and \[run\] timeout sets another limit"
    with (
        Tool([sys.executable, "-c", "import time; time.sleep(60)"], name="sender") as sender,
        pytest.raises(ToolError, match=says),
    ):
        transfers._finish(flow_of(sender), boxes, gateways, 1.0)


def setting_of(**path: str) -> Scenario:
    table = {"delay": "40ms", "rate": "50Mbit"} | path
    values = {"scenario": {"name": "x", "title": "x"}, "path": table, "transfer": {"bytes": 12_500_000}}
    return Scenario.model_validate(values)


@pytest.mark.parametrize(
    ("path", "share", "rtt_s"),
    [
        ({"ab_loss": "1%"}, 0.01, 0.08),
        ({"ab_loss": "1%", "change": "800ms delay=80ms"}, 0.01, 0.16),
        ({"ab_loss": "gilbert:2%,5"}, 0.02, 0.08),
        ({"change": "1s ab_loss_after=0.5%"}, 0.005, 0.08),
    ],
)
def test_the_limit_leaves_a_lossy_path_the_time_that_theory_asks_for(
    path: dict[str, str], share: float, rtt_s: float
) -> None:
    """12.5 MB at 1 % loss and 160 ms take Reno 110 s, by Mathis's bound: payload / RTT * 1.22 / sqrt(p). The time limit
    was once 80 s, ten times the duration at the full rate."""
    reno_bps = 8 * 1448 / rtt_s * 1.22 / share**0.5
    assert transfers._timeout_s(setting_of(**path)) > 60 + 9 * 12_500_000 * 8 / reno_bps


def test_without_chance_the_limit_is_that_of_amount_and_rate() -> None:
    for path in ({}, {"ab_loss": "time:1s-2s"}, {"ba_loss": "1%"}, {"ab_loss": "0.000001%"}):
        assert transfers._timeout_s(setting_of(**path)) == 60 + 10 * 2.0
