"""The bench of programs in virtual time: when two outputs count as equal, and the headers of its scripts."""

from __future__ import annotations

from bench.programs.virtual_programs import FOLDER, alike, scripts


def test_outputs_are_alike_within_the_share_and_only_in_their_figures() -> None:
    one = "2000000 bytes in 12.30 s"
    assert alike(one, one, 0)
    assert not alike(one, "2000000 bytes in 12.31 s", 0)
    assert alike(one, "2000000 bytes in 12.31 s", 0.01)
    assert not alike(one, "2000000 bytes in 12.50 s", 0.01)
    assert not alike(one, "2000000 bytes in 12.30 ms", 0.01)


def test_every_script_says_its_title_and_its_programs() -> None:
    found = scripts()
    assert {one.path.name for one in found} == {path.name for path in FOLDER.glob("*.sh")} - {"common.sh"}
    assert all(one.title and one.needs for one in found)
    assert len({one.title for one in found}) == len(found)
