"""A gateway keeps its keys out of core dumps and out of swap."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import find


def dumps_core(argv: list[str], folder: Path, ready: bytes = b"") -> tuple[bool, int]:
    """Whether a program that is aborted leaves a core dump, and how many KB it had locked."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.RLIM_INFINITY))  # noqa: E731
    with subprocess.Popen(
        argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit
    ) as process:
        assert process.stdout is not None
        while ready and ready not in (line := process.stdout.readline()):
            assert line, "it ended early"
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        locked = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmLck"))
        process.send_signal(signal.SIGABRT)
        _, how = os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGABRT
        return os.WCOREDUMP(how), locked


def test_a_gateway_leaves_no_core_dump_and_locks_its_keys(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a text that is a key\n")
    key.chmod(0o600)
    gateway = [str(find("lft-gateway")), "run", f"--psk-file={key}", "--listen=127.0.0.1:0"]
    dumped, locked = dumps_core(gateway, tmp_path, b'"ready"')
    assert not dumped
    assert locked > 0
    if not dumps_core(["sleep", "60"], tmp_path)[0]:
        pytest.skip("this machine makes no core dumps of any program")
