"""Results and cases as tables: text, Markdown, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from netcommon import readable
from scenarios.conformance.cases import CASES, Case
from scenarios.conformance.inside import FAILS, NOT_APPLICABLE, PASSES
from scenarios.conformance.suite import Result

HEADINGS = ("case", "result", "evidence, figures or reason")
CASE_HEADINGS = ("case", "what is done", "what is expected", "source")
VERSION = 1


def rows(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    """A row for each case."""
    return [(one.case.name, one.result, one.says) for one in results]


def case_rows(cases: Iterable[Case] = CASES) -> list[tuple[str, str, str, str]]:
    """What each case does and expects."""
    return [(case.name, case.does, case.expects, case.source) for case in cases]


def summary(results: Sequence[Result]) -> str:
    """``35 cases: 33 pass, 1 fails, 1 not applicable``."""
    counts = {word: sum(one.result == word for one in results) for word in (PASSES, FAILS, NOT_APPLICABLE)}
    passes, fails = ("passes" if counts[PASSES] == 1 else "pass"), ("fails" if counts[FAILS] == 1 else "fail")
    cases = "1 case" if len(results) == 1 else f"{len(results)} cases"
    return f"{cases}: {counts[PASSES]} {passes}, {counts[FAILS]} {fails}, {counts[NOT_APPLICABLE]} not applicable"


def markdown(about: dict[str, Any], results: Sequence[Result]) -> str:
    """A page: the gateways that were tested, the results, and a description of the cases."""
    programs = [f"`{name}` {digest[:12]}" for name, digest in about["programs"].items()]
    lines = [
        f"# Conformance: {about['title']}",
        "",
        f"{summary(results)}. `lfp conformance {about['scenario']} --seed {about['seed']}` makes this page, in virtual "
        "time. Path: RTT 10 ms, 100 Mbit/s, queue 250 KB, MTU 1,500, unless a case says otherwise. "
        f"lfp {about['lfp']}" + (f", programs: {', '.join(programs)}" if programs else "") + ".",
        "",
        *_table(
            ("case", "what is done", "what is expected", "source", "result", "evidence, figures or reason"),
            (
                (*case, _marked(one), one.says)
                for case, one in zip(case_rows(one.case for one in results), results, strict=True)
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def _marked(one: Result) -> str:
    return f"**{one.result}**" if one.fails else one.result


def _table(headings: Sequence[str], table: Iterable[Sequence[str]]) -> list[str]:
    listed = [headings, ["---"] * len(headings), *table]
    return [f"| {' | '.join(map(_escaped, row))} |" for row in listed]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def document(about: dict[str, Any], results: Sequence[Result]) -> str:
    """One JSON object (CONFORMANCE.md)."""
    listed = [
        {
            "case": one.case.name,
            "does": one.case.does,
            "expects": one.case.expects,
            "source": one.case.source,
            "result": one.result,
            "says": one.says,
            "virtual_ns": one.taken_ns,
        }
        for one in results
    ]
    return (
        json.dumps({"v": VERSION, **about, "passes": not any(one.fails for one in results), "cases": listed}, indent=2)
        + "\n"
    )


def text(results: Sequence[Result]) -> str:
    """The table as plain text, for a file."""
    table = [HEADINGS, *rows(results)]
    first, second = (max(len(row[n]) for row in table) for n in (0, 1))
    lines = [f"{name:<{first}}  {result:<{second}}  {says}".rstrip() for name, result, says in table]
    return "\n".join([*lines, summary(results)]) + "\n"


def took(one: Result) -> str:
    """The virtual time of a case, for a line of progress."""
    return readable.duration(one.taken_ns)
