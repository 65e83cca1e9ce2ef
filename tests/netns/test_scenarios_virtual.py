"""Virtual time, where its kernel is built: results agree with the model and repeat, and runs end in order.

The guests' clocks take no notice of how busy this machine is, so bounds here are those of the model.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from support.waiting import wait_until

from lfp import cli
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.plan.plan import load_plan
from scenarios.run import results
from scenarios.trial.ended import Ended
from scenarios.virtual import boxes, engine, guest, init, kernel, memory, program, source

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
LFP = [sys.executable, "-m", "lfp"]
SCENARIO = """
[scenario]
name = "short"
[path]
delay = "10ms"
rate = "100Mbit"
queue = "1MB"
loss = "0.1%"
[transfer]
duration = "3s"
sample = "10ms"
"""


def lfp(*arguments: str | Path | int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LFP, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=120)


def scenario(folder: Path, text: str = SCENARIO) -> Path:
    path = folder / "short.toml"
    path.write_text(text)
    return path


def only_run(runs: Path) -> Path:
    (run,) = runs.iterdir()
    return run


def trials(run: Path) -> list[dict[str, Any]]:
    shown = lfp("show", run, "--json")
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


def guests_of(folder: Path) -> list[str]:
    """The running guests whose working folders are inside this folder."""
    listed = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True).stdout.splitlines()
    return [line for line in listed if f"uml_dir={folder}" in line]


def test_the_clock_jumps_and_is_exact() -> None:
    script = "import time; t = time.monotonic_ns(); time.sleep(3600); print(time.monotonic_ns() - t - 3600 * 10**9)"
    begun = time.monotonic()
    done = program.run([sys.executable, "-c", script], folder=ROOT)
    assert done.status == 0 and 0 <= int(done.output) < 200_000  # ns late: at most one clock tick
    assert time.monotonic() - begun < 60


def test_all_of_a_guest_is_on_one_processor(tmp_path: Path) -> None:
    """On two processors, kernel and programs would wake each other at every system call, which doubles the time."""
    job = {"command": ["sleep", "1000000000"], "folder": str(ROOT)}
    with guest.Guest(kernel.require(), tmp_path, memory.BASE_BYTES, 1, job) as one:

        def kernels() -> list[int]:
            words = [line.split() for line in guests_of(one.folder)]
            return [int(pid) for pid, program, *_ in words if program.endswith("/linux")]

        wait_until(kernels, "a guest's kernel")
        assert {len(os.sched_getaffinity(pid)) for pid in kernels()} == {1}


def test_what_is_random_is_the_seeds_alone() -> None:
    """Random numbers do not depend on folder names, which differ in each of these guests."""
    words = [program.run(["cat", "/proc/sys/kernel/random/uuid"], folder=ROOT, seed=seed).output for seed in (1, 1, 2)]
    assert words[0] == words[1] != words[2] and len(words[0]) > 30


def trial_file(runs: Path, name: str) -> Any:
    return json.loads((only_run(runs) / "trials" / "0000" / name).read_text())


def unequal(one: Any, other: Any, name: str = "") -> set[str]:
    """The names of the values in which two files differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set().union(*(unequal(one.get(key), other.get(key), key) for key in one | other))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return set().union(*(unequal(first, second, name) for first, second in zip(one, other, strict=True)))
    return set() if one == other else {name}


