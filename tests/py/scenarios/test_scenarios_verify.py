"""Content that is checked (transfer.verify): what excludes what, the command line, virtual time, the column."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenario import Tiny, row

from netcommon import binaries
from scenarios.plan import profiles
from scenarios.trial import transfer_tool
from scenarios.virtual import boxes

TINY = Tiny("""\
[path]
delay = "10ms"
rate = "8Mbit"
[transfer]
bytes = "1MB"
verify = true
""")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("zerocopy = true\n", "transfer.verify = true: not with 'zerocopy'"),
        ('tool = "iperf3"\n', 'transfer.verify = true: iperf3 does not check content; use tool = "rttcp"'),
        ('[quick.transfer]\nrequest = "1"\nresponse = "1"\nexchanges = 1\n', "verify = true: not with 'request'"),
    ],
)
def test_what_excludes_what_is_named(tmp_path: Path, more: str, says: str) -> None:
    TINY.refused(tmp_path, says, more=more)


def test_content_is_copied_even_in_virtual_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    trial = boxes.settled(TINY.trial(tmp_path), "auto")
    line = transfer_tool.commands(trial.setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender
    assert "--verify" in line
    assert not {"--zerocopy", "--skip-rx-copy"} & set(line)


def test_the_results_have_rttcps_verdict(tmp_path: Path) -> None:
    made = row(tmp_path, TINY.trial(tmp_path), {"summary": {"verified": "ok"}})
    assert (made["verify"], made["verified"]) == (True, "ok")
