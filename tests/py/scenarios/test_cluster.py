"""Trials on the workers of a Dask cluster: `lfp run --scheduler`. The scheduler and the workers are real processes on
127.0.0.1; the trials run in virtual time, where a seed has one result."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual
from support.waiting import wait_until

from lfp import cli
from netcommon.binaries import find
from netcommon.errors import LfpError
from scenarios.cluster import archive, pool

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 240  # a deadline for busy machines, not an expectation
SCENARIO = """
[scenario]
name = "short"
[path]
delay = "10ms"
rate = "20Mbit"
loss = "0.1%"
[transfer]
duration = "200ms"
[run]
repeat = 3
seed = 7
"""


@contextmanager
def dask(folder: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """One of Dask's programs, with what it said. Its process group is ended by its id."""
    said = folder / f"{arguments[0]}-{len(list(folder.iterdir()))}.txt"
    settings = {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3"}
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            cwd=folder,
            stdout=output,
            stderr=output,
            env=os.environ | settings | environment,
            start_new_session=True,
        )
    try:
        yield process, said
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """A scheduler's address."""
    with dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0") as (_, said):
        found: list[str] = []

        def listens() -> bool:
            found[:] = re.findall(r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)", said.read_text())
            return bool(found)

        wait_until(listens, "the scheduler", PATIENCE_S)
        yield found[0]


@contextmanager
def worker(folder: Path, address: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A registered worker with one thread. ``folder`` is created for this worker."""
    folder.mkdir()
    options = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    with dask(folder, "worker", address, *options, **environment) as (process, said):
        wait_until(lambda: "Registered to" in said.read_text(), "a worker", PATIENCE_S)
        yield process


def lfp(folder: Path, name: str, *arguments: str) -> list[str]:
    """The command line that runs the short scenario into ``folder``/``name``."""
    scenario = folder / "short.toml"
    scenario.write_text(SCENARIO)
    runs = ["--time", "virtual", "--runs-dir", str(folder / name)]
    return [sys.executable, "-m", "lfp", "run", str(scenario), *runs, *arguments]


def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(lfp(folder, name, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=500)


def table(runs: Path) -> list[dict[str, Any]]:
    (found,) = runs.glob("*/results.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(found).to_pylist()
    return rows


def statuses(runs: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(runs.glob("*/trials/*/status.json"))]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The table of a run on this machine, without a cluster."""
    folder = tmp_path_factory.mktemp("local")
    done = run(folder, "local")
    assert done.returncode == 0, done.stdout + done.stderr
    return table(folder / "local")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler that has no workers between two tests."""
    with scheduler(tmp_path_factory.mktemp("scheduler")) as found:
        yield found


class TestTrials:
    # A deadline for busy machines; the work itself takes seconds.
    pytestmark: ClassVar[list[pytest.MarkDecorator]] = [*virtual, pytest.mark.timeout(600)]

    def test_two_workers_give_the_table_of_this_machine_though_one_is_killed(
        self, tmp_path: Path, address: str, local: list[dict[str, Any]]
    ) -> None:
        """The other worker measures the killed worker's trial again; no trial is lost or repeated."""
        with worker(tmp_path / "first", address) as killed, worker(tmp_path / "second", address):
            whole = subprocess.Popen(lfp(tmp_path, "runs", "--scheduler", address), cwd=ROOT, stdout=subprocess.PIPE)
            guests = "**/lfp-trial-*/trials/.*.guest"
            wait_until(lambda: list((tmp_path / "first").glob(guests)), "a trial on the first worker", PATIENCE_S)
            killed.kill()
            said, _ = whole.communicate(timeout=500)
        assert whole.returncode == 0, said
        assert table(tmp_path / "runs") == local
        assert {one["state"] for one in statuses(tmp_path / "runs")} == {"done"}
        assert said.decode().count("valid") == len(local) + 1  # a line for each trial, and the verdict
        assert not list(tmp_path.glob("runs/*/superseded/*"))
        (manifest,) = (tmp_path / "runs").glob("*/manifest.json")
        cluster = json.loads(manifest.read_text())["cluster"]
        assert cluster["scheduler"] == address and len(cluster["machines"]) == 1  # both workers are on this machine

    def test_a_worker_with_another_tool_is_refused(self, tmp_path: Path, address: str) -> None:
        other = tmp_path / "rttcp"
        other.write_text(f'#!/bin/sh\nexec {find("rttcp")} "$@"\n')
        other.chmod(0o755)
        with worker(tmp_path / "worker", address, LFP_RTTCP=str(other)):
            done = run(tmp_path, "runs", "--scheduler", address)
        assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done.stdout + done.stderr
        assert re.search(r"worker tcp://\S+: rttcp is \w{12}, the orchestrator's is \w{12}; install", done.stderr)
        assert not list(tmp_path.glob("runs/*/trials/*"))


def test_without_a_scheduler_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "CONNECT_S", 0.5)
    assert cli.run(lfp(tmp_path, "runs", "--scheduler", "tcp://127.0.0.1:1")[3:]) == 2
    said = capsys.readouterr().err
    assert "--scheduler tcp://127.0.0.1:1: no Dask scheduler answers" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("option", [["--jobs", "2"], ["--cli"], ["--time", "auto"]])
