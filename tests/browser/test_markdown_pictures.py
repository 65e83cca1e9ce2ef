"""The pictures of lfp report --markdown and --figures, drawn by the machine's Chromium."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support import synthetic_run
from support.chromium import CHROMIUM

from dashboard.report.markdown import write_figures, write_markdown


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"{CHROMIUM} is not installed")
def test_the_markdown_shows_pictures_that_are_there(tmp_path: Path) -> None:
    target = tmp_path / "fig4.md"
    written = write_markdown(synthetic_run.seqack(tmp_path), target, pictures=True)
    pictures = written[1:]
    assert pictures and sorted(pictures) == sorted(tmp_path.glob("*.png"))
    for picture in pictures:
        assert f"]({picture.name})" in target.read_text()
        octets = picture.read_bytes()
        assert octets.startswith(b"\x89PNG") and struct.unpack(">I", octets[16:20]) == (1650,)


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"{CHROMIUM} is not installed")
def test_figures_for_print_have_lines_and_text(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    written = write_figures(synthetic_run.losses(tmp_path), folder)
    assert sorted(written) == sorted(folder.iterdir()) and {path.suffix for path in written} == {".svg", ".pdf"}
    svg, pdf = (folder / f"curves.{kind}" for kind in ("svg", "pdf"))
    assert "Loss before the bottleneck (%)" in svg.read_text() and "<path" in svg.read_text()
    assert pdf.read_bytes().startswith(b"%PDF") and b"/Font" in pdf.read_bytes()
