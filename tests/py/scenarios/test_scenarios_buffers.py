"""Socket buffers in a namespace where an ordinary user may not set them: as large as rttcp will need, not larger."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon import unprivileged
from scenarios.network import sysctls
from scenarios.plan import profiles


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pretends to be in user namespaces on a machine with Debian's limits; returns the folder that replaces
    /proc/sys."""
    monkeypatch.setattr(unprivileged, "is_inside", lambda: True)
    monkeypatch.setattr(sysctls, "sysctl_path", lambda name: tmp_path / name)
    for name in ("net.core.rmem_max", "net.core.wmem_max"):
        (tmp_path / name).write_text("212992\n", encoding="ascii")
    return tmp_path


@pytest.mark.usefixtures("inside")
def test_windows_beyond_the_limit_begin_with_four_times_their_size() -> None:
    assert sysctls.first_buffers(400 * 1024) == {
        "net.ipv4.tcp_rmem": f"4096 {1600 * 1024} {2**30}",
        "net.ipv4.tcp_wmem": f"4096 {1600 * 1024 + 2**20} {2**30}",
    }


@pytest.mark.usefixtures("inside")
def test_a_short_window_changes_nothing_at_the_receiver() -> None:
    assert set(sysctls.first_buffers(104 * 1024)) == {"net.ipv4.tcp_wmem"}


def test_a_limit_that_a_namespace_does_not_see_counts_as_none(inside: Path) -> None:
    (inside / "net.core.rmem_max").unlink()
    assert sysctls.first_buffers(8192)["net.ipv4.tcp_rmem"] == f"4096 {256 * 1024} {2**30}"


def test_a_setting_that_the_kernel_did_not_take_is_told() -> None:
    profile = profiles.load("bsd-1995")
    as_wanted = dict(profile.sysctls)
    assert sysctls.refused(profile, as_wanted) == []
    assert sysctls.refused(profile, as_wanted | {"net.ipv4.tcp_sack": "1"}) == ["net.ipv4.tcp_sack is 1, not 0"]


def test_what_the_socket_is_asked_for_and_what_a_kernel_lacks_is_not() -> None:
    profile = profiles.load("modern")
    back = dict(profile.sysctls) | {"net.ipv4.tcp_congestion_control": "bbr"}
    del back["net.ipv4.tcp_rto_min_us"]
    assert sysctls.refused(profile, back) == []


def test_root_needs_none_of_it() -> None:
    assert sysctls.first_buffers(2**30) == {}
