"""One seed gives one result in virtual time, whatever sets the guest up. Where nothing is random, all seeds give it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from textwrap import indent

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

from lfp import cli
from netcommon import binaries
from scenarios.plan.congestion import LINUX
from scenarios.plan.plan import load_plan
from scenarios.run import results
from scenarios.virtual import guest, kernel, program, randomness

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
# What another version of Python or of a package might do in addition while it sets a guest up.
MORE = """
import os, pathlib, random, subprocess, tempfile, threading, time
for _ in range({times}):
    time.monotonic(), time.time(), os.urandom(9), random.Random().random()
for _ in range({times} // 100):
    threading.Thread(target=time.monotonic).start()
    os.waitpid(os.fork() or os._exit(0), 0)
    subprocess.run(["true"], check=True)
    pathlib.Path(tempfile.mkdtemp(), "file").write_text("text")
"""
IMPORTED = "\nimport os, time\n[(time.monotonic(), os.stat('/')) for _ in range({times})]\n"
EACH_START = "        import os, time; [(time.monotonic(), os.urandom(9)) for _ in range({times})]\n"
PATH = """
[scenario]
name = "chance"
[path]
delay = "20ms"
rate = "40Mbit"
queue = "0.5 BDP"
[transfer]
duration = "3s"
sample = "10ms"
"""
CASES = """
[sweep]
"scenario.case" = ["reno", "bbr", "streams", "lft", "box", "iperf3", "cpu"]
[case.reno.transfer]
congestion = "reno"
[case.reno.path]
loss = "0.1%"
[case.bbr.transfer]
congestion = "bbr"
[case.streams.transfer]
parallel = 3
bidir = true
[case.lft.gateway]
kind = "lft"
rate = "1 line"
[case.box.path]
jitter = "normal:1ms,25%"
aqm = "pie"
[case.box.capture]
points = ["snd", "box", "rcv"]
[case.iperf3.transfer]
tool = "iperf3"
[case.iperf3.flow.second]
start = "300ms"
[case.iperf3.flow.third]
start = "600ms"
tool = "iperf3"
[case.cpu.cpu]
of = "all"
call = "10us"
[case.cpu.gateway]
kind = "lft"
rate = "1 line"
[case.cpu.transfer]
tool = "iperf3"
"""


def run(folder: Path, text: str, *sets: str, seed: int = 1, jobs: int = 1) -> Path:
    """The run's folder."""
    folder.mkdir()
    scenario = folder / "chance.toml"
    scenario.write_text(text)
    own = ("--time", "virtual", "--seed", str(seed), "--jobs", str(jobs), "--runs-dir", str(folder / "runs"))
    assert cli.run(["run", str(scenario), *sets, *own]) == 0
    (found,) = (folder / "runs").iterdir()
    return found


def busier(folder: Path, times: int) -> Path:
    """A copy of the Python packages that does additional work before a trial, at each start of a tool, and when the
    package for iperf3 is loaded."""
    for package in ("comet_delay", "lft_ref", "netcommon", "pktlogger", "rttcp", "scenarios"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    lean = folder / "scenarios" / "virtual" / "lean.py"
    head = "def pyroute2() -> None:\n"
    assert head in lean.read_text()
    lean.write_text(lean.read_text().replace(head, head + indent(MORE.format(times=times), "    ")))
    process, start = folder / "netcommon" / "process.py", "        enter = [] if self._netns_pid is None"
    text = process.read_text()
    assert start in text
    process.write_text(text.replace(start, EACH_START.format(times=times) + start))
    with (folder / "rttcp" / "iperf3.py").open("a") as file:
        file.write(IMPORTED.format(times=times))
    return folder


@pytest.mark.timeout(900)  # twenty-one guests
def test_whatever_sets_a_guest_up_the_results_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Varies Python's readings of the clock, its random numbers, processes and files, the number of guests at a time,
    and the folders of PATH, which programs whose calls have a price search."""
    runs = [run(tmp_path / "plain", PATH + CASES)]
    given = guest._arguments
    for times in (300, 1000):
        tree = busier(tmp_path / f"tree-{times}", times)
        monkeypatch.setattr(
            guest,
            "_arguments",
            lambda *of, tree=tree: [
                f"PYTHONPATH={tree}:{word.partition(':')[2]}" if word.startswith("PYTHONPATH=") else word
                for word in given(*of)
            ],
        )
        monkeypatch.setenv("LFP_COMET_DELAY", str(binaries.find("comet-delay")))
        more = [str(tmp_path / f"folder-{number}") for number in range(times // 100)]
        monkeypatch.setenv("PATH", os.pathsep.join((*more, os.environ["PATH"])))
        runs.append(run(tmp_path / f"busy-{times}", PATH + CASES, jobs=2))
    assert [results.differing(runs[0], other) for other in runs[1:]] == [{}, {}]


@pytest.mark.timeout(900)  # fifty guests
def test_results_depend_on_the_seed_where_the_table_says_so_and_nowhere_else(tmp_path: Path) -> None:
    """Every congestion control of the kernel, with three seeds. NV draws after four seconds, which shows some seconds
    later."""
    listed = program.run(["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"], folder=ROOT).output.split()
    controls = sorted(set(LINUX) & set(listed))
    assert {"bbr", "cubic", "reno", "dctcp", "cdg", "nv"} <= set(controls)
    sweep = f'[sweep]\n"transfer.congestion" = {controls}\n"path.seed" = [1, 2, 3]\n'.replace("'", '"')
    path = PATH.replace('"3s"', '"12s"').replace("40Mbit", "20Mbit")
    rows = parquet.read_table(run(tmp_path / "seeds", path + sweep, jobs=2) / "results.parquet").to_pylist()
    kinds = {name: {row["short_term_bps"] for row in rows if row["congestion"] == name} for name in controls}
    assert {name for name, found in kinds.items() if len(found) > 1} == randomness.DRAWING_CONTROLS, kinds


@pytest.mark.timeout(600)  # eighteen guests
def test_what_is_drawn_of_path_and_transfer_is_known(tmp_path: Path) -> None:
    """Ports decide which channel a connection gets. Otherwise neither ports nor a gateway's keys change a result."""
    text = (
        PATH.replace('"3s"', '"2s"').replace("40Mbit", "20Mbit")
        + """
[sweep]
"scenario.case" = ["channels", "in-turn", "harmonized", "lft", "jitter", "codel"]
"path.seed" = [1, 2, 3]
[case.channels]
path.channels = 3
transfer.parallel = 4
[case.in-turn]
path.channels = 3
path.balance = "packet"
[case.harmonized]
path.harmonize = "18Mbit"
transfer.parallel = 4
[case.lft]
gateway.kind = "lft"
gateway.rate = "1 line"
[case.jitter]
path.jitter = "uniform:1ms"
[case.codel]
path.aqm = "codel"
"""
    )
    found = run(tmp_path / "seeds", text, jobs=2)
    rows = parquet.read_table(found / "results.parquet").to_pylist()
    kinds = {row["case"]: set[float]() for row in rows}
    for row in rows:
        kinds[row["case"]].add(row["short_term_bps"])
    plan = load_plan(str(tmp_path / "seeds" / "chance.toml"), seed=1)
    drawn = {trial.setting.scenario.case for trial in plan.trials if randomness.is_drawn(trial.setting)}
    assert {case for case, rates in kinds.items() if len(rates) > 1} == drawn == {"channels", "jitter"}, kinds


def test_programs_begin_at_a_fixed_time_with_chance_of_their_own(tmp_path: Path) -> None:
    """A program's random numbers follow from the seed, its name and how many of that name there were."""
    show = "date +%s%N; cat /proc/sys/kernel/random/uuid; head -c 8 /dev/urandom | od -An -tx8; echo $$"
    plain = [program.run(["sh", "-c", show], folder=ROOT, seed=seed).output.split() for seed in (1, 1, 2)]
    assert plain[0] == plain[1] and plain[0][1:3] != plain[2][1:3]
    assert (int(plain[0][0]) - 10**9) % 10**9 < 1_000_000  # shortly after a whole second, when the program has started


def test_kernels_of_before_linux_7_are_set_up_without_it() -> None:
    assert kernel.patches(6) and not any(file.name == "who-sets-up.patch" for file in kernel.patches(6))
