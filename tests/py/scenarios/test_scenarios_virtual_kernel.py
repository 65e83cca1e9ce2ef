"""Which kernel a user gets: the named one, their own, or the one that root built for all; it is found without
sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.virtual import kernel, machine_wide, source


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user with an empty home on a machine without sources; a kernel to offer."""
    monkeypatch.delenv(kernel.KERNEL_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(source.VARIABLE, "/nonexistent")
    monkeypatch.setattr(machine_wide, "FOLDER", tmp_path / "machine" / "virtual")
    image = tmp_path / "linux"
    image.write_bytes(b"a kernel")
    return image


@pytest.mark.usefixtures("machine")
def test_without_any_the_user_is_told_what_to_do() -> None:
    assert "the virtual-time kernel is not built" in str(kernel.missing())


def test_what_root_built_serves_a_user_without_a_source(machine: Path) -> None:
    offered = machine_wide.offer(machine, kernel.parts())
    assert kernel.missing() is None
    assert kernel.path() == offered
    assert offered.read_bytes() == b"a kernel"
    for place in (offered, offered.parent, offered.parent.parent):
        assert place.stat().st_mode & 0o777 == 0o755  # others can come here


def test_a_kernel_of_other_parts_is_not_taken(machine: Path) -> None:
    machine_wide.offer(machine, kernel.parts()[:-1])
    assert kernel.missing()


def test_ones_own_kernel_and_the_named_one_go_first(
    machine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine_wide.offer(machine, kernel.parts())
    archive = tmp_path / "linux-source-7.3.tar.xz"
    archive.touch()
    monkeypatch.setenv(source.VARIABLE, str(archive))
    own = source.cache() / kernel._key(archive) / "linux"
    own.parent.mkdir(parents=True)
    own.touch(mode=0o755)
    assert kernel.path() == own
    monkeypatch.setenv(kernel.KERNEL_VARIABLE, str(machine))
    assert kernel.path() == machine


def test_offering_again_replaces_what_is_there(machine: Path) -> None:
    machine_wide.offer(machine, kernel.parts())
    machine.write_bytes(b"a newer kernel")
    assert machine_wide.offer(machine, kernel.parts()).read_bytes() == b"a newer kernel"


def test_the_boxs_own_code_is_a_part() -> None:
    """The box's source decides about packets in a guest's kernel, so another source needs another kernel."""
    names = {file.name for file in kernel.parts()}
    assert {"direction.c", "codel.c", "jitter_model.c", "nc_vnet.c", "random.h", "sch_comet.c"} <= names
    assert not {"box.c", "aqm_text.c"} & names  # a process and texts stay outside
