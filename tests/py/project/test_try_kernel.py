"""tools/try-kernel: its messages before it does anything, and its pure parts. Booting takes minutes and is not
tested."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import lzma
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scenarios.run import results

TRY = Path(__file__).resolve().parents[3] / "tools" / "try-kernel"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("try_kernel", str(TRY))
    spec = importlib.util.spec_from_loader("try_kernel", loader)
    assert spec
    found = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TRY.parent))
        patch.setitem(sys.modules, "try_kernel", found)
        patch.setattr(sys, "dont_write_bytecode", True)
        loader.exec_module(found)
    return found


def run(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    return folder


def row(trial: int, **columns: Any) -> dict[str, Any]:
    return {"trial": trial, "flow": 0, "short_term_bps": 1e7, "retransmits": 3, "stream_jain": math.nan, **columns}


def try_kernel(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) | variables
    return subprocess.run([sys.executable, TRY, *words], capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["noble"], "kernel noble: not one of bookworm, trixie, trixie-backports, user-mode"),
        (["trixie", "--folder", "/nonexistent"], "--folder /nonexistent"),
        (["trixie", "--budget", "0"], "--budget 0"),
        (["trixie", "--set", "path.dealy=1ms"], "path.dealy"),
        ([], "NAME"),
    ],
)
def test_a_wrong_word_is_a_usage_error(words: list[str], said: str) -> None:
    done = try_kernel(*words)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_without_qemu_it_names_the_package(tmp_path: Path) -> None:
    done = try_kernel("trixie", PATH=str(tmp_path))
    assert done.returncode == 3 and "install qemu-system-x86" in done.stderr


def test_user_mode_needs_no_qemu_but_a_compiler(tmp_path: Path) -> None:
    done = try_kernel("user-mode", PATH=str(tmp_path))
    assert done.returncode == 3 and "qemu" not in done.stderr and "install xz-utils" in done.stderr


def test_the_first_process_in_user_mode_leaves_status_and_kernel(tool: ModuleType, tmp_path: Path) -> None:
    """The script without the parts that need a kernel: mounting and shutting down do nothing here."""
    shared, own = tmp_path / "shared", tmp_path / "programs"
    own.mkdir()
    for name in ("mount", "mountpoint", "ln", "ip", "sync"):
        (own / name).write_text("#!/bin/sh\n")
        (own / name).chmod(0o755)
    text = tool.user_mode.init(tmp_path / "out", str(shared), "echo 'it''s' >said; exit 7")
    text = text.replace("PATH=", f"PATH={own}:").replace("/dev/pts", str(tmp_path / "pts"))
    text = text.replace("/dev/shm", str(tmp_path / "shm")).replace("/run/tmp", str(tmp_path / "tmp"))
    text = text.partition("exec ")[0]
    subprocess.run(["sh", "-c", text], cwd=tmp_path, check=True, timeout=60)
    assert (shared / "status").read_text() == "7\n" and (shared / "kernel").read_text().strip() == os.uname().release
    assert (tmp_path / "said").read_text() == "its\n"


def test_equal_runs_are_equal_whatever_their_order_and_nan(tmp_path: Path) -> None:
    one, other = run(tmp_path / "one", [row(0), row(1)]), run(tmp_path / "other", [row(1), row(0)])
    assert results.differing(one, other) == {}


def test_every_difference_is_named(tmp_path: Path) -> None:
    """It finds one differing bit of a number, a null, a sign of zero, a missing trial, and a repeated one."""
    one = run(tmp_path / "one", [row(0), row(1), row(2, stream_jain=0.0), row(3), row(4)])
    changed = [row(0, short_term_bps=math.nextafter(1e7, 0)), row(1, retransmits=None), row(2, stream_jain=-0.0)]
    other = run(tmp_path / "other", [*changed, row(4), row(4)])
    assert results.differing(one, other) == {
        (0, 0): ["short_term_bps"],
        (1, 0): ["retransmits"],
        (2, 0): ["stream_jain"],
        (3, 0): list(row(3)),
        (4, 0): list(row(4)),
    }


def test_the_verdict_names_kernels_and_first_differing_trials(tool: ModuleType, tmp_path: Path) -> None:
    one, other = run(tmp_path / "one", [row(n) for n in range(9)]), run(tmp_path / "other", [row(n) for n in range(2)])
    ours, theirs, same = (tool.Host(*facts) for facts in (("6.1", "A", one), ("6.12", "B", other), ("6.6", "C", one)))
    equal, line = tool.verdict(ours, same, 9)
    assert equal and "9 trials" in line and "Linux 6.1 (A)" in line and "Linux 6.6 (C)" in line
    equal, line = tool.verdict(ours, theirs, 9)
    assert not equal and "7 rows" in line and "trial 2 in trial, flow, short_term_bps" in line and "2 more" in line


def test_modules_come_after_what_they_need(tool: ModuleType, tmp_path: Path) -> None:
    for name, needs in (("9p", b"9pnet,netfs"), ("9pnet", b""), ("netfs", b""), ("9pnet_virtio", b"virtio,9pnet")):
        (tmp_path / f"{name}.ko.xz").write_bytes(lzma.compress(b"\0depends=" + needs + b"\0name=" + name.encode()))
    (tmp_path / "unused.ko").write_bytes(b"\0depends=\0")
    assert list(tool.modules(tmp_path)) == ["9pnet", "9pnet_virtio", "netfs", "9p"]  # virtio is built in


def test_the_archive_is_what_cpio_reads(tool: ModuleType) -> None:
    files = {"bin/": b"", "bin/tool": b"\1\2\3", "init": b"#!"}
    packed, at, found = tool.archive(files), 0, {}
    while packed[at : at + 6] == b"070701":
        fields = [int(packed[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = packed[at + 110 : at + 110 + name_size - 1].decode()
        at = (at + 110 + name_size + 3) // 4 * 4
        found[name] = (mode >> 12, packed[at : at + size])
        at = (at + size + 3) // 4 * 4
    assert found == {"bin": (4, b""), "bin/tool": (8, b"\1\2\3"), "init": (8, b"#!"), "TRAILER!!!": (8, b"")}


def test_both_runs_get_the_same_seed_and_kernel(tool: ModuleType) -> None:
    command = tool.run_command("/runs", ["path.delay=1ms"])
    assert command[-2:] == ["--set", "path.delay=1ms"] and command[command.index("--seed") + 1] == "1995"
    assert len(tool.load_plan(str(tool.SCENARIO)).trials) == 100
