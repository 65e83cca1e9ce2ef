"""Trials in virtual time and what tshark reads in their captures, for tests that compare our figures with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.virtual import virtual

# pytest marks of a test that compares with tshark. Without the virtual kernel or tshark it is skipped, with the reason.
COMPARED = [
    pytest.mark.netns,
    *virtual,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="compares with tshark, which is not installed"),
]
ROOT = Path(__file__).resolve().parents[2]


def ran(folder: Path, text: str, *options: str) -> list[dict[str, Any]]:
    """The trials of one run of this scenario with seed 1, as `lfp show --json` prints them."""
    (folder / "asked.toml").write_text(text)
    lfp = [sys.executable, "-m", "lfp"]
    run = [*lfp, "run", str(folder / "asked.toml"), "--time", "virtual", "--seed", "1", *options]
    runs = ["--runs-dir", str(folder / "runs")]
    done = subprocess.run([*run, *runs], cwd=ROOT, capture_output=True, text=True, timeout=560)
    assert done.returncode == 0, f"seed 1: {done.stdout}{done.stderr}"
    told = subprocess.run([*lfp, "show", "last", "--json", *runs], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in told.stdout.splitlines()]


def shown(folder: Path) -> str:
    """What `lfp show` prints of the last run."""
    lfp = [sys.executable, "-m", "lfp", "show", "last", "--runs-dir", str(folder / "runs")]
    return subprocess.run(lfp, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


def fields(capture: Path, wanted: str, *names: str) -> list[list[str]]:
    """These fields of each packet that tshark's display filter ``wanted`` keeps."""
    told = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-r", str(capture), "-Y", wanted, "-T", "fields", *told],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def arrivals(capture: Path, wanted: str) -> tuple[np.ndarray, np.ndarray]:
    """When new octets of one direction of a connection arrived, and how many: time (ns) and octets, a row for each data
    packet. Each octet counts once. The function uses none of the product's code."""
    told = fields(capture, f"{wanted} && tcp.len > 0", "frame.time_epoch", "tcp.seq", "tcp.len")
    rows = sorted((int(time.replace(".", "")), int(seq), int(length)) for time, seq, length in told)
    have = np.zeros(max(seq + length for _, seq, length in rows), bool)
    new = []
    for _, seq, length in rows:
        new.append(length - int(have[seq : seq + length].sum()))
        have[seq : seq + length] = True
    return np.asarray([row[0] for row in rows]), np.asarray(new)
