"""Scenario files to trials: inheritance, quick values, overrides, sweeps, seeds; and errors as one line."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from comet_delay import Port, options
from comet_delay.userspace import UserspaceBox
from netcommon.errors import EXIT_USAGE, UsageError
from scenarios.plan import params
from scenarios.plan.document import LIBRARY, key_lines
from scenarios.plan.model import Scenario, allowed_keys
from scenarios.plan.path import DIRECTION_KEYS
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import manifest, results
from scenarios.trial import delay_box
from scenarios.virtual import randomness

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
        assert full.base.scenario.paper.count("/") == bool(full.base.scenario.paper)


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
        assert again.trials == plan.trials
        assert [t.number for t in again.in_order()] == [t.number for t in plan.in_order()]


def test_the_echo_is_readable_and_holds_units(tmp_path: Path) -> None:
    echo = load_plan(write(tmp_path, TINY)).echo
    assert echo["path"]["delay"] == "4.2ms"
    assert echo["path"]["mtu"] == 1500
    assert echo["sweep"]["transfer.window"] == ["8KB", "16KB", "32KB"]


WRONG = [
    ('delay = "4.2ms"', 'dealy = "4ms"', ":4: unknown key 'path.dealy' — did you mean 'delay'? allowed: delay, rate"),
    ('delay = "4.2ms"', 'delay = "-4ms"', ":4: path.delay = '-4ms': negative"),
    ('delay = "4.2ms"', 'delay = "2h"', ":4: path.delay = '2h': out of range; allowed is 0ns to 3600s"),
    ('delay = "4.2ms"', "delay = true", ":4: path.delay = true: not a duration"),
    ('delay = "4.2ms"', 'loss = "gilbert:1%"', ":4: path.loss = 'gilbert:1%': want gilbert:MEAN_LOSS,MEAN_BURST"),
    ('delay = "4.2ms"', 'loss = "200%"', ":4: path.loss = '200%': "),
    ('delay = "4.2ms"', 'ba_aqm = "codle"', ":4: path.ba_aqm = 'codle': "),
    ('delay = "4.2ms"', "jitter = 3", ":4: path.jitter = 3: not a text"),
    ('delay = "4.2ms"', 'ab_queue_drop = "tial"', ":4: path.ab_queue_drop = 'tial': allowed is one of tail, head"),
    ('delay = "4.2ms"', 'ba_harmonise = "1Mbit"', ":4: unknown key 'path.ba_harmonise' — did you mean 'ba_harmonize'?"),
    ('delay = "4.2ms"', "mtu = 99", ":4: path.mtu = 99: "),
    ('delay = "4.2ms"', "routers = 1", ":4: path.routers = 1: "),
    ("[path]", "[paht]", ":3: unknown key 'paht' — did you mean 'path'? allowed: "),
    ('window = "64KB"', 'window = "lots"', None),  # swept: the sweep's values hold
    ('["8KB", "16KB", "32KB"]', '["8KB", "x"]', ":13: transfer.window = 'x': not a size"),
    ('["8KB", "16KB", "32KB"]', '"8KB"', ":13: sweep 'transfer.window': want a list"),
    ('"transfer.window" = ["8KB", "16KB", "32KB"]', '"transfer.windw" = ["8KB"]', ":13: unknown key 'transfer.windw'"),
    ('"transfer.window" = ["8KB", "16KB", "32KB"]', '"run.seed" = [1]', ":13: unknown table in sweep 'run.seed'"),
    ('"bsd-1995", "modern"', '"bsd-1996"', ":14: profile.name = 'bsd-1996': unknown — did you mean 'bsd-1995'?"),
    ('bytes = "1MB"', "", ":7: [transfer]: give either 'bytes' or 'duration'"),
    ('bytes = "1MB"', 'bytes = "1MB"\nduration = "1s"', ":8: transfer.bytes = '1MB': give either"),
    ('name = "tiny"', "name = 3", ":2: scenario.name = 3: not a text"),
    ("[run]", "[run", ":10: not TOML"),
    ("[run]\nseed = 7", "[run]\nseed = -1", ":11: run.seed = -1: "),
]


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


EVERY = {
    "loss": '"gilbert:1%,10"', "jitter": '"normal:2ms,25%"', "jitter_order": '"overtake"', "aqm": '"codel"',
    "rate_trace": '"rate:0s=10Mbit,5s=1Mbit"', "channels": "3", "balance": '"packet"',
    "queue_packets": "50", "queue_drop": '"head"', "only": '"data,!fin"', "loss_after": '"0.1%"',
    "duplicate": '"1%"', "corrupt": '"10ppm"', "forge": "0.001", "reorder": '"2%"', "reorder_by": '"3ms"',
    "bunch": '"125us"', "bunch_packets": "20",
    "pace": '"30Mbit"', "pace_packets": "1000", "pace_buffer": '"64KB"',
    "drain_rate": '"40Mbit"', "drain_buffer": '"32KB"', "harmonize": '"20Mbit"',
}  # fmt: skip


def test_every_parameter_of_the_box_is_a_key_and_the_other_way_round() -> None:
    offered = {option.name.replace("-", "_") for option in options.installed().path.values()}
    assert offered == set(DIRECTION_KEYS) | {"framing"}
    assert {f"{which}_{key}" for which in ("ab", "ba") for key in DIRECTION_KEYS} < set(allowed_keys(("path",)))


def test_every_parameter_reaches_the_box_and_the_results(tmp_path: Path) -> None:
    keys = "".join(f"ba_{key} = {value}\n" for key, value in EVERY.items())
    once = 'poll = "0"\nspin = "5ms"\ngranularity = "10us"\nmemory = "64MB"\nseed = 5\n'
    plan = load_plan(write(tmp_path, TINY.replace("[transfer]", keys + once + "[transfer]", 1)))
    path = plan.base.path
    box = delay_box.box((Port("a"), Port("b")), Path("/x"), path, seed=1)
    assert isinstance(box, UserspaceBox)
    told = dict(itertools.pairwise(box.argv))
    assert {"--ba-loss": "gilbert:1%,10", "--ba-loss-after": "0.1%", "--ba-only": "data,!fin",
            "--ba-pace-packets": "1000", "--ba-reorder-by": "3ms", "--ba-forge": "0.1%", "--seed": "5", "--poll": "0ns",
            "--spin": "5ms", "--memory": "64MB"}.items() <= told.items()  # fmt: skip
    assert all(f"--ba-{key.replace('_', '-')}" in told and f"--ab-{key.replace('_', '-')}" not in told for key in EVERY)
    row = params.of(plan.trials[0])
    assert (row["loss_ppb"], row["loss"], row["ba_loss_ppb"], row["ba_loss"]) == (0, "0%", None, "gilbert:1%,10")
    assert (row["ba_aqm"], row["aqm"], row["seed"], row["spin_ns"]) == ("codel", "none", 5, 5_000_000)
    assert set(row) - {"v", "trial"} <= set(results.SCHEMA.names)
    assert manifest.replan({"scenario": plan.echo, "seed": plan.seed}).base.path == path


def test_models_can_be_swept_and_set(tmp_path: Path) -> None:
    file = write(tmp_path, TINY.replace("[sweep]", '[sweep]\n"path.aqm" = ["none", "codel", "pie"]', 1))
    assert {t.setting.path.aqm for t in load_plan(file).trials} == {"none", "codel", "pie"}
    swept = load_plan(file, overrides=['path.loss=["1%", "gilbert:1%,10"]', 'path.jitter="normal:1ms,25%"'])
    assert {(t.setting.path.loss, t.setting.path.jitter) for t in swept.trials} == {
        (10_000_000, "normal:1ms,25%"),
        ("gilbert:1%,10", "normal:1ms,25%"),
    }


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("path.dealy=4ms", "--set path.dealy=4ms: unknown key 'path.dealy' — did you mean 'delay'?"),
        ("path.delay=-4ms", "--set path.delay=-4ms: path.delay = '-4ms': negative"),
        ('path.loss="gilbert:1%,10', '--set path.loss="gilbert:1%,10: not a TOML value'),
        ("delay=4ms", "--set delay=4ms: want TABLE.KEY=VALUE"),
        ("path.delay", "--set path.delay: want TABLE.KEY=VALUE"),
    ],
)
def test_wrong_overrides_name_the_option(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_plan(write(tmp_path, TINY), overrides=[override])
    assert str(caught.value).startswith(message)


def test_an_unknown_scenario_lists_the_library() -> None:
    with pytest.raises(UsageError, match=r"the library has: .*lfp-seqack, lfp-syndrome"):
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


CLAIMING = (
    TINY.replace('name = "tiny"', 'name = "tiny"\ntitle = "T"\npaper = "lfp-1995/fig3"\ndescription = "D"')
    + """
