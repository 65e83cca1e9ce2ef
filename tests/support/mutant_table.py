"""The table of mutants in docs/reference/testing.md, between two marks; the rest of that page is written by hand."""

from __future__ import annotations

from pathlib import Path

from support.mutant_hunt import Verdict

BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"
SECTION = f"""
## Mutants

A test that cannot fail proves nothing. `make mutants` builds deliberately wrong products, one at a time in a copy of
the tree (`build/mutants`), and runs the tests that must notice. A mutant that no test catches is a defect of the tests,
and the command then ends with status 1. `tools/mutants NAME…` runs some, `--list` lists them, and with `--wide` a
mutant that survives its own tests meets every fast test. A mutant is one file, `tests/mutants/<part>/<name>.toml`. The
file says which text of which source becomes what, what a user would suffer, and which tests must notice. `make test`
checks that each text is still in its source.

The table names the first test that caught each mutant when `make mutants` last ran:

{BEGIN}
{END}
"""


def rows(verdicts: list[Verdict]) -> str:
    """The Markdown table."""
    lines = ["| mutant | what is wrong | caught by |", "|---|---|---|"]
    for verdict in verdicts:
        by = f"`{verdict.by}`" if verdict.by else f"**{verdict.text}**"
        lines.append(f"| {verdict.mutant.name} | {verdict.mutant.wrong} | {' '.join(by.split())} |")
    return "\n".join(lines)


def write(page: Path, verdicts: list[Verdict]) -> None:
    """Replaces the table. A page without the section gets one at its end."""
    text = page.read_text(encoding="utf-8") if page.exists() else "# Tests\n"
    if BEGIN not in text:
        text = text.rstrip() + "\n" + SECTION
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{rows(verdicts)}\n{END}{after}", encoding="utf-8")
