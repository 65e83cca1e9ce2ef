"""`lfp virtual`: a command in a kernel of its own finds the host's files and the network of a scenario."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import queue_measures
from scipy.stats import binom
from support.virtual import in_virtual_time

from lfp import cli
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
[scenario]
name = "short"
[path]
delay = "10ms"
rate = "100Mbit"
[transfer]
duration = "1s"
"""
# rdtsc and rdtscp, each with its two halves put together, as functions
COUNTER = """
import ctypes, mmap, time
joined = "48c1e220" "4809d0" "c3"
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("0f31" + joined).ljust(64) + bytes.fromhex("0f01f9" + joined))
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
rdtsc, rdtscp = (ctypes.CFUNCTYPE(ctypes.c_uint64)(at + offset) for offset in (0, 64))
for _ in range(16):
    rdtsc()  # the first looks are the C library's and take no time
before = rdtsc()
time.sleep(0.1)
after = rdtscp()
print(after - before, rdtsc() - after, after)
"""
# A million readings of the clock, through libc and without it, with how far the clock moved
LOOKS = """
import ctypes, time
libc, now = ctypes.CDLL(None), (ctypes.c_long * 2)()
def past_libc():
    libc.syscall(228, 1, now)
    return now[0] * 10**9 + now[1]
before = time.monotonic_ns()
for _ in range(999_999):
    time.monotonic_ns()
looked = time.monotonic_ns() - before
print(looked)
gaps = []
for _ in range(1000):
    seen = [time.monotonic_ns(), past_libc(), time.monotonic_ns(), past_libc()]
    gaps += [b - a for a, b in zip(seen, seen[1:])]
    day = time.time_ns(), time.time_ns()
    gaps.append(day[1] - day[0])
print(gaps.count(256), sum(gap > 0 and gap % 256 == 0 for gap in gaps))
print(time.time_ns() - time.monotonic_ns())
time.sleep(1)
print(time.time_ns() - time.monotonic_ns())
"""
# How far the clock moves, without one reading of it, while a program searches for files and sends: four numbers
NO_TIME = """
import os, socket, time
def taken(work, times):
    before = time.monotonic_ns()
    for _ in range(times):
        try:
            work()
        except OSError:
            pass
    return time.monotonic_ns() - before - 256
near, far = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
far.bind(("127.0.0.1", 0))
far.setblocking(False)
print(taken(lambda: os.stat("/no/such/file"), 10_000), taken(lambda: os.readlink("/"), 10_000),
      taken(lambda: near.sendto(b"1", far.getsockname()), 100), taken(lambda: far.recv(1), 60))
"""


def virtual(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lfp", "virtual", *map(str, arguments)]
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT), "GREETING": "two words"}
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_a_command_has_its_own_time_and_changes_copies_but_where_it_may(tmp_path: Path) -> None:
    for name in ("kept", "copied"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    script = 'echo "$GREETING"; sleep 3600; rm */old; date -u +%FT%H >copied/new; cp copied/new kept; ls *; exit 7'
    done = virtual("--write", tmp_path / "kept", "--", "sh", "-c", script, folder=tmp_path)
    assert done.returncode == 7, done.stderr
    assert done.stdout == "two words\ncopied:\nnew\n\nkept:\nnew\n"
    assert re.search(r"lfp: 1 h of virtual time in \d", done.stderr) and "computed" not in done.stderr
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"copied/old", "kept/new"}
    assert (tmp_path / "kept/new").read_text() == "2026-01-01T01\n"


def test_a_kernel_does_not_say_when_and_where_it_was_built(tmp_path: Path) -> None:
    """The kernel would mix that into its random numbers, so two machines that each build it would get two results."""
    done = virtual("--", "uname", "--kernel-version", folder=tmp_path)
    assert done.stdout == "#1 Thu Jan  1 00:00:00 UTC 2026\n", done.stderr


def test_a_command_on_the_network_of_a_scenario_knows_the_nodes_by_name(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO)
    script = "ip netns list | cut -d' ' -f1 | sort | tr -d '\\n'; ip netns exec rcv ping -qc 2 -i 0.2 snd"
    done = virtual("--scenario", path, "--set", "path.delay=50ms", "--", "sh", "-c", script, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("r1r2rcvsnd")
    least_ms = float(re.search(r"min/avg/max/mdev = ([\d.]+)/", done.stdout)[1])  # type: ignore[index]
    assert 100 <= least_ms < 100.2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "path.delay=1ms", "true"], "--set path.delay=1ms: changes a scenario; name one with --scenario"),
        (["no-such-program"], "COMMAND no-such-program: no such program"),
        (["--memory", "9MB", "true"], "--memory 9MB: the machine itself needs 384 MB"),
        (["--memory", "much", "true"], "--memory much: not a size"),
        (["--scenario", "lfp-syndrome", "--node", "gw1", "true"], "--node gw1: the network has snd, r1, r2, rcv"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["virtual", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") <= 2


def test_netem_of_ones_own_draws_loss_for_each_packet_of_a_super_packet() -> None:
    """netem draws for each packet, as docs/how-to/any-program.md says. With 10 % loss, all 44 packets of a super-packet
    are never lost together, and at least one is lost in all but 0.9⁴⁴ = 1 % of the super-packets."""
    lost = in_virtual_time(queue_measures.own_netem, loss="10%", trains=100)
    shares = [len(numbers) / 44 for numbers in lost]
    assert max(shares) < 0.5 and sum(share > 0 for share in shares) >= 95
    low, high = binom.interval(1 - 1e-6, 4400, 0.1)
    assert low <= sum(map(len, lost)) <= high


def test_the_processors_counter_is_the_guests_clock(tmp_path: Path) -> None:
    """Programs read the counter without asking the kernel. One tick is a nanosecond, and a reading takes 256 of them,
    except for a program's first 16, because the loader of each C library makes another number of readings."""
    done = virtual("--", sys.executable, "-S", "-c", COUNTER, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    pause, repeated, since_boot = map(int, done.stdout.split())
    assert 100_000_000 <= pause < 100_100_000
    assert 0 < repeated <= 10 * 256
    assert since_boot < 60_000_000_000, "the host's counter shines through"


def test_a_look_at_the_clock_moves_it_by_256_ns_with_and_without_the_kernel(tmp_path: Path) -> None:
    """Programs read a page that they share with the kernel. Events that are due meanwhile happen at their time.

    A reading during which an event happens, at most once in a millisecond, also takes the time of the kernel's
    readings.
    """
    looking = f'{sys.executable} -S -c "$LOOKS"'
    script = f"LOOKS='{LOOKS}'; {looking} & for _ in 1 2 3; do sleep 0.05; date +%s.%N; done; wait"
    done = virtual("--", "bash", "-c", script, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    *dates, looked, exact, whole, offset, later = done.stdout.split()
    assert len(dates) == 3 and float(dates[2]) - float(dates[0]) == pytest.approx(0.1, abs=0.005), dates
    assert int(looked) == pytest.approx(256e6, rel=1e-3)
    assert int(exact) >= 3990 and int(whole) == 4000
    assert int(offset) == int(later)


def test_looking_for_files_and_sending_take_no_time(tmp_path: Path) -> None:
    """So a seed gives one result, whatever folders the programs and the project are in."""
    done = virtual("--", "bash", "-c", f"ip link set lo up; {sys.executable} -S -c '{NO_TIME}'", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0"] * 4
