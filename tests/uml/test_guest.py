"""The guest brings back status and output, keeps the machine's files as they are, and leaves no process behind."""

from __future__ import annotations

import platform
import subprocess
import time
from pathlib import Path

import guest
import pytest

pytestmark = [pytest.mark.netns, pytest.mark.skipif(bool(guest.missing()), reason=str(guest.missing()))]


def processes_with(mark: str) -> int:
    """The number of processes with this text in their command line."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.count(mark)


def test_status_output_and_another_kernel(tmp_path: Path) -> None:
    write = f"touch {tmp_path}/made || touch /run/made && echo only there"
    script = f"uname -r; echo $SAID; {write}; cat /proc/modules; exit 7"
    done = guest.run(["sh", "-c", script], modules=["sch_netem"], environment={"SAID": "two words"})
    assert done.status == 7, done
    lines = done.output.splitlines()
    assert lines[0] != platform.release() and lines[1] == "two words"
    assert "only there" in lines and not list(tmp_path.iterdir())
    assert any(line.startswith("sch_netem ") for line in lines)


def test_a_module_that_is_not_there_is_said() -> None:
    done = guest.run(["true"], modules=["no_such_module"])
    assert done.status == 0 and "cannot load no_such_module" in done.output


def test_what_takes_too_long_is_ended() -> None:
    start = time.monotonic()
    done = guest.run(["sleep", "600"], memory="397M", timeout_s=3)  # an amount of memory that marks this test's guest
    assert done.status is None and time.monotonic() - start < 10
    assert processes_with("mem=397M") == 0
