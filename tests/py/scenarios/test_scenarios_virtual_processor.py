"""Guests side by side are on processors of their own, as long as there are some."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from scenarios.virtual import processor
from scenarios.virtual.processor import Claim


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Processor numbers that no machine has, so that no running guest has claimed one of them."""
    numbers = {10_000 + os.getpid() * 4 + i for i in range(3)}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: numbers)
    return numbers


def test_each_guest_gets_the_processor_with_the_fewest(allowed: set[int]) -> None:
    with ExitStack() as held:
        first = [held.enter_context(Claim()).number for _ in range(3)]
        second = [held.enter_context(Claim()).number for _ in range(3)]
    assert set(first) == set(second) == allowed


def test_a_processor_is_free_again_when_its_guest_is_over(allowed: set[int]) -> None:
    with Claim(), Claim():
        with Claim() as third:
            pass
        with Claim() as again:
            assert again.number == third.number


def test_a_guest_that_is_alone_gets_a_second_processor_until_it_is_over(
    allowed: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "_is_idle", lambda: True)
    with Claim(alone=True) as one:
        assert one.programs in allowed - {one.number}
        with Claim(alone=True) as other:
            assert other.programs is None and other.number not in (one.number, one.programs)
    with Claim(alone=True) as again:
        assert again.programs is not None
    with Claim() as modest:
        assert modest.programs is None


def test_a_busy_machine_and_one_processor_leave_none_over(allowed: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_is_idle", lambda: False)
    with Claim(alone=True) as one, Claim() as other:
        assert one.programs is None and other.number != one.number
    monkeypatch.setattr(processor, "_is_idle", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {min(allowed)})
    with Claim(alone=True) as one:
        assert one.programs is None


def test_more_guests_than_claims_share(allowed: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "TURNS", 1)
    with Claim(), Claim(), Claim(), Claim() as fourth:
        assert fourth.number in allowed
