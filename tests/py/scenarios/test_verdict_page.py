"""The pages verdict.md and troubleshooting.md have every kind of reason, by the name that runs print. The first page
has the code's bounds, the second one its help. The glossary is checked here, too."""

from __future__ import annotations

import re
from pathlib import Path

from netcommon import readable
from scenarios.plan import lateness
from scenarios.trial import asked, validity, verdicts

PAGE_FOLDER = Path(__file__).resolve().parents[3] / "docs"
PAGE = (PAGE_FOLDER / "reference/verdict.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_every_kind_has_its_row_in_order() -> None:
    found = [(row[1], row[2].strip()) for row in ROW.finditer(PAGE)]
    assert found == [(kind, about.phrase) for kind, about in verdicts.KINDS.items()]


def test_no_row_leaves_a_question_open() -> None:
    for row in ROW.finditer(PAGE):
        assert all(text.strip() for text in row.groups()), row[1]


def test_the_bounds_are_those_of_the_code() -> None:
    bound = {row[1]: row[5] for row in ROW.finditer(PAGE)}
    assert bound["hypervisor"].strip() == readable.share(validity.STEAL_LIMIT)
    assert f"at least {readable.share(validity.IDLE_LIMIT)} idle" in bound["cpu"]
    assert f"at most {readable.share(validity.BUSY_LIMIT)} of a core" in bound["cpu"]
    limit = f"at most {readable.number(100 / lateness.SHARE_OF_RTT)} % of the path's RTT"
    assert limit in bound["machine_late"] and readable.duration(lateness.LEAST_NS) in bound["machine_late"]


def test_what_is_compared_with_what_was_asked_is_named() -> None:
    (row,) = (row for row in ROW.finditer(PAGE) if row[1] == "asked")
    names = (asked.CONTROL, asked.ECN, asked.MSS, asked.PATH_MTU, asked.WINDOW_SCALE, asked.SACK, asked.TIME_STAMPS,
             asked.PACING)  # fmt: skip
    assert all(name in row[3] for name in names)


TROUBLE = (PAGE_FOLDER / "how-to/troubleshooting.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^### `(\w+)`: (.+)\n\n\*\*What it means\.\*\* ((?:.+\n)+)\n\*\*What helps\.\*\* ((?:.+\n)+)", re.MULTILINE
)


def test_every_reason_is_explained_with_what_helps() -> None:
    found = {one[1]: one for one in SECTION.finditer(TROUBLE)}
    assert [(kind, one[2]) for kind, one in found.items()] == [
        (kind, about.phrase) for kind, about in verdicts.KINDS.items()
    ]
    for kind, about in verdicts.KINDS.items():
        helps = " ".join(found[kind][4].split())
        assert helps == about.help if about.help else len(helps) > 40, kind


def test_the_glossary_is_in_order_and_has_each_word_once() -> None:
    glossary = (PAGE_FOLDER / "reference/glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*(.+?)\*\* \| .{10,} \|$", glossary, re.MULTILINE)
    assert len(words) > 40 and words == sorted(set(words), key=str.lower)
    assert len(words) == glossary.count("\n| **")
