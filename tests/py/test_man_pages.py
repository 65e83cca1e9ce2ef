"""Manual pages against the option tables that the programs print of themselves."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import find

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ("comet-delay", ["run"], "comet_delay/comet-delay.1"),
    ("comet-delay", ["show"], "comet_delay/comet-delay.1"),
    ("comet-delay", ["set"], "comet_delay/comet-delay.1"),
    ("comet-delay", ["watch"], "comet_delay/comet-delay.1"),
    ("comet-delay", ["metrics"], "comet_delay/comet-delay.1"),
    ("lft-gateway", ["run"], "lft_ref/lft-gateway.1"),
    ("lft-gateway", ["watch"], "lft_ref/lft-gateway.1"),
    ("lft-gateway", ["drain"], "lft_ref/lft-gateway.1"),
    ("rttcp", [], "rttcp/rttcp.1"),
    ("rttcp", ["cc"], "rttcp/rttcp.1"),
    ("pktlogger", ["capture"], "pktlogger/pktlogger.1"),
    ("pktlogger", ["record"], "pktlogger/pktlogger.1"),
    ("pktlogger", ["index"], "pktlogger/pktlogger.1"),
    ("pktlogger", ["analyse"], "pktlogger/pktlogger.1"),
]
ONE_DIRECTION = re.compile(r"^(ab|ba)-")  # documented once, with the option that has no prefix


@pytest.mark.parametrize(("tool", "verb", "page"), PAGES, ids=lambda value: " ".join(value) if value else "")
def test_every_option_is_in_the_manual(tool: str, verb: list[str], page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\-", "-")
    table = subprocess.run([str(find(tool)), *verb, "--options-json"], capture_output=True, text=True, check=True)
    names = [row["name"] for row in json.loads(table.stdout) if not ONE_DIRECTION.match(row["name"])]
    assert names
    missing = [name for name in names if f"--{name}" not in text]
    assert not missing, f"{page} does not tell of --{', --'.join(missing)}"
