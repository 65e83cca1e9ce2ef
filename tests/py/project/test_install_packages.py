"""tools/install-packages: the lines that a list may have, and the message for a user who is not root. Archive and
installation are the test's own: dpkg-query, apt-cache, apt-get and id are scripts here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).resolve().parents[3] / "tools" / "install-packages"
LISTS = (
    "debian-packages.txt",
    "tests/fuzz/debian-packages.txt",
    "tools/debian-packages.txt",
    "scenarios/virtual/debian-packages.txt",
    "bench/log/debian-packages.txt",
)


class Machine:
    """A machine with these packages installed and these in its archive; `did` is what apt-get was asked for."""

    def __init__(self, folder: Path, installed: str, archive: str, user: int) -> None:
        self._folder, self._done = folder, folder / "done"
        self._done.touch()
        last = "for last; do :; done"
        self._program(
            "dpkg-query",
            f"{last}; case ' {installed} ' in *\" $last \"*) printf 'install ok installed';; *) exit 1;; esac",
        )
        self._program(
            "apt-cache", f'{last}; case \' {archive} \' in *" $last "*) echo "Package: $last";; *) exit 100;; esac'
        )
        self._program("apt-get", f'echo "$*" >>{self._done}')
        self._program("id", f"echo {user}")

    def _program(self, name: str, script: str) -> None:
        program = self._folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def install(self, *lines: str) -> subprocess.CompletedProcess[str]:
        wanted = self._folder / "list"
        wanted.write_text("\n".join(lines) + "\n")
        environment = os.environ | {"PATH": f"{self._folder}:{os.environ['PATH']}"}
        return subprocess.run([INSTALL, wanted], env=environment, capture_output=True, text=True, timeout=30)

    @property
    def installed(self) -> list[str]:
        """Packages that apt-get was asked to install."""
        asked = [line for line in self._done.read_text().splitlines() if line.startswith("install")]
        return [word for line in asked for word in line.split()[1:] if not word.startswith("-")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cmake", ["cmake"]),
        ("cmake # for the C tools", ["cmake"]),
        ("there", []),
        ("# a comment", []),
        ("?cmake", ["cmake"]),
        ("?nowhere", []),
        ("cmake | ninja", ["cmake"]),
        ("nowhere | ninja", ["ninja"]),
        ("cmake|there", []),  # one of the alternatives is enough
        ("?nowhere | nowhere-else", []),
        ("?nowhere | ninja", ["ninja"]),
    ],
)
def test_what_a_line_installs(tmp_path: Path, line: str, expected: list[str]) -> None:
    machine = Machine(tmp_path, installed="there", archive="cmake ninja there", user=0)
    done = machine.install(line)
    assert done.returncode == 0, done.stderr
    assert machine.installed == expected


def test_what_no_archive_has_fails_by_its_own_name(tmp_path: Path) -> None:
    """A missing package is not left out silently: apt-get is asked for it, and says that it does not exist."""
    machine = Machine(tmp_path, installed="", archive="cmake", user=0)
    machine.install("nowhere | nowhere-else", "cmake")
    assert machine.installed == ["nowhere", "cmake"]


def test_who_is_not_root_gets_one_command_and_nothing_is_done(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed="there", archive="cmake ninja", user=1000)
    done = machine.install("there", "cmake", "nowhere | ninja", "?optional")
    assert done.returncode == 3
    (said,) = done.stderr.splitlines()
    assert "apt-get install -y --no-install-recommends cmake ninja" in said
    assert "optional" not in said and "there" not in said
    assert not machine.installed


def test_who_is_not_root_needs_nothing_when_all_is_there(tmp_path: Path) -> None:
    done = Machine(tmp_path, installed="there", archive="optional", user=1000).install("there", "?optional")
    assert done.returncode == 0 and not done.stderr


def test_a_list_that_is_not_there_is_a_usage_error() -> None:
    done = subprocess.run([INSTALL, "/nonexistent"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "/nonexistent" in done.stderr


def test_lists_name_nothing_of_one_release_only() -> None:
    """No version in a name: it would be another one in the next release."""
    for name in LISTS:
        lines = (INSTALL.parents[1] / name).read_text().splitlines()
        packages = [line for line in lines if line and not line.startswith("#")]
        assert packages, name
        assert not [line for line in packages if "-dev" in line and any(f"-{n}-" in line for n in range(10, 30))], name