[report]
x = "transfer.window"
reference = ["lfp-1995-fig3"]
regions = [{label = "1", from = 0, to = 9}]
"""
)
CLAIMS = {"title": "T", "paper": "lfp-1995/fig3", "description": "D", "reference": ("lfp-1995-fig3",), "regions": 1}


def claims(plan: Plan) -> dict[str, object]:
    about, report = plan.base.scenario, plan.base.report
    return {
        "title": about.title,
        "paper": about.paper,
        "description": about.description,
        "reference": report.reference,
        "regions": len(report.regions),
    }


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ("", True),
        ('[path]\ndelay = "4.2ms"\n', True),  # the same again
        ('[transfer]\nlength = "4KB"\n', True),
        ('[path]\nqueue = "55KB"\n', False),
        ('[sweep]\n"path.queue" = ["55KB", "110KB"]\n', False),
        ('[sweep]\n"transfer.window" = ["64KB"]\n', False),
    ],
)
def test_claims_are_inherited_with_the_path_and_sweep_only(tmp_path: Path, changes: str, kept: bool) -> None:
    """A scenario that inherits from another one and changes the path does not reproduce the parent's row of a paper."""
    write(tmp_path, CLAIMING, "parent.toml")
    child = write(tmp_path, f'[scenario]\nextends = "parent.toml"\nname = "child"\n{changes}', "child.toml")
    nothing = {"title": "", "paper": "", "description": "", "reference": (), "regions": 0}
    assert claims(load_plan(child)) == (CLAIMS if kept else nothing)


