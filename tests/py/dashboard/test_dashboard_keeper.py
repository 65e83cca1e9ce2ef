"""The dashboard's keeper: it answers the allowed requests, and no others."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_run
from support.pretended import PretendedGateway, pretended

from dashboard.classroom.demonstration import CHOICES, Setting
from dashboard.core import tags
from dashboard.live import gateway
from dashboard.server import keeper
from dashboard.server.changes import Changes
from dashboard.server.kept import GONE, LONGEST, Channel, KeptChanges, KeptGateway
from lft_ref import Control
from netcommon.control import ControlError
from netcommon.errors import LfpError

ROOT = Path(__file__).parents[3]
SEED = 4711


@contextmanager
def kept(runs_dir: Path, *, read_only: bool = False, **sockets: Path) -> Iterator[dict[str, Channel]]:
    """A keeper as `lfp dashboard` starts it. After the test it must have ended by itself."""
    names = [*([] if read_only else ["runs"]), *sockets]
    pairs = {name: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for name in names}
    given = {
        "runs_dir": str(runs_dir),
        "read_only": read_only,
        "sockets": {n: str(p) for n, p in sockets.items()},
        "channels": {name: theirs.fileno() for name, (_, theirs) in pairs.items()},
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "dashboard.server.keeper", json.dumps(given)],
        cwd=ROOT,
        pass_fds=[theirs.fileno() for _, theirs in pairs.values()],
        process_group=0,
    )
    for _, theirs in pairs.values():
        theirs.close()
    channels = {name: Channel(ours.detach()) for name, (ours, _) in pairs.items()}
    try:
        yield channels
        for channel in channels.values():
            channel.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_runs_are_tagged_and_deleted_by_name(tmp_path: Path) -> None:
    run = synthetic_run.seqack(tmp_path)
    with kept(tmp_path) as channels:
        changes = KeptChanges(channels["runs"])
        changes.tag(run.name, add=["thesis"])
        assert tags.read(run) == ("thesis",)
        with pytest.raises(LfpError, match="want 1 to 40 letters"):
            changes.tag(run.name, add=["two words"])
        for wrong in ("..", "nothing", f"../{tmp_path.name}/{run.name}", str(run)):
            with pytest.raises(LfpError, match="no run named"):
                changes.delete(wrong)
            with pytest.raises(LfpError, match="no run named"):
                changes.tag(wrong, add=["mine"])
        changes.delete(run.name)
        assert not run.exists() and changes.demonstrations.state().running is None


def test_a_gateway_is_asked_and_its_own_line_is_the_error(tmp_path: Path) -> None:
    pretending = PretendedGateway()
    with pretended(tmp_path / "control", pretending.answer), kept(tmp_path, gateway=tmp_path / "control") as channels:
        control = KeptGateway(channels["gateway"])
        assert gateway.read(control.show()).peer == "192.0.2.1:2004"
        control.set(rate_mode="auto")
        assert pretending.asked[-1] == {"op": "set", "values": {"rate-mode": "auto"}}
        with pytest.raises(ControlError, match="knows no such request"):
            control.set(key="x")
        with pytest.raises(ControlError, match="knows no such request"):
            control.request({"op": "shutdown"})
        control.drain("5s")
        assert pretending.asked[-1] == {"op": "stop", "within": "5s"}
    said = pytest.raises(ControlError, match="is lft-gateway running there")
    with kept(tmp_path, gateway=tmp_path / "none") as channels, said:
        KeptGateway(channels["gateway"]).show()


def test_with_read_only_a_gateway_can_be_shown_and_nothing_else(tmp_path: Path) -> None:
    pretending = PretendedGateway()
    with (
        pretended(tmp_path / "control", pretending.answer),
        kept(tmp_path, read_only=True, gateway=tmp_path / "control") as channels,
    ):
        assert channels.keys() == {"gateway"}
        control = KeptGateway(channels["gateway"])
        assert control.show()["ok"]
        for refused in ({"op": "set", "values": {"rate": "1Mbit"}}, {"op": "stop"}, {"op": "stop", "within": "1s"}):
            with pytest.raises(ControlError, match="knows no such request"):
                control.request(refused)
    assert {asked["op"] for asked in pretending.asked} == {"show"}


def test_a_keeper_that_has_ended_is_said(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    channel = Channel(ours.detach())
    with pytest.raises(LfpError, match=GONE[:40]):
        KeptChanges(channel).delete("x")
    channel.close()


class Recorded:
    """Changes that are only noted."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.demonstrations = self

    def state(self) -> Any:
        raise LfpError("asked")

    def start(self, setting: Setting) -> None:
        self.done.append(("start", setting))

    def cancel(self) -> None:
        self.done.append(("cancel",))

    def delete(self, name: str) -> None:
        self.done.append(("delete", name))

    def tag(self, name: str, *, add: list[str], remove: list[str]) -> None:
        self.done.append(("tag", name, add, remove))


