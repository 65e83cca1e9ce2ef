"""The end of a trial's transfers, with tools that stand for rttcp."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from netcommon.process import Tool, ToolError
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
