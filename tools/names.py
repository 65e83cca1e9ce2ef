"""Every file of this tree that a document or a comment names exists, so that mentions of a moved file are corrected.

Documents are Markdown and manual pages. Comments are comments of C and Python, and docstrings. A name counts when its
suffix is one of a source or document. With a folder in it, it is a path from the root, from the folder of the document,
or the end of some file's path; without a folder it is any file's name. Relative links of Markdown are checked as links.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import tree

ROOT = tree.ROOT
SUFFIXES = "c|h|cc|py|md|1|cmake|tcl|patch|schema\\.json"
_NAME = re.compile(rf"(?<![\w*>}}…/$.:-])((?:[\w.-]+/)*[A-Za-z_][\w.-]*\.(?:{SUFFIXES}))(?![\w*/(-]|\.\w)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```$|^    .*$", re.DOTALL | re.MULTILINE)
SYSTEM = ("include/", "linux/", "net/", "sys/")  # folders of the kernel's and the C library's headers
# Files outside this tree, grouped by whose they are.
ELSEWHERE = {
    "tcp_highspeed.c": "the kernel's",
    "vmlinux.h": "made from a kernel",
    "bpf_helper_defs.h": "libbpf's",
    "lfp-names.h": "made by scenarios/virtual while a kernel is built",
}
FILES = tree.tracked()
PATHS = {str(file) for file in FILES}
NAMES = {file.name for file in FILES}


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """What a file says to people: line number and text of each piece."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.suffix == ".py":
        yield from python_prose(text)
    elif file.suffix in (".c", ".h", ".cc"):
        for comment in _C_COMMENT.finditer(text):
            yield text.count("\n", 0, comment.start()) + 1, comment[0]
    elif file.suffix == ".md":
        yield 1, _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    else:
        yield 1, text.replace("\\-", "-").replace("\\fI", " ").replace("\\fR", " ").replace("\\fB", " ")


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings. Comments on lines of their own, one below the other, are one piece; so are an
    end-of-line comment and the lines below it that hold nothing but its continuation in the same column."""
    pieces: list[list[tokenize.TokenInfo]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if alone and pieces and pieces[-1][-1].start == (token.start[0] - 1, token.start[1]):
                pieces[-1].append(token)
            else:
                pieces.append([token])
    yield from ((piece[0].start[0], "\n".join(token.string for token in piece)) for piece in pieces)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield node.body[0].lineno, docstring


def exists(name: str, folder: Path) -> bool:
    """Whether a name in a file of `folder` is a file of the tree."""
    if "/" not in name:
        return name in NAMES or name in ELSEWHERE
    if name.startswith(SYSTEM):
        return True
    beside = (ROOT / folder / name).resolve()
    return name in PATHS or beside.is_file() or any(path.endswith(f"/{name}") for path in PATHS)


def lost(file: Path) -> Iterator[str]:
    """Names in a file that no file has, each with its line."""
    for start, text in prose(file):
        for found in _NAME.finditer(text):
            if not exists(found[1], file.parent):
                yield f"{file}:{start + text.count(chr(10), 0, found.start())}: {found[1]}"


def documents() -> list[Path]:
    return [file for file in FILES if file.suffix in (".md", ".1", ".c", ".h", ".cc", ".py")]


def wrong() -> Iterator[str]:
    """A line for each name, and for each relative link of a page, that leads to no file."""
    for file in documents():
        yield from (f"no such file: {name}" for name in lost(file))
    for page in (file for file in FILES if file.suffix == ".md"):
        links = _LINK.findall((ROOT / page).read_text(encoding="utf-8"))
        paths = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith("#")]
        yield from (f"{page}: no such file: {path}" for path in paths if not (ROOT / page.parent / path).exists())
