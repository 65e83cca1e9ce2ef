"""The figure of two runs over each other: its axis, its lines, and the difference with its interval."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.compare.sides import SidePoint, Sides, sides
from dashboard.compare.sides_figure import sides_figure

HEADINGS = {"loss_ppb": "path.loss", "tcp_congestion": "profile.congestion"}
CELLS: list[tuple[int, str, tuple[float, ...], tuple[float, ...], float | None, tuple[float, float] | None]] = [
    (10_000_000, "cubic", (40e6, 50e6, 60e6), (55e6, 60e6, 65e6), 0.2, (0.1, 0.4)),
    (0, "cubic", (90e6,), (90e6,), 0.0, None),
    (10_000_000, "bbr", (0.0,), (80e6,), None, None),
    (0, "bbr", (90e6,), (45e6,), -0.5, None),
]


def built() -> Sides:
    settings = [{"loss_ppb": loss, "tcp_congestion": name} for loss, name, *_ in CELLS]
    found = sides(
        HEADINGS,
        settings,
        [SidePoint(0, *rest) for *_, rest in ((c[0], c[2:]) for c in CELLS)],
        "short_term_bps",
        "Short-term throughput",
    )
    assert found is not None
    return found


def trace(name: str) -> Any:
    return next(one for one in sides_figure(built()).data if one.name == name)


def test_the_axis_is_the_numeric_setting_in_order_and_other_settings_have_lines_of_their_own() -> None:
    found = built()
    assert found.x_name == "path.loss" and found.x_texts == {0: "0 %", 10_000_000: "1 %"}
    assert list(found.series) == ["profile.congestion cubic", "profile.congestion bbr"]
    assert [point.x for point in found.series["profile.congestion cubic"]] == [0, 10_000_000]
    assert sides({}, [{}], [SidePoint(0, (1.0,), (1.0,), 0.0, None)], "short_term_bps", "") is None


def test_medians_are_drawn_in_one_unit_with_bars_from_least_to_greatest() -> None:
    base = trace("base, profile.congestion cubic")
    assert list(base.x) == ["0 %", "1 %"] and list(base.y) == [90, 50]
    assert list(base.error_y.array) == [0, 10] and list(base.error_y.arrayminus) == [0, 10]
    assert base.line.dash == "dash" and trace("run, profile.congestion cubic").line.dash == "solid"
    assert sides_figure(built()).layout.yaxis.title.text == "Short-term throughput (Mbit/s)"


def test_the_difference_has_the_interval_of_the_table_and_none_where_the_base_is_0() -> None:
    apart = trace("run − base, profile.congestion cubic")
    assert list(apart.y) == pytest.approx([0, 20])
    assert list(apart.error_y.array) == pytest.approx([0, 20])
    assert list(apart.error_y.arrayminus) == pytest.approx([0, 10])
    assert [text for _, text in apart.customdata] == ["0 % (no interval)", "20 % (95 %: 10 … 40 %)"]
    assert list(trace("run − base, profile.congestion bbr").x) == ["0 %"]
