"""Random paths that change: what is drawn is a valid scenario, and equal seeds draw equal paths."""

import random

from bench import lft_changing_paths as bench
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan


def test_every_path_that_is_drawn_can_be_run_both_ways() -> None:
    rng = random.Random(5)
    paths = [bench.draw(rng, 15) for _ in range(100)]
    plan = make_plan(Document("paths", bench.scenario(paths, 15)), 5)
    assert len(plan.trials) == 200
    assert {change.split("=")[0].split()[1] for path in paths for change in path["change"].split("; ")} == {
        "delay",
        "rate",
        "loss",
    }


def test_a_seed_draws_the_same_paths_again() -> None:
    assert bench.draw(random.Random(3), 15) == bench.draw(random.Random(3), 15)
    assert bench.draw(random.Random(3), 15) != bench.draw(random.Random(4), 15)
