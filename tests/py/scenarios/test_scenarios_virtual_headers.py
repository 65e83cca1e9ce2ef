"""Headers that a kernel build reads once: the build changes only sources that have the expected text, and files that do
not compile with these headers are compiled without them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scenarios.virtual import headers

FLAGS = """basename_flags = -DKBUILD_BASENAME=$(call name-fix,$(basetarget))
modname_flags  = -DKBUILD_MODNAME=$(call name-fix,$(modname)) -D__KBUILD_MODNAME=kmod_$(modname)
modfile_flags  = -DKBUILD_MODFILE=$(call stringify,$(modfile))
"""
FIRST = Path("include") / "linux" / "compiler-version.h"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("scripts", "include/linux", "include/net", *(folder for folder, _ in headers._PLAIN)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "scripts" / "Makefile.lib").write_text(FLAGS)
    (tmp_path / "Kbuild").write_text("prepare:\n")
    (tmp_path / FIRST).touch()
    for name in headers._COMMON:
        (tmp_path / "include" / name).write_text(
            "static inline const char *who(void) { return KBUILD_MODNAME; }\n" if name == headers._COMMON[0] else ""
        )
    return tmp_path


def compiled(tree: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A file as kbuild compiles it, with gcc saying which headers it opens."""
    (tree / "file.c").write_text(source)
    names = [
        '-DOWN_KBUILD_MODNAME="tcp_lfp"',
        '-DOWN_KBUILD_BASENAME="file"',
        "-DOWN___KBUILD_MODNAME=tcp_lfp",
        '-DOWN_KBUILD_MODFILE="net/file"',
        "--include=include/lfp-names.h",
    ]
    argv = ["gcc", "-O2", "-H", "-Iinclude", "-include", str(FIRST), *names, *options, "-S", "-o", "file.s", "file.c"]
    return subprocess.run(argv, cwd=tree, capture_output=True, text=True)


def compile_headers(tree: Path) -> None:
    argv = ["gcc", "-O2", "-Iinclude", "-x", "c-header", "-o", f"{FIRST}.gch", "include/lfp-common.h"]
    subprocess.run(argv, cwd=tree, check=True)


def test_files_start_from_the_compiled_headers_under_their_own_names(tree: Path) -> None:
    headers.prepare(tree)
    compile_headers(tree)
    done = compiled(tree, "const char *own = KBUILD_MODNAME; const char *theirs(void) { return who(); }\n")
    assert done.returncode == 0, done.stderr
    assert f"! ./{FIRST}.gch" in done.stderr  # gcc's word for: taken
    assert '"tcp_lfp"' in (tree / "file.s").read_text()


def test_a_file_that_they_do_not_fit_reads_the_plain_ones(tree: Path) -> None:
    headers.prepare(tree)
    compile_headers(tree)
    for option in ("-DLFP_PLAIN", "-fexceptions"):
        done = compiled(tree, "#include <linux/netdevice.h>\nconst char *own(void) { return who(); }\n", option)
        assert done.returncode == 0, done.stderr
        assert f"! ./{FIRST}.gch" not in done.stderr
        assert '"tcp_lfp"' in (tree / "file.s").read_text()


def test_giving_up_leaves_what_is_compiled_as_new_as_it_was(tree: Path) -> None:
    headers.prepare(tree)
    assert not headers.give_up(tree)  # nothing to give up
    compile_headers(tree)
    when = (tree / f"{FIRST}.gch").stat().st_mtime_ns
    assert headers.give_up(tree)
    assert (tree / f"{FIRST}.gch").stat().st_mtime_ns == when
    done = compiled(tree, "const char *own = KBUILD_MODNAME;\n")
    assert done.returncode == 0 and f"! ./{FIRST}.gch" not in done.stderr
    assert not headers.give_up(tree)


def test_a_source_that_names_modules_otherwise_stays_as_it_is(tree: Path) -> None:
    other = FLAGS.replace("KBUILD_MODNAME", "MODULE_NAME")
    (tree / "scripts" / "Makefile.lib").write_text(other)
    headers.prepare(tree)
    assert (tree / "scripts" / "Makefile.lib").read_text() == other
    assert {place.name for place in (tree / "include").iterdir()} == {"linux", "net"}
