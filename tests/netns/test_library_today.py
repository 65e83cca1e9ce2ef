"""Scenarios of docs/reference/today.md meet their expectations in quick form. Only those that take seconds are tested
here; the others take minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.virtual import virtual

from lfp import cli

pytestmark = [pytest.mark.netns, *virtual]


@pytest.mark.parametrize("name", ["today-incast", "slow-start"])
def test_expectations_are_met(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", name, "--quick", "--time", "virtual", "--seed", "1", "--runs-dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "NOT" not in said and " met" in said
