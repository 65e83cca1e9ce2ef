"""The texts of the class page: one JSON file for each language beside this module, `class.<language>.json`.

A text may have placeholders as str.format has them. tests/py/dashboard/test_dashboard_class.py holds the languages
against each other. Rejected: gettext, whose keys are English sentences, so that a better sentence loses its
translation.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from dashboard.classroom.demonstrated import Demonstrated, limits
from dashboard.classroom.demonstration import Setting
from netcommon import readable
from scenarios.plan.causes import ALL_LIMITS

DEFAULT = "en"
HERE = Path(__file__).parent
Words = dict[str, str]
STEPS = (
    Setting(window_bytes=16 * 1024),
    Setting(window_bytes=128 * 1024),
    Setting(window_bytes=520 * 1024),
    Setting(window_bytes=520 * 1024, profile="modern"),
)


def languages() -> list[str]:
    """The languages that have a file, English first."""
    found = (file.name.split(".")[1] for file in HERE.glob("class.*.json"))
    return sorted(found, key=lambda name: (name != DEFAULT, name))


@cache
def words(language: str) -> Words:
    """The texts in a language, and in English for a language that has none. English limits are in pktlogger's words."""
    name = language if language in languages() else DEFAULT
    found: Words = json.loads((HERE / f"class.{name}.json").read_text(encoding="utf-8"))
    limits = {f"drawn.limit.{cause.name}": cause.words for cause in ALL_LIMITS.values()}
    return limits | found if name == DEFAULT else found


def told(setting: Setting) -> dict[str, str]:
    """A setting and what theory says of it, as texts for placeholders."""
    allowed = limits(setting)
    return {
        "window": readable.size(setting.window_bytes), "rtt": readable.duration(setting.rtt_ns),
        "rate": readable.rate(setting.rate_bps), "queue": readable.size(setting.queue_bytes),
        "loss": readable.ratio_ppb(setting.loss_ppb), "profile": setting.profile,
        "mtu": readable.size(setting.mtu),
        "window_limit": readable.rate(allowed.window_bps), "holds": readable.size(allowed.holds_bytes),
    }  # fmt: skip


def explained(text: Words, shown: Demonstrated) -> list[str]:
    """What is seen in a demonstration and why, a sentence or two each, from its figures."""
    values = told(shown.setting) | {
        "measured": readable.rate(shown.bps), "share": readable.share(shown.stopped_share, 3),
        "retransmits": readable.count(shown.retransmits), "timeouts": readable.count(shown.timeouts),
        "rtt_median": readable.duration(shown.rtt_median_ns),
    }  # fmt: skip
    fits = shown.setting.window_bytes <= shown.limits.holds_bytes
    keys = ["seen.measured", f"seen.{shown.seen}", "seen.counts", "seen.fits" if fits else "seen.too_large"]
    if shown.rtt_median_ns is not None and shown.rtt_median_ns > 1.2 * shown.setting.rtt_ns:
        keys.append("seen.queueing")
    if shown.setting.loss_ppb:
        keys.append("seen.loss")
    if shown.valid is False:
        keys.append("seen.not_valid")
    return [text[key].format(**values) for key in keys]
