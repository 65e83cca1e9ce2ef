"""The Markdown of ``lfp gate``, for a pull request: the verdict, the two runs side by side, and the cells.

Rejected: the figures alone. A reviewer asks first whether the same programs ran the same settings.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scenarios.run import compare, runs
from scenarios.run.compare import Comparison

_HASH_DIGITS = 12  # digits of SHA-256: enough to tell builds apart
Row = tuple[str, str, str]


def page(baseline: Path, run: Path, comparison: Comparison | None, objections: Sequence[str]) -> str:
    """The whole text. ``found``: None where the run has no valid trial; ``objections``: why the gate does not pass."""
    verdict = "does not pass" if objections else "passes"
    lines = [f"## lfp gate: scenario {run.name.rsplit('-', 2)[0]} {verdict}", "", *map(_listed, objections)]
    lines += [""] if objections else []
    lines += table(("", "baseline", "this run"), _runs(baseline, run))
    if comparison:
        lines += ["", f"Settings that differ: {_escaped(comparison.also) or 'none'}", ""]
        lines += table(compare.headings(comparison, "baseline", "this run"), compare.rows(comparison))
        lines += ["", *(f"- {line}" for line in (compare.summary(comparison), *compare.remarks(comparison)))]
    return "\n".join(lines) + "\n"


def _listed(why: str) -> str:
    """An objection as an item of a list; one that begins with spaces is a sub-item of the one before."""
    own = why.lstrip()
    return f"{why[: len(why) - len(own)]}- {own}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, a line each."""
    listed = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(map(_escaped, row))} |" for row in listed]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _runs(baseline: Path, run: Path) -> Iterator[Row]:
    """What was run, on what, by which programs. A value that differs is bold."""
    base, new = runs.manifest(baseline), runs.manifest(run)
    yield "run", f"`{baseline.name}`", f"`{run.name}`"
    yield "started", _started(base), _started(new)
    yield "trials", _said(base["verdict"], "summary"), _said(new["verdict"], "summary")
    yield "seed", str(base["seed"]), str(new["seed"])
    yield _marked("time", _time(base), _time(new))
    yield _marked("kernel", _kernel(base), _kernel(new))
    for name in dict.fromkeys((*base["machine"], *new["machine"])):
        if name in ("host", "cpu"):
            yield _marked(name, _said(base["machine"], name), _said(new["machine"], name))
    yield _marked("lfp", _said(base["versions"], "lfp"), _said(new["versions"], "lfp"))
    for name in dict.fromkeys((*base["hashes"], *new["hashes"])):
        yield _marked(name, _hash(base, name), _hash(new, name))


def _marked(name: str, base: str, new: str) -> Row:
    return name, base, new if base == new else f"**{new}**"


def _said(content: dict[str, Any] | None, key: str) -> str:
    return str((content or {}).get(key, "–"))


def _started(content: dict[str, Any]) -> str:
    started = datetime.datetime.fromtimestamp(content["started_realtime_ns"] / 1e9, datetime.UTC)
    return f"{started:%Y-%m-%d %H:%M} UTC"


def _time(content: dict[str, Any]) -> str:
    return "virtual" if content.get("virtual") else "real"


def _kernel(content: dict[str, Any]) -> str:
    found = str(content["kernel"]).split(" #")[0]
    virtual = (content.get("virtual") or {}).get("kernel_sha256")
    return f"{found} `{virtual[:_HASH_DIGITS]}`" if virtual else found


def _hash(content: dict[str, Any], name: str) -> str:
    """A program's hash, and the commit of its checkout where the run knows it."""
    found, commit = content["hashes"].get(name), (content.get("commits") or {}).get(name)
    return (f"`{found[:_HASH_DIGITS]}`" if found else "–") + (f" ({commit})" if commit else "")
