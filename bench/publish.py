"""A bench's table as a page: what was measured, on which machine, and whether it is within its bounds."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from bench.registry import Result
from netcommon.strangers import write_text
from scenarios.run import machine


def page(result: Result) -> str:
    """The Markdown page of a result that has rows."""
    about = machine.describe() | {"kernel": machine.kernel()}
    inside = sum(row.within for row in result.rows)
    now = datetime.datetime.now(datetime.UTC)
    lines = [
        f"# {result.name}",
        "",
        "Written by `lfp bench " + result.name + " --publish FILE`; not edited by hand.",
        "",
    ]
    lines += [f"- date: {now:%Y-%m-%d %H:%M} UTC"] + [f"- {name}: {value}" for name, value in about.items()]
    lines += [f"- verdict: {inside} of {len(result.rows)} figures within their bounds", "", result.method, ""]
    lines += ["| figure | measured | low | high | unit | verdict | |", "|---|---:|---:|---:|---|---|---|"]
    for row in result.rows:
        figures = " | ".join(f"{value:.8g}" for value in (row.measured, row.low, row.high))
        lines.append(
            f"| {row.what} | {figures} | {row.unit} | {'within' if row.within else '**OUTSIDE**'} | {row.note} |"
        )
    return "\n".join(lines) + "\n"


def write(result: Result, file: Path) -> None:
    """Writes the page atomically: a reader finds the old one or the new one. Parts that other benches wrote there
    stay."""
    parts = re.split(r"^(?=# )", file.read_text(encoding="utf-8"), flags=re.MULTILINE) if file.exists() else []
    own, heading = page(result), f"# {result.name}\n"
    places = [number for number, part in enumerate(parts) if part.startswith(heading)]
    if places:
        parts[places[0]] = own
    else:
        parts.append(own)
    text = "\n".join(f"{part.rstrip()}\n" for part in parts if part.strip())
    write_text(file, text)