def test_round_trip_is_exact_and_two_runs_are_the_same(tmp_path: Path) -> None:
    """With loss: the kernel's smallest RTT equals the model's to 20 µs, and two runs have the same files, except for
    what the manifest names."""
    path, found = scenario(tmp_path), []
    for name in ("a", "b"):
        done = lfp("run", path, "--time", "virtual", "--seed", 7, "--runs-dir", tmp_path / name)
        assert done.returncode == 0, done.stdout + done.stderr
        (one,) = trials(only_run(tmp_path / name))
        assert one["verdict"]["valid"], one["verdict"]
        found.append(one)
    a = found[0]["metrics"]
    samples = parquet.read_table(only_run(tmp_path / "a") / "trials" / "0000" / "tcp_info.parquet")
    assert 0 <= min(samples["min_rtt_us"].to_pylist()) - 20_000 <= 20  # SYN and SYN+ACK take 12 us on the line
    serialised_ns = 2 * 8e9 * 60 / 100e6  # SYN and SYN+ACK, 60 bytes each
    assert abs(a["connect_ns"] - 20e6) < 1000 + serialised_ns + 100_000
    assert a["retransmits"] > 0 and a["short_term_bps"] < 100e6
    differ = {
        name
        for file in ("status.json", "transfer.json", "delay.json", "params.json")
        for name in unequal(*(trial_file(tmp_path / name, file) for name in ("a", "b")))
    }
    assert differ <= {"started_realtime_ns", "ended_realtime_ns", "maxrss_bytes"}
    assert found[0]["metrics"] == found[1]["metrics"]
    manifest = json.loads((only_run(tmp_path / "a") / "manifest.json").read_text())
    assert manifest["virtual"]["back_ends"] == ["netem"] and manifest["verdict"]["differs"]
    assert manifest["virtual"]["granularity_ns"] == [50_000] and "netem" in manifest["virtual"]["notes"][0]


def test_programs_that_open_more_files_as_they_start_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first run has no compiled Python modules. The memory that the kernel then freed later once decided which task
    ran next."""
    tree = tmp_path / "tree"
    for package in ("comet_delay", "lft_ref", "netcommon", "pktlogger", "rttcp", "scenarios"):
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    given = guest._arguments
    monkeypatch.setattr(
        guest,
        "_arguments",
        lambda *of: [
            f"PYTHONPATH={tree}:{word.partition(':')[2]}" if word.startswith("PYTHONPATH=") else word
            for word in given(*of)
        ],
    )
    for name in ("a", "b"):
        sets = ("--set", "scenario.case=lft-selective", "--set", "path.delay=10ms", "--set", "path.loss=0%")
        own = ("--time", "virtual", "--seed", "1995", "--jobs", "1", "--runs-dir", str(tmp_path / name))
        assert cli.run(["run", str(ROOT / "tools" / "try-kernel.toml"), *sets, *own]) == 0
        assert compileall.compile_dir(tree, quiet=1)
    assert results.differing(only_run(tmp_path / "a"), only_run(tmp_path / "b")) == {}


def test_whole_super_packets_cost_a_round_trip_at_most(tmp_path: Path) -> None:
    """With a granularity super-packets pass whole; with 0 they are taken apart. Coarser ACKs may end slow start a round
    trip earlier or later, so the goodputs of 3 s differ by at most the share of 100 ms."""
    path, found = scenario(tmp_path), {}
    many = ["--set", "path.rate=200Mbit", "--set", "path.queue=2MB", "--set", "path.delay=50ms"]
    for granularity in ("400us", "0"):
        runs = tmp_path / granularity
        done = lfp("run", path, "--time", "virtual", "--seed", 7, "--set", "path.loss=0", *many,
                   "--set", f"path.granularity={granularity}", "--runs-dir", runs)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        (one,) = trials(only_run(runs))
        box = json.loads((only_run(runs) / "trials" / "0000" / "delay.json").read_text())
        found[granularity] = one["metrics"]["short_term_bps"]
        assert box["super_bytes"]["ab"] == (10_000 if granularity == "400us" else 0)
        assert ("pass whole" in box["notes"][0]) == (granularity == "400us")
    assert found["400us"] == pytest.approx(found["0"], rel=0.1 / 3)


def test_without_copies_tcp_does_the_same(tmp_path: Path) -> None:
    """A set window gives a window each round trip, except for the handshake and the last round trip. A stream whose
    window the kernel tunes is as fast to 0.5 %, although it is read at other times."""
    path = scenario(tmp_path, SCENARIO.replace('loss = "0.1%"', ""))
    found: dict[tuple[str, bool], float] = {}
    for name, window in (("set", ["--set", "transfer.window=8KB"]), ("tuned", [])):
        both = ["--set", "transfer.zerocopy=false,true", "--set", "transfer.length=8KB", *window]
        done = lfp("run", path, "--time", "virtual", "--seed", 7, *both, "--runs-dir", tmp_path / name)
        assert done.returncode == 0, done.stdout + done.stderr
        for trial in trials(only_run(tmp_path / name)):
            found[name, trial["params"]["zerocopy"]] = trial["metrics"]["short_term_bps"]
    for zerocopy in (False, True):
        assert found["set", zerocopy] == pytest.approx(8192 * 8 / 0.02, rel=0.03), found
    assert found["tuned", True] == pytest.approx(found["tuned", False], rel=0.005), found


def test_single_packets_fill_a_large_window_too(tmp_path: Path) -> None:
    """The kernel charges 2,280 bytes of the send buffer for a packet with 1,448 of data."""
    text = """
