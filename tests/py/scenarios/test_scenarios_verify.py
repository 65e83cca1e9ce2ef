"""Content that is checked (transfer.verify): what excludes what, the command line, virtual time, the column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netcommon import binaries
from netcommon.errors import UsageError
from scenarios.plan import params, profiles
from scenarios.plan.plan import load_plan
from scenarios.run import results
from scenarios.trial import transfer_tool
from scenarios.virtual import boxes

TINY = """\
[scenario]
name = "tiny"
[path]
delay = "10ms"
rate = "8Mbit"
[transfer]
bytes = "1MB"
verify = true
"""


def write(tmp_path: Path, more: str = "") -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + more)
    return str(path)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("zerocopy = true\n", "transfer.verify = true: not with 'zerocopy'"),
        ('tool = "iperf3"\n', "transfer.verify = true: iperf3 does not check content; use tool = \"rttcp\""),
        ('[quick.transfer]\nrequest = "1"\nresponse = "1"\nexchanges = 1\n', "verify = true: not with 'request'"),
    ],
)
def test_what_excludes_what_is_named(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_plan(write(tmp_path, more), quick="quick" in more)
    assert says in str(caught.value)


def test_content_is_copied_even_in_virtual_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    trial = boxes.settled(load_plan(write(tmp_path)).trials[0], "auto")
    line = transfer_tool.commands(trial.setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender
    assert "--verify" in line
    assert not {"--zerocopy", "--skip-rx-copy"} & set(line)


def test_the_results_have_rttcps_verdict(tmp_path: Path) -> None:
    told = params.of(load_plan(write(tmp_path)).trials[0])
    (tmp_path / "params.json").write_text(json.dumps(told))
    (tmp_path / "transfer.json").write_text(json.dumps({"summary": {"verified": "ok"}}))
    (tmp_path / "status.json").write_text(json.dumps({"state": "done", "verdict": {"valid": True, "reasons": []}}))
    row = results.row(tmp_path)
    assert (row["verify"], row["verified"]) == (True, "ok")
    results.write(tmp_path, [row])
