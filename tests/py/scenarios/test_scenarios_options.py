"""A parameter has one owner: a scenario allows what the installed tool's option table says, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import manual
from support.changed_tool import changed_tool
from support.manual import disagreements
from support.scenario_runs import TINY

from comet_delay import options as box_options
from netcommon import options, quantity
from netcommon.binaries import find, override_variable
from netcommon.errors import UsageError
from netcommon.options import Option
from scenarios.plan.document import LIBRARY
from scenarios.plan.path import DIRECTION_KEYS, PathKeys, columns_of
from scenarios.plan.plan import Plan, load_plan
from scenarios.plan.tool_options import source_of

TABLES = ("path", "transfer", "gateway", "capture")
# Keys whose bounds the scenario sets, not a tool: the whole network's MTU, and a seed that JSON can hold.
OWN = {("path", "mtu"), ("path", "seed")}
ROW = re.compile(r"^\| (?P<keys>[a-z_, ]+) \| (?P<default>[^|]*) \| (?P<allowed>[^|]*) \|", re.MULTILINE)
ALLOWED = re.compile(r"(?:0, or )?(?P<low>\S+) … (?P<high>\S+)$|at least (?P<least>[^\s,]+)")


def number(option: Option, text: str) -> int:
    assert option.unit, option
    return quantity.parse(quantity.UNITS[option.unit], text)


def specified() -> dict[tuple[str, str], tuple[str, str]]:
    """Default and bounds of each key, as SCENARIO.md's table has them."""
    text = (LIBRARY.parent / "SCENARIO.md").read_text()
    parts = re.split(r"^\| \*\*\[(\w+)\]\*\*", text, flags=re.MULTILINE)
    return {
        (table, key.strip()): (row["default"].strip(), row["allowed"].strip())
        for table, rows in zip(parts[1::2], parts[2::2], strict=True)
        for row in ROW.finditer(rows)
        for key in row["keys"].split(",")
    }


def backed() -> list[tuple[str, str, Option]]:
    """Keys of the specification that correspond to a quantity or a choice of a tool."""
    found = []
    for table, key in specified():
        if table in TABLES and (table, key) not in OWN:
            source = source_of(table, key)
            option = options.options(source.tool, source.verb).get(source.name)
            if option and option.kind in ("quantity", "choice"):
                found.append((table, key, option))
    return found


def test_the_specification_has_the_bounds_and_choices_of_the_tools() -> None:
    assert {("path", "delay"), ("transfer", "window"), ("gateway", "recovery")} <= {each[:2] for each in backed()}
    for table, key, option in backed():
        allowed = specified()[table, key][1]
        if option.kind == "choice":
            assert allowed == ", ".join(option.choices), f"{table}.{key}"
            continue
        found = ALLOWED.match(allowed)
        assert found, f"{table}.{key}: {allowed}"
        low, high = found["low"] or found["least"], found["high"]
        assert number(option, low) == (option.minimum or 0), f"{table}.{key}: {allowed}, not {option.minimum_text}"
        assert (number(option, high) if high else None) == option.maximum, f"{table}.{key}: {allowed}"


@pytest.mark.parametrize("key", DIRECTION_KEYS)
def test_a_parameter_that_a_scenario_leaves_out_is_the_boxs_own(key: str) -> None:
    """Parameters with their default are not passed on, so the scenario's default must equal the box's."""
    option = options.options("comet-delay", "run")[key.replace("_", "-")]
    ours = PathKeys.model_fields[key].default
    if key in ("loss", "loss_after"):
        assert quantity.parse_ratio_ppb(str(option.default_text)) == ours
    elif option.kind == "quantity":
        assert (option.default or 0) == ours
    else:
        assert option.default_text == ours
    written = specified()["path", key][0]
    assert (number(option, written) if option.kind == "quantity" else written) in (ours, option.default_text)


@pytest.mark.parametrize("key", DIRECTION_KEYS)
def test_a_column_has_the_name_that_the_box_gives_its_parameter(key: str) -> None:
    names = {name for name, option in box_options.installed().path.items() if option.name == key.replace("_", "-")}
    assert set(columns_of(key)) <= names


def changed(folder: Path, tool: str, verb: str | None, change: Callable[[dict[str, Any]], None]) -> Path:
    """The installed tool with another option table."""
    real, arguments = find(tool), [*([verb] if verb else []), "--options-json"]
    table = json.loads(subprocess.run([real, *arguments], capture_output=True, text=True, check=True).stdout)
    change({row["name"]: row for row in table["options"]})
    answer = folder / f"{tool}.json"
    answer.write_text(json.dumps(table))
    stub = folder / tool
    stub.write_text(f'#!/bin/sh\ncase "$*" in *--options-json*) cat {answer} ;; *) exec {real} "$@" ;; esac\n')
    stub.chmod(0o755)
    return stub


def plan_with(folder: Path, override: str) -> Plan:
    file = folder / "tiny.toml"
    file.write_text(TINY)
    return load_plan(str(file), overrides=[override])