[scenario]
name = "single"
[path]
delay = "50ms"
rate = "1Gbit"
queue = "64MB"
nic_rate = "1Gbit"
nic_queue = 10000
[transfer]
duration = "4s"
window = "8MB"
sample = "100ms"
"""
    done = lfp("run", scenario(tmp_path, text), "--time", "virtual", "--seed", 7, "--runs-dir", tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    samples = parquet.read_table(only_run(tmp_path / "runs") / "trials" / "0000" / "tcp_info.parquet")
    t_ns, unacked = samples["t_ns"].to_numpy(), samples["unacked"].to_numpy()
    steady = unacked[(t_ns > t_ns[0] + 2e9) & (t_ns < t_ns[0] + 3.8e9)]
    assert steady.size >= 16 and 8 * 2**20 - 2 * 1448 <= steady.min() * 1448 <= 8 * 2**20 + 2 * 1448


def test_paced_writes_keep_the_pace_and_overflow_no_queue(tmp_path: Path) -> None:
    """A line of 100 Mbit/s and a queue of three bursts and a write. In slow start, all data that the socket may hold
    leave at once whenever the window opens."""
    text = """
[scenario]
name = "paced"
[path]
delay = "50ms"
rate = "100Mbit"
queue = "800KB"
[transfer]
duration = "10s"
length = "32KB"
pace = "80Mbit"
[sweep]
"transfer.pace_burst" = ["0", "256KB"]
"""
    done = lfp("run", scenario(tmp_path, text), "--time", "virtual", "--seed", 7, "--runs-dir", tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    kernel_paces, writes = (trial["metrics"] for trial in trials(only_run(tmp_path / "runs")))
    assert kernel_paces["retransmits"] == writes["retransmits"] == 0
    assert writes["peak_bps"] <= 80e6 + 2 * 8 * 256 * 1024  # a second at 80 Mbit/s, and a burst at each border
    assert writes["short_term_bps"] == pytest.approx(kernel_paces["short_term_bps"], rel=0.01)


def test_the_collapse_of_lfp_1995_is_named(tmp_path: Path) -> None:
    """Every stop is a time-out after a tail drop, as the captures of the two ends alone show."""
    done = lfp("run", "lfp-seqack", "--quick", "--time", "virtual", "--seed", 3, "--runs-dir", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((only_run(tmp_path) / "trials/0000/summary.json").read_text())
    main = found["flows"][found["main_flow"]]
    assert main["stopped_share"] > 0.7 and len(main["stops"]) == main["timeouts"] >= 3
    assert {stop["cause"] for stop in main["stops"]} == {"rto_after_tail_drop"}, main["stops"]
    assert "tail-drop burst of" in main["stops"][0]["text"], main["stops"][0]


def test_congestion_controls_of_rttcp_are_built_in() -> None:
    done = program.run(["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"], folder=ROOT)
    names = {file.stem for file in (kernel.CONGESTION / "algo").glob("lfp_*.h")} - {"lfp_cc"}
    assert names <= set(done.output.split()), done.output


@pytest.mark.one_at_a_time  # `lfp clean`
def test_a_killed_orchestrator_leaves_nothing_and_the_run_goes_on(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    long = [*LFP, "run", str(scenario(tmp_path)), "--time", "virtual", "--jobs", "1", "--runs-dir", str(runs)]
    long += ["--seed", "1", "--set", "run.repeat=3"]
    work = tmp_path / "work"
    work.mkdir()
    environment = dict(os.environ) | {"TMPDIR": str(work)}
    process = subprocess.Popen(long, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: runs.exists() and list(runs.glob("*/trials/0*")), "the first trial")
        wait_until(lambda: guests_of(work), "a guest")
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    wait_until(lambda: not guests_of(work), "the guests to end")
    lfp("clean")
    run = only_run(runs)
    kept = {folder.name: folder.stat().st_mtime_ns for folder in run.glob("trials/0*/status.json")}
    done = lfp("run", "--resume", run, "--jobs", "2")
    assert done.returncode == 0 and len(trials(run)) == 3, done.stdout + done.stderr
    assert all((run / "trials" / name).stat().st_mtime_ns == at for name, at in kept.items() if name != "status.json")
    assert not list(run.glob("trials/.*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32M", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_one_line_and_the_run_goes_on(tmp_path: Path, small_disk: Path) -> None:
    done = lfp("run", scenario(tmp_path), "--time", "virtual", "--runs-dir", small_disk)
    assert done.returncode == 1 and "make room, then: lfp run --resume" in done.stderr, done.stdout + done.stderr
    assert len([line for line in done.stderr.splitlines() if "disk" in line]) == 1
    run = only_run(small_disk)
    assert not list(run.glob("trials/*")) and not list(run.glob("trials/.*"))
    subprocess.run(["mount", "-o", "remount,size=512M", small_disk], check=True)
    done = lfp("run", "--resume", run)
    assert done.returncode == 0 and len(trials(run)) == 1, done.stdout + done.stderr


def test_a_disk_that_fills_up_under_way_is_one_line(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_LEAST_DISK_BYTES", 0)
    subprocess.run(["mount", "-o", "remount,size=3M", small_disk], check=True)
    (small_disk / "trials").mkdir()
    plan = load_plan(str(scenario(tmp_path, SCENARIO + '[capture]\npoints = ["snd", "rcv"]\n')), seed=1)
    ended: list[Ended] = []
    with Ledger.open() as ledger, pytest.raises(LfpError, match=r"disk is full.* lfp run --resume") as raised:
        engine.run_all(small_disk, list(plan.trials), ledger, 1, "auto", ended.append)
    assert "\n" not in str(raised.value) and not ended
    assert not list(small_disk.glob("trials/.*")) and not list(small_disk.glob("trials/*"))


def test_the_userspace_box_drops_the_same_packets_again(tmp_path: Path) -> None:
    """Two runs have the same record of every wire packet: number, time and fate."""
    coarse = SCENARIO.replace('"3s"', '"1s"').replace("[transfer]", 'granularity = "500us"\n[transfer]')
    path = scenario(tmp_path, coarse + '[capture]\npoints = ["box"]\n')
    records = []
    for name in ("a", "b"):
        done = lfp("run", path, "--time", "virtual", "--seed", 7, "--runs-dir", tmp_path / name)
        assert done.returncode == 0, done.stdout + done.stderr
        records.append(parquet.read_table(only_run(tmp_path / name) / "trials" / "0000" / "box.parquet"))
    assert records[0].num_rows > 1000 and records[0].equals(records[1])


def test_a_guest_without_memory_is_one_line() -> None:
    eat = "held = []\nwhile True: held.append(bytearray(b'x' * 2**22))"
    with pytest.raises(LfpError, match="the guest panicked: Out of memory") as raised:
        program.run([sys.executable, "-c", eat], folder=ROOT, memory_bytes=128 * 2**20)
    assert "\n" not in str(raised.value)


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(LfpError, match=r"takes longer than 2 s, its clock came to \d+ s"):
        program.run([sys.executable, "-c", "while True: pass"], folder=ROOT, timeout_s=2)


def test_a_guest_whose_clock_stands_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "HANG_S", 1.0)
    monkeypatch.setattr(guest, "BUDGET_MS", 0)
    with pytest.raises(LfpError, match="hangs"):
        program.run([sys.executable, "-c", "while True: pass"], folder=ROOT, timeout_s=60)


def signalled(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process and all its descendants."""
    os.kill(pid, number)
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        signalled(int(child), number)


