"""Settings that are drawn at random: each is a valid scenario, which depends only on its seed and number."""

from __future__ import annotations

import tomllib

from bench.invariants import draws, shrink
from scenarios.plan import feasible
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.virtual import boxes

SEED, MANY = 7, 300


def test_every_draw_is_a_scenario_file_that_can_run_with_its_box() -> None:
    for one in draws.draws(SEED, MANY):
        document = Document(one.name, tomllib.loads(one.file()))
        (trial,) = make_plan(document, 1).trials
        feasible.check(document, trial.setting)
        assert (boxes.choose(trial, "auto") == "netem") == (one.values["box"] == "netem"), one.file()
        assert {name: document.values[name] for name in one.tables} == one.tables


def test_a_run_of_many_draws_has_the_trials_of_their_files() -> None:
    many = draws.draws(SEED, 40)
    plan = make_plan(Document("drawn", draws.scenario(many)), 1)
    for one, trial in zip(many, plan.trials, strict=True):
        (alone,) = make_plan(Document(one.name, tomllib.loads(one.file())), 99).trials
        assert trial.setting.model_dump(exclude={"scenario", "run"}) == alone.setting.model_dump(
            exclude={"scenario", "run"}
        )
        assert trial.setting.path.seed == alone.setting.path.seed == one.seed


def test_every_value_of_every_dimension_comes_up() -> None:
    seen: dict[str, set[object]] = {name: set() for name in draws.SPACE}
    for one in draws.draws(SEED, MANY):
        for name, value in one.values.items():
            seen[name.partition(" ")[0]].add(value)
    assert seen == {name: set(values) for name, values in draws.SPACE.items()}


def test_a_draw_depends_on_nothing_but_its_seed_and_number() -> None:
    """Narrowing one dimension leaves the others as they are."""
    whole = draws.draw(SEED, 12)
    assert draws.draws(SEED, 3, first=11)[1] == whole
    narrow = draws.draw(SEED, 12, {"control": ("bbr",)})
    assert dict(narrow.values) == dict(whole.values) | {"control": "bbr"}
    assert draws.draw(SEED + 1, 12).values != whole.values != draws.draw(SEED, 13).values


def test_a_failing_draw_is_made_plainer_as_long_as_it_fails() -> None:
    one = next(one for one in draws.draws(SEED, MANY) if one.values["beside"] == 3 and one.values["box"] == "comet")
    tried = []

    def fails(draw: draws.Draw) -> bool:
        tried.append(draw)
        return bool(draw.values["beside"] == 3 and draw.values["box"] == "comet")

    found = shrink.shrunk(one, fails)
    plain = {name: draws.SPACE[name.partition(" ")[0]][0] for name in one.values}
    assert dict(found.values) == plain | {"beside": 3}
    assert len(tried) <= len(one.values), "one pass"
