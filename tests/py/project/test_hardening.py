"""How the installed programs are hardened, read from their ELF files and from what the compiler noted in them.

The programs are those that `cmake --install` installs, so none is forgotten. Stack protector, stack clash and
control-flow protection leave no sure trace in the code: the compiler's note of every source file (DW_AT_producer) names
them."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from netcommon.binaries import CHECKOUT

RELEASE = CHECKOUT / "build" / "release"
STACK = ["-fstack-protector-strong", "-fstack-clash-protection"]
JUMPS = ["-fcf-protection"] if platform.machine() == "x86_64" else []


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every ELF file that an installation has, by its name."""
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", RELEASE, "--prefix", root], check=True, capture_output=True, timeout=120)
    found = {path.name: path for path in root.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
    # else the tests would pass on an empty or wrong folder
    assert {"rttcp", "lft-gateway", "comet-delay", "pktlogger", "liblfp-sandbox.so"} <= found.keys()
    return found


def tags(elf: ELFFile) -> dict[str, int]:
    sections = (s for s in elf.iter_sections() if isinstance(s, DynamicSection))
    return {tag.entry.d_tag: tag.entry.d_val for section in sections for tag in section.iter_tags()}


def imports(elf: ELFFile) -> set[str]:
    section = elf.get_section_by_name(".dynsym")
    assert isinstance(section, SymbolTableSection)
    return {symbol.name for symbol in section.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"}


def compiled(elf: ELFFile) -> Iterator[tuple[str, str]]:
    """Source files of a program, and how each was compiled."""
    for unit in elf.get_dwarf_info().iter_CUs():
        attributes = unit.get_top_DIE().attributes
        name = attributes["DW_AT_name"].value.decode() if "DW_AT_name" in attributes else ""
        if name and "DW_AT_producer" in attributes:
            yield name, attributes["DW_AT_producer"].value.decode()


def weak_points(path: Path) -> list[str]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic, wanted, sources = tags(elf), imports(elf), dict(compiled(elf))
        segments = [(segment["p_type"], segment["p_flags"]) for segment in elf.iter_segments()]
        without = {flag for flag in STACK + JUMPS for how in sources.values() if flag not in how}
    checks = {
        "position-independent": elf["e_type"] == "ET_DYN" and ("PT_INTERP" in dict(segments)) == (path.suffix != ".so"),
        "relocations read-only": "PT_GNU_RELRO" in dict(segments),
        "bound at start": bool(dynamic.get("DT_FLAGS", 0) & 8 or dynamic.get("DT_FLAGS_1", 0) & 1),
        "stack not executable": dict(segments).get("PT_GNU_STACK", 1) & 1 == 0,
        "no segment both writable and executable": not any(flags & 3 == 3 for _, flags in segments),
        "stack protector": "__stack_chk_fail" in wanted,
        "fortified calls": any(name.endswith("_chk") for name in wanted),
        "no search path in the file": not dynamic.keys() & {"DT_RPATH", "DT_RUNPATH"},
        "sources known": bool(sources),
    }
    return [what for what, holds in checks.items() if not holds] + sorted(without)


def test_every_installed_program_is_hardened(installed: dict[str, Path]) -> None:
    assert {name: weak for name, path in installed.items() if (weak := weak_points(path))} == {}