def test_another_bound_in_the_tools_table_is_another_bound_of_the_scenario(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tighter(rows: dict[str, Any]) -> None:
        rows["delay"] |= {"maximum": 7_000_000, "maximum_text": "7ms"}
        rows["jitter-order"]["choices"] = ["keep", "shuffle"]

    assert plan_with(tmp_path, "path.delay=10ms").base.path.delay == 10_000_000
    monkeypatch.setenv(override_variable("comet-delay"), str(changed(tmp_path, "comet-delay", "run", tighter)))
    with pytest.raises(UsageError, match=r"path\.delay = '10ms': out of range; allowed is \S+ to 7ms"):
        plan_with(tmp_path, "path.delay=10ms")
    with pytest.raises(UsageError, match=r"path\.ab_delay = '8ms': out of range; allowed is \S+ to 7ms"):
        plan_with(tmp_path, "path.ab_delay=8ms")
    with pytest.raises(UsageError, match=r"path\.jitter_order = 'overtake': allowed is one of keep, shuffle"):
        plan_with(tmp_path, "path.jitter_order=overtake")
    back = plan_with(tmp_path, "path.ba_jitter_order=shuffle").base.path.direction("ba")
    assert back.values["jitter_order"] == "shuffle"


@dataclass(frozen=True)
class Bound:
    """One bound of an option that the test changes in the tool's table. Only the old bound allows ``value``."""

    tool: str
    verb: str | None
    source: str  # the file of the table
    pattern: str
    replacement: str
    option: str
    key: str  # what a scenario calls the option
    value: str
    old: str
    new: str

    @property
    def page(self) -> Path:
        return next(page for page in manual.PAGES if page.stem == self.tool)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [str(find(self.tool)), *([self.verb] if self.verb else []), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)

    def help(self) -> str:
        """The text of --help about the option, with its default and range."""
        rows = re.split(r"\n(?= {2}(?:-\w, | {4})--)", self.command("--help").stdout)
        return next(row for row in rows if re.match(rf" *(?:-\w, *)?--{self.option} ", row))


BOUNDS = (
    Bound(
        "comet-delay", "run", "comet_delay/src/model/params.c", r'(NC_QUANTITY\("delay",[^)]*)3600 \* NC_NS_PER_S',
        r"\g<1>7 * NC_NS_PER_S", "delay", "path.delay", "8s", "0ns to 3600s", "0ns to 7s",
    ),
    Bound(
        "rttcp", None, "rttcp/src/cmd/settings.c", r'(NC_QUANTITY\("window",[^)]*)RTTCP_WINDOW_MIN', r"\g<1>4096",
        "window", "transfer.window", "3KB", "2KB to 1GB", "4KB to 1GB",
    ),
)  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.tool)
def test_one_bound_in_the_tools_source_is_every_bound(
    bound: Bound, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The test changes the table where a developer would, and builds the tool again. It changes nothing else."""
    file = tmp_path / "mine.toml"
    file.write_text(f'scenario.name = "mine"\ntransfer.bytes = "1MB"\n{bound.key} = "{bound.value}"\n')
    load_plan(str(file))
    assert f"({bound.old})" in bound.help()
    assert manual.outdated(bound.page) == []

    tool = changed_tool(tmp_path, bound.tool, bound.source, bound.pattern, bound.replacement)
    monkeypatch.setenv(override_variable(bound.tool), str(tool))
    refused = bound.command(f"--{bound.option}", bound.value)
    assert refused.returncode == 2
    said = f"'{bound.value}': out of range; allowed is {bound.new}"
    assert refused.stderr == f"{bound.tool}: --{bound.option} {said}\n"
    assert f"({bound.new})" in bound.help() and bound.old not in bound.help()
    with pytest.raises(UsageError, match=re.escape(f"{file}:3: {bound.key} = {said}")):
        load_plan(str(file))
    missing, left_over = manual.outdated(bound.page)
    assert missing.startswith("missing: ") and bound.new in missing
    assert left_over.startswith("not so: ") and bound.old in left_over
    with pytest.raises(AssertionError, match=re.escape(bound.key)):
        test_the_specification_has_the_bounds_and_choices_of_the_tools()


def test_a_paragraph_of_the_manual_that_states_another_bound_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def smaller(rows: dict[str, Any]) -> None:
        rows["window"] |= {"maximum": 2**29, "maximum_text": "512MB"}

    page = manual.ROOT / "rttcp" / "rttcp.1"
    assert disagreements(page, None) == []
    monkeypatch.setenv(override_variable("rttcp"), str(changed(tmp_path, "rttcp", None, smaller)))
    (said,) = disagreements(page, None)
    assert said.startswith("--window: ") and "512MB" in said


def test_what_a_tool_refuses_is_refused_before_the_trial(tmp_path: Path) -> None:
    """These three scenarios were once accepted, and their trials failed."""
    for override, words in (
        ("transfer.window=512B", "allowed is 2KB to 1GB"),
        ("path.rate=800Gbit", "to 400Gbit"),
        ("transfer.length=128MB", "to 64MB"),
    ):
        with pytest.raises(UsageError, match=words):
            plan_with(tmp_path, override)
    assert plan_with(tmp_path, "path.delay=10min").base.path.delay == 600 * 10**9
    assert plan_with(tmp_path, "transfer.sample=0").base.transfer.sample == 0


def test_without_the_tool_there_are_no_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A report is drawn, and a library listed, where no tool is installed."""
    monkeypatch.setenv(override_variable("comet-delay"), str(tmp_path / "none"))
    assert plan_with(tmp_path, "path.delay=2h").base.path.delay == 7200 * 10**9
