"""How long trials take: a guess from rates and sizes, corrected by the trials that are done."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.model import Scenario

_OVERHEAD_S = 0.4  # box, tools and profile
_CAPTURE_S = 1.5  # opening captures and analysing them
_FASTEST_BPS = 10**10


def trial_s(setting: Scenario) -> float:
    """Expected wall time of one trial without loss, seconds."""
    transfer, ab = setting.transfer, setting.path.direction("ab")
    fixed = _OVERHEAD_S + (_CAPTURE_S if setting.capture.points else 0)
    if transfer.duration is not None:
        return fixed + transfer.duration / 1e9
    rates = [float(rate) for rate in (ab.rate_bps, ab.access_rate_bps, _FASTEST_BPS) if rate]
    rtt_s = setting.path.rtt_ns() / 1e9
    if transfer.window and rtt_s:
        rates.append(transfer.window * 8 / rtt_s)
    return fixed + (transfer.bytes or 0) * 8 / min(rates)


class TimeLeft:
    """Remaining time of a list of trials; the ratio of taken to expected time so far scales what is left."""

    def __init__(self, settings: Iterable[Scenario]) -> None:
        self._left_s = sum(trial_s(setting) for setting in settings)
        self._expected_s = self._taken_s = 0.0

    def done(self, setting: Scenario, taken_s: float) -> None:
        """One trial has ended after ``taken_s``."""
        expected = trial_s(setting)
        self._left_s = max(self._left_s - expected, 0.0)
        self._expected_s += expected
        self._taken_s += taken_s

    def seconds(self) -> float:
        """Time left."""
        return self._left_s * (self._taken_s / self._expected_s if self._expected_s else 1.0)


def spoken(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
