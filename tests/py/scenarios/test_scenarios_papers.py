"""The reproduction book: no row of the papers is missing, and every figure is one that its scenario measures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from lfp.commands.papers import SEED, _newest, command
from netcommon.errors import LfpError, UsageError
from scenarios.papers import book, claims, rows, stored
from scenarios.papers.claims import Claim, Number
from scenarios.papers.rows import Row
from scenarios.papers.stored import Stored
from scenarios.papers.verdict import Verdict, judge, measured, state
from scenarios.plan import model_files, params
from scenarios.plan.document import load_layers
from scenarios.plan.expect import Figure
from scenarios.plan.plan import load_plan

PAPERS = {
    "comet-2004": {
        "fig1", "fig1-sessions", "fig2", "fig3", "fig3-detour", "fig11", "fig12", "fig13", "tab2", "tab3", "auto",
        "esp", "classes", "coexistence", "host-rate", "redundancy", "start", "models", "near", "cipher", "relays",
        "beside", "platforms", "cached", "iscsi",
    },
    "tgnle-2006": {"fig4", "fig4-full", "run-a", "run-b", "run-c", *(f"function-{number}" for number in range(1, 8))},
    "cpeak-1998": {"tab1", "tab2", "tab2-second", "approach-2", "fig2"},
    "lfp-1995": {
        "fig3", "fig4", "xys", "tab1", "tab1-octets", "response", "tab2", "line", "rttcp", "window", "fec",
    },
    "lsr-2007": {
        "ipv4-single", "ipv6-single", "multi", "way", "rules", "delay-alone", "ceiling", "many", "rtt", "sc03-comet",
        "sc05", "streams", "steps", "unstable", "tired",
        *(f"cause-{number}" for number in (1, 2, 3, 4, 5, 7, 8)),
    },
}  # fmt: skip


def test_every_row_of_the_papers_is_there_once() -> None:
    assert sorted(row.row for row in rows.load()) == sorted(
        f"{paper}/{row}" for paper in PAPERS for row in PAPERS[paper]
    )


@pytest.mark.parametrize("scenario", rows.scenarios())
def test_every_figure_is_in_the_quick_form_of_its_scenario(scenario: str) -> None:
    trials = [params.of(trial) for trial in load_plan(scenario, quick=True).trials]
    for row in (row for row in rows.load() if row.scenario == scenario):
        assert row.figures, f"{row.row} takes nothing from {scenario}"
        for figure in row.figures:
            assert any(picks(figure, trial) for trial in trials), f"{row.row}: no trial is '{figure.say}'"


@pytest.mark.parametrize("ways", [{}, {"by": "a bench", "open": "nothing"}])
def test_a_row_is_measured_in_one_way_or_open(ways: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="give one of 'scenario', 'by' and 'open'"):
        Row.model_validate({"row": "lfp-1995/tab2", "reported": "3.4 Mbit/s"} | ways)


def result(rate_bps: float, **settings: Any) -> dict[str, Any]:
    return {"valid": True, "short_term_bps": rate_bps, "window_bytes": 4096} | settings


def run(*results: dict[str, Any], expected: Sequence[Mapping[str, Any]] = ()) -> Stored:
    return Stored("", {"date": "2026-11-27", "seed": SEED, "lfp": "0.1.0"}, True, expected, results)


def number(**keys: Any) -> Number:
    given = {
        "say": "4 KB",
        "paper": "3.4Mbit",
        "within": "2%",
        "why": "two digits",
        "scenario": "lfp-tab2",
        "where": {"transfer.window": "4KB"},
    }
    return Number.model_validate(given | keys)


def claim(*numbers: Number, **keys: Any) -> Claim:
    return Claim.model_validate({"id": "F06", "says": "4 KB: 3.4 Mbit/s", "numbers": numbers} | keys)


def page(told: Claim, quick: Stored | None = None, whole: Stored | None = None) -> str:
    row = Row.model_validate(
        {
            "row": "lfp-1995/tab2",
            "reported": "3.4 Mbit/s",
            "scenario": "lfp-tab2",
            "figures": [{"say": "4 KB", "where": {"transfer.window": "4KB"}}],
        }
    )
    kept = book.Kept({"lfp-tab2": quick} if quick else {}, {"lfp-tab2": whole} if whole else {})
    text = book.page([told], [row], kept, ["date: today"])
    assert text.startswith("# The reproduction book\n") and "- date: today\n" in text and "## lfp-1995\n" in text
    return text


def test_a_figure_is_the_median_of_valid_repeats_with_their_range() -> None:
    repeats = [result(3e6), result(5e6), result(4e6), result(9e6, valid=False)]
    found = page(claim(number()), run(*repeats, result(1, window_bytes=65536)))
    assert "4 KB: 4 Mbit/s (3 Mbit/s to 5 Mbit/s, 3 trials)" in found
    assert "4 KB: no valid trial" in page(claim(number()), run(result(1, valid=False)))


@pytest.mark.parametrize(
    ("measured", "keys", "verdict"),
    [
        (3.40e6, {}, "reproduced"),
        (3.46e6, {}, "reproduced"),
        (3.34e6, {}, "reproduced"),
        (3.48e6, {}, "not reproduced"),
        (3.32e6, {}, "not reproduced"),
        (3.48e6, {"shows": "scenario:lfp-tab1"}, "deviates"),
        (3.40e6, {"shows": "scenario:lfp-tab1"}, "reproduced"),
        (9e6, {"sense": "least"}, "reproduced"),
        (3.32e6, {"sense": "least"}, "not reproduced"),
        (1e6, {"sense": "most"}, "reproduced"),
        (3.48e6, {"sense": "most"}, "not reproduced"),
        (None, {}, "not measured"),
        (None, {"shows": "scenario:lfp-tab1"}, "not measured"),
        (9e6, {"why": "", "paper": "4KB", "input": "transfer.window"}, "input"),
    ],
)
def test_the_verdict_follows_from_what_was_measured(measured: float | None, keys: dict[str, Any], verdict: str) -> None:
    assert judge(number(**keys), None, measured).name == verdict
    found = page(claim(number(**keys)), whole=run(result(measured)) if measured else run())
    assert f"| {verdict}" in found, found


def test_the_whole_form_decides_and_a_verdict_of_the_quick_one_says_so() -> None:
    assert judge(number(), 9e6, 3.4e6) == Verdict("reproduced", 1.0)
    assert "reproduced (quick form) |" in page(claim(number()), run(result(3.4e6)))
    assert "not reproduced (× 2.65, quick form) |" in page(claim(number()), run(result(9e6)))


def test_a_quick_form_of_a_tenth_is_judged_by_a_tenth() -> None:
    assert "reproduced (quick form, of 1/10) |" in page(claim(number(scale=0.1)), run(result(0.34e6)))
    assert judge(number(scale=0.1), None, 0.34e6).name == "not reproduced"


def test_a_number_may_be_a_difference_a_share_or_a_ratio_of_two_settings() -> None:
    results = [result(4e6), result(8e6, window_bytes=8192)]
    assert measured(number(less="1Mbit"), results) == 3e6
    assert measured(number(factor=0.5), results) == 2e6
    assert measured(number(where={"transfer.window": "8KB"}, minus={"transfer.window": "4KB"}), results) == 4e6
    assert measured(number(minus={"transfer.window": "16KB"}), results) is None
    assert measured(number(of_whole="5Mbit", paper=0.8), results) == 0.8
    assert measured(number(against={"transfer.window": "8KB"}, paper=0.5), results) == 0.5
    assert measured(number(against={"transfer.window": "16KB"}, paper=0.5), results) is None


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ({"why": ""}, "give one of 'why'"),
        ({"input": "transfer.window"}, "give one of 'why'"),
        ({"input": "transfer.widnow"}, "no setting of a scenario"),
        ({"shows": "a hunch"}, "want scenario:NAME"),
        ({"paper": "3.4"}, "has no unit"),
        ({"within": "near"}, "not a ratio"),
    ],
)
def test_a_number_that_cannot_be_judged_is_refused(keys: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        number(**keys)


def test_a_claim_stands_by_its_numbers_and_says_what_it_lacks() -> None:
    right, wrong = Verdict("reproduced", 1), Verdict("not reproduced", 2)
    assert state(claim(number()), [right]) == "stands"
    assert state(claim(number(), by="a page"), [right, wrong]) == "in part"
    assert state(claim(number()), [Verdict("not measured")]) == "in part"
    assert state(claim(number(), lacks="ten minutes"), [right]) == "in part"
    assert state(claim(number()), [right, Verdict("deviates", 2)]) == "deviates"
    assert state(claim(number()), [Verdict("input")]) == "input"
    assert state(claim(number()), [right, Verdict("input")]) == "stands"
    assert state(claim(by="`lfp certify`"), []) == "stands"
    assert state(claim(missing="no such scenario"), []) == "missing"
    for keys in ({}, {"by": "a page", "missing": "all"}, {"missing": "all", "lacks": "all"}):
        with pytest.raises(ValidationError, match="give"):
            claim(**keys)


def test_what_we_expect_ourselves_stands_apart_and_decides_nothing() -> None:
    met = [{"say": "a bound from theory", "met": True}]
    found = page(claim(number()), run(result(9e6), expected=met))
    rows_, _, ours = found.partition("## Expectations of our own")
    assert "bound from theory" not in rows_ and "| in part |" in rows_ and "1 of 1" in ours
    missed = page(claim(number()), run(result(3.4e6), expected=[*met, {"say": "another", "met": False}]))
    assert "| stands |" in missed and "| 1 of 2 | another |" in missed


def test_what_is_missing_is_said() -> None:
    assert "| F06 | 4 KB: 3.4 Mbit/s | – | missing: no such line |" in page(claim(missing="no such line"))


def test_every_row_that_was_counted_is_in_the_book() -> None:
    counted = {"C": 50, "T": 24, "P": 10, "F": 21, "L": 41, "K": 14}
    assert [one.id for one in claims.load()] == [
        f"{paper}{row:02}" for paper in counted for row in range(1, counted[paper] + 1)
    ]


@pytest.mark.parametrize("scenario", claims.scenarios())
def test_every_number_is_in_a_form_of_its_scenario_and_an_input_is_what_it_sets(scenario: str) -> None:
    forms = {form: [params.of(trial) for trial in load_plan(scenario, quick=form).trials] for form in (True, False)}
    for one in (one for told in claims.load() for one in told.numbers if one.scenario == scenario):
        picked = {form: [trial for trial in trials if picks(one, trial)] for form, trials in forms.items()}
        assert picked[True] or picked[False], f"no trial of {scenario} is '{one.say}'"
        for trial in picked[False] if one.input else ():
            assert trial[one.input_column] == pytest.approx(one.value * one.scale), f"{scenario} sets another {one.say}"


def picks(one: Figure, trial: Mapping[str, Any]) -> bool:
    """Whether a trial has a figure's settings. A plan has the settings of the first flow alone."""
    flows = {"flow", "beside"} & one.where.keys()
    mains = one.model_copy(update={"where": {key: one.where[key] for key in one.where if key not in flows}})
    return bool(mains.picks(trial)) or "flow" in flows


