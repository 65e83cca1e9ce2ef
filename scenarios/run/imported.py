"""Describes a run of imported captures, in words for terminals and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcommon import readable
from scenarios.trial import points

STDIN = "-"  # as a file's name: standard input


def facts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A description of the captures of a run, in words; empty for any other run. ``content``: its manifest."""
    imported = content.get(points.IMPORTED)
    if not isinstance(imported, dict):
        return []
    said = [(f"Capture {one.get('point')}", _file_words(one)) for one in imported.get("files") or ()]
    said += [(f"Clock of {one.get('to')}", clock_words(one)) for one in imported.get("clocks") or ()]
    said += [
        (f"{one.get('from')} and {one.get('to')}", f"no connection in common: {one.get('why')}")
        for one in imported.get("apart") or ()
    ]
    said += [("Note", str(note)) for note in imported.get("notes") or ()]
    if imported.get("anonymised"):
        said.append(
            (
                "Anonymised",
                "addresses (prefixes kept) and ports are mapped; payload, MAC addresses and names are left out",
            )
        )
    return said


def _file_words(one: Mapping[str, Any]) -> str:
    name = "standard input" if one.get("file") == STDIN else one.get("file") or "name not kept"
    kept = "" if one.get("kept") else "; not in this run"
    return f"{name}, {readable.size(one.get('bytes'))}, SHA-256 {str(one.get('sha256'))[:16]}…{kept}"


def clock_words(clock: Mapping[str, Any]) -> str:
    """What pktlogger says of a receiver's clock (FORMAT.md, section 3, ``clock``)."""
    kind, asymmetry = clock.get("clock"), clock.get("asymmetry_ns")
    if kind in ("two", "given"):
        ppm, error = clock.get("drift_ppm"), clock.get("drift_uncertainty_ppm")
        text = f"ahead by {readable.duration(clock.get('offset_ns'))}"
        text += f" ± {readable.duration(clock['uncertainty_ns'])}" if clock.get("uncertainty_ns") is not None else ""
        within = f" ± {readable.number(error)}" if error else ""
        text += f", gains {readable.number(ppm)}{within} ppm" if ppm else ""
        text += f", {len(clock['steps'])} steps" if clock.get("steps") else ""
        bound = f"; ± {readable.duration(asymmetry)} if the directions take different times" if asymmetry else ""
        return f"{text} ({'estimated' if kind == 'two' else 'as given'}){bound}"
    return {
        "same": "the same clock, as was said",
        "one": "the captures agree with one clock, so no time was changed",
        "unknown": "not known: the captures have no packet of each direction in common, so delays mean nothing",
    }.get(str(kind), "not known")
