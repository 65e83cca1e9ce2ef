"""Files that a guest's programs write on the host. Long writes bypass the guest's page cache, short ones go through it,
and mapped files are the page cache: all three must agree."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scenarios.virtual import init, kernel, program

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261126
WRITER = f"""
import mmap, os, random
chosen = random.Random({SEED})
fd = os.open("{init.SHARE}/written", os.O_RDWR | os.O_CREAT)
expected = bytearray()

def write(offset, text):
    assert os.pwrite(fd, text, offset) == len(text)
    expected.extend(bytes(max(0, offset + len(text) - len(expected))))
    expected[offset:offset + len(text)] = text

for step in range(400):
    length = chosen.choice([1, 4096, 65_535, 65_536, 65_537, 200_001, 1 << 20])
    write(chosen.randrange(3 << 20), chosen.randbytes(length))
    if step % 20 == 0:
        with mmap.mmap(fd, len(expected)) as mapped:
            assert mapped[:] == expected, step
            at = chosen.randrange(len(expected) - 100)
            mapped[at:at + 100] = expected[at:at + 100] = chosen.randbytes(100)
    at, length = chosen.randrange(len(expected)), chosen.randrange(300_000)
    assert os.pread(fd, length, at) == expected[at:at + length], step
assert os.stat(fd).st_size == len(expected)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # what is read now comes from the host
assert os.pread(fd, len(expected), 0) == expected
at_once = os.open("{init.SHARE}/written", os.O_WRONLY | os.O_APPEND)
assert os.write(at_once, bytes(100_000)) == 100_000 and os.stat(fd).st_size == len(expected) + 100_000
print("equal")
"""


def test_long_and_short_writes_and_mapped_ones_make_one_file() -> None:
    done = program.run([sys.executable, "-c", WRITER], folder=ROOT)
    assert (done.status, done.output) == (0, "equal\n"), f"seed {SEED}: {done.output}"


def test_a_long_write_from_memory_that_is_not_there_fails_alone() -> None:
    """The write stops at the end of the mapped memory, or is refused. The guest goes on."""
    script = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 1 << 18, 3, 0x22, -1, 0)
libc.munmap(ctypes.c_void_p(at + (1 << 17)), 1 << 17)
fd = os.open("{init.SHARE}/cut", os.O_WRONLY | os.O_CREAT)
first = libc.write(fd, ctypes.c_void_p(at), ctypes.c_size_t(1 << 18))
second = libc.write(fd, ctypes.c_void_p(at + (1 << 17)), ctypes.c_size_t(1 << 16))
print(first, second, ctypes.get_errno(), os.stat(fd).st_size)
"""
    done = program.run([sys.executable, "-c", script], folder=ROOT)
    assert (done.status, done.output) == (0, f"{1 << 17} -1 14 {1 << 17}\n")
