"""What an ordinary user may do. An error about an obstacle says what root could do. Records are where nobody else may
write."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from netcommon import ledger, unprivileged
from netcommon.errors import MissingError

PRINT = "from netcommon import unprivileged as u; print(u.is_root(), u.is_inside(), u.user())"


@pytest.fixture
def forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which namespaces cannot be made, and which gives no reason."""
    monkeypatch.setattr(unprivileged, "TUN", Path("/dev/null"))
    monkeypatch.setattr(unprivileged, "_UNSHARE", ("false",))
    monkeypatch.setattr(unprivileged, "_sysctl", lambda name: None)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kernel.unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
@pytest.mark.usefixtures("forbidden")
def test_the_setting_that_forbids_namespaces_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, remedy: str
) -> None:
    monkeypatch.setattr(unprivileged, "_sysctl", {name: value}.get)
    found = unprivileged.obstacle()
    assert found
    assert f"{name} = {value}" in found.what
    assert found.remedy == remedy


@pytest.mark.usefixtures("forbidden")
def test_what_forbids_namespaces_may_be_unknown() -> None:
    found = unprivileged.obstacle()
    assert found
    assert "does not allow a user namespace" in found.what
    assert found.remedy == ""


def test_a_closed_tun_device_is_an_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(unprivileged, "TUN", tmp_path / "tun")
    missing = unprivileged.obstacle()
    assert missing
    assert missing.remedy == "modprobe tun"
    (tmp_path / "tun").touch(mode=0o600)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    closed = unprivileged.obstacle()
    assert closed
    assert "mode 0600" in closed.what
    assert closed.remedy == f"chmod 666 {tmp_path}/tun"


def test_inside_the_user_is_who_it_was_outside() -> None:
    inside = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", PRINT], capture_output=True, text=True
    )
    if inside.returncode and "unshare" in inside.stderr:
        pytest.skip(f"no user namespace here: {inside.stderr.strip()}")
    assert inside.stdout.split() == ["False", "True", str(os.geteuid())]


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pretends that we are not root, with ``tmp_path`` as the folder of temporary files."""
    monkeypatch.setattr(unprivileged, "is_root", lambda: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path / f"lfp-{unprivileged.user()}"


def test_records_are_in_the_runtime_folder_and_clean_looks_in_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ordinary: Path
) -> None:
    assert ledger.state_directory() == ordinary
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert ledger.state_directory() == tmp_path / "lfp"
    assert ledger.state_directories() == [tmp_path / "lfp", ordinary]


def test_a_runtime_folder_that_is_not_there_is_not_used(monkeypatch: pytest.MonkeyPatch, ordinary: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    assert ledger.state_directory() == ordinary


def test_a_folder_open_to_others_is_refused_and_its_records_are_not_believed(ordinary: Path) -> None:
    ordinary.mkdir()
    ordinary.chmod(0o770)
    with pytest.raises(MissingError, match="not yours alone"):
        ledger.state_directory()
    assert ledger.state_directories() == []
