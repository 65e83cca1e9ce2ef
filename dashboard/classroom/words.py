"""The texts of the class page by their keys (messages.toml), and what they say of a demonstration."""

from __future__ import annotations

from pathlib import Path

from dashboard.classroom.demonstrated import Demonstrated, limits
from dashboard.classroom.demonstration import Setting
from dashboard.core.messages import DEFAULT, Messages, load
from netcommon import readable

TEXTS = load(Path(__file__).with_name("messages.toml"))
STEPS = (
    Setting(window_bytes=16 * 1024),
    Setting(window_bytes=128 * 1024),
    Setting(window_bytes=520 * 1024),
    Setting(window_bytes=520 * 1024, profile="modern"),
)


def languages() -> list[str]:
    """The languages that the page speaks, English first."""
    return list(TEXTS)


def words(language: str) -> Messages:
    """The texts in a language, and in English for a language that the page does not speak."""
    return TEXTS.get(language, TEXTS[DEFAULT])


def setting_texts(setting: Setting) -> dict[str, str]:
    """A setting and its theoretical limits, as texts for placeholders."""
    allowed = limits(setting)
    return {
        "window": readable.size(setting.window_bytes),
        "rtt": readable.duration(setting.rtt_ns),
        "rate": readable.rate(setting.rate_bps),
        "queue": readable.size(setting.queue_bytes),
        "loss": readable.ratio_ppb(setting.loss_ppb),
        "profile": setting.profile,
        "mtu": readable.size(setting.mtu),
        "window_limit": readable.rate(allowed.window_bps),
        "holds": readable.size(allowed.holds_bytes),
    }


def explained(text: Messages, shown: Demonstrated) -> list[str]:
    """What is seen in a demonstration and why, a sentence or two each, from its figures."""
    values = setting_texts(shown.setting) | {
        "measured": readable.rate(shown.bps),
        "share": readable.share(shown.stopped_share, 3),
        "retransmits": readable.count(shown.retransmits),
        "timeouts": readable.count(shown.timeouts),
        "rtt_median": readable.duration(shown.rtt_median_ns),
    }
    fits = shown.setting.window_bytes <= shown.limits.holds_bytes
    keys = ["seen.measured", f"seen.{shown.seen}", "seen.counts", "seen.fits" if fits else "seen.too_large"]
    if shown.rtt_median_ns is not None and shown.rtt_median_ns > 1.2 * shown.setting.rtt_ns:
        keys.append("seen.queueing")
    if shown.setting.loss_ppb:
        keys.append("seen.loss")
    if shown.valid is False:
        keys.append("seen.not_valid")
    return [text(key, **values) for key in keys]
