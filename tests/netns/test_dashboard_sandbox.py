"""The running dashboard: it has given up what the section SECURITY of lfp(1) promises, started by root and by an
ordinary user, and it cannot do what a stranger's run could make it do.

A probe stands in for an attacker who controls the server: a module that Python imports at its start in every process of
the test, which tries forbidden things in the server when a signal comes.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ordinary_user
import pytest
from support import synthetic_run
from support.pressed import outputs
from support.waiting import wait_until
from test_sandbox import promise, status

from dashboard.classroom.demonstration import CHOICES, Setting
from scenarios.virtual import kernel

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users")]
SEARCH = 1 << 2  # CAP_DAC_READ_SEARCH
PROBE = """
import json, os, signal, socket, subprocess, sys
def tried(what):
    try:
        what()
        return 0
    except OSError as error:
        return error.errno
def probe(*_):
    run, secret = (os.environ["LFP_PROBE_" + name] for name in ("RUN", "SECRET"))
    said = {
        "read the run": tried(lambda: open(run + "/manifest.json").close()),
        "read another file": tried(lambda: open(secret).close()),
        "list another folder": tried(lambda: os.listdir(os.path.dirname(secret))),
        "write into the run": tried(lambda: open(run + "/new", "w").close()),
        "change the run": tried(lambda: open(run + "/manifest.json", "r+").close()),
        "remove from the run": tried(lambda: os.unlink(run + "/results.parquet")),
        "make a run": tried(lambda: os.mkdir(run + "-new")),
        "write elsewhere": tried(lambda: open("/tmp/lfp-probe", "w").close()),
        "start a program": tried(lambda: subprocess.run(["/bin/true"])),
        "connect": tried(lambda: socket.socket(socket.AF_INET)),
        "ask a service of the machine": tried(lambda: socket.socket(socket.AF_UNIX)),
        "signal another process": tried(lambda: os.kill(int(os.environ["LFP_PROBE_OTHER"]), 0)),
        "become root": tried(lambda: os.setresuid(0, 0, 0)),
    }
    sys.stderr.write("probe: " + json.dumps(said) + "\\n")
    sys.stderr.flush()
if "dashboard.server.serving" in sys.orig_argv:
    signal.signal(signal.SIGUSR1, probe)