def test_claims_said_again_are_kept(tmp_path: Path) -> None:
    write(tmp_path, CLAIMING, "parent.toml")
    child = '[scenario]\nextends = "parent.toml"\nname = "child"\npaper = "lfp-1995/fig4"\n[path]\nqueue = "55KB"\n'
    assert claims(load_plan(write(tmp_path, child, "child.toml"))) == {
        "title": "",
        "paper": "lfp-1995/fig4",
        "description": "",
        "reference": (),
        "regions": 0,
    }


def test_a_path_changed_on_the_command_line_loses_them_too_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, CLAIMING)
    assert claims(load_plan(path, overrides=["transfer.window=8KB,16KB"])) == CLAIMS
    plan = load_plan(path, overrides=["path.queue=55KB,110KB"])
    assert claims(plan)["paper"] == "" and claims(plan)["regions"] == 0
    assert len(plan.notes) == 1 and "--set changes the path" in plan.notes[0]
    assert load_plan(path, overrides=["path.queue=55KB", "scenario.paper=a/b"]).base.scenario.paper == "a/b"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("path.queue", "queue_bytes"),
        ("queue_bytes", "queue_bytes"),
        ("profile.name", "profile"),
        ("path.loss", "loss_ppb"),
        ("gateway.rate", "gateway_rate_bps"),
        ("scenario.case", "case"),
    ],
)
def test_report_takes_both_spellings(tmp_path: Path, text: str, column: str) -> None:
    plan = load_plan(write(tmp_path, f'{TINY}[report]\nx = "{text}"\nseries = "{text}"\n'))
    assert (plan.base.report.x, plan.base.report.series) == (column, column)
    assert plan.echo["report"]["series"] == column


def test_a_loss_that_is_a_model_is_an_axis_of_texts(tmp_path: Path) -> None:
    swept = TINY.replace("[sweep]", '[sweep]\n"path.loss" = ["0", "gilbert:1%,10"]')
    assert load_plan(write(tmp_path, f'{swept}[report]\nx = "path.loss"\n')).base.report.x == "loss"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('series = "nonsense"', "report.series = 'nonsense': unknown; allowed: "),
        ('x = "path.quue"', "report.x = 'path.quue': unknown; did you mean 'path.queue'? allowed: "),
        ('y = "short_term"', "report.y = 'short_term': unknown; did you mean 'short_term_bps'? allowed: "),
        ('y = "path.queue"', "report.y = 'path.queue': unknown"),
        ('kind = "matrix"\nx = "rtt_ns"\ny = "path.loss"\nvalue = "speed"', "report.value = 'speed': unknown"),
    ],
)
def test_an_unknown_axis_is_an_error_at_the_start(tmp_path: Path, line: str, said: str) -> None:
    path = write(tmp_path, f"{TINY}[report]\n{line}\n")
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        load_plan(path)
    assert re.match(rf"{re.escape(path)}:\d+: ", str(caught.value)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], "nothing in this plan is random"),
        (["path.loss=1%"], None),
        (["path.loss=0,1%"], "nothing in 6 of its 12 settings is random"),
        (["path.loss=packets:5"], "nothing in this plan is random"),
        (["path.ba_jitter=20us"], None),
        (["path.aqm=codel"], "nothing in this plan is random"),
        (["path.aqm=pie"], None),
        (["transfer.congestion=bbr"], None),
        (["transfer.congestion=cubic,bbr"], "nothing in 6 of its 12 settings is random"),
        (["transfer.second=bbr"], None),
        (["path.change=1s loss=1%"], None),
        (["path.change=1s delay=1ms"], "nothing in this plan is random"),
        (["path.channels=2"], None),
        (["path.channels=2", "path.balance=packet"], "nothing in this plan is random"),
        (["path.loss=1%", "path.seed=5"], "path.seed is fixed"),
    ],
)
def test_repeats_that_will_be_copies_are_announced(tmp_path: Path, overrides: list[str], said: str | None) -> None:
    plan = load_plan(write(tmp_path, TINY), overrides=["run.repeat=3", *overrides])
    notes = list(randomness.notes(plan))
    assert [note.startswith(said or "?") for note in notes] == ([True] if said else []), notes
    assert not list(randomness.notes(load_plan(write(tmp_path, TINY), overrides=["run.repeat=1", *overrides])))


