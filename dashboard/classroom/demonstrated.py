"""The figures of a demonstration: measured ones, and those that follow from its setting alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.classroom.demonstration import Setting
from dashboard.core.asked import THROUGHPUT
from dashboard.core.runs import Json, Run

FULL = 0.9  # share of the line's rate that counts as reaching it
NEAR = 0.7  # share of window ÷ RTT that counts as reaching it: segments are whole, and take time on the line
STILL = 0.1  # share of the time without sending from which a sentence mentions it


@dataclass(frozen=True)
class Limits:
    """Theory of a setting. `window_bps`: window ÷ RTT of the empty path. `holds_bytes`: rate × RTT + queue."""

    window_bps: float
    rate_bps: float
    holds_bytes: float


@dataclass(frozen=True)
class Demonstrated:
    """One demonstration's figures. None: not measured."""

    run: str
    setting: Setting
    bps: float
    stopped_share: float | None
    retransmits: int | None
    timeouts: int | None
    rtt_median_ns: float | None
    valid: bool | None

    @property
    def limits(self) -> Limits:
        return limits(self.setting)

    @property
    def path(self) -> tuple[int, int, int, int, int]:
        """The settings of the path. Demonstrations with the same path have their points on one curve."""
        own = self.setting
        return own.rtt_ns, own.rate_bps, own.queue_bytes, own.loss_ppb, own.mtu

    @property
    def seen(self) -> str:
        """The most important finding of the figures: `still`, `window`, `line`, or `below` for none of these."""
        if self.stopped_share is not None and self.stopped_share >= STILL:
            return "still"
        if self.bps >= FULL * self.limits.rate_bps:
            return "line"
        return "window" if self.retransmits == 0 and self.bps >= NEAR * self.limits.window_bps else "below"


def limits(setting: Setting) -> Limits:
    """What window, line, path and queue of a setting allow."""
    in_flight = setting.rate_bps * setting.rtt_ns / 8e9
    window_bps = setting.window_bytes * 8e9 / setting.rtt_ns
    return Limits(window_bps, float(setting.rate_bps), in_flight + setting.queue_bytes)


def demonstrated(runs: Iterable[Run]) -> list[Demonstrated]:
    """The figures of these runs; those without a result are left out."""
    found = []
    for run in runs:
        for row in run.rows[:1]:
            if row.get(THROUGHPUT) is None:
                continue
            found.append(_of_row(run, row))
    return found


def _of_row(run: Run, row: Json) -> Demonstrated:
    return Demonstrated(
        run=run.name,
        setting=Setting(
            window_bytes=int(row["window_bytes"]),
            rtt_ns=int(row["rtt_ns"]),
            rate_bps=int(row["rate_bps"]),
            queue_bytes=int(row["queue_bytes"]),
            loss_ppb=int(row["loss_ppb"]),
            mtu=int(row["mtu"]),
            profile=str(row["profile"]),
            time="virtual" if run.virtual else "real",
        ),
        bps=float(row[THROUGHPUT]),
        stopped_share=row.get("stopped_share"),
        retransmits=row.get("retransmits"),
        timeouts=row.get("timeouts"),
        rtt_median_ns=row.get("rtt_median_ns"),
        valid=row.get("valid"),
    )