"""
LONG = """
import os, sys
from pathlib import Path
from dashboard.timeline import apart, kept_files
from netcommon import sandbox
run, cache = map(Path, sys.argv[1:])
os.environ[kept_files.OWN] = str(cache)
sandbox.enter([run.parent], [cache], sandbox.Choice())
apart.begin()
from dashboard.timeline import timeline
from dashboard.core.runs import load_run
timeline.STORED_FROM = 1000
found = load_run(run)
print(timeline.load(found, found.trial(0)).store.done, os.getuid())
"""
FORBIDDEN = (
    "read another file", "list another folder", "write into the run", "change the run", "remove from the run",
    "make a run", "write elsewhere", "start a program", "connect", "ask a service of the machine",
    "signal another process",
)  # fmt: skip


@dataclass
class Server:
    """A running dashboard. ``log``: the lines of its stderr."""

    process: subprocess.Popen[str]
    url: str
    log: Path
    opener: urllib.request.OpenerDirector = field(init=False)

    def __post_init__(self) -> None:
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert self.get(self.url)

    @property
    def status(self) -> dict[str, str]:
        return status(self.process.pid)

    @property
    def lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()

    def get(self, address: str) -> bytes:
        with self.opener.open(address, timeout=60) as answer:
            return bytes(answer.read())

    def press(self, output: str, inputs: dict[str, str], state: list[tuple[str, str, object]], button: str) -> Any:
        """What a browser posts when a button is pressed; the answer's values."""
        body = {
            "output": output,
            "outputs": outputs(output),
            "changedPropIds": [f"{button}.{inputs[button]}"],
            "inputs": [
                {"id": name, "property": kind, "value": 1 if name == button else None} for name, kind in inputs.items()
            ],
            "state": [{"id": name, "property": kind, "value": value} for name, kind, value in state],
        }
        site = "/".join(self.url.split("/")[:3])
        request = urllib.request.Request(
            f"{site}/_dash-update-component", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with self.opener.open(request, timeout=60) as answer:
            return json.load(answer)["response"]

    def probed(self) -> dict[str, int]:
        """What happened to each thing that the probe tried: 0 or an error number."""
        self.process.send_signal(signal.SIGUSR1)
        found: list[str] = []

        def said() -> bool:
            found[:] = [line for line in self.lines if line.startswith("probe: ")]
            return bool(found)

        wait_until(said, "the probe")
        result: dict[str, int] = json.loads(found[0].removeprefix("probe: "))
        return result

    def children(self) -> list[str]:
        """The command lines of the processes that it started or forked."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = re.search(r"^PPid:\t(\d+)", (folder / "status").read_text(encoding="ascii"), re.MULTILINE)
                if parent and int(parent[1]) == self.process.pid:
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach, with a run in `runs`."""
    made = Path(tempfile.mkdtemp(prefix="lfp-dashboard-", dir="/tmp"))
    made.chmod(0o755)
    (made / "runs").mkdir()
    (made / "secret").mkdir()
    (made / "secret" / "file").write_text("secret")
    (made / "probe").mkdir()
    (made / "probe" / "sitecustomize.py").write_text(PROBE)
    synthetic_run.seqack(made / "runs")
    yield made
    shutil.rmtree(made)


@contextmanager
def served(folder: Path, *options: str, home: Path | None = None, before: tuple[str, ...] = ()) -> Iterator[Server]:
    """`lfp dashboard` of the run in a folder. `home`: of the ordinary user who starts it."""
    (run,) = (folder / "runs").iterdir()
    other = subprocess.Popen(["sleep", "600"], user=home.stat().st_uid if home else "nobody")  # of the server's user
    environment = os.environ | {
        "PYTHONPATH": f"{folder / 'probe'}:{ROOT}",
        "LFP_PROBE_RUN": str(run),
        "LFP_PROBE_OTHER": str(other.pid),
        "LFP_PROBE_SECRET": str(folder / "secret" / "file"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    if not kernel.missing():
        environment[kernel.KERNEL_VARIABLE] = str(kernel.path())
    argv = [*before, sys.executable, "-P", "-m", "lfp", "dashboard", str(run), "--port", "0", *options]
    if home:
        argv = ordinary_user.command(argv, home, [Path(sys.base_prefix), Path(sys.prefix), ROOT, folder])
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout
        words = process.stdout.readline().split()
        assert words, (folder / "log").read_text()
        yield Server(process, words[1], folder / "log")
    finally:
        for one in (process, other):
            one.kill()
            one.wait()
        if process.stdout:
            process.stdout.close()


@pytest.fixture
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lfp-home-", dir="/tmp"))
    made.chmod(0o755)
    (made / "tmp").mkdir()
    for each in (made, made / "tmp"):
        os.chown(each, ordinary_user.UID + os.getpid() % 1000, ordinary_user.UID)
    yield made
    shutil.rmtree(made)


def promised() -> dict[str, str]:
    return promise("lfp/lfp.1")


def assert_confined(server: Server) -> None:
    """What holds for every user."""
    now = server.status
    assert int(now["CapInh"], 16) == int(now["CapAmb"], 16) == 0
    assert now["NoNewPrivs"] == promised()["no_new_privs"] and now["Seccomp"] == promised()["seccomp"]
    result = server.probed()
    assert result["read the run"] == 0
    assert {what for what in FORBIDDEN if result[what] == 0} == set()
    assert result["become root"] or now["Uid"].split()[0] == "0"


def closed_python() -> bool:
    """Whether nobody may read this Python, as below root's home."""
    tried = subprocess.run(["test", "-r", os.__file__], user="nobody", check=False)
    return tried.returncode != 0


def test_a_dashboard_of_roots_has_what_its_page_promises(folder: Path) -> None:
    with served(folder) as server:
        now, said = server.status, promised()
        nobody = pwd.getpwnam(said["user"])
        assert now["Uid"].split() == [str(nobody.pw_uid)] * 4 and now["Gid"].split() == [str(nobody.pw_gid)] * 4
        assert now["Groups"] == ""
        assert said["capabilities"] == "dac_read_search"
        for name in ("CapEff", "CapPrm", "CapBnd"):
            assert int(now[name], 16) == (SEARCH if closed_python() else 0), name
        assert_confined(server)
        before = [line for line in server.lines if not line.startswith("probe: ")]
        assert len(before) == closed_python() and all(
            "keeps dac_read_search, because nobody" in line for line in before
        )


def test_a_run_that_is_closed_to_others_is_shown_and_the_line_names_it(folder: Path) -> None:
    (folder / "runs").chmod(0o700)
    with served(folder) as server:
        assert int(server.status["CapEff"], 16) == SEARCH
        assert sum("keeps dac_read_search" in line for line in server.lines) == 1
        assert_confined(server)


def test_a_dashboard_of_an_ordinary_user_has_what_its_page_promises(folder: Path, home: Path) -> None:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    with served(folder, home=home) as server:
        now = server.status
        assert now["Uid"].split() == [str(home.stat().st_uid)] * 4
        assert int(now["CapEff"], 16) == int(now["CapPrm"], 16) == 0
        assert_confined(server)
        assert [line for line in server.lines if "sandbox" in line] == []


def test_what_cannot_be_given_up_is_one_line(folder: Path) -> None:
    alone = ("unshare", "--user", "--map-root-user")
    with served(folder, before=alone) as server:
        assert [line for line in server.lines if "sandbox" in line] == [
            "lfp: sandbox: without another user: this user namespace has one, or setuid is forbidden"
        ]
        assert int(server.status["CapEff"], 16) == 0
        assert_confined(server)
    with served(folder, "--no-sandbox") as server:
        assert server.status["Seccomp"] == server.status["NoNewPrivs"] == "0"
        assert server.lines == ["lfp: sandbox: none (--no-sandbox)"]


def test_with_read_only_there_is_no_keeper(folder: Path) -> None:
    with served(folder, "--read-only") as server:
        assert [one for one in server.children() if "dashboard.server.keeper" in one] == []
        assert_confined(server)
    with served(folder) as server:
        assert len([one for one in server.children() if "dashboard.server.keeper" in one]) == 1


def test_a_wrong_user_is_one_line_and_status_2(folder: Path) -> None:
    (run,) = (folder / "runs").iterdir()
    argv = [sys.executable, "-m", "lfp", "dashboard", str(run), "--port", "0", "--user", "no such user"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "no such user" in done.stderr


CLASS = {f"class-{name}": "n_clicks" for name in ("start", "cancel")}
FIELDS = [*((f"class-{name}", "value", getattr(Setting(), name)) for name in CHOICES), ("url", "search", "")]


def state_of(server: Server) -> str:
    asked = server.press(
        "..class-state.children...class-drawn.data..",
        {"class-clock": "n_intervals"},
        [("class-drawn", "data", None), ("url", "search", "")],
        "class-clock",
    )
    return str(asked["class-state"]["children"])


def test_a_run_is_started_and_cancelled_and_one_under_way_ends_with_the_dashboard(folder: Path) -> None:
    before = sorted((folder / "runs").iterdir())
    with served(folder) as server:
        started = server.press("class-said.children", CLASS, FIELDS, "class-start")
        assert started["class-said"]["children"] == ""
        wait_until(lambda: len(list((folder / "runs").glob("class-*"))) >= 1, "the run")
        server.press("class-said.children", CLASS, FIELDS, "class-cancel")
        wait_until(lambda: sorted((folder / "runs").iterdir()) == before, "the end of the run that was cancelled")
        wait_until(lambda: "ready" in state_of(server).lower() or state_of(server), "the page's state")
        server.press("class-said.children", CLASS, FIELDS, "class-start")
        wait_until(lambda: len(list((folder / "runs").glob("class-*"))) >= 1, "another run")
    wait_until(lambda: sorted((folder / "runs").iterdir()) == before, "the end of what ran with the dashboard", 60)


def test_every_page_and_file_is_served_from_inside_the_sandbox(folder: Path) -> None:
    synthetic_run.sweep(folder / "runs", repeats=1)
    names = sorted(path.name for path in (folder / "runs").iterdir())
    run = next(name for name in names if name.startswith("lfp-seqack"))
    shutil.move(folder / "runs" / next(name for name in names if name != run), folder / "other")
    with served(folder) as server:
        site = "/".join(server.url.split("/")[:3])
        shutil.move(folder / "other", folder / "runs" / "again")
        for address in ("/", f"/run/{run}", f"/run/{run}/trial/0", "/run/again", f"/compare/{run}/again", "/history",
                        f"/run/{run}/certificate", "/class"):  # fmt: skip
            body = {
                "output": "page.children",
                "outputs": {"id": "page", "property": "children"},
                "inputs": [
                    {"id": "url", "property": "pathname", "value": address},
                    {"id": "url", "property": "search", "value": ""},
                ],
                "changedPropIds": ["url.pathname"],
                "state": [],
            }
            request = urllib.request.Request(
                f"{site}/_dash-update-component", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with server.opener.open(request, timeout=60) as answer:
                text = answer.read().decode()
            assert "not readable" not in text and "Permission denied" not in text, (address, text[:300])
        assert len(server.get(f"{site}/run/{run}/trial/0/view")) > 1000
        assert len(server.get(f"{site}/plotly.of-before.js")) > 1_000_000  # what the server keeps in a file
        assert len(server.get(f"{site}/export/runs.tar?run={run}")) > 10_000
        assert server.get(f"{site}/export/results.csv?run={run}").startswith(b'"run"')


def test_a_long_transfer_is_prepared_by_a_process_that_is_confined_too(folder: Path) -> None:
    (run,) = (folder / "runs").iterdir()
    (folder / "cache").mkdir()
    nobody = pwd.getpwnam("nobody")
    os.chown(folder / "cache", nobody.pw_uid, nobody.pw_gid)
    argv = [sys.executable, "-P", "-c", LONG, str(run), str(folder / "cache")]
    done = subprocess.run(
        argv, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == ["True", str(nobody.pw_uid)], done.stderr
    assert {file.stat().st_uid for file in (folder / "cache").rglob("*")} == {nobody.pw_uid}