START = {"do": "start", "setting": asdict(Setting())}
WRONG = [
    b"", b"{", b"null", b"[]", b"{}", b"\xff\xfe", b"1e999", b"[" * 5000, b'{"do":' * 2000, b"{" + b" " * LONGEST,
    *(json.dumps(one).encode() for one in (
        {"do": "run", "argv": ["sh"]}, {"do": "delete"}, {"do": "delete", "name": 5}, {"do": "delete", "name": ["a"]},
        {"do": "delete", "name": "a", "path": "/"}, {"do": "delete", "name": "x" * 256}, {"do": "cancel", "name": "a"},
        {"do": "tag", "name": "a", "add": "b", "remove": []},
        {"do": "tag", "name": "a", "add": ["b"] * 21, "remove": []},
        {"do": "start", "setting": {}}, {"do": "start", "setting": [1]},
        {"do": "start", "setting": START["setting"] | {"window_bytes": True}},  # type: ignore[operator]
        {"do": "start", "setting": START["setting"] | {"profile": "modern\"\n[run]"}},  # type: ignore[operator]
        {"do": "start", "setting": START["setting"] | {"time": {"a": 1}}},  # type: ignore[operator]
        {"op": "show"},
    )),
]  # fmt: skip


@pytest.mark.parametrize("message", WRONG, ids=lambda message: message[:40].decode(errors="replace"))
def test_what_is_not_a_request_is_refused_in_one_line(message: bytes) -> None:
    recorded = Recorded()
    changing = keeper.changing(recorded)  # type: ignore[arg-type]
    answer = json.loads(keeper.answered(message, keeper.RUNS, changing))
    assert answer["ok"] is False and answer["error"] and "\n" not in answer["error"]
    assert recorded.done == []


def test_messages_that_were_changed_at_random_do_what_the_page_may_or_nothing() -> None:
    print(f"seed {SEED}")
    chance, recorded = random.Random(SEED), Recorded()
    changing = keeper.changing(recorded)  # type: ignore[arg-type]
    right = [
        START,
        {"do": "state"},
        {"do": "cancel"},
        {"do": "delete", "name": "run-1"},
        {"do": "tag", "name": "run-1", "add": ["a"], "remove": []},
    ]
    refused = 0
    for _ in range(4000):
        message = bytearray(json.dumps(chance.choice(right)).encode())
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(message))
            message[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        answer = json.loads(keeper.answered(bytes(message), keeper.RUNS, changing))
        refused += not answer["ok"]
    offered = {name: set(values) for name, values in CHOICES.items()}
    for done in recorded.done:
        if done[0] == "start":
            assert all(value in offered[name] for name, value in asdict(done[1]).items())
        else:
            assert all(isinstance(part, str | list) for part in done)
    assert refused > 2000 and len(recorded.done) > 20  # both kinds occurred


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "set", "values": {}},
        {"op": "set", "values": {"rate": 5}},
        {"op": "set", "values": {"psk-file": "/x"}},
        {"op": "set", "values": {"rate": "x" * 201}},
        {"op": "set", "values": {"rate\n": "1"}},
        {"op": "stop", "now": 1},
        {"op": "show", "values": {}},
        {"op": "watch"},
    ],
)
@pytest.mark.parametrize("allowed", [keeper.GATEWAY, keeper.BOX, keeper.READ_ONLY], ids=["gateway", "box", "read-only"])
def test_tools_are_not_asked_for_anything_else(request_: dict[str, Any], allowed: Any, tmp_path: Path) -> None:
    pretending = PretendedGateway()
    with pretended(tmp_path / "control", pretending.answer):
        act = keeper.asking(tmp_path / "control", Control)
        assert not json.loads(keeper.answered(json.dumps(request_).encode(), allowed, act))["ok"]
    assert pretending.asked == []


def test_a_process_that_gets_rubbish_goes_on(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    with kept(tmp_path) as channels:
        raw = channels["runs"]._socket
        for size in (1, 10, 1000, LONGEST, LONGEST + 1000):
            raw.send(chance.randbytes(size))
            assert json.loads(raw.recv(LONGEST))["ok"] is False
        assert KeptChanges(channels["runs"]).demonstrations.state().runs == ()


def test_whoever_ends_cancels_what_runs_and_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    text = (
        "import pathlib, signal, sys\nrun = pathlib.Path(sys.argv[1].removesuffix('.toml') + '-1')\n"
        "(run / 'trials').mkdir(parents=True)\n(run / 'manifest.json').write_text('{}')\n"
        "signal.signal(signal.SIGINT, lambda *_: exit(130))\nprint('up', flush=True)\nsignal.pause()\n"
    )

    def popen(argv: list[str], **options: Any) -> Any:
        process = real([sys.executable, "-c", text, argv[4]], **options | {"stdout": subprocess.PIPE})
        assert process.stdout and process.stdout.readline() == "up\n"
        return process

    monkeypatch.setattr("dashboard.classroom.demonstration.subprocess.Popen", popen)
    changes = Changes(tmp_path)
    changes.demonstrations.start(Setting())
    assert list(tmp_path.iterdir())
    changes.demonstrations.close()
    assert list(tmp_path.iterdir()) == [] and changes.demonstrations.state().running is None
