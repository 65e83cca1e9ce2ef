"""Scenario files to trials: inheritance, quick values, overrides, sweeps, seeds; and errors as one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netcommon.errors import EXIT_USAGE, UsageError
from scenarios import manifest
from scenarios.document import LIBRARY, key_lines
from scenarios.model import Scenario, allowed_keys
from scenarios.plan import load_plan

TINY = """\
[scenario]
name = "tiny"          # line 2
[path]
delay = "4.2ms"
rate = "45Mbit"
ba_rate = "1Gbit"
[transfer]
bytes = "1MB"
window = "64KB"
[run]
seed = 7
[sweep]
"transfer.window" = ["8KB", "16KB", "32KB"]
"profile.name" = ["bsd-1995", "modern"]
[quick.transfer]
duration = "2s"
[quick.sweep]
"transfer.window" = ["8KB"]
"""


def write(tmp_path: Path, text: str, name: str = "tiny.toml") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_every_library_scenario_resolves_both_ways() -> None:
    names = sorted(path.stem for path in LIBRARY.glob("*.toml"))
    assert {"lfp-syndrome", "lfp-seqack"} <= set(names)
    for name in names:
        full, quick = load_plan(name), load_plan(name, quick=True)
        assert full.base.scenario.name == name
        assert len(quick.trials) <= len(full.trials)
        assert full.base.scenario.paper.count("/") == 1


def test_the_sweep_is_a_cross_product_in_listed_order(tmp_path: Path) -> None:
    plan = load_plan(write(tmp_path, TINY))
    seen = [(t.setting.transfer.window, t.setting.profile.name) for t in plan.trials]
    assert seen == [(w, p) for w in (8192, 16384, 32768) for p in ("bsd-1995", "modern")]
    assert [t.number for t in plan.trials] == list(range(6))


def test_random_order_comes_from_the_seed_and_keeps_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, TINY)
    order = [t.number for t in load_plan(path).in_order()]
    assert order == [t.number for t in load_plan(path).in_order()]
    assert order != sorted(order)
    assert sorted(order) == list(range(6))
    seeds = {t.seed for t in load_plan(path).trials}
    assert len(seeds) == 6


def test_listed_order_and_repeats(tmp_path: Path) -> None:
    plan = load_plan(write(tmp_path, TINY), overrides=["run.order=listed", "run.repeat=2"])
    assert [t.number for t in plan.in_order()] == list(range(12))
    assert [t.repeat for t in plan.trials] == [0] * 6 + [1] * 6


def test_quick_values_replace_and_take_the_other_amount_away(tmp_path: Path) -> None:
    plan = load_plan(write(tmp_path, TINY), quick=True)
    assert len(plan.trials) == 2
    transfer = plan.base.transfer
    assert (transfer.bytes, transfer.duration, transfer.window) == (None, 2 * 10**9, 8192)


def test_a_child_replaces_all_its_parent_said_about_a_key(tmp_path: Path) -> None:
    write(tmp_path, TINY)
    child = write(
        tmp_path,
        '[scenario]\nextends = "tiny.toml"\nname = "child"\n[transfer]\nwindow = "400KB"\nbytes = "3MB"\n',
        "child.toml",
    )
    for quick in (False, True):
        plan = load_plan(child, quick=quick)
        assert plan.base.scenario.name == "child"
        assert plan.base.path.rate == 45_000_000
        assert list(plan.sweep) == ["profile.name"]
        assert {(t.setting.transfer.window, t.setting.transfer.bytes) for t in plan.trials} == {(409_600, 3 * 2**20)}


def test_set_fixes_a_swept_key_and_a_list_sweeps(tmp_path: Path) -> None:
    path = write(tmp_path, TINY)
    fixed = load_plan(path, overrides=["transfer.window=256KB"])
    assert {t.setting.transfer.window for t in fixed.trials} == {262_144}
    swept = load_plan(path, overrides=["path.loss=0.1%,1%", "profile.name=modern", "transfer.window=8KB"])
    assert [t.setting.path.loss for t in swept.trials] == [1_000_000, 10_000_000]


def test_prefixed_values_win_in_their_direction(tmp_path: Path) -> None:
    path = load_plan(write(tmp_path, TINY)).base.path
    assert path.direction("ab").rate_bps == 45_000_000
    assert path.direction("ba").rate_bps == 10**9
    assert path.rtt_ns() == 8_400_000


def test_the_manifest_gives_the_same_plan_again(tmp_path: Path) -> None:
    for quick in (False, True):
        plan = load_plan(write(tmp_path, TINY.replace("seed = 7", "")), quick=quick)
        again = manifest.replan({"scenario": plan.echo, "seed": plan.seed})
        assert again.trials == tuple(
            t.__class__(t.number, t.repeat, t.seed, t.setting.model_copy(update={"run": again.base.run}))
            for t in plan.trials
        )
        assert [t.number for t in again.in_order()] == [t.number for t in plan.in_order()]


def test_the_echo_is_readable_and_holds_units(tmp_path: Path) -> None:
    echo = load_plan(write(tmp_path, TINY)).echo
    assert echo["path"]["delay"] == "4.2ms"
    assert echo["path"]["mtu"] == 1500
    assert echo["sweep"]["transfer.window"] == ["8KB", "16KB", "32KB"]


WRONG = [
    ('delay = "4.2ms"', 'dealy = "4ms"', ":4: unknown key 'path.dealy' — did you mean 'delay'? allowed: delay, rate"),
    ('delay = "4.2ms"', 'delay = "-4ms"', ":4: path.delay = '-4ms': negative"),
    ('delay = "4.2ms"', 'delay = "2min"', ":4: path.delay = '2min': out of range; allowed: 0ns … 60s"),
    ('delay = "4.2ms"', "delay = true", ":4: path.delay = True: not a duration"),
    ('delay = "4.2ms"', "mtu = 99", ":4: path.mtu = 99: "),
    ('delay = "4.2ms"', "routers = 1", ":4: path.routers = 1: "),
    ("[path]", "[paht]", ":3: unknown key 'paht' — did you mean 'path'? allowed: "),
    ('window = "64KB"', 'window = "lots"', None),  # swept: the sweep's values hold
    ('["8KB", "16KB", "32KB"]', '["8KB", "x"]', ":13: transfer.window = 'x': not a size"),
    ('["8KB", "16KB", "32KB"]', '"8KB"', ":13: sweep 'transfer.window': want a list"),
    ('"transfer.window" = ["8KB", "16KB", "32KB"]', '"transfer.windw" = ["8KB"]', ":13: unknown key 'transfer.windw'"),
    ('"transfer.window" = ["8KB", "16KB", "32KB"]', '"run.seed" = [1]', ":13: unknown table in sweep 'run.seed'"),
    ('"bsd-1995", "modern"', '"bsd-1996"', ":14: profile.name = 'bsd-1996': unknown; allowed: bbr, bsd-1995"),
    ('bytes = "1MB"', "", ":7: [transfer]: give either 'bytes' or 'duration'"),
    ('bytes = "1MB"', 'bytes = "1MB"\nduration = "1s"', ":7: [transfer]: give either"),
    ('name = "tiny"', "", ":1: missing 'scenario.name'"),
    ("[run]", "[run", ":10: not TOML"),
    ("[run]\nseed = 7", "[run]\nseed = -1", ":11: run.seed = -1: "),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_files_give_one_line_with_place_value_and_remedy(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    assert old in TINY
    path = write(tmp_path, TINY.replace(old, new, 1))
    if message is None:
        load_plan(path)
        return
    with pytest.raises(UsageError) as caught:
        load_plan(path)
    text = str(caught.value)
    assert text.startswith(path + message), text
    assert "\n" not in text
    assert caught.value.status == EXIT_USAGE


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("path.dealy=4ms", "--set path.dealy=4ms: unknown key 'path.dealy' — did you mean 'delay'?"),
        ("path.delay=-4ms", "--set path.delay=-4ms: path.delay = '-4ms': negative"),
        ("delay=4ms", "--set delay=4ms: want TABLE.KEY=VALUE"),
        ("path.delay", "--set path.delay: want TABLE.KEY=VALUE"),
    ],
)
def test_wrong_overrides_name_the_option(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_plan(write(tmp_path, TINY), overrides=[override])
    assert str(caught.value).startswith(message)


def test_an_unknown_scenario_lists_the_library() -> None:
    with pytest.raises(UsageError, match="the library has: .*lfp-seqack, lfp-syndrome"):
        load_plan("lfp-syndrom")


def test_a_scenario_that_extends_itself_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '[scenario]\nname = "a"\nextends = "tiny.toml"\n')
    with pytest.raises(UsageError, match="extends itself"):
        load_plan(path)


def test_lines_of_quoted_and_dotted_keys() -> None:
    lines = key_lines("a = 1\n[b . \"c.d\"] # x\n'e f'.g = 2\n# h = 3\n")
    assert lines == {("a",): 1, ("b", "c.d"): 2, ("b", "c.d", "e f", "g"): 3}


def test_the_specification_names_every_key() -> None:
    text = (LIBRARY.parent / "SCENARIO.md").read_text()
    tables = [name for name in Scenario.model_fields if name != "sweep"]
    missing = [
        f"{table}.{key}"
        for table in tables
        for key in allowed_keys((table,))
        if not key.startswith(("ab_", "ba_")) and not re.search(rf"\b{key}\b", text)
    ]
    assert missing == []
