"""tools/try-release: its messages before it does anything. The trial takes a quarter of an hour and is not tested."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TRY = Path(__file__).resolve().parents[3] / "tools" / "try-release"


def try_release(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TRY, *words], capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sarge"], "release sarge: not one of bookworm, trixie, sid, noble"),
        (["trixie", "--folder", "/nonexistent"], "--folder /nonexistent"),
        (["trixie", "--packages", "/nonexistent"], "--packages /nonexistent: no lfp-testbed*.deb"),
        (["trixie", "--budget", "0"], "--budget 0"),
        ([], "NAME"),
    ],
)
def test_a_wrong_word_is_a_usage_error(words: list[str], said: str) -> None:
    done = try_release(*words)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may try a release")
def test_without_root_it_says_what_it_needs() -> None:
    done = try_release("trixie")
    assert done.returncode == 3 and "root" in done.stderr


def test_help_names_the_releases() -> None:
    done = try_release("--help")
    assert done.returncode == 0 and "bookworm, trixie, sid, noble" in done.stdout
