"""Builds each mutant, runs the tests that must notice it and says which did: what tools/mutants does.

A test counts only when it passes without any mutant: each is run once in the clean copy first. A mutant whose tests all
pass survives, and a survivor is a defect of the tests.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from support.mutant_rows import Mutant, RowError
from support.mutant_tree import Outcome, Tree

Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[str], None]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant. ``by``: the test that caught it; ``problem``: why it could not be judged. Both empty: it
    survives."""

    mutant: Mutant
    by: str = ""
    problem: str = ""

    @property
    def text(self) -> str:
        if self.problem:
            return f"NOT JUDGED: {self.problem}"
        return f"caught by {self.by}" if self.by else "SURVIVES: no test notices it"


class Hunt:
    """Mutants against tests, in several copies at once. ``report`` gets a line for everything done."""

    def __init__(self, trees: list[Tree], report: Report) -> None:
        self._report = report
        self._jobs = len(trees)
        self._free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for tree in trees:
            self._free.put(tree)

    def red(self, mutants: Iterable[Mutant]) -> dict[str, str]:
        """Tests of these mutants that do not pass without any: name → what they say."""
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        found = {}
        for test, outcome in self._each(tests, lambda tree, test: (test, tree.run(test))):
            said = outcome.failed or outcome.unusable
            self._report(f"without a mutant: {test} {'does NOT pass: ' + said if said else 'passes'}")
            if said:
                found[test] = said
        return found

    def judge(self, mutants: list[Mutant], red: Iterable[str], wide: bool) -> list[Verdict]:
        """A verdict for each, in the given order. ``red``: tests that do not count; ``wide``: a mutant that survives
        its own tests is run against all fast tests."""
        found: dict[str, Verdict] = {}
        start = time.monotonic()
        for verdict in self._each(mutants, lambda tree, mutant: _judge(tree, mutant, frozenset(red), wide)):
            found[verdict.mutant.name] = verdict
            left_s = (time.monotonic() - start) / len(found) * (len(mutants) - len(found))
            left = f"{left_s / 60:.0f} min" if left_s >= 90 else f"{left_s:.0f} s"
            self._report(f"[{len(found)}/{len(mutants)}, {left} left] {verdict.mutant.name}: {verdict.text}")
        return [found[mutant.name] for mutant in mutants]

    def _each(self, items: Iterable[Item], work: Callable[[Tree, Item], Result]) -> Iterator[Result]:
        """Yields results in the order in which they are ready; each copy of the tree works on one item at a time."""

        def one(item: Item) -> Result:
            tree = self._free.get()
            try:
                return work(tree, item)
            finally:
                self._free.put(tree)

        with ThreadPoolExecutor(self._jobs) as pool:
            for future in as_completed([pool.submit(one, item) for item in items]):
                yield future.result()


def _judge(tree: Tree, mutant: Mutant, red: frozenset[str], wide: bool) -> Verdict:
    right = tree.read(mutant.file)
    try:
        wrong = mutant.applied(right)
    except RowError as error:
        return Verdict(mutant, problem=str(error))
    usable = [test for test in mutant.tests if test not in red]
    others = [test for test in tree.all_tests() if test not in mutant.tests] if wide else []
    if not usable and not others:
        return Verdict(mutant, problem="its tests do not pass without it either")
    tree.write(mutant.file, wrong)
    try:
        verdict = _first_that_fails(tree, mutant, usable)
    finally:
        tree.write(mutant.file, right)
    return verdict if verdict.by or verdict.problem else _widely(tree, mutant, others)


def _first_that_fails(tree: Tree, mutant: Mutant, tests: Iterable[str]) -> Verdict:
    for test in tests:
        outcome = tree.run(test)
        if outcome != Outcome():
            return Verdict(mutant, outcome.failed, outcome.unusable)
    return Verdict(mutant)


def _widely(tree: Tree, mutant: Mutant, tests: Iterable[str]) -> Verdict:
    """Each test in its turn, with the mutant and, when it fails, without."""
    right = tree.read(mutant.file)
    for test in tests:
        tree.write(mutant.file, mutant.applied(right))
        try:
            outcome = tree.run(test)
        finally:
            tree.write(mutant.file, right)
        if outcome.failed and tree.run(test) == Outcome():
            return Verdict(mutant, outcome.failed)
    return Verdict(mutant)