@pytest.mark.parametrize("looks_away", [True, False])
def test_a_guest_that_was_frozen_with_its_run_goes_on(monkeypatch: pytest.MonkeyPatch, looks_away: bool) -> None:
    """A paused container stops both the run and its guest. If only the guest stands still, the run ends the guest."""
    monkeypatch.setattr(guest, "_AWAY_S", 1.0)
    monkeypatch.setattr(guest, "STUCK", 1)
    monkeypatch.setattr(guest, "HANG_S", 1.5)
    ended = guest.Guest.ended
    away: list[guest.Guest] = []

    def frozen(one: guest.Guest) -> bool:
        if one.virtual_s() > 1.5 and not away:  # the command runs
            away.append(one)
            signalled(one.pid, signal.SIGSTOP)
            ended(one)
            for _ in range(30):
                time.sleep(0.1)
                if not looks_away:
                    ended(one)
            assert not ended(one)
            signalled(one.pid, signal.SIGCONT)
        return ended(one)

    monkeypatch.setattr(guest.Guest, "ended", frozen)
    naps = [sys.executable, "-c", "import time\nfor _ in range(100_000): time.sleep(0.001)"]
    with nullcontext() if looks_away else pytest.raises(LfpError, match="hangs"):
        assert program.run(naps, folder=ROOT, timeout_s=60).status == 0
    assert away


