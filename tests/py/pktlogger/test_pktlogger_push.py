"""`pktlogger push` and `pktlogger sink` over loopback, as an ordinary user."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.ports import free_port

from netcommon.binaries import find


def push_and_sink(
    *push: str, host: str = "127.0.0.1", sink: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `end` events of push and sink. The sink listens as by default, on both address families."""
    port = str(free_port())
    listen = [str(find("pktlogger")), "sink", "--json", "--port", port, *sink]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout and json.loads(receiver.stdout.readline())["event"] == "ready"
        done = run("push", host, "--json", "--port", port, *push)
        out, _ = receiver.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), json.loads(out.splitlines()[-1])


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find("pktlogger")), *map(str, arguments)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_what_is_pushed_arrives(host: str) -> None:
    sent, received = push_and_sink(
        "--pps", "4000", "--packets", "2000", "--flows", "5", "--size", "100:3,1500", host=host
    )
    assert sent["packets"] == 2000 and sent["bytes"] == 1500 * 100 + 500 * 1500
    assert received["received"] == 2000 and received["ended"] and received["flows_n"] == 5
    assert received["lost"] == received["duplicates"] == received["foreign"] == 0
    assert received["bytes"] == sent["bytes"] - 2000 * (48 if ":" in host else 28)
    assert received["delay_min_ns"] >= 0 and sent["refused"] == 0


def test_nothing_leaves_before_its_time(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("# three packets\n0\n20ms\n0.1\n")
    burst = ("--schedule", "burst", "--burst", "8", "--pps", "400", "--packets", "32")
    for options, packets, span_s in ((("--departures", str(tmp_path / "times")), 3, 0.1), (burst, 32, 0.06)):
        sent, received = push_and_sink(*options)
        assert (sent["packets"], received["received"]) == (packets, packets)
        assert sent["seconds"] >= span_s - sent["late_ns"]["max"] / 1e9
        assert received["seconds"] >= span_s - (sent["late_ns"]["max"] + received["delay_ns"]["max"]) / 1e9


@pytest.mark.parametrize("size", ["60", "1000"])
def test_without_a_rate_batches_are_sent_with_few_calls(size: str) -> None:
    """Each packet has its own number, also the shortest ones and the rest of a batch."""
    sent, received = push_and_sink("--pps", "0", "--packets", "20001", "--size", size, sink=("--buffer", "128MB"))
    assert sent["packets"] == 20001 and sent["late_ns"] is None and sent["calls"] < 20001 / 16
    assert received["received"] + received["lost"] == 20001 and received["received"] > 1000
    assert (received["duplicates"], received["reordered"], received["foreign"]) == (0, 0, 0)


def test_nobody_listening_is_said(tmp_path: Path) -> None:
    done = run("push", "127.0.0.1", "--json", "--port", str(free_port()), "--pps", "1000", "--packets", "100")
    end = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0 and end["packets"] == 100 and end["refused"] > 0


def test_a_sink_that_gets_nothing_fails() -> None:
    done = run("sink", "--json", "--listen", "127.0.0.1", "--port", str(free_port()), "--duration", "50ms")
    assert done.returncode == 1 and "no packet of pktlogger push came" in done.stderr


def test_a_signal_ends_a_push_in_order() -> None:
    argv = [str(find("pktlogger")), "push", "127.0.0.1", "--json", "--port", str(free_port()), "--duration", "60s"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as push:
        assert push.stdout and json.loads(push.stdout.readline())["event"] == "ready"
        push.send_signal(signal.SIGINT)
        out, _ = push.communicate(timeout=30)
    assert push.returncode == 0 and json.loads(out)["interrupted"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("push",), "want the host of the sink, or --replay FILE"),
        (("push", "127.0.0.1"), "give --packets or --duration"),
        (("push", "127.0.0.1", "-c", "1", "--size", "59"), "--size '59': 59 is out of range; allowed is 60 to 65500"),
        (("push", "127.0.0.1", "-c", "1", "--replay", "f"), "want the host of the sink, or --replay FILE"),
        (("push", "--replay", "f"), "--replay and --interface belong together"),
        (("push", "127.0.0.1", "-c", "1", "--txtime", "--pps", "0"), "--txtime is for UDP at a rate"),
        (("push", "127.0.0.1", "--departures", "/dev/null"), "'/dev/null'"),
        (("sink", "--listen", "nowhere"), "--listen 'nowhere': want an address of this host"),
        (("sink", "x"), "'x': not expected"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1
