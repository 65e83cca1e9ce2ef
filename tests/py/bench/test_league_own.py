"""A user's own products in the league, and the column of its pages with the cases that each product passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.league import conformance, own
from netcommon.errors import UsageError
from scenarios.plan.plan import load_plan

MINE = """
[transfer]
bytes = "1MB"
[gateway]
kind = "command"
model = "proxy"
settle = "200ms"
programs = ["sh"]
near = '''sh -c 'exec "./mine" --listen $listen' '''
far = "./mine --serve $far"
"""


def written(tmp_path: Path, name: str = "mine", text: str = MINE) -> Path:
    file = tmp_path / f"{name}.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("scenario", ["gateways", "gateways-beside"])
def test_a_product_is_a_case_beside_the_others(tmp_path: Path, scenario: str) -> None:
    (tmp_path / "scratch").mkdir()
    file = own.with_products(scenario, [written(tmp_path)], tmp_path / "scratch")
    plan, before = load_plan(file, seed=1), load_plan(scenario, seed=1)
    assert plan.name == scenario
    assert plan.sweep["scenario.case"] == [*before.sweep["scenario.case"], "mine"]
    gateway = next(one.setting.gateway for one in plan.trials if one.setting.scenario.case == "mine")
    assert gateway.near == """sh -c 'exec "./mine" --listen $listen' """ and gateway.folder == str(tmp_path)
    assert (gateway.programs, gateway.settle) == (("sh",), 200_000_000)
    assert gateway.rate == next(one for one in before.trials).setting.gateway.rate


def test_without_products_the_league_is_its_own() -> None:
    assert own.with_products("gateways", [], Path("/nowhere")) == "gateways"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("socat", MINE, "'socat' is a case of the league"),
        ("mine", '[path]\ndelay = "1ms"\n[transfer]\nbytes = "1MB"\n', 'want [gateway] kind = "command"'),
        ("mine", MINE.replace("far =", "fra ="), "fra"),
    ],
)
def test_what_is_no_product_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        own.with_products("gateways", [written(tmp_path, name, text)], tmp_path)
    assert said in str(caught.value)


PAGE = """# gateways.virtual

## Goodput of the bulk transfer, Mbit/s

|  | 5 Mbit/s | 20 Mbit/s |
| --- | ---: | ---: |
| cubic | 3.51 | 2.21 |
| lft-fec | 3.5 | 3 |
| socat | 3.7 | 2 |

## Median time

|  | 5 Mbit/s |
| --- | ---: |
| cubic | 460 |
"""


def test_the_table_of_goodput_has_a_column_of_conformance(tmp_path: Path) -> None:
    (tmp_path / "conformance-lft.md").write_text("# LFT\n\n39 cases: 38 pass, 0 fail, 1 not applicable. `lfp …`\n")
    (tmp_path / "conformance-socat.md").write_text("# socat\n\n39 cases: 1 passes, 38 fail, 0 not applicable.\n")
    (tmp_path / "conformance-faults.md").write_text("# faults\n")
    found = conformance.found(tmp_path)
    assert found == {"lft": "[38 of 38](conformance-lft.md)", "socat": "[1 of 39](conformance-socat.md)"}
    page = conformance.with_column(PAGE, found)
    rows = [line.split(" | ")[-1].strip(" |") for line in page.splitlines() if line.startswith("|")]
    assert rows == ["conformance", "---:", "–", found["lft"], found["socat"], "5 Mbit/s", "---:", "460"]
    assert conformance.with_column(page, found) == page, "the second time it takes the place of the first"
    assert conformance.with_column("# another page\n", found) == "# another page\n"
