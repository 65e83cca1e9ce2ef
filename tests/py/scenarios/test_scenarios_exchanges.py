"""Request and response in a scenario: what excludes what, the command line, the estimate, the columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenario import Tiny, row

from netcommon import binaries
from scenarios.plan import estimate, params, profiles
from scenarios.trial import transfer_tool

TINY = Tiny("""\
[path]
delay = "10ms"
rate = "8Mbit"
[transfer]
request = "100"
response = "900"
exchanges = 50
""")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('response = "900"', "", "give both 'request' and 'response'"),
        ('request = "100"', "", "give both 'request' and 'response'"),
        ("exchanges = 50", "", "with 'request' give either 'exchanges' or 'duration'"),
        ("exchanges = 50", 'exchanges = 50\nduration = "1s"', "with 'request' give either"),
        ("exchanges = 50", 'duration = "1s"\nbytes = "1MB"', "transfer.bytes = '1MB': not with 'request'"),
        ("exchanges = 50", 'exchanges = 50\nwindow = "8KB"', "transfer.window = '8KB': not with 'request'"),
        ("exchanges = 50", 'exchanges = 50\npace = "1Mbit"', "transfer.pace = '1Mbit': not with 'request'"),
        ("exchanges = 50", 'exchanges = 50\nsecond = "reno"', "transfer.second = 'reno': not with 'request'"),
        ("exchanges = 50", "exchanges = 50\nzerocopy = true", "transfer.zerocopy = true: not with 'request'"),
        ("exchanges = 50", 'exchanges = 50\ntool = "iperf3"', 'tool "iperf3" has no request and response'),
        ("exchanges = 50", "exchanges = 2000000000", "transfer.exchanges = 2000000000: out of range"),
        ('request = "100"', 'request = "65MB"', "transfer.request = '65MB': out of range"),
    ],
)
def test_what_excludes_what_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    TINY.refused(tmp_path, says, old, new)


def test_a_quick_duration_takes_the_exchanges_away(tmp_path: Path) -> None:
    plan = TINY.plan(tmp_path, more='[quick.transfer]\nduration = "2s"\n', quick=True)
    assert (plan.base.transfer.exchanges, plan.base.transfer.duration) == (None, 2 * 10**9)


def test_the_tool_the_estimate_and_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of 1,000 bytes takes 1 ms at 8 Mbit/s, so an exchange takes 21 ms. A profile's window does not
    apply."""
    trial = TINY.trial(tmp_path, more='[profile]\nname = "bsd-1995"\n')
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    line = transfer_tool.commands(trial.setting, profiles.load("bsd-1995"), "10.0.0.1", tmp_path).sender
    assert [line[line.index(f"--{key}") + 1] for key in ("request", "response", "exchanges")] == ["100", "900", "50"]
    assert not {"--bytes", "--length", "--window", "--zerocopy", "--duration"} & set(line)
    assert estimate.transfer_s(trial.setting) == pytest.approx(50 * 0.021, rel=0.01)
    assert estimate.moved_bytes(trial.setting) == pytest.approx(50_000)
    told = params.of(trial)
    assert (told["request_bytes"], told["response_bytes"], told["exchanges"]) == (100, 900, 50)
    assert told["window_bytes"] == 0
    exchange = {"exchanges": 50, "exchanges_per_s": 47.6, "latency_p999_ns": 21_100_000}
    made = row(tmp_path, trial, {"summary": {"exchange": exchange}})
    assert (made["exchanges_per_s"], made["latency_p999_ns"], made["exchanges"]) == (47.6, 21_100_000, 50)
    assert made["latency_p50_ns"] is None
