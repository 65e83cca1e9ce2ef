"""The delay box's own sources as a part of the virtual-time kernel: `sch_comet` (scenarios/virtual/comet).

The kernel compiles the same files as the tool, unchanged, from comet_delay/src and netcommon/src: two rooms as a whole,
and those files of other rooms that decide about packets. comet/ has only what the kernel needs around them. Only
kernels of Linux 7 have it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from netcommon.errors import LfpError

FOLDER = Path(__file__).resolve().parent / "comet"
_PROJECT = FOLDER.parents[2]
_BOX = _PROJECT / "comet_delay" / "src"
_SOURCES = _BOX, _PROJECT / "netcommon" / "src"
_ROOMS = ("queue", "timing")  # the kernel gets all files of these rooms
_NAMED = (
    "histogram", "sample_stats", "table", "filter", "jitter_model", "loss_model", "models", "models_packed",
    "rate_trace", "tcp_track", "bottleneck", "channels", "direction", "direction_view", "line_told", "packet_edit",
    "packet_pool", "pipeline", "recorder", "schedule", "nc_link", "nc_packet", "nc_vnet",
)  # fmt: skip
_LEAST_MAJOR = 7
_LINK = Path("scripts", "link-vmlinux.sh")
_LIBRARIES = "-lutil -lrt -lpthread"


def files(major: int) -> dict[str, Path]:
    """All files by their names below net/sched/comet. Empty for a version that has no sch_comet."""
    if major < _LEAST_MAJOR:
        return {}
    known = {file.name: file for folder in _SOURCES for file in folder.rglob("*.[ch]")}
    own = {str(file.relative_to(FOLDER)): file for file in sorted(FOLDER.rglob("*")) if file.is_file()}
    wanted = [file.name for room in _ROOMS for file in (_BOX / room).glob("*.c")]
    wanted += [*(f"{name}.c" for name in _NAMED), *_included(own.values())]
    sources = dict(own)
    while wanted:
        name = wanted.pop()
        if name not in sources and name in known:
            sources[name] = known[name]
            wanted += _included([known[name]])
    return dict(sorted(sources.items()))


def _included(files: Iterable[Path]) -> list[str]:
    """The names of the files that ``files`` include."""
    return [name for file in files for name in re.findall(r'^#include "(.+)"', file.read_text(encoding="utf-8"), re.M)]


def add(tree: Path, major: int) -> None:
    """Copies the box's sources into the unpacked source of a kernel."""
    target = tree / "net" / "sched" / "comet"
    for name, file in files(major).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / name)
    if not target.exists():
        return
    with (tree / "net" / "sched" / "Makefile").open("a", encoding="utf-8") as makefile:
        makefile.write("obj-y += comet/\n")
    link = (tree / _LINK).read_text(encoding="utf-8")
    if _LIBRARIES not in link:
        raise LfpError(f"{_LINK}: not linked with {_LIBRARIES}; say in box_source.py where -lm belongs")
    (tree / _LINK).write_text(link.replace(_LIBRARIES, f"{_LIBRARIES} -lm"), encoding="utf-8")
