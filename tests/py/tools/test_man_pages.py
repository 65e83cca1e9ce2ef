"""Manual pages against the option tables that the programs print: verbs, options, defaults, bounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import manual
from support.manual import PAGES, disagreements, mention, text_of

from netcommon import options
from netcommon.options import Option

TABLES = [(page, verb) for page in PAGES for verb in options.verbs(page.stem)]


def documented(page: Path, verb: str | None) -> list[Option]:
    return list(manual.documented(page.stem, verb).values())


def test_every_tool_has_a_page() -> None:
    assert {page.stem for page in PAGES} >= {"comet-delay", "rttcp", "pktlogger", "lft-gateway", "timer-witness"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_verb_is_in_the_manual(page: Path) -> None:
    text = text_of(page)
    verbs = [verb for verb in options.verbs(page.stem) if verb]
    missing = [verb for verb in verbs if not re.search(rf"(?<![\w-]){re.escape(verb)}(?![\w-])", text)]
    assert not missing, f"{page.name} does not tell of {', '.join(missing)}"


@pytest.mark.parametrize(("page", "verb"), TABLES, ids=lambda value: getattr(value, "stem", None) or value or "-")
def test_every_option_is_in_the_manual(page: Path, verb: str | None) -> None:
    text = text_of(page)
    missing = [option.name for option in documented(page, verb) if not mention(option.name).search(text)]
    assert not missing, f"{page.name} does not tell of --{', --'.join(missing)}"


@pytest.mark.parametrize(("page", "verb"), TABLES, ids=lambda value: getattr(value, "stem", None) or value or "-")
def test_defaults_and_bounds_in_the_manual_are_the_tables(page: Path, verb: str | None) -> None:
    assert disagreements(page, verb) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_ranges_in_the_manual_are_the_tables(page: Path) -> None:
    assert manual.outdated(page) == [], f"write them again: {manual.COMMAND}"


def test_a_page_gets_its_section_once_and_in_its_place() -> None:
    page = '.SH OPTIONS\ntext\n.SH "SEE ALSO"\nothers\n'
    wanted = manual.section("timer-witness")
    once = manual.with_section(page, wanted)
    assert once.index("OPTIONS") < once.index("RANGES") < once.index("SEE ALSO")
    assert manual.with_section(once, wanted) == once and manual.without_section(once) == page
    assert manual.with_section(once, "") == page
