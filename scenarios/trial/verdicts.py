"""A verdict in three lengths: a sentence for each reason, a few words for each trial in tables, one line for each run.

This module is pure: it turns reasons and statuses into texts. It also reads verdicts that were written before there
were causes: their sentences replace the causes. Rejected: parsing the wording of reasons. That would make every wording
a contract.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
VIRTUAL = "virtual time does not depend on it: `lfp virtual --build`, then `--time virtual`"
_HELP_VIRTUAL = "use virtual time: `lfp virtual --build`, then `--time virtual`"
_SHORT_WIDTH = 34  # a table then fits 100 columns
# Matches the figures in which sentences of one kind differ.
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?: ?(?:ns|us|µs|ms|s|%)(?![a-z]))?")


@dataclass(frozen=True)
class Kind:
    """A group of reasons. ``phrase``: its name in a run's line; ``help``: what helps against it, empty if nothing does
    in general."""

    phrase: str
    help: str = ""


KINDS = {
    "asked": Kind("not what was asked for", "`lfp show RUN --json` says for each reason what ran and what to change"),
    "machine_late": Kind("machine's timers late", _HELP_VIRTUAL),
    "box_late": Kind("delay box late", "lower the rate, or make path.granularity longer"),
    "box": Kind("delay box dropped packets"),
    "hypervisor": Kind("hypervisor took CPU", _HELP_VIRTUAL),
    "cpu": Kind("CPU short", "lower the rate, stop other programs, or use virtual time (`--time virtual`)"),
    "interface": Kind("drops outside the model"),
    "offloads": Kind("offloads changed"),
    "capture": Kind("capture dropped packets", "name fewer capture.points, or use virtual time (`--time virtual`)"),
    "transfer": Kind("transfer tool reports an invalid transfer"),
    "gateway": Kind("gateway dropped or failed"),
    "profile": Kind("TCP settings refused", "run it as root, or in virtual time (`--time virtual`)"),
    "tcp_memory": Kind("TCP memory short", "raise net.ipv4.tcp_mem: 'lfp doctor' says how far"),
    "guest_memory": Kind(
        "TCP memory of the guest short", "bound path.queue, or lower tcp_wmem and tcp_rmem in profile.sysctl"
    ),
    "failed": Kind("measurement failed"),
    "incomplete": Kind("capture incomplete", "capture again, with a larger buffer (tcpdump -B) and to the end"),
    "other": Kind("other reasons"),
}


@dataclass(frozen=True)
class Reason:
    """One reason why a trial does not count. ``kind``: a key of KINDS; ``text``: a sentence; ``short``: a few words."""

    kind: str
    text: str
    short: str


FAILED = Reason("failed", "the measurement failed", "failed")


def of_trial(found: Iterable[Reason]) -> Json:
    """The verdict for status.json."""
    listed = list(found)
    causes = [{"kind": reason.kind, "short": reason.short} for reason in listed]
    return {"valid": not listed, "reasons": [reason.text for reason in listed], "causes": causes}


def reasons(verdict: Json) -> list[Reason]:
    """The reasons that `of_trial` was given; those of an older verdict have kind ``other``."""
    texts: list[str] = verdict.get("reasons") or []
    causes = verdict.get("causes") or [{"kind": "other", "short": text} for text in texts]
    return [Reason(cause["kind"], text, cause["short"]) for cause, text in zip(causes, texts, strict=True)]


def short(verdict: Json) -> str:
    """``machine late 38 ms (p99) + 1 more``: the first reason, and how many more there are; empty when valid."""
    words = [_cut(reason.short) for reason in reasons(verdict)]
    return f"{words[0]} + {len(words) - 1} more" if len(words) > 1 else "".join(words)


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT_WIDTH else text[: _SHORT_WIDTH - 1].rstrip() + "…"


def of_run(verdicts: Sequence[Json], planned: int) -> Json:
    """The run's verdict, from the verdicts of its trials. It is valid when every planned trial is done and valid.
    ``summary`` is one line. ``help`` says what helps against most of the reasons (None: nothing does in general).
    Reasons that differ only in figures count as one, with the figures of the first."""
    invalid = [reasons(verdict) for verdict in verdicts if not verdict["valid"]]
    missing = planned - len(verdicts)
    alike: dict[tuple[str, str], list[str]] = {}
    for reason in (reason for trial in invalid for reason in trial):
        alike.setdefault((reason.kind, _FIGURE.sub("#", reason.text)), []).append(reason.text)
    texts = [f"{found[0]} ({len(found)} of {planned} trials)" for found in alike.values()]
    texts += [f"{missing} of {planned} trials not done"] if missing > 0 else []
    kinds = Counter(kind for trial in invalid for kind in dict.fromkeys(reason.kind for reason in trial))
    helping = [KINDS[kind].help for kind, _ in kinds.most_common() if KINDS[kind].help]
    summary = _summary(kinds, len(invalid), missing, planned)
    return {"valid": not texts, "reasons": texts, "summary": summary, "help": helping[0] if helping else None}


def _summary(kinds: Counter[str], invalid: int, missing: int, planned: int) -> str:
    """``6 of 24 trials not valid: machine's timers late (5), hypervisor took CPU (1)``."""
    phrases = ", ".join(f"{KINDS[kind].phrase} ({count})" for kind, count in kinds.most_common())
    parts = [f"{invalid} of {planned} trials not valid: {phrases}"] if invalid else []
    parts += [f"{missing} of {planned} trials not done"] if missing > 0 else []
    return "; ".join(parts) or ("the only trial is valid" if planned == 1 else f"all {planned} trials valid")
