"""The cases of the matrix: one value of each axis, drawn so that every allowed pair of values of two axes occurs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

Case = dict[str, str]
Pair = frozenset[tuple[str, str]]


def cover(axes: Mapping[str, Sequence[str]], allowed: Callable[[Case], bool], seed: int) -> list[Case]:
    """`allowed` judges a case; if some axes are still missing, it says whether they can be filled in. Each case begins
    with a pair that none has yet. Every other axis takes the value that brings the most new pairs."""
    rng = random.Random(seed)
    values = [(axis, value) for axis, every in axes.items() for value in every]
    missing = {
        frozenset(pair): None
        for pair in itertools.combinations(values, 2)
        if pair[0][0] != pair[1][0] and allowed(dict(pair))
    }
    cases: list[Case] = []
    order = list(missing)
    rng.shuffle(order)
    for first in order:
        if first not in missing:
            continue
        case = _fill(dict(first), axes, allowed, missing, rng)
        if case is None:
            raise ValueError(f"no case has {dict(first)}")
        for pair in itertools.combinations(case.items(), 2):
            missing.pop(frozenset(pair), None)
        cases.append({axis: case[axis] for axis in axes})
    return cases


def _fill(
    case: Case,
    axes: Mapping[str, Sequence[str]],
    allowed: Callable[[Case], bool],
    missing: Mapping[Pair, None],
    rng: random.Random,
) -> Case | None:
    for _ in range(20):
        found = dict(case)
        rest = [axis for axis in axes if axis not in case]
        rng.shuffle(rest)
        for axis in rest:
            able = [value for value in axes[axis] if allowed(found | {axis: value})]
            if not able:
                break
            gains = [sum(frozenset({(axis, value), other}) in missing for other in found.items()) for value in able]
            best = max(gains)
            found[axis] = rng.choice([value for value, gain in zip(able, gains, strict=True) if gain == best])
        else:
            return found
    return None
