"""`pktlogger --causes-json`: one table of causes, with which all code that names causes agrees."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.pktlogger_conversation import Conversation

from dashboard.timeline.limits_band import COLOURS
from dashboard.timeline.messages import TEXTS
from netcommon.binaries import find
from scenarios.plan.columns import LIMITS, LOSS_CAUSES

FORMAT = Path(__file__).resolve().parents[3] / "pktlogger" / "FORMAT.md"
ROLES = {"congestion", "recovery", "host", "pacing", "path", "emulator", "unknown"}
GATEWAY = "gateway"  # a limit of the whole transfer, which pktlogger.through finds


@pytest.fixture(scope="module")
def causes() -> dict[str, list[dict[str, str]]]:
    done = subprocess.run([find("pktlogger"), "--causes-json"], capture_output=True, text=True, check=True, timeout=30)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("v") == 1
    return found


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["name"] for row in rows]


def test_each_cause_has_a_name_words_a_role_and_a_description(causes: dict[str, list[dict[str, str]]]) -> None:
    assert list(causes) == ["limits", "losses", "stops", "verdicts"]
    for rows in causes.values():
        assert len(set(names(rows))) == len(rows)
        for row in rows:
            assert list(row) == ["name", "words", "role", "description", "advice"]
            assert row["role"] in ROLES
            assert row["description"].endswith(".")
            assert row["advice"] is None or row["advice"].endswith(".")


def test_an_analysis_names_the_same_causes(causes: dict[str, list[dict[str, str]]], tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1)
    path.ack(41, 1001)
    summary = path.analyse(tmp_path)[0].summary
    assert summary["limit_causes"] == names(causes["limits"])
    assert summary["loss_causes"] == names(causes["losses"])


def test_the_specification_numbers_them_alike(causes: dict[str, list[dict[str, str]]]) -> None:
    for key, first in (("limits", "0 slow_start"), ("losses", "0 tail_drop")):
        (listed,) = re.findall(rf"{first}, [^|]*", FORMAT.read_text())
        assert re.findall(r"(\d+) (\w+)", listed) == [(str(n), name) for n, name in enumerate(names(causes[key]))]


def test_results_and_dashboard_know_all_of_them(causes: dict[str, list[dict[str, str]]]) -> None:
    limits = names(causes["limits"])
    assert sorted(LIMITS) == sorted([*limits, GATEWAY]) == sorted(COLOURS)
    assert len(set(COLOURS.values())) == len(COLOURS)
    counted = [cause for together in LOSS_CAUSES.values() for cause in together]
    assert sorted(counted) == sorted({*names(causes["losses"])} - {"emulator", "capture_loss"})
    for say in TEXTS.values():
        assert {f"limit.{name}" for name in limits} <= say.texts.keys()


def test_a_new_cause_has_words_a_colour_and_a_column(causes: dict[str, list[dict[str, str]]], tmp_path: Path) -> None:
    """Results and dashboard need nothing but a row of the table."""
    changed = json.loads(json.dumps({"v": 1} | causes))
    changed["limits"].append(changed["limits"][0] | {"name": "full_moon", "words": "the moon", "role": "host"})
    changed["losses"].append(changed["losses"][0] | {"name": "eaten", "words": "mice", "role": "path"})
    code = """
import pathlib, sys
real = pathlib.Path.read_text
ours = pathlib.Path(sys.argv[1])
pathlib.Path.read_text = lambda self, **more: real(ours if self.name == "causes.json" else self, **more)
from dashboard.timeline.limits_band import COLOURS
from scenarios.plan.columns import COLUMNS
print(COLOURS["full_moon"], COLUMNS["lost_eaten"].label, COLUMNS["limited_full_moon"].label, sep="\\n")
"""
    (tmp_path / "causes.json").write_text(json.dumps(changed))
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "causes.json"], capture_output=True, text=True, timeout=60, check=True
    )
    colour, lost, limited = done.stdout.splitlines()
    assert colour.startswith("#") and (lost, limited) == ("Lost: mice", "Share of time limited by the moon")