def test_what_a_claim_names_exists() -> None:
    project = Path(__file__).resolve().parents[2]
    while not (project / "CMakePresets.json").exists():
        project = project.parent
    texts = [
        file.read_text(encoding="utf-8")
        for file in (project / "tests").rglob("*.[pc]*")
        if file.is_file() and file.suffix in (".py", ".c")
    ]
    library = {file.stem for file in (project / "scenarios/library").glob("*.toml")}
    for one in claims.load():
        for shows in (each.shows for each in one.numbers if each.shows):
            kind, _, name = shows.partition(":")
            there = {"scenario": name in library, "test": any(f"def {name}(" in text for text in texts)}
            assert there.get(kind, (project / shows).is_file()), f"{one.id}: {shows} is not there"
        for name in re.findall(r"test `(\w+)`", one.by):
            assert any(f"def {name}(" in text for text in texts), f"{one.id}: no test {name}"
        for link in re.findall(r"\]\(([^)#]+)", one.by):
            assert (project / "docs/reference" / link).exists(), f"{one.id}: {link} is not there"
        for name in re.findall(r"`([a-z]+-[a-z0-9-]+)`", one.by):
            known = library | {"sack-1998", "bsd-1995", "gbn-strict"}
            assert name in known, f"{one.id}: no scenario {name}"


