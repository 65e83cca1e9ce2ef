"""The queue disciplines of the delay box fit into a kernel: they call only one another and functions that a compiler
inserts by itself, and of the C library they include only headers without functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "comet_delay/src/queue"
INCLUDES = [
    f"-I{ROOT / folder}" for folder in (ROOM, "comet_delay/src/numbers", "comet_delay/src/record", "netcommon/src")
]
COMPILE = ["cc", "-std=c11", "-O2", "-ffreestanding", "-fno-stack-protector", *INCLUDES]
# __udivti3 divides 128 bits in RED, for which a kernel has mul_u64_u64_div_u64()
BY_ITSELF = {"memset", "memcpy", "memmove", "_GLOBAL_OFFSET_TABLE_", "__udivti3"}
WORKING = {"stdio.h", "stdlib.h", "string.h", "math.h", "assert.h", "jansson.h", "unistd.h", "time.h"}


def said(*command: object) -> list[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split("\n")


def test_they_call_only_one_another(tmp_path: Path) -> None:
    wanted, given = set(), set()
    for source in sorted(ROOM.glob("*.c")):
        compiled = tmp_path / f"{source.stem}.o"
        said(*COMPILE, "-c", source, "-o", compiled)
        wanted |= {line.split()[-1] for line in said("nm", "-u", compiled) if line}
        given |= {line.split()[-1] for line in said("nm", "--defined-only", "-g", compiled) if line}
    assert given
    assert wanted - given - BY_ITSELF == set()


@pytest.mark.parametrize("source", sorted(ROOM.glob("*.c")), ids=lambda path: path.stem)
def test_they_include_no_header_that_works(source: Path) -> None:
    headers = {Path(word).name for line in said(*COMPILE, "-M", source) for word in line.split()}
    assert headers & WORKING == set()
