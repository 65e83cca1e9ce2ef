"""Manual pages against the option tables that the programs print of themselves: verbs, options, defaults, bounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import manual
from support.manual import PAGES

from netcommon import options, quantity
from netcommon.options import Option

STATED_DEFAULT = (r"\[([^\]\s]+)\]", r"\(default ([^)\s]+)\)", r"\b[Dd]efault:? ([^\s,;:)]+[^\s,;:).])")
STATED_RANGE = re.compile(r",\s+(\d[\w.%]*) to (\d[\w.%]*[\w%])")

TABLES = [(page, verb) for page in PAGES for verb in options.verbs(page.stem)]


def text_of(page: Path) -> str:
    """What people wrote in the page, without markup."""
    text = manual.without_section(page.read_text(encoding="utf-8")).replace("\\-", "-")
    return re.sub(r"\\f[BIR]|\\\(", "", text)


def documented(page: Path, verb: str | None) -> list[Option]:
    return list(manual.documented(page.stem, verb).values())


def mention(name: str) -> re.Pattern[str]:
    """The option as a word of its own: ``--loss`` is not mentioned by ``--loss-after``."""
    return re.compile(rf"(?<![\w-])--{re.escape(name)}(?![\w-])")


def paragraph(page: Path, name: str) -> str:
    """The text under the option's own heading (``.TP``); empty where the page mentions it in passing only."""
    for block in re.split(r"^\.TP\s*\n", text_of(page), flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        if mention(name).search(head):
            return re.split(r"^\.S[HS]", body, maxsplit=1, flags=re.MULTILINE)[0]
    return ""


def amount(option: Option, text: str) -> int | None:
    """A quantity as the page has it, in base units; None for what is no quantity of this option."""
    try:
        return quantity.parse(quantity.UNITS[option.unit], text) if option.unit else None
    except ValueError:
        return None


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


def disagreements(page: Path, verb: str | None) -> list[str]:
    """Defaults and bounds that the page states and the tool's table does not have."""
    wrong = []
    for option in documented(page, verb):
        text = paragraph(page, option.name)
        for stated in (found[1] for pattern in STATED_DEFAULT for found in re.finditer(pattern, text)):
            value = amount(option, stated) if option.unit else stated if stated in option.choices else None
            if None not in (value, option.default) and value != option.default:
                wrong.append(f"--{option.name}: default {stated}, not {option.default_text}")
        if option.unit and (bounds := STATED_RANGE.search(text)):
            low, high = (amount(option, part) for part in bounds.groups())
            if high is not None and (low, high) != (option.minimum or 0, option.maximum):
                wrong.append(f"--{option.name}: {bounds[0]}, not {option.minimum_text} to {option.maximum_text}")
    return wrong


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