POLLS = """
import os, select, time
reader, writer = os.pipe()
if not os.fork():
    time.sleep(0.01)
    os.write(writer, b"x")
    os._exit(0)
looks, poll = 0, select.poll()
poll.register(reader, select.POLLIN)
while not poll.poll(0):
    looks += 1
print(looks)
"""


def test_who_polls_without_pause_finds_what_comes_and_does_so_at_the_same_look_again() -> None:
    """The data come after 10 ms: polls take a microsecond each, after some that are free, and each reading of the clock
    takes its time, too."""
    looks = [program.run([sys.executable, "-c", POLLS], folder=ROOT).output for _ in range(2)]
    assert looks[0] == looks[1] and 8_000 < int(looks[0]) < 10_100


def test_a_transfer_beside_programs_that_spin_for_ever_ends_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two programs spin next to the sender, in the guest only."""
    monkeypatch.setattr(guest, "BUDGET_MS", 100)
    tool = tmp_path / "rttcp"
    (tmp_path / "spinner").symlink_to("/bin/sh")
    spin = f'{tmp_path}/spinner -c "while :; do :; done" >/dev/null &'
    spins = f'[ -e {init.SHARE}/{init.CLOCK} ] && case " $* " in *" --transmit "*) {spin} {spin} esac'
    tool.write_text(f'#!/bin/sh\n{spins}\nexec {find("rttcp")} "$@"\n')
    tool.chmod(0o755)
    path = scenario(tmp_path, SCENARIO.replace('"3s"', '"0.5s"').replace('loss = "0.1%"', ""))
    monkeypatch.setenv("LFP_RTTCP", str(tool))
    assert cli.run(["run", str(path), "--time", "virtual", "--runs-dir", str(tmp_path / "runs")]) == 0
    assert "computed for long without waiting in 1 of 1 trials" in capsys.readouterr().out
    run = only_run(tmp_path / "runs")
    (row,) = parquet.read_table(run / "results.parquet").to_pylist()
    assert row["short_term_bps"] > 60e6
    spinning = "spinner computed for long without waiting in 1 of 1 trials"
    assert spinning in json.loads((run / "manifest.json").read_text())["verdict"]["computed"]


def test_a_trial_whose_guest_fails_is_a_failed_trial_with_its_console(tmp_path: Path) -> None:
    """A program that always fails replaces the transfer tool."""
    bad = tmp_path / "rttcp"
    bad.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    bad.chmod(0o755)
    environment = dict(os.environ) | {"LFP_RTTCP": str(bad)}
    arguments = [*LFP, "run", str(scenario(tmp_path)), "--time", "virtual", "--runs-dir", str(tmp_path / "runs")]
    done = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "FAILED" in done.stdout
    folder = only_run(tmp_path / "runs") / "trials" / "0000"
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    assert (folder / "log" / "console.txt").exists()


def test_a_box_that_cannot_is_said_before_anything_starts(tmp_path: Path) -> None:
    done = lfp("run", scenario(tmp_path), "--time", "virtual", "--box", "netem", "--set", "path.jitter=1ms",
               "--runs-dir", tmp_path / "runs")  # fmt: skip
    assert done.returncode == 2 and "jitter" in done.stderr and not (tmp_path / "runs").exists()


def test_data_that_nobody_copies_take_little_memory(tmp_path: Path) -> None:
    plain = [
        "path.rate=100Gbit",
        "path.delay=249ms",
        "path.memory=4GB",
        "path.queue=64MB",
        "path.loss=0",
        "transfer.length=1MB",
    ]
    free = boxes.settled(load_plan(str(scenario(tmp_path)), overrides=plain).trials[0], "auto")
    assert memory.guest_bytes(free.setting) > 50e9 and boxes.used_bytes(free, "auto") < 3e9
    seen = load_plan(str(tmp_path / "short.toml"), overrides=[*plain, 'capture.points=["snd"]']).trials[0]
    assert boxes.used_bytes(boxes.settled(seen, "auto"), "auto") - boxes.used_bytes(free, "auto") < 100e6
    for other in ("transfer.zerocopy=false", "gateway.kind=lft", "capture.points=box", "path.jitter=1ms"):
        one = load_plan(str(tmp_path / "short.toml"), overrides=[*plain, other]).trials[0]
        copied = boxes.settled(one, "auto")
        assert boxes.used_bytes(copied, "auto") == memory.guest_bytes(copied.setting), other
    lossy = boxes.settled(load_plan(str(tmp_path / "short.toml"), overrides=[*plain, "path.loss=1%"]).trials[0], "auto")
    assert boxes.used_bytes(lossy, "auto") > 5 * boxes.used_bytes(free, "auto")


def test_memory_follows_what_is_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = load_plan(str(scenario(tmp_path))).trials[0].setting
    fat = load_plan(str(tmp_path / "short.toml"), overrides=["path.rate=10Gbit", "path.delay=249ms"])
    large = fat.trials[0].setting
    assert memory.guest_bytes(large) - memory.guest_bytes(small) > 2 * 622_500_000
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    assert memory.jobs_that_fit(400 * 10**6, 8) == 2
    with pytest.raises(LfpError, match=r"needs \d+ MB"):
        memory.jobs_that_fit(2 * 10**9, 1)


def test_kernel_is_named_by_all_that_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kernel.KERNEL_VARIABLE, raising=False)
    monkeypatch.setenv(source.VARIABLE, str(tmp_path))
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n")
    before = kernel.path()
    own = [
        "processor-counter",
        "random-seed",
        "same-build",
        "spinning",
        "super-packets",
        "time-page",
        "time-programs",
        "two-processors",
        "udp-super-packets",
        "what-calls-cost",
        "who-ran-when",
        "who-sets-up",
        "why-tcp-waits",
        "work-of-rcu",
    ]
    assert [file.stem for file in kernel.patches(7)] == ["copying", "ect-1", "fewer-host-calls", "hz-1000", *own]
    assert kernel.patches(7)[8] != kernel.patches(6)[-1] and len(kernel.patches(6)) == 5
    changed = tmp_path / "kernel.config"
    changed.write_text(kernel.CONFIG.read_text() + "CONFIG_NET_SCH_SFB=y\n")
    monkeypatch.setattr(kernel, "CONFIG", changed)
    assert kernel.path() != before and re.fullmatch(r"[0-9a-f]{12}", kernel.path().parent.name)