@pytest.mark.parametrize(
    ("overrides", "seeds"),
    [
        ([], 1),
        (["path.loss=1%"], 9),
        (["path.loss=1%", "path.seed=5"], 1),
        (["gateway.kind=command", "gateway.near=proxy near", "gateway.far=proxy far"], 9),
    ],
)
def test_copies_draw_the_same_and_other_repeats_do_not(tmp_path: Path, overrides: list[str], seeds: int) -> None:
    text = TINY.replace('"profile.name" = ["bsd-1995", "modern"]', "")
    plan = load_plan(write(tmp_path, text), overrides=["run.repeat=3", *overrides])
    assert len(plan.trials) == 9
    assert len({randomness.guest_seed(trial) for trial in plan.trials}) == seeds


def test_a_plain_value_holds_both_ways(tmp_path: Path) -> None:
    plan = load_plan(write(tmp_path, TINY), overrides=["path.loss=1%", "path.ba_delay=10ms"])
    row = params.of(plan.trials[0])
    assert (row["loss_ppb"], row["ba_loss_ppb"]) == (10_000_000, 10_000_000)
    assert (row["delay_ns"], row["ba_delay_ns"], row["rtt_ns"]) == (4_200_000, 10_000_000, 14_200_000)
    box = delay_box.box((Port("a"), Port("b")), Path("/x"), plan.base.path, seed=1)
    assert isinstance(box, UserspaceBox)
    told = dict(itertools.pairwise(box.argv))
    assert {told.get(f"--{way}-loss", told.get("--loss")) for way in ("ab", "ba")} == {"1%"}


@pytest.mark.parametrize(
    ("gateway", "points"),
    [
        ("", ("snd", "box", "rcv")),
        ('kind = "lft"', ("snd", "gw1-in", "gw1-out", "box", "gw2-in", "gw2-out", "rcv")),
        ('kind = "lft"\nmodel = "host"', ("snd", "box", "rcv")),
    ],
)
def test_all_capture_points(tmp_path: Path, gateway: str, points: tuple[str, ...]) -> None:
    plan = load_plan(write(tmp_path, f'{TINY}[gateway]\n{gateway}\n[capture]\npoints = "all"\n'))
    assert plan.base.capture.points == points
    assert load_plan(write(tmp_path, f'{TINY}[capture]\npoints = "snd"\n')).base.capture.points == ("snd",)


def test_all_points_of_a_case_with_gateways_are_captured_from_the_manifest_too(tmp_path: Path) -> None:
    """A run makes its trials from the manifest, which once had the points of the first case for all cases."""
    cases = '[case.plain]\n[case.lft.gateway]\nkind = "lft"\n[sweep]\n"scenario.case" = ["plain", "lft"]\n'
    plan = load_plan(write(tmp_path, TINY.partition("[sweep]")[0] + '[capture]\npoints = "all"\n' + cases), seed=1)
    again = manifest.replan({"scenario": json.loads(json.dumps(plan.echo)), "seed": plan.seed})
    for one in (plan, again):
        assert [len(trial.setting.capture.points) for trial in one.trials] == [3, 7]


def test_a_capture_point_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, f'{TINY}[capture]\npoints = ["snd", "gw1-in"]\n')
    line = (
        f"{path}:{TINY.count(chr(10)) + 2}: capture.points = 'gw1-in': no such node exists with [gateway] kind 'none'"
    )
    with pytest.raises(UsageError, match=re.escape(line)):
        load_plan(path)


@pytest.mark.parametrize(
    ("file", "name"), [("mine.toml", "mine"), ("my first, 2.toml", "my-first-2"), ("-.hidden.toml", "hidden")]
)
def test_a_scenario_without_a_name_has_that_of_its_file(tmp_path: Path, file: str, name: str) -> None:
    """The settings alone, as in the README, are a scenario."""
    (tmp_path / file).write_text('[transfer]\nduration = "1s"\n')
    assert load_plan(str(tmp_path / file), seed=1).base.scenario.name == name
