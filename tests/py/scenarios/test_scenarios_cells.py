"""Repeats, and the settings that distinguish trials: no group mixes trials whose settings differ."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from support.synthetic_results import random_plan, rows

from scenarios.plan import cells, columns

Row = dict[str, Any]


def settings_of(row: Row) -> cells.Key:
    return cells.key(row, columns.settings())


def assert_unmixed(groups: Iterable[list[Row]], why: str) -> None:
    for group in groups:
        assert len({settings_of(row) for row in group}) == 1, why


def test_no_group_mixes_settings() -> None:
    for seed in random.sample(range(2**32), 100):
        rng = random.Random(seed)
        plan = random_plan(rng)
        table = rows(plan, rng)
        swept = sorted({column for name in plan.sweep for column in columns.find(name)})
        axes = rng.sample(swept, min(len(swept), rng.choice((0, 1, 2))))
        names = cells.telling(table, axes, cells.preferred(plan.sweep))
        groups = cells.groups(table, (*axes, *names))
        assert_unmixed(groups.values(), f"seed {seed}")
        assert sum(len(group) for group in groups.values()) == len(table)
        shown = cells.texts(table, names)
        assert len(set(shown.values())) == len(shown), f"two series of one name, seed {seed}"


def test_the_fewest_settings_and_those_of_the_sweep() -> None:
    """A scenario's key may fill several columns; one is enough, in the scenario's order."""
    for seed in random.sample(range(2**32), 50):
        rng = random.Random(seed)
        plan = random_plan(rng)
        names = cells.telling(rows(plan, rng), (), cells.preferred(plan.sweep))
        assert len(names) <= len(plan.sweep), f"seed {seed}: {names} for {list(plan.sweep)}"
        swept = {name for dotted in plan.sweep for name in columns.filled_by(dotted)}
        assert set(names) <= swept, f"seed {seed}"


def test_a_case_decides_what_it_sets() -> None:
    table = [
        {"case": case, "gateway": gateway, "congestion": congestion, "loss_ppb": loss}
        for case, gateway, congestion in (("lft", "lft", "cubic"), ("bbr", "none", "bbr"))
        for loss in (0, 5)
    ]
    assert cells.telling(table) == ["case", "loss_ppb"]
    assert cells.telling(table, ["loss_ppb"]) == ["case"]


def test_copies_are_one_observation() -> None:
    same = {"short_term_bps": 92_778_491.0, "elapsed_ns": 5}
    assert len(cells.observations([same | {"seed": n} for n in range(5)])) == 1
    drawn = [{"seed": n, "short_term_bps": float(n), "elapsed_ns": n} for n in range(5)]
    assert cells.observations(drawn) == drawn
    assert cells.observations(drawn + drawn) == drawn  # with fixed seeds, a second run has copies of each
    # Even where something is random, two seeds may give the same result, such as no loss in either.
    lucky = [same | {"seed": 1}, same | {"seed": 2}, {"seed": 3, "short_term_bps": 1.0, "elapsed_ns": 7}]
    assert cells.observations(lucky) == lucky


def test_looks_at_the_clock_make_no_observation() -> None:
    """As measured: of four trials of a gateway on a path without randomness, one took two readings of the clock, of 256
    ns each, longer."""
    measured = [(18_281_566.0, 3_474_675_968), (18_281_569.0, 3_474_675_456), (18_281_569.0, 3_474_675_456)]
    looks = [
        {"seed": seed, "short_term_bps": bps, "elapsed_ns": ns, "retransmits": 0}
        for seed, (bps, ns) in enumerate(measured)
    ]
    assert len(cells.observations(looks)) == 1
    for column, value in (("short_term_bps", 18_282_000.0), ("elapsed_ns", 3_474_680_000), ("retransmits", 1)):
        other = [looks[0], looks[1] | {column: value}]
        assert cells.observations(other) == other, column


def test_words_for_repeats() -> None:
    assert cells.repeats_text(1, 1) == "1 repeat"
    assert cells.repeats_text(5, 5) == "5 repeats"
    assert cells.repeats_text(5, 1) == "5 repeats, 1 distinct"


def test_settings_are_spelled_as_the_scenario_does() -> None:
    assert columns.spelling("queue_bytes") == "path.queue" and columns.spelling("gateway_rate_bps") == "gateway.rate"
    assert columns.spelling("loss") == columns.spelling("loss_ppb") == "path.loss"
    assert columns.find("path.queue") == columns.find("queue_bytes") == ["queue_bytes"]
    assert columns.filled_by("path.loss") == ["loss_ppb", "loss", "ba_loss_ppb", "ba_loss"]
    assert columns.find("nonsense") == []
    assert "did you mean 'path.queue'" in columns.did_you_mean("path.queu", ["setting"])
    assert cells.name_of("queue_bytes", ["path.ab_queue"]) == "path.ab_queue"


def test_every_setting_that_can_be_swept_has_a_column() -> None:
    from scenarios.plan.model import SWEEPABLE, allowed_keys

    no_column = {"path.seed", "scenario.name", "scenario.title", "scenario.paper", "scenario.description",
                 "scenario.extends", "scenario.group", "topology.left", "topology.right", "gateway.programs",
                 "gateway.folder"}  # fmt: skip
    for table in SWEEPABLE:
        for key in allowed_keys((table,)):
            name = f"{table}.{key}"
            assert columns.find(name) or name in no_column, name


def test_what_is_asked_for_is_in_the_row() -> None:
    """params.json has every setting of the table, so that no difference is lost."""
    rng = random.Random(1)
    row = rows(random_plan(rng), rng)[0]
    assert set(columns.settings()) <= set(row)


def test_every_setting_tells_trials_apart() -> None:
    """Trials that differ in any one setting, swept or not, are not repeats of each other."""
    for name in columns.settings():
        assert cells.varied([{name: "a"}, {name: "b"}, {name: "a"}]) == [name]
        assert cells.varied([{name: "a"}, {name: "a"}]) == []
