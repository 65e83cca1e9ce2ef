"""Headers that are compiled once for the whole kernel. Reading them again for each source file is most of the work.

The headers that nearly all files include are compiled first, and gcc starts each file from there.

gcc uses a precompiled header only as the first header, and only if all macros that the header saw have the same values.
The first header is linux/compiler-version.h, which kbuild includes everywhere. The macros that differ are the names of
file and module. So kbuild passes these under other names (`OWN_`), and lfp-names.h, included right afterwards, gives
them their usual names. A file that the compiled headers do not fit (other options, assembler, code of the host) reads
the plain headers. So do the files of `_PLAIN`, which define a macro that the compiled headers must not know. Rejected:
compiling several files as one, which their static names forbid. Rejected: less optimisation, which would make guests
slower.
"""

from __future__ import annotations

import os
from pathlib import Path

_NAMES = ("KBUILD_MODNAME", "__KBUILD_MODNAME", "KBUILD_BASENAME", "KBUILD_MODFILE")
_PLACEHOLDERS = ('"header"', "header", '"header"', '"header"')  # names in messages of the headers' own functions
_COMMON = (
    "linux/netdevice.h",
    "linux/rtnetlink.h",
    "net/sock.h",
    "net/netlink.h",
    "linux/seq_file.h",
    "linux/poll.h",
    "net/tcp.h",
)
# These files define something before they include the first header, or have a name that one of the headers has too.
_PLAIN = (
    ("kernel/sched", "core"),
    ("kernel", "softirq"),
    ("lib", "sort"),
    ("net/ipv4", "raw"),
    ("net/ipv4", "ping"),
)
_FLAGS = Path("scripts") / "Makefile.lib"
_FIRST = "include/linux/compiler-version.h"
_RULE = f"""
prepare: {_FIRST}.gch
{_FIRST}.gch: include/lfp-common.h $(bounds-file) $(timeconst-file) $(offsets-file) $(rq-offsets-file)
	$(CC) $(filter-out -DOWN_% --include=%,$(c_flags)) -x c-header -o $@ $<
"""


def prepare(tree: Path) -> None:
    """Changes an unpacked source so that `make` compiles the common headers first. A source that names files and
    modules in an unknown way stays unchanged, and takes longer to compile."""
    flags = (tree / _FLAGS).read_text(encoding="utf-8")
    if not all(f"-D{name}=" in flags for name in _NAMES[:3]):
        return
    for name in _NAMES:
        flags = flags.replace(f"-D{name}=", f"-DOWN_{name}=")
    flags = flags.replace("basename_flags = ", "basename_flags = --include=$(srctree)/include/lfp-names.h ")
    (tree / _FLAGS).write_text(flags, encoding="utf-8")
    names = "".join(f"#undef {name}\n#define {name} OWN_{name}\n" for name in _NAMES)
    (tree / "include" / "lfp-names.h").write_text(names, encoding="utf-8")
    placeholders = "".join(f"#define {name} {value}\n" for name, value in zip(_NAMES, _PLACEHOLDERS, strict=True))
    common = "#ifdef LFP_PLAIN\n#endif\n" + placeholders + "".join(f"#include <{header}>\n" for header in _COMMON)
    (tree / "include" / "lfp-common.h").write_text(common, encoding="utf-8")
    for folder, file in _PLAIN:
        _append(tree / folder / "Makefile", f"CFLAGS_{file}.o += -DLFP_PLAIN\n")
    _append(tree / "Kbuild", _RULE)


def give_up(tree: Path) -> bool:
    """Empties the compiled headers, so that the files that could not be compiled with them are compiled from the plain
    headers. Files that are compiled stay as they are, because their prerequisites are not newer. False if there are no
    compiled headers."""
    compiled = tree / f"{_FIRST}.gch"
    if not compiled.exists() or not compiled.stat().st_size:
        return False
    when = compiled.stat().st_mtime_ns
    compiled.write_bytes(b"")
    os.utime(compiled, ns=(when, when))
    return True


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)
