"""`rttcp cc`: loading algorithms, sharing them between processes, and leaving nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netcommon.binaries import find
from netcommon.errors import LfpError
from rttcp.congestion import congestion

# The whole machine shares the algorithms that its kernel has loaded, and the ledgers that `lfp clean` works from.
pytestmark = [pytest.mark.netns, pytest.mark.one_at_a_time]

KERNEL = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
NAME = "lfp_htcp"  # the tests of the algorithms load it only within their transfers


def cc(*words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and last line of `rttcp cc …`."""
    done = subprocess.run([str(find("rttcp")), "cc", *words, "--json"], capture_output=True, text=True, timeout=20)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else {}


def holders() -> int:
    """How many processes hold the algorithm, by `rttcp cc list`."""
    done = subprocess.run([str(find("rttcp")), "cc", "list", "--json"], capture_output=True, text=True, timeout=20)
    return next(int(row["holders"]) for row in map(json.loads, done.stdout.splitlines()) if row["name"] == NAME)


def in_kernel(name: str = NAME) -> bool:
    return name in KERNEL.read_text().split()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    status, line = cc("load", NAME)
    if status == 3:
        pytest.skip(line["message"])
    assert status == 0, line
    assert cc("unload", NAME)[0] == 0
    if in_kernel():
        pytest.skip(f"{NAME} is in use on this machine")
    yield
    left = not eventually(lambda: not in_kernel())
    while left and cc("unload", NAME)[0] == 0:  # or the next test would take it for somebody else's
        pass
    assert not left, "left in the kernel"


def test_as_many_unloads_as_loads() -> None:
    assert cc("load", NAME)[1]["holders"] == 1
    assert cc("load", NAME)[1]["holders"] == 2
    assert in_kernel()
    assert cc("unload", NAME)[1]["loaded"] is True
    assert cc("unload", NAME)[1]["loaded"] is False
    status, line = cc("unload", NAME)
    assert status == 1 and "rttcp cc load" in line["message"]


def test_a_killed_holder_leaves_nothing() -> None:
    _, line = cc("load", NAME)
    assert in_kernel()
    os.kill(line["pid"], signal.SIGKILL)
    assert eventually(lambda: not in_kernel())
    assert cc("list")[0] == 0
    # a ledger of a dead process counts until `cc list` removes it
    assert eventually(lambda: holders() == 0)


LEDGERS = Path("/run/lfp")


def nothing_left() -> bool:
    """True when neither the kernel nor a ledger has it; `cc list` removes a dead holder's ledger."""
    return holders() == 0 and not in_kernel() and not list(LEDGERS.glob(f"cc-{NAME}-*"))


@pytest.mark.parametrize("verb", ["load", "hold"])
def test_killed_at_any_moment_of_its_start_it_leaves_nothing(verb: str) -> None:
    argv = [str(find("rttcp")), "cc", verb, NAME, "--json"]
    began = time.monotonic()
    cc("load", NAME)
    whole_s = time.monotonic() - began
    cc("unload", NAME)
    told = []
    for step in range(16):
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as starter:
            time.sleep(whole_s * step / 12)  # how far the program has come by then does not matter
            starter.kill()
            said, _ = starter.communicate(timeout=20)
        told.append(bool(said))
        if said and verb == "load":  # the program had (nearly) finished, so the algorithm stays loaded
            cc("unload", NAME)
        assert eventually(nothing_left), f"killed after {step}/12 of {whole_s:.3f} s; said {said!r}"
    assert not told[0], "one was killed before it had said anything"


def test_a_load_that_is_killed_before_it_could_tell_takes_its_holder_with_it() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)  # the pipe is full, so the line about the holder cannot be written
    starter = subprocess.Popen([str(find("rttcp")), "cc", "load", NAME, "--json"], stdout=write)
    os.close(write)
    try:
        assert eventually(lambda: in_kernel() and bool(list(LEDGERS.glob(f"cc-{NAME}-*.json"))))
        assert starter.poll() is None
    finally:
        starter.kill()
        starter.wait(20)
        os.close(read)
    assert eventually(nothing_left)


def test_a_load_whose_output_gets_nowhere_fails_and_leaves_nothing() -> None:
    with Path("/dev/full").open("wb") as full:
        argv = [str(find("rttcp")), "cc", "load", NAME]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, timeout=20, check=False)
    assert done.returncode == 1 and b"stdout" in done.stderr and done.stderr.count(b"\n") == 1
    assert eventually(nothing_left)


def test_parameters_are_those_given_and_shared_only_when_the_same() -> None:
    with congestion(NAME, delta_low=2.5) as first:
        assert first.parameters["delta_low"] == 2.5
        with congestion(NAME, delta_low=2.5):
            pass
        with congestion(NAME) as any_will_do:
            assert any_will_do.parameters["delta_low"] == 2.5
        with pytest.raises(LfpError, match="other parameters") as wrong, congestion(NAME, delta_low=3):
            pass
        assert wrong.value.status == 1
        assert in_kernel()
    with congestion(NAME, delta_low=3) as again:
        assert again.parameters["delta_low"] == 3


def test_a_block_ends_with_its_python() -> None:
    code = f"from rttcp.congestion import congestion\nwith congestion({NAME!r}):\n    print('in', flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "in\n"
    assert in_kernel()
    child.kill()
    child.communicate(timeout=10)
    assert eventually(lambda: not in_kernel())


def test_lfp_clean_ends_a_holder_whose_shell_is_gone() -> None:
    subprocess.run(["sh", "-c", f"{find('rttcp')} cc load {NAME} >/dev/null; :"], check=True, timeout=20)
    assert in_kernel()
    done = subprocess.run([sys.executable, "-m", "lfp", "clean"], capture_output=True, text=True, timeout=30)
    assert eventually(lambda: not in_kernel()), done.stdout + done.stderr


def test_what_is_wrong_is_said_in_one_line() -> None:
    for words, status, said in (
        (["load", "lfp_none"], 2, "lfp_cpeak, lfp_fast"),
        (["load", NAME, "--all"], 2, "option of cc unload"),
        (["load", NAME, "other"], 2, "'other': want one name"),
        (["unload", NAME, "--all"], 2, "want no name with --all"),
        (["unload", NAME, "--set", "beta_min=0.5"], 2, "option of cc load"),
        (["list", NAME], 2, "want no name"),
        (["load", NAME, "--parent-death"], 2, "option of cc hold"),
        (["list", "--human"], 2, "give one of them"),
        (["load", NAME, "--set", "beta_min=7"], 2, "0.1 to 0.95"),
        (["load", NAME, "--set", "gamma=7"], 2, "delta_low, beta_min"),
        (["fly"], 2, "list, load, unload or hold"),
    ):
        got, line = cc(*words)
        assert (got, line["event"]) == (status, "error")
        assert said in line["message"] and "\n" not in line["message"]


def test_without_btf_a_transfer_says_so_and_ends_with_status_3() -> None:
    script = f"mount -t tmpfs none /sys && exec {find('rttcp')} -t 127.0.0.1 --json --bytes 1KB --congestion {NAME}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "CONFIG_DEBUG_INFO_BTF" in json.loads(done.stdout.splitlines()[-1])["message"]