def test_the_product_grew_64_times_in_six_years() -> None:
    lists = Path(stored.__file__).parents[1] / "reference"
    scores = [
        float(line.split(",")[1])
        for name in ("lsr-ipv4", "lsr-ipv6")
        for line in (lists / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    assert max(scores) / scores[0] == pytest.approx(64, abs=0.5)


def test_what_an_older_scenario_measured_is_not_shown(tmp_path: Path) -> None:
    for name in ("quick", "whole"):
        digest = stored.digest("lfp-tab2", name)
        stored.write(tmp_path, "lfp-tab2", name, replace(run(result(3.4e6)), digest=digest))
        kept = stored.read(tmp_path, "lfp-tab2", name)
        assert kept and kept.results == [result(3.4e6)]
        stored.write(tmp_path, "lfp-tab2", name, replace(run(result(3.4e6)), digest="of another"))
        assert stored.read(tmp_path, "lfp-tab2", name) is None
    assert stored.read(tmp_path, "lfp-tab1", "quick") is None


def test_a_scenario_that_says_something_else_of_the_same_trials_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (load_layers("lfp-tab2").values["scenario"]["title"], "another title")
    written = (Path(stored.__file__).parents[1] / "library/lfp-tab2.toml").read_text(encoding="utf-8")
    file.write_text(written.replace(*text), encoding="utf-8")
    assert stored.digest(str(file), "quick") == stored.digest("lfp-tab2", "quick")
    file.write_text(written.replace("155Mbit", "156Mbit"), encoding="utf-8")
    assert stored.digest(str(file), "quick") != stored.digest("lfp-tab2", "quick")


def test_a_scenario_and_its_files_are_the_same_in_every_folder(tmp_path: Path) -> None:
    library = Path(stored.__file__).parents[1] / "library"
    for name in ("rtt-unfair.toml", "rtt-unfair-120ms.txt"):
        (tmp_path / name).write_bytes((library / name).read_bytes())
    assert stored.digest(str(tmp_path / "rtt-unfair.toml"), "quick") == stored.digest("rtt-unfair", "quick")
    (tmp_path / "rtt-unfair-120ms.txt").write_text("121ms\n", encoding="utf-8")
    assert stored.digest(str(tmp_path / "rtt-unfair.toml"), "quick") != stored.digest("rtt-unfair", "quick")


def test_a_run_that_carries_its_models_files_is_found_again(tmp_path: Path) -> None:
    plan = load_plan("rtt-unfair", quick=True, seed=SEED)
    run_dir = tmp_path / "rtt-unfair-1"
    run_dir.mkdir()
    echo, _ = model_files.carried(plan.echo, run_dir)
    said = {"scenario": echo, "seed": plan.seed, "state": "done", "virtual": {}}
    (run_dir / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    assert _newest(plan, tmp_path) == run_dir


def test_a_stored_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick/lfp-tab2.json").write_text('{"v": 1}', encoding="utf-8")
    with pytest.raises(LfpError, match=r"lfp-tab2.json: not a stored measurement .* run the scenario again"):
        stored.read(tmp_path, "lfp-tab2", "quick")


def test_the_book_is_what_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The book fits today's scenarios, or the scenarios as they were when measured: a changed scenario need not be
    measured at once."""
    reference = next(parent for parent in Path(__file__).resolve().parents if (parent / "docs").is_dir())
    reference = reference / "docs/reference"

    def as_kept(scenario: str, form: str) -> str:
        file = reference / "measured" / form / f"{scenario}.json"
        return str(json.loads(file.read_text(encoding="utf-8"))["digest"]) if file.exists() else ""

    def written() -> str:
        output = tmp_path / "book.md"
        options = ["--no-run", "--kept", str(reference / "measured"), "--output", str(output)]
        answer = CliRunner().invoke(command, options, standalone_mode=False)
        assert answer.exception is None
        return output.read_text(encoding="utf-8")

    today = written()
    monkeypatch.setattr(stored, "digest", as_kept)
    assert (reference / "reproduction.md").read_text(encoding="utf-8") in (today, written()), (
        "write it again: lfp papers --no-run --kept docs/reference/measured --output docs/reference/reproduction.md"
    )


@pytest.mark.parametrize(
    ("arguments", "wrong"), [(["--no-run"], "give --kept FOLDER"), (["--whole"], "name the scenarios")]
)
def test_what_papers_cannot_do_is_one_line(arguments: list[str], wrong: str) -> None:
    answer = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert isinstance(answer.exception, UsageError) and wrong in str(answer.exception)


@pytest.mark.parametrize("scenario", rows.scenarios())
def test_a_run_of_the_same_plan_is_found_again(tmp_path: Path, scenario: str) -> None:
    plan = load_plan(scenario, quick=True, seed=SEED)
    run = tmp_path / f"{scenario}-1"
    run.mkdir()
    said = {"scenario": plan.echo, "seed": plan.seed, "state": "done", "virtual": {}}
    (run / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    assert _newest(plan, tmp_path) == run
    assert _newest(load_plan(scenario, quick=True, seed=SEED + 1), tmp_path) is None


def test_a_scenario_without_a_row_is_refused() -> None:
    answer = CliRunner().invoke(command, ["cc-kernel"], standalone_mode=False)
    assert isinstance(answer.exception, UsageError) and "cc-kernel: measures no row of a paper" in str(answer.exception)
