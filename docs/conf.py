"""The site that `make docs` builds from the tree, with Sphinx and MyST (`sphinx-build -c docs . build/docs`).

The source directory is the root of the tree, so a page stays where it belongs (README.md, docs/, the specification of a
tool next to its code) and a relative link means the same on the site and in a checkout. Manual pages are pages, too:
`ManualPage` reads a roff file with mandoc. The index page is a set of plain tables of links; `add_contents` makes the
site's contents out of these links, and puts the pages of a folder below the page of the folder's name. A page that is
in neither is a warning, and warnings are errors.
Rejected: copies of the pages in a source directory of their own, which break relative links.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.parsers import Parser

ROOT = Path(__file__).resolve().parents[1]

project = "lfp"
author = "the LFP testbed authors"
project_copyright = "2026, the LFP testbed authors"
extensions = ["myst_parser"]
root_doc = "docs/README"
source_suffix = {".md": "markdown", ".1": "man"}
include_patterns = ["*.md", "docs/**.md", "examples/*.md", "*/*.md", "*/*/[A-Z]*.md", "*/*.1"]
exclude_patterns = ["build", "runs", "tests", ".*"]
html_theme = "furo"
html_title = "lfp: TCP over long fat pipes"
html_extra_path = ["site"]  # index.html, which leads to root_doc
highlight_language = "none"  # indented blocks are commands and tables of many kinds
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a heading may skip a level under a table of contents

INDEX = "docs/README"
_LINK = re.compile(r"\]\(([^)#:]+)\.(?:md|1)\)")


class ManualPage(Parser):
    """A roff manual page as a page of the site: its NAME line is the title, mandoc makes the rest."""

    supported = ("man",)

    def parse(self, inputstring: str | StringList, document: nodes.document) -> None:
        text = inputstring if isinstance(inputstring, str) else "\n".join(inputstring)
        done = subprocess.run(
            ["mandoc", "-W", "error", "-T", "html", "-O", "fragment"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ExtensionError(f"{document['source']}: {done.stdout}{done.stderr}")
        name, section = re.search(r"^\.TH\s+(\S+)\s+(\d)", text, re.MULTILINE).groups()  # type: ignore[union-attr]
        title = f"{name.lower()}({section})"
        page = nodes.section(ids=[nodes.make_id(title)], names=[title])
        page += nodes.title(title, title)
        page += nodes.raw("", _below_title(done.stdout), format="html")
        document += page


def _below_title(page: str) -> str:
    """mandoc's HTML without its own head and foot lines, its headings one level lower."""
    body = re.sub(r'<table class="(?:head|foot)">.*?</table>', "", page, flags=re.DOTALL)
    return re.sub(r"<(/?)h([12])\b", lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}", body)


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Appends hidden tables of contents: to the index page one for each section, to another page one of its folder.

    A section of the index holds the pages that its links lead to; its own folder is the one with the page's name.
    """
    if docname != INDEX:
        source[0] += _contents("", sorted(name for name in app.project.docnames if name.startswith(f"{docname}/")))
        return
    folder = (ROOT / docname).parent
    seen = {docname}
    for section in source[0].split("\n## ")[1:]:
        links = [(folder / link).resolve().relative_to(ROOT) for link in _LINK.findall(section)]
        pages = [page for page in dict.fromkeys(map(str, links)) if page not in seen]
        seen.update(pages)
        source[0] += _contents(f":caption: {section.splitlines()[0]}", pages)


def _contents(options: str, pages: list[str]) -> str:
    """A hidden table of contents; nothing where there are no pages."""
    entries = "\n".join(f"/{page}" for page in pages)
    return f"\n\n```{{toctree}}\n:hidden:\n{options}\n\n{entries}\n```\n" if pages else ""


def setup(app: Sphinx) -> None:
    app.add_source_parser(ManualPage)
    app.connect("source-read", add_contents)
