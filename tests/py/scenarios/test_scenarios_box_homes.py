"""Whether the box's process, the kernel's box or netem decides about packets in virtual time, and where users see
it."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.plan.plan import Trial, load_plan
from scenarios.virtual import boxes, kernel

TINY = """\
[scenario]
name = "tiny"
[path]
delay = "20ms"
rate = "100Mbit"
[transfer]
duration = "1s"
"""


def trial(folder: Path, *overrides: str) -> Trial:
    file = folder / "tiny.toml"
    file.write_text(TINY, encoding="utf-8")
    return load_plan(str(file), overrides=list(overrides), seed=1).trials[0]


def test_people_see_which_box_decides_and_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel, "has_box", lambda: True)
    one = trial(tmp_path, "path.aqm=codel")
    assert boxes.decides(one, "auto") == "the userspace box decides: netem cannot do aqm"
    assert boxes.decides(one, "kernel") == "the box in the guest's kernel decides"
    assert boxes.decides(trial(tmp_path), "auto") == "netem decides"
    assert boxes.note(boxes.settled(one, "kernel"), "kernel").startswith("box in the kernel: ")


def test_who_asks_for_a_box_gets_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = trial(tmp_path, "path.aqm=codel")
    monkeypatch.setattr(kernel, "has_box", lambda: True)
    assert [boxes.choose(one, box) for box in ("comet", "kernel")] == ["comet", "kernel"]
    with pytest.raises(UsageError, match="netem cannot do aqm; use --box kernel or comet"):
        boxes.choose(one, "netem")
    monkeypatch.setattr(kernel, "has_box", lambda: False)
    with pytest.raises(UsageError, match="has no box; build one"):
        boxes.choose(one, "kernel")


def test_a_kernel_tells_whether_it_has_the_box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    image = tmp_path / "linux"
    monkeypatch.setenv(kernel.KERNEL_VARIABLE, str(image))
    assert not kernel.has_box()
    for content, has in ((b"an older kernel", False), (b"one with \0comet_core_take\0 in it", True)):
        image.write_bytes(content)
        image.chmod(0o755)
        assert kernel.has_box() == has
