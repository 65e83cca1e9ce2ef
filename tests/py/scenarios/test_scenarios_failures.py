"""A failed trial: its message names the program that died, with its last line, and its captures are analysed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as parquet
import pytest

from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool, ToolError
from scenarios.plan.plan import load_plan
from scenarios.trial import trial as trials
from scenarios.trial.delay_box import Boxes
from scenarios.trial.gateways import Pair, Running, Site
from scenarios.trial.transfers import _finish, _Flow

GATEWAY = """
[scenario]
name = "dies"
[path]
rate = "10Mbit"
[gateway]
kind = "command"
near = "near"
far = "far"
[transfer]
duration = "1s"
"""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def program(stack: ExitStack, folder: Path, name: str, script: str, *, json_lines: bool = False) -> Tool:
    """A running shell script."""
    tool = Tool(["sh", "-c", script], name=name, stderr_path=folder / f"{name}.stderr", json_lines=json_lines)
    return stack.enter_context(tool)


def ended(tool: Tool) -> Tool:
    while tool.running():
        pass
    return tool


def pair(tmp_path: Path, near: Tool, far: Tool) -> Pair:
    file = tmp_path / "dies.toml"
    file.write_text(GATEWAY)
    setting = load_plan(str(file), seed=1).trials[0].setting
    return Pair(Site(setting, (1,), ("gw1", "gw2"), ((0, 1),)), {"near": near, "far": far}, lambda _: near)


FAILS = """echo '{"v":1,"event":"error","status":1,"message":"the other end is silent"}'; exit 1"""
NO_BOX = Boxes({})


def flow(sender: Tool, *receivers: Tool) -> _Flow:
    return _Flow(cast("Any", None), cast("Any", None), cast("Any", None), cast("Any", None), [sender], list(receivers))


def test_a_gateway_that_died_is_named_with_its_last_line(tmp_path: Path, stack: ExitStack) -> None:
    far = program(stack, tmp_path, "far-gateway", "sleep 60")
    near = ended(program(stack, tmp_path, "near-gateway", "echo starts; echo the licence has expired >&2; exit 7"))
    sender = program(stack, tmp_path, "sender", FAILS, json_lines=True)
    with pytest.raises(ToolError) as caught:
        _finish(flow(sender), NO_BOX, Running([pair(tmp_path, near, far)]), 20.0)
    assert "near-gateway: ended during the transfer, exit status 7 (the licence has expired)" in str(caught.value)
    assert "the other end is silent" in str(caught.value) and "far-gateway" not in str(caught.value)


def test_one_that_prints_to_stdout_has_its_last_line_there(tmp_path: Path, stack: ExitStack) -> None:
    far = program(stack, tmp_path, "far-gateway", "sleep 60")
    near = ended(program(stack, tmp_path, "near-gateway", "echo ready; echo panic: no memory; kill -9 $$"))
    with pytest.raises(LfpError) as caught:
        pair(tmp_path, near, far).stop()
    said = "near-gateway: ended during the transfer, killed by SIGKILL (panic: no memory)"
    assert said in str(caught.value)


def test_a_receiver_that_died_is_named(tmp_path: Path, stack: ExitStack) -> None:
    receiver = ended(program(stack, tmp_path, "receiver", "echo out of memory >&2; exit 9", json_lines=True))
    sender = program(stack, tmp_path, "sender", FAILS, json_lines=True)
    with pytest.raises(ToolError, match=r"receiver: ended during the transfer, exit status 9 \(out of memory\)"):
        _finish(flow(sender, receiver), NO_BOX, Running([]), 20.0)


def test_a_sender_that_fails_alone_says_so_alone(tmp_path: Path, stack: ExitStack) -> None:
    sender = program(stack, tmp_path, "sender", FAILS, json_lines=True)
    with pytest.raises(ToolError) as caught:
        _finish(flow(sender), NO_BOX, Running([]), 20.0)
    assert str(caught.value) == "sender: the other end is silent"


def test_samples_of_a_sender_that_was_killed_end_with_its_last_whole_line(tmp_path: Path) -> None:
    samples, target = tmp_path / "samples.jsonl", tmp_path / "tcp_info.parquet"
    samples.write_text('{"t_ns":1,"snd_cwnd":10}\n{"t_ns":2,"snd_cwnd":11}\n{"t_ns":3,"snd_c')
    trials._digest_samples(samples, target)
    assert parquet.read_table(target)["t_ns"].to_pylist() == [1, 2]
    samples.write_text('{"t_ns":3,"sn')
    trials._digest_samples(samples, tmp_path / "none.parquet")
    assert not (tmp_path / "none.parquet").exists()


def test_what_a_failed_trial_cannot_be_read_from_is_no_second_failure(tmp_path: Path) -> None:
    file = tmp_path / "dies.toml"
    file.write_text(GATEWAY + '[capture]\npoints = ["snd", "gw1-in"]\n')
    (one,) = load_plan(str(file), seed=1).trials
    (tmp_path / "log").mkdir()
    (tmp_path / "params.json").write_text("{}")
    with Ledger.open() as ledger:
        trials.digest_failed(one, tmp_path, ledger)
    assert not list(tmp_path.glob("*.parquet"))
