"""The gateway league: its scenarios, the traffic next to a transfer, the products left out, and its tables."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.league import league, tables
from lfp import cli
from netcommon.errors import UsageError
from scenarios.plan import gateway_commands, params
from scenarios.plan.document import LIBRARY
from scenarios.plan.model import MOST_FLOWS
from scenarios.plan.plan import Plan, load_plan
from scenarios.run.manifest import replan
from scenarios.trial import transfer_tool

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = [  # of other products
    file for file in sorted((ROOT / "examples" / "gateways").glob("*.toml")) if file.stem != "lft"
]
LINE = """
[scenario]
name = "line"
[path]
delay = "10ms"
rate = "20Mbit"
[transfer]
duration = "1s"
[gateway]
kind = "lft"
rate = "0.95 line"
[sweep]
"path.rate" = ["20Mbit", "100.5Mbit"]
"""


def read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_the_leagues_products_are_those_of_the_examples() -> None:
    cases = read(LIBRARY / "gateways.toml")["case"]
    of_products = {name: case["gateway"] for name, case in cases.items() if case.get("gateway", {}).get("near")}
    assert of_products == {file.stem: read(file)["gateway"] for file in EXAMPLES}
    assert set(cases) == set(load_plan("gateways", seed=1).sweep["scenario.case"])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_a_scenario(file: Path) -> None:
    plan = load_plan(str(file), seed=1)
    assert plan.name == file.stem and plan.base.gateway.programs
    assert set(plan.base.gateway.programs) <= set(gateway_commands.started(plan.base.gateway))


def test_the_limit_of_a_gateway_follows_the_line_of_each_setting(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    plan = load_plan(str(file), seed=1)
    again = replan({"scenario": plan.echo, "seed": plan.seed})
    for one in (plan, again):
        assert [trial.setting.gateway.rate for trial in one.trials] == [19_000_000, 95_000_000]  # whole Mbit/s
    with pytest.raises(UsageError, match=r"gateway.rate = '0.95 line': a path without rate has no line; set path.rate"):
        load_plan(str(file), overrides=["path.rate=0"])
    with pytest.raises(UsageError, match=r"less than 1Mbit; want for example 1 line"):
        load_plan(str(file), overrides=["path.rate=1Mbit"])


def of_case(plan: Plan, case: str) -> Any:
    return next(trial.setting for trial in plan.trials if trial.setting.scenario.case == case)


def test_a_proxy_forwards_the_ports_of_the_short_transfers_too() -> None:
    setting = of_case(load_plan("gateways", seed=1), "socat")
    assert transfer_tool.beside_ports(setting.transfer) == transfer_tool.ports(transfer_tool.SHORT)
    assert transfer_tool.beside_ports(setting.transfer.model_copy(update={"short": None})) == ()
    assert transfer_tool.SHORT > MOST_FLOWS


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("transfer.bytes=1MB", "transfer.plain = true: only with a transfer of a given 'duration'; give 'duration'"),
        ("transfer.tool=iperf3", "transfer.plain = true: iperf3 as it is run here has no concurrent transfers"),
    ],
)
def test_what_excludes_flows_beside_is_one_line(override: str, said: str) -> None:
    socat = str(next(file for file in EXAMPLES if file.stem == "socat"))
    with pytest.raises(UsageError) as caught:
        load_plan(socat, overrides=["transfer.plain=true", 'transfer.short="100KB"', override])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_program_that_is_not_here_is_said_before_a_run_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"sh": Path("/bin/sh")}
    monkeypatch.setattr(gateway_commands, "located", lambda program, _=None: here.get(program))
    arguments = ["run", "gateways", "--time", "virtual", "--set", "scenario.case=kcptun,cubic"]
    assert cli.run([*arguments, "--runs-dir", str(tmp_path / "runs")]) == 3
    said = capsys.readouterr().err
    assert "gateway.programs: not found: kcptun-client, kcptun-server; install it, or leave case 'kcptun' out" in said
    assert len(said.splitlines()) == 1 and not (tmp_path / "runs").exists()
    absent = league.absent(load_plan("gateways", seed=1), virtual=True)
    assert absent["kcptun"] == "no kcptun-client, kcptun-server here" and "cubic" not in absent


def made_up(plan: Plan, **changes: Any) -> list[dict[str, Any]]:
    outcome = {
        "state": "done",
        "valid": True,
        "short_term_bps": 12.345e6,
        "elapsed_ns": 4 * 10**9,
        "shorts": 3,
        "short_median_ns": 250_000_000,
        "cpu_gateways_ns": 3 * 10**7,
        "plain_bps": 7.655e6,
    }
    return [params.of(trial) | outcome | changes for trial in plan.trials]


def test_the_tables_mark_what_is_not_valid_and_what_failed() -> None:
    plans = [load_plan(name, seed=1) for name in ("gateways", "gateways-beside")]
    rows = [made_up(plan) for plan in plans]
    for row in rows[0]:
        row["valid"] = row["case"] != "ssh"
    for row in rows[1]:
        row["state"] = "failed" if row["case"] == "kcptun" else "done"
    page = tables.page(plans, rows, virtual=False)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    goodput, short, cpu, beside = (
        {row[0]: row[1:] for row in cells[start + 2 : start + 17]}
        for start in (number for number, row in enumerate(cells) if row[0] == "")
    )
    assert set(goodput["cubic"]) == {"12.3"} and len(goodput["cubic"]) == 8 and set(goodput["ssh"]) == {"12.3*"}
    assert set(short["bbr"]) == {"250"}
    octets = 12.345e6 * 4 / 8 + 3 * 100 * 1024
    assert float(cpu["socat"][0]) == pytest.approx(3e7 / octets, rel=0.01)
    assert beside["kcptun"] == ["failed"] * 3 and beside["reno"] == ["12.3", "7.66", "38 %"]
    assert "CPU time" not in tables.page(plans, rows, virtual=True)
