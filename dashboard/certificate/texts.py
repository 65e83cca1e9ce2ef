"""A run judged by the Land Speed Record's rules, for its page and for dossier.html: what the dossier says, in words."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from dashboard.core.parts import Facts, Table
from netcommon import readable
from scenarios.certify import dossier

Content = dict[str, Any]
CLASSES = {"holds": "good", "does not hold": "bad", "cannot be shown by emulation": "open"}
HOLDS = "Every rule holds but R2, which an emulated path cannot satisfy."
BROKEN = "Not certified: a rule other than R2 does not hold."


def certificate(path: Path) -> tuple[Content, bool]:
    """The run's dossier, and whether `lfp certify` had written it. Otherwise it is made now, which reads every file of
    the run. LfpError when the run has no end, no valid trial, or a file that has changed."""
    written = path / dossier.NAME
    if written.is_file():
        return json.loads(written.read_text(encoding="utf-8")), True
    return dossier.make(path), False


def date_of(content: Content) -> str:
    """The day of the run, UTC."""
    return datetime.datetime.fromtimestamp(content["started_realtime_ns"] / 1e9, datetime.UTC).date().isoformat()


def certificate_facts(content: Content) -> Facts:
    """Class, rate, distance, score and the record of the class."""
    return [
        ("Clock", f"{content['clock']} time"),
        ("Class", f"{content['family']}, {content['class']}"),
        ("Short-term rate", readable.rate(content["rate_bps"])),
        ("Distance", readable.distance(content["distance_m"])),
        ("Score", f"{round(content['score_tbit_m_per_s'])} Tbit·m/s"),
        ("Record of the class", f"{content['record']['score']} Tbit·m/s ({content['record']['date']})"),
        ("Trial", content["trial"]),
    ]


def route_table(content: Content) -> Table:
    """The places of the route, and the distance of each from the previous place that counts."""
    rows = tuple(
        (place["name"], "yes" if place["counts"] else "no: it does not route", readable.distance(place["leg_m"]))
        for place in content["route"]
    )
    return Table(("Place", "Counts", "Distance from the previous place that counts"), rows, frozenset({2}))


def evidence_table(rule: dict[str, Any]) -> Table:
    """What a rule was judged by."""
    rows = tuple((one["what"], str(one["value"]), one["file"]) for one in rule["evidence"])
    return Table(("Evidence", "Value", "File"), rows)
