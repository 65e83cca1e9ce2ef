"""`lfp schema`: every scenario that lfp accepts passes, and a wrong key does not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from lfp import cli
from scenarios.plan import schema
from scenarios.plan.model import Scenario, allowed_keys

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted([*(ROOT / "scenarios/library").glob("*.toml"), *(ROOT / "examples").rglob("*.toml")])


@pytest.fixture(scope="module")
def validator() -> Any:
    made = json.loads(CliRunner().invoke(cli.lfp, ["schema"]).stdout)
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_every_scenario_of_library_and_examples_passes(validator: Any) -> None:
    assert len(FILES) > 50
    wrong = {
        path.name: f"{'.'.join(map(str, error.path))}: {error.message}"[:200]
        for path in FILES
        for error in validator.iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "text",
    [
        'pth = { rate = "1Mbit" }', "[path]\nrat = 1", "[transfer]\nverify = 1", '[gateway]\nrecovery = "none"',
        "[topology]\nhops = 20", "[sweep]\n'path.rat' = [1]", "[quick]\npath = { rat = 1 }", "[path]\nrate = true",
        "[case.a.path]\nrat = 1", '[capture]\npoints = ["there"]', "[flow.a]\npair = 0",
    ],
)  # fmt: skip
def test_what_lfp_refuses_is_marked(validator: Any, text: str) -> None:
    assert not validator.is_valid(tomllib.loads(text))


def test_it_has_every_table_and_key_that_a_file_may_have() -> None:
    made = schema.schema()
    assert set(made["properties"]) == set(allowed_keys(()))
    for table in Scenario.model_fields:
        if table not in ("flow", "pair", "expect", "event"):
            name = schema._name(made["properties"][table])
            assert set(made["$defs"][name]["properties"]) == set(allowed_keys((table,))), table


def test_settings_have_their_words() -> None:
    found = schema.settings()
    assert found["transfer.tool"] == ["rttcp", "iperf3"] and found["transfer.bidir"] == ["true", "false"]
    assert found["gateway.recovery"] == ["gbn-strict", "gbn", "selective", "fec"]
    assert found["path.delay"] == [] and "path.ab_loss" in found


def test_a_new_file_names_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.run(["new", "mine"]) == 0
    first, *_ = Path("mine.toml").read_text(encoding="utf-8").splitlines()
    directive, address = first.split()
    assert (directive, address) == ("#:schema", (tmp_path / "cache/lfp/scenario.schema.json").as_uri())
    assert json.loads((tmp_path / "cache/lfp/scenario.schema.json").read_text()) == schema.schema()
