"""`lfp virtual --build`: builds the kernel for users without a checkout. Tests in virtual time test the kernel
itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lfp import cli
from netcommon import unprivileged
from scenarios.virtual import kernel, source


def run(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, str]:
    """Exit status and what is said."""
    status = cli.run(words)
    said = capsys.readouterr()
    return status, said.out + said.err


def test_an_existing_kernel_is_named_and_not_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = tmp_path / "linux"
    built.write_text("#!/bin/sh\n")
    built.chmod(0o755)
    monkeypatch.setenv(kernel.KERNEL_VARIABLE, str(built))
    monkeypatch.setattr(unprivileged, "is_root", lambda: False)
    assert run(capsys, ["virtual", "--build"]) == (0, f"== virtual-time kernel: {built}\n")


def test_what_a_build_lacks_is_said_in_one_line_with_all_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(kernel.KERNEL_VARIABLE, str(tmp_path / "linux"))
    monkeypatch.setattr(unprivileged, "is_root", lambda: False)
    monkeypatch.setattr(source, "fetch", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda program: None if program in {"flex", "xz"} else program)
    status, said = run(capsys, ["virtual", "--build"])
    assert status == 3
    assert "programs not found: xz, flex; apt-get install xz-utils flex" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--build", "ls"], "--build: takes no COMMAND, and ls is one"),
        ([], "COMMAND: missing; name the program to run"),
    ],
)
def test_either_a_command_or_build(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, answer = run(capsys, ["virtual", *words])
    assert status == 2 and said in answer
