"""The captures and rules that `log.match` and `log.push` measure with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pktlogger
from bench.log import gaps, streams
from bench.registry import load
from netcommon.binaries import find


def test_both_benches_are_listed() -> None:
    assert {"log.match", "log.push"} <= set(load())


def test_the_streams_are_whole_and_hold_none_of_the_patterns(tmp_path: Path) -> None:
    payload = streams.write(tmp_path / "c.pcap", 1000)
    rules = streams.rules(tmp_path / "rules", 900, 100)
    argv: list[str | Path] = [find("pktlogger"), "match", "--json", "--rules", rules, tmp_path / "c.pcap"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    if done.returncode == 3:
        pytest.skip("this build has neither Vectorscan nor Hyperscan")
    end = json.loads(done.stdout.splitlines()[-1])
    assert payload == end["scanned_bytes"] == 1000 * streams.PAYLOAD
    assert (end["packets"], end["connections"], end["hits"]) == (1000, streams.CONNECTIONS, 0)
    assert end["gaps"] == end["duplicate_bytes"] == end["outside_bytes"] == 0


def test_the_gaps_are_exponential(tmp_path: Path) -> None:
    capture = gaps.write(tmp_path / "g.pcap", 20_000, 50_000)
    subprocess.run([find("pktlogger"), "frames", capture, "-o", tmp_path / "g"], check=True, capture_output=True)
    table = pktlogger.read_table(tmp_path / "g")
    apart = np.diff(np.array(table["t_ns"]))
    assert len(apart) == 19_999 and set(np.array(table["bytes"])) == {gaps.OCTETS}
    assert apart.mean() == pytest.approx(50_000, rel=5 / 141)  # 5 standard deviations of the mean
    assert apart.std() == pytest.approx(50_000, rel=5 * 2**0.5 / 141)
