"""Queries to third-party programs: each has a deadline, and runs only once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from netcommon import binaries, options, probe
from netcommon.errors import LfpError, UsageError
from scenarios.plan.plan import load_plan

ENDLESS = {
    "silent": "sleep 600",
    "leaves a child that has its output": "sleep 600 & exit 0",
    "talks": "while :; do echo Listening; sleep 0.05; done",
}


def program(file: Path, script: str) -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("name", ENDLESS)
def test_a_program_that_does_not_end_is_ended(tmp_path: Path, name: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(LfpError, match="within 1 s"):
        probe.output([program(tmp_path / "tool", ENDLESS[name]), "--options-json"], deadline_s=1)
    assert time.monotonic() - began_s < 20


def test_a_program_that_prints_for_ever_takes_no_memory(tmp_path: Path) -> None:
    with pytest.raises(LfpError, match="prints more than 1048576 octets"):
        probe.output(["yes"])


def test_an_answer_and_a_failure() -> None:
    assert probe.output(["echo", "yes"]) == b"yes\n"
    for argv, said in ((["false"], "exit status 1"), (["/no/such/program"], "No such file")):
        with pytest.raises(LfpError, match=said):
            probe.output(argv)


@pytest.mark.parametrize("answer", ["", "hello", "[]", "{}"])
def test_a_gateway_that_ignores_unknown_options_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Sixteen trials with eight gateway settings whose bounds come from the gateway's option table."""
    asked = tmp_path / "asked"
    tool = program(tmp_path / "gateway", f"echo \"$*\" >>{asked}; printf '%s' '{answer}'")
    monkeypatch.setenv(binaries.override_variable("lft-gateway"), str(tool))
    file = tmp_path / "x.toml"
    file.write_text(
        '[scenario]\nname = "x"\n[path]\ndelay = "5ms"\n[transfer]\nbytes = "1MB"\n[gateway]\nkind = "lft"\n'
        'rate = "20Mbit"\nrecovery = "gbn"\n[sweep]\n"path.loss" = ["0", "1%"]\n[run]\nrepeat = 8\n'
    )
    for _ in range(2):
        try:
            load_plan(str(file), seed=1)
        except UsageError as error:
            assert str(error).count("\n") == 0
    assert asked.read_text().splitlines() == ["run --options-json"]
    with pytest.raises(LfpError, match="cannot list what it takes"):
        options.options("lft-gateway", "run")
