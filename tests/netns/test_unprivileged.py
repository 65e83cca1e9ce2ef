"""An ordinary user: real time in namespaces of their own, all of virtual time, and nothing asks for a password.

`ordinary_user` gives such a user: no capability and no way to one, a fresh home, sudo that does nothing, no terminal
and no stdin. The checkout is not the user's, so runs are made in the home. In real time only function is tested.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import container
import ordinary_user
import pytest
from support.waiting import wait_until

from netcommon.binaries import find
from scenarios.virtual import kernel

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become an ordinary user")]
virtual = [pytest.mark.virtual, pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing()))]

ROOT = Path(__file__).resolve().parents[2]
NOT_ROOT = "lfp: not root: runs in its own namespaces, without "
SHORT = ["--set", "transfer.bytes=1MB", "--set", "transfer.sample=10ms", "--set", "run.retries=0"]
GATEWAYS = """
[scenario]
name = "gateways"
[path]
delay = "10ms"
rate = "50Mbit"
queue = "500KB"
loss = "0.1%"
[transfer]
bytes = "2MB"
[gateway]
kind = "lft"
rate = "40Mbit"
[capture]
points = ["snd", "gw1-in", "gw1-out", "gw2-in", "gw2-out", "rcv"]
[run]
retries = 0
"""
MINE = """
[scenario]
name = "mine"
[path]
delay = "10ms"
rate = "50Mbit"
[transfer]
bytes = "300KB"
[gateway]
kind = "lft"
rate = "40Mbit"
[run]
repeat = 2
"""
# A build of the gateway that sends at half its rate.
SLOWER = """\
#!/bin/bash
exec {} "${{@/40000000bit/20000000bit}}"
"""


class User:
    """Somebody without privileges whose files are in ``home``."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folders = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
        if not kernel.missing():
            self.folders.append(kernel.path().parent)

    def start(self, *argv: str, tun: bool = True, wrapped: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """`lfp` in the background; its process id is that of `lfp` itself."""
        return self.program(*wrapped, sys.executable, "-m", "lfp", *argv, tun=tun)

    def program(self, *command: str, tun: bool = True) -> subprocess.Popen[str]:
        """A program in the background, with this checkout's `lfp` on PATH."""
        path = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
        environment = dict(os.environ) | {"PYTHONPATH": str(ROOT), "PATH": path}
        if not kernel.missing():
            environment[kernel.KERNEL_VARIABLE] = str(kernel.path())
        return subprocess.Popen(
            ordinary_user.command(list(command), self.home, self.folders, tun=tun),
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def lfp(
        self, *argv: str, tun: bool = True, wrapped: tuple[str, ...] = (), timeout_s: float = 150
    ) -> tuple[int, str, list[str]]:
        """Exit status, stdout and lines of stderr."""
        process = self.start(*argv, tun=tun, wrapped=wrapped)
        out, err = finished(process, timeout_s)
        return process.returncode, out, err.splitlines()

    def run(self, name: str) -> Path:
        """The only run of a scenario."""
        (found,) = (self.home / "runs").glob(f"{name}-2*")
        return found

    def processes(self) -> list[str]:
        """Command lines of what runs under the user's id."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if folder.stat().st_uid == self.uid:
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return [line for line in found if line]

    @property
    def uid(self) -> int:
        """A user id that nobody else has, because parallel tests must not see each other's processes."""
        return self.home.stat().st_uid


@pytest.fixture
def user() -> Iterator[User]:
    home = Path(tempfile.mkdtemp(prefix="lfp-home-", dir="/tmp"))
    home.chmod(0o755)
    (home / "tmp").mkdir()
    for folder in (home, home / "tmp"):
        os.chown(folder, ordinary_user.UID + os.getpid() % 1000, ordinary_user.UID)
    yield User(home)
    shutil.rmtree(home)


def finished(process: subprocess.Popen[str], timeout_s: float = 150) -> tuple[str, str]:
    """What the program wrote to stdout and stderr."""
    try:
        return process.communicate(timeout=timeout_s)
    finally:
        process.kill()


def trials(run: Path) -> list[dict[str, Any]]:
    """status.json of each trial, with its folder."""
    folders = sorted((run / "trials").glob("[0-9]*[0-9]"))
    return [json.loads((folder / "status.json").read_text()) | {"folder": folder} for folder in folders]


def assert_done(run: Path, number: int, user: User) -> None:
    found = trials(run)
    assert [one["state"] for one in found] == ["done"] * number, [one["error"] for one in found]
    assert {path.stat().st_uid for path in run.rglob("*")} == {user.uid}


def test_the_demonstration_in_real_time(user: User) -> None:
    status, out, err = user.lfp(
        "run", "lfp-syndrome", "lfp-seqack", "--quick", "--set", "transfer.window=32KB,200KB", *SHORT
    )
    assert status == 0, (out, err)
    assert len(err) == 1 and err[0].startswith(NOT_ROOT), err
    assert_done(user.run("lfp-syndrome"), 4, user)
    assert_done(user.run("lfp-seqack"), 2, user)
    captured = user.run("lfp-seqack") / "trials" / "0000"
    assert {file.name for file in (captured / "capture").iterdir()} >= {"snd.pcapng", "rcv.pcapng"}
    assert (captured / "segments.parquet").exists()
    assert (user.run("lfp-seqack") / "report.html").exists()
    assert user.lfp("clean") == (0, "nothing to remove\n", [])


def test_a_window_beyond_the_machines_limit_is_had_all_the_same(user: User) -> None:
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    window = max(limit // 1024, 256) * 1024  # twice what rttcp could set
    if window > 2**28:
        pytest.skip(f"net.core.rmem_max = {limit}: no limit that a window could exceed")
    status, out, err = user.lfp("run", "lfp-seqack", "--set", f"transfer.window={window}", *SHORT)
    assert status == 0, (out, err)
    assert_done(user.run("lfp-seqack"), 1, user)
    end = json.loads((user.run("lfp-seqack") / "trials/0000/transfer.json").read_text())
    assert end["sender"]["window_granted_bytes"] == window
    # More is offered only while the kernel has forgotten the clamp (PROTOCOL.md), which the receiver counts.
    most = window + max(2 * end["sender"]["mss_bytes"], window // 512)
    exceeded = end["sender"]["window_seen_max_bytes"] > most
    assert not exceeded or end["receiver"]["window_clamp_resets"] > 0, end


def test_gateways_in_real_time(user: User) -> None:
    (user.home / "gateways.toml").write_text(GATEWAYS)
    status, out, err = user.lfp("run", "gateways.toml", "--set", "gateway.carriage=udp,esp")
    assert status == 0, (out, err)
    assert_done(user.run("gateways"), 2, user)


def test_a_congestion_control_as_bpf_needs_root_and_says_so(user: User) -> None:
    status, _, err = user.lfp("run", "lfp-seqack", "--quick", "--set", "transfer.congestion=lfp_xys", *SHORT)
    assert status == 3
    assert len(err) == 2 and err[0].startswith(NOT_ROOT)
    assert "BPF congestion controls need root of the machine" in err[1] or "Linux 6.4" in err[1] or "BTF" in err[1]


def test_a_closed_tun_device_is_named_with_what_to_do(user: User) -> None:
    status, out, err = user.lfp("run", "lfp-seqack", "--quick", tun=False)
    assert (status, out, len(err)) == (3, "", 1)
    for words in ("/dev/net/tun may not be opened", "--time virtual", "chmod 666 /dev/net/tun", "run it as root"):
        assert words in err[0]
    assert not (user.home / "runs").exists()
    shown = user.lfp("doctor", tun=False)[1]
    assert "no real time, for /dev/net/tun may not be opened" in shown


def test_without_user_namespaces_virtual_time_is_named(user: User) -> None:
    status, out, err = user.lfp("run", "lfp-seqack", "--quick", wrapped=ordinary_user.NO_NAMESPACES)
    assert (status, out, len(err)) == (3, "", 1)
    assert "does not allow a user namespace" in err[0] and "--time virtual" in err[0]


class TestInVirtualTime:
    """Virtual time needs no namespace, no TUN and no privilege."""

    pytestmark = virtual

    def test_the_example_gate_of_two_builds_and_all_that_is_made_of_its_runs(self, user: User) -> None:
        """gate.sh, the step of the example workflow that measures: two builds, of which the new one is slower. Then the
        old build against itself. Trials run side by side."""
        (user.home / "mine.toml").write_text(MINE)
        slower = user.home / "slower"
        slower.write_text(SLOWER.format(find("lft-gateway")))
        slower.chmod(0o755)
        gate = user.program(
            str(ROOT / "examples/github-action/gate.sh"), str(find("lft-gateway")), "slower", "mine.toml", tun=False
        )
        shown, said = finished(gate)
        assert gate.returncode == 1, (shown, said)
        assert "- 1 of 1 cell is worse" in shown and "NOT VALID" not in shown + said
        base, run = sorted((user.home / "gate-runs").glob("mine-2*"), key=lambda path: path.stat().st_ctime_ns)
        assert_done(base, 2, user)
        assert_done(run, 2, user)
        status, out, err = user.lfp("compare", str(base), str(run))
        assert status == 1 and "1 worse of 1 cell" in out, (out, err)
        status, out, err = user.lfp("report", str(run))
        assert (status, err) == (0, []) and (run / "report.html").stat().st_uid == user.uid
        status, out, err = user.lfp("gate", str(base), "mine.toml", "--set", "run.repeat=1", "--seed", "3", tun=False)
        assert status == 0 and "scenario mine passes" in out, (out, err)
        self._dashboard(user, run)

    def _dashboard(self, user: User, run: Path) -> None:
        process = user.start("dashboard", str(run), "--port", "0")
        try:
            assert process.stdout
            url = process.stdout.readline().split()[1]
            keeps_the_token = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with keeps_the_token.open(url, timeout=30) as page:
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            process.wait(20)
        finally:
            process.kill()
            process.communicate()

    def test_gateways_and_captures(self, user: User) -> None:
        (user.home / "gateways.toml").write_text(GATEWAYS)
        status, out, err = user.lfp("run", "gateways.toml", "--time", "virtual", tun=False)
        assert (status, err) == (0, []), out
        assert_done(user.run("gateways"), 1, user)
        assert (user.run("gateways") / "trials/0000/segments.parquet").exists()
        assert trials(user.run("gateways"))[0]["verdict"]["valid"]

    def test_congestion_controls_that_are_bpf_elsewhere(self, user: User) -> None:
        status, out, err = user.lfp(
            "run", "lfp-seqack", "--quick", "--time", "virtual", "--set", "transfer.congestion=lfp_xys:x=4", *SHORT
        )
        assert (status, err) == (0, []), out

    @pytest.mark.skipif(not container.LIBRARY, reason="no libseccomp here, which sets a container's filter")
    def test_in_a_container_that_allows_nothing_beyond_an_engines_defaults(self, user: User) -> None:
        """No user namespaces, many system calls refused, and a /dev/shm of 64 MB in which nothing may be executed."""
        status, out, err = user.lfp(
            "run", "lfp-seqack", "--quick", "--time", "virtual", *SHORT, wrapped=container.CONTAINER
        )
        assert (status, err) == (0, []), out
        assert user.processes() == []

    @pytest.mark.parametrize("wrapped", [(), ordinary_user.NO_NAMESPACES], ids=["namespaces", "none"])
    def test_clean_removes_what_a_killed_run_left(self, user: User, wrapped: tuple[str, ...]) -> None:
        killed = user.start("run", "lfp-seqack", "--time", "virtual", "--set", "transfer.bytes=200MB", wrapped=wrapped)
        wait_until(lambda: any((user.home / "runs").glob("*/trials/.0000.guest/clock")), "the guest")
        killed.kill()
        killed.communicate()
        wait_until(lambda: user.processes() == [], "the guest's end")
        status, out, err = user.lfp("clean", wrapped=wrapped)
        assert (status, err) == (0, [])
        assert ".0000.guest" in out and "record" in out
        assert not any((user.home / "runs").glob("*/trials/.0000.guest"))
        assert [path for path in (user.home / "tmp").rglob("*") if path.parent.parent != user.home] == []


def test_clean_removes_what_a_killed_run_in_real_time_left(user: User) -> None:
    killed = user.start("run", "lfp-seqack", "--set", "transfer.bytes=200MB")
    wait_until(lambda: any((user.home / "runs").glob("*/trials/.0000.tmp/log/sender.stderr")), "the transfer")
    killed.kill()
    killed.communicate()
    status, out, err = user.lfp("clean")
    assert (status, err) == (0, [])
    assert ".0000.tmp" in out and "record" in out
    with contextlib.suppress(AssertionError):
        wait_until(lambda: not user.processes(), "the processes' end")
    assert user.processes() == []
    assert not any((user.home / "runs").glob("*/trials/.0000.tmp"))
    assert [path for path in (user.home / "tmp").rglob("*") if not path.is_dir()] == []


def test_the_checkout_need_not_be_writable(user: User) -> None:
    before = time.time()
    status, _, err = user.lfp("list")
    assert (status, err) == (0, [])
    newer = [path for path in ROOT.rglob("*.pyc") if ".venv" not in path.parts and path.stat().st_uid == user.uid]
    assert newer == [], before
