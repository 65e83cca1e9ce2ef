"""The section RANGES of a tool's manual page: the range and the default of every quantity, from the tool's own table.

tools/manual-ranges writes the section, and test_man_pages.py fails where the section of a page is not its tool's.
Rejected: ranges written by hand into the paragraph of each option. Most paragraphs had none, so a bound could change
and no page was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from netcommon import options, quantity
from netcommon.options import Option

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("comet_delay", "rttcp", "pktlogger", "lft_ref", "scenarios")
# A page has its tool's name. lfp is not a C tool; test_scenarios_cli.py compares its page with its verbs.
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / folder).glob("*.1") if page.stem != "lfp")
COMMAND = "tools/manual-ranges"

STATED_DEFAULT = (r"\[([^\]\s]+)\]", r"\(default ([^)\s]+)\)", r"\b[Dd]efault:? ([^\s,;:)]+[^\s,;:).])")
STATED_RANGE = re.compile(r",\s+(\d[\w.%]*) to (\d[\w.%]*[\w%])")
_BEGIN = f'.\\" ranges: begin (written by {COMMAND})'
_END = '.\\" ranges: end'
_SECTION = re.compile(rf"^{re.escape(_BEGIN)}\n.*?^{re.escape(_END)}\n", re.DOTALL | re.MULTILINE)
_BEFORE = re.compile(r"^\.SH \"?SEE ALSO", re.MULTILINE)
_ONE_DIRECTION = re.compile(r"^(ab|ba)-")  # documented once, with the option that has no prefix


def documented(tool: str, verb: str | None) -> Mapping[str, Option]:
    """The options that the page of a tool describes, by name."""
    return {name: row for name, row in options.options(tool, verb).items() if not _ONE_DIRECTION.match(name)}


def section(tool: str) -> str:
    """The section as the tool's tables want it; empty for a tool without quantities."""
    tables = {verb: _rows(documented(tool, verb)) for verb in options.verbs(tool)}
    if not any(tables.values()):
        return ""
    lines = [_BEGIN, ".SH RANGES", "What each quantity may be, and its default.", ".PP", ".nf"]
    for verb, rows in tables.items():
        if rows and len(tables) > 1:
            lines.append(f"\\fB{verb}\\fR" if verb else f"\\fB{tool}\\fR")
        lines += [_line(rows, row) for row in rows]
    return "\n".join([*lines, ".fi", _END, ""])


def with_section(page: str, wanted: str) -> str:
    """The text of a page with this section in place of its own, or before SEE ALSO where it has none."""
    without = _SECTION.sub("", page)
    at = found.start() if (found := _BEFORE.search(without)) else len(without)
    return without[:at] + wanted + without[at:]


def without_section(page: str) -> str:
    """What people wrote."""
    return _SECTION.sub("", page)


def outdated(page: Path) -> list[str]:
    """Lines of the section that are missing in the page, and lines of the page that belong to no quantity any more."""
    own = _SECTION.search(page.read_text(encoding="utf-8"))
    has, wanted = (own[0] if own else "").splitlines(), section(page.stem).splitlines()
    missing = [f"missing: {line}" for line in wanted if line not in has]
    return missing + [f"not so: {line}" for line in has if line not in wanted]


def _rows(table: Mapping[str, Option]) -> list[tuple[str, str, str]]:
    """Name, range and default of each quantity."""
    return [
        (f"--{row.name}", _range(row), "" if row.default_text is None else f"default {row.default_text}")
        for row in table.values()
        if row.kind in ("quantity", "quantities")
    ]


def _range(row: Option) -> str:
    return f"{row.minimum_text} or more" if row.maximum is None else f"{row.minimum_text} to {row.maximum_text}"


def _line(rows: list[tuple[str, str, str]], row: tuple[str, str, str]) -> str:
    """A row in columns. Roff wants hyphens that can be copied written as ``\\-``, which is one column on the page."""
    widths = [max(len(cells[column]) for cells in rows) for column in range(2)]
    name, allowed, default = row
    return f"  {name:{widths[0]}}  {allowed:{widths[1]}}  {default}".rstrip().replace("-", "\\-")


def text_of(page: Path) -> str:
    """What people wrote in the page, without markup."""
    text = without_section(page.read_text(encoding="utf-8")).replace("\\-", "-")
    return re.sub(r"\\f[BIR]|\\\(", "", text)


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
    """A quantity as the page has it, in base units; None if the text is not a quantity of this option."""
    try:
        return quantity.parse(quantity.UNITS[option.unit], text) if option.unit else None
    except ValueError:
        return None


def disagreements(page: Path, verb: str | None) -> list[str]:
    """Defaults and bounds that the page states and the tool's table does not have."""
    wrong = []
    for option in documented(page.stem, verb).values():
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
