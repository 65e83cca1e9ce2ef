"""The box as a program: control socket, signals, errors."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from comet_box import RIGHT, Box, in_netns, two_hosts

from comet_delay import Control, ControlError
from netcommon.binaries import find

pytestmark = pytest.mark.netns


def box(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find("comet-delay")), *arguments], capture_output=True, text=True, timeout=20)


def test_set_is_all_or_nothing() -> None:
    with two_hosts() as hosts, Box(hosts, delay="1ms") as running, Control(running.socket) as control:
        changed = control.set(loss="0.0001%", ab_rate="45Mbit", delay="1ms")["changed"]
        assert changed == {"ab": {"loss": "0.0001%", "rate_bps": 45_000_000}, "ba": {"loss": "0.0001%"}}
        state = control.show()
        assert state["parameters"]["ab"] | {"loss": "0.0001%", "rate_bps": 45_000_000} == state["parameters"]["ab"]
        assert state["parameters"]["ba"]["rate_bps"] == 0
        with pytest.raises(ControlError, match="--ab-rate 'fast': not a rate"):
            control.set(delay="9ms", ab_rate="fast")
        assert control.show()["parameters"]["ab"]["delay_ns"] == 1_000_000
        with pytest.raises(ControlError, match=r"holds .* more than --memory"):
            control.set(delay="1h", rate="10Gbit")


def test_a_changed_delay_holds_from_the_next_packet() -> None:
    with two_hosts() as hosts, Box(hosts) as running:
        before = in_netns(hosts.left, "ping", "-c", "3", "-i", "0.05", "-q", RIGHT)
        shown = box("set", "--control", str(running.socket), "ab-delay=30ms")
        assert shown.returncode == 0, shown.stderr
        assert json.loads(shown.stdout)["changed"] == {"ab": {"delay_ns": 30_000_000}, "ba": {}}
        after = in_netns(hosts.left, "ping", "-c", "3", "-i", "0.05", "-q", RIGHT)
    assert float(before.split("= ")[-1].split("/")[0]) < 30
    assert float(after.split("= ")[-1].split("/")[0]) >= 30


def test_garbage_on_the_control_socket_is_answered_or_dropped() -> None:
    with two_hosts() as hosts, Box(hosts) as running:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(running.socket))
            sock.sendall(b'{"op":"dance"}\nnot json\n\n')
            answers = b""
            while answers.count(b"\n") < 3:
                answers += sock.recv(65536)
            assert all(json.loads(line)["ok"] is False for line in answers.splitlines())
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"x" * 20000)
                assert sock.recv(1) == b""
        assert running.show()["ok"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    with two_hosts() as hosts, Box(hosts) as running:
        os.kill(running.pid, number)
        assert running.finish()["event"] == "end"
        assert not running.socket.exists()
        assert "wan" not in in_netns(hosts.left, "ip", "link", "show")


def test_it_ends_with_its_parent() -> None:
    with two_hosts() as hosts:
        run = f"{find('comet-delay')} run --json --parent-death --a tap:wan@{hosts.left} --b tap:wan@{hosts.right}"
        parent = subprocess.Popen(["sh", "-c", f"{run} & echo $!; wait"], stdout=subprocess.PIPE, text=True)
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert json.loads(parent.stdout.readline())["event"] == "ready"
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 30
        while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["run", "--a", "tap:x"], 2, "--b: missing"),
        (["run", "--a", "tap:x", "--b", "eth0"], 2, "port 'eth0': want tap:NAME"),
        (["run", "--a", "tap:x@/no/such", "--b", "tap:y"], 3, "namespace '/no/such': "),
        (["run", "--a", "tap:x", "--b", "tap:y", "--delay", "-4ms"], 2, "--delay '-4ms': negative"),
        (["run", "--a", "tap:x", "--b", "tap:y", "--loss", "200%"], 2, "--loss: "),
        (["run", "--a", "tap:x", "--b", "tap:y", "--loss-after", "seq:2-1"], 2, "--loss-after: "),
        (["run", "--a", "tap:x", "--b", "tap:y", "--aqm", "codel:target=x"], 2, "--aqm: "),
        (["run", "--a", "tap:x", "--b", "tap:y", "--delay", "10s", "--rate", "10Gbit"], 2, "more than --memory"),
        (
            ["run", "--a", "tap:x", "--b", "tap:y", "--delay", "2s", "--rate-trace", "rate:0s=1Mbit,9s=10Gbit"],
            2,
            "--delay 2s at --rate-trace's 10Gbit holds 2385MB, more than --memory 2GB",
        ),
        (["run", "--a", "tap:name-much-too-long", "--b", "tap:y"], 2, "1 to 15 characters"),
        (["run", "--dealy", "3ms"], 2, "--dealy: no such option"),
        (["fly"], 2, "want one of run, show, set, watch, metrics"),
        (["show"], 2, "--control: missing"),
        (["show", "--control", "/no/such/socket"], 1, "is comet-delay running there?"),
        (["set", "--control", "/x"], 2, "nothing to set"),
    ],
)
def test_wrong_input_gives_one_line_and_the_right_status(arguments: list[str], status: int, says: str) -> None:
    done = box(*arguments)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_taken_name_and_a_taken_socket_are_named() -> None:
    with two_hosts() as hosts, Box(hosts) as running:
        taken = box("run", "--a", f"tap:wan@{hosts.left}", "--b", f"tap:other@{hosts.right}")
        assert taken.returncode == 3 and "'wan'" in taken.stderr and "taken" in taken.stderr
        second = box("run", "--a", "tap:p", "--b", "tap:q", "--control", str(running.socket))
        assert second.returncode == 2 and "another box listens there" in second.stderr


@pytest.mark.parametrize(
    ("a", "b", "says"), [("tap:p", "tap:q", "root"), ("if:eth0", "if:eth1", "CAP_NET_RAW (run as root)")]
)
def test_without_privileges_it_says_so(a: str, b: str, says: str) -> None:
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
         str(find("comet-delay")), "run", "--a", a, "--b", b],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert says in done.stderr and len(done.stderr.splitlines()) == 1