def test_what_a_scheduler_excludes_is_named(tmp_path: Path, option: list[str]) -> None:
    done = run(tmp_path, "runs", "--scheduler", "tcp://127.0.0.1:1", *option)
    assert done.returncode == 2 and f"not with {' '.join(option[:2])}".removesuffix(" 2") in done.stderr, done.stderr


def made(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """An archive with these members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_a_folder_travels_whole(tmp_path: Path) -> None:
    (tmp_path / "here" / "log").mkdir(parents=True)
    (tmp_path / "here" / "status.json").write_text("{}")
    (tmp_path / "here" / "log" / "console.txt").write_bytes(os.urandom(10_000))
    packed = archive.pack(tmp_path / "here")
    archive.unpack(packed, archive.digest(packed), tmp_path / "there")
    for name in ("status.json", "log/console.txt"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_what_is_too_large_is_refused_where_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "capture").write_bytes(os.urandom(300_000))
    with pytest.raises(LfpError, match=r"larger than .* packed; lower capture.snap"):
        archive.pack(tmp_path, most_bytes=100_000)


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    """A cut archive has another hash. If the hash fits, the archive itself shows that it is cut."""
    packed = made((tarfile.TarInfo("status.json"), os.urandom(50_000)))
    for sent, sha256 in ((packed[:-100], archive.digest(packed)), (packed[:-100], archive.digest(packed[:-100]))):
        with pytest.raises(LfpError, match="archive of a trial"):
            archive.unpack(sent, sha256, tmp_path / "trial")
        assert not (tmp_path / "trial").exists()


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo("../outside"),
        tarfile.TarInfo("log/../../outside"),
        tarfile.TarInfo("/tmp/outside"),
        link("log", tarfile.SYMTYPE, "/etc"),
        link("log", tarfile.LNKTYPE, "../../manifest.json"),
        link("pipe", tarfile.FIFOTYPE, ""),
    ],
    ids=lambda member: member.name,
)
def test_a_hostile_archive_is_refused_whole(tmp_path: Path, member: tarfile.TarInfo) -> None:
    """Not even the archive's good files are written."""
    packed = made((tarfile.TarInfo("status.json"), b"{}"), (member, b""))
    with pytest.raises(LfpError, match="want plain files inside the trial's folder"):
        archive.unpack(packed, archive.digest(packed), tmp_path / "run" / "trial")
    assert not list((tmp_path / "run").glob("*")) and not (tmp_path / "outside").exists()


def test_an_archive_that_would_fill_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "UNPACKED_BYTES", 1_000_000)
    packed = made(*((tarfile.TarInfo(f"{number}"), bytes(300_000)) for number in range(4)))
    assert len(packed) < 50_000
    with pytest.raises(LfpError, match="holds too much"):
        archive.unpack(packed, archive.digest(packed), tmp_path / "trial")
    assert not (tmp_path / "trial").exists()
