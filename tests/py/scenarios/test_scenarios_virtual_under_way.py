"""What a run in virtual time says while its trials run: clock, speed, wall time left. All times are passed in."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from scenarios.plan import estimate
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, Trial, make_plan
from scenarios.run import progress
from scenarios.virtual.under_way import UnderWay

VALUES = {"scenario": {"name": "long"}, "path": {"delay": "10ms"}, "transfer": {"duration": "40s"}}


def plan() -> Plan:
    return make_plan(Document("long", VALUES), 1)


@pytest.fixture
def trial() -> Trial:
    return plan().trials[0]


def test_the_price_holds_until_the_clock_has_moved_twice(trial: Trial) -> None:
    under_way = UnderWay(trial, 50.0)
    assert under_way.look(2.0, 0.5).left_s == 48.0
    found = under_way.look(4.0, 1.5)
    assert (found.speed, found.left_s, str(found)) == (None, 46.0, "0 of 40 s")


def test_the_time_left_follows_the_clocks_speed(trial: Trial) -> None:
    """Half a virtual second a second: 40 s take 80 s of wall time, whatever the price says."""
    under_way = UnderWay(trial, 5.0)
    for second in range(1, 21):
        found = under_way.look(2.0 + 2.0 * second, second + 1.0)
    assert found.speed == pytest.approx(0.5) and found.left_s == pytest.approx(40.0)
    assert str(found) == "20 of 40 s, 0.5 virtual s/s"


def test_the_last_seconds_count_and_not_the_first(trial: Trial) -> None:
    """The clock is fast during slow start. After it, a virtual second takes 5 s of wall time."""
    under_way = UnderWay(trial, 5.0)
    for second in range(1, 11):
        under_way.look(2.0 + 0.1 * second, second + 1.0)
    for second in range(1, 6):
        found = under_way.look(3.0 + 5.0 * second, second + 11.0)
    assert found.speed == pytest.approx(0.2) and found.left_s == pytest.approx(25 / 0.2)


def test_a_clock_that_stands_makes_the_time_left_grow(trial: Trial) -> None:
    under_way = UnderWay(trial, 5.0)
    under_way.look(3.0, 2.0)
    before = under_way.look(4.0, 3.0)
    later = under_way.look(60.0, 3.0)
    assert later.speed is not None and before.speed == 1.0 and later.speed < 0.04
    assert later.left_s > 10 * before.left_s


def test_the_run_has_time_left_for_those_that_run_and_those_that_wait() -> None:
    left = estimate.TimeLeft([10.0] * 4)
    assert left.seconds([(10.0, 30.0), (10.0, 50.0)], at_a_time=2) == 20.0 + 40.0
    left.done(10.0, 20.0)
    assert left.seconds([(10.0, 5.0)]) == 2 * 20.0 + 5.0
    left.done(10.0, 20.0)
    left.done(10.0, 20.0)
    assert left.seconds([(10.0, 50.0)], at_a_time=2) == 50.0


def test_without_a_terminal_a_line_says_where_the_clock_is(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(progress, "_LINE_S", 0.0)
    under_way = UnderWay(trial, 5.0)
    under_way.look(4.0, 2.0)
    console = Console(file=said, width=200)
    with progress.RunProgress(plan(), [trial], console, lambda _: 100.0) as shown:
        shown.under_way([under_way.look(6.0, 3.0)], 1)
    assert said.getvalue().splitlines() == [
        "long: 1 trial, about 1 min 40 s",
        "clock      2 of 40 s, 0.5 virtual s/s  (76 s left)",
    ]
