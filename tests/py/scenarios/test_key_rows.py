"""A key of [path], [transfer] or [gateway] is one row, from which its column, argument, refusal and document follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import key_rows

from lft_ref import Settings
from netcommon import options
from netcommon.errors import UsageError
from scenarios.plan import columns, keys, params, profiles
from scenarios.plan.document import Document
from scenarios.plan.path import PathKeys
from scenarios.plan.plan import Plan, make_plan, plan_of
from scenarios.plan.tool_options import source_of
from scenarios.trial import transfer_tool

TABLES = {"scenario": {"name": "rows"}, "transfer": {"bytes": "1MB"}}


def plan(**transfer: Any) -> Plan:
    return make_plan(Document("rows.toml", {**TABLES, "transfer": {"bytes": "1MB", **transfer}}), 1)


def test_the_specification_has_the_rows_of_the_table() -> None:
    assert key_rows.PAGE.read_text() == key_rows.page(), "run .venv/bin/python tools/key-rows"


def test_the_schema_has_the_parameters_of_a_session() -> None:
    assert key_rows.SCHEMA.read_text() == key_rows.schema(), "run .venv/bin/python tools/key-rows"


def test_the_causes_are_pktloggers() -> None:
    assert key_rows.CAUSES.read_text() == key_rows.causes_json(), "run .venv/bin/python tools/key-rows"


def test_the_dissector_has_the_gateways_recoveries() -> None:
    assert key_rows.LUA.read_text() == key_rows.lua(), "run .venv/bin/python tools/key-rows"


@pytest.mark.parametrize("table", key_rows.TABLES)
def test_every_key_has_a_row_and_a_column(table: str) -> None:
    own = dict(keys.rows(key_rows.TABLES[table]))
    assert own.keys() == key_rows.TABLES[table].model_fields.keys()
    for key, row in own.items():
        if column := keys.column_of(key, row):
            assert columns.COLUMNS[column].setting == f"{table}.{key}"


@pytest.mark.parametrize("table", key_rows.TABLES)
def test_what_is_given_to_the_tool_is_an_option_of_it(table: str) -> None:
    for key, row in keys.rows(key_rows.TABLES[table]):
        source = source_of(table, key)
        name = row.given.replace("_", "-") if isinstance(row.given, str) else source.name
        assert not row.given or name in options.options(source.tool, source.verb), key


def test_a_key_is_an_argument_and_a_column() -> None:
    (trial,) = plan(dscp=46).trials
    assert params.of(trial)["dscp"] == 46
    profile = profiles.of(trial.setting.profile)
    made = transfer_tool.commands(trial.setting, profile, "10.0.0.2", Path("samples"))
    assert made.sender[made.sender.index("--dscp") + 1] == "46"


def gateways(**gateway: Any) -> Plan:
    return plan_of(Document("rows.toml", {**TABLES, "gateway": gateway}), seed=1)


def test_a_key_of_the_gateway_is_an_option_and_a_column() -> None:
    asked = {"recovery": "fec", "fec_percent": 20, "redundancy": False, "rate": "20Mbit"}
    (trial,) = gateways(kind="lft", **asked).trials
    given = keys.arguments(trial.setting.gateway)
    settings = Settings(psk=Path("psk"), listen="192.0.2.1:2004", control=Path("socket"), given=given)
    words = settings.argv(["lft-gateway"])
    for option, value in (("--recovery", "fec"), ("--fec-percent", "20"), ("--rate", "20000000bit")):
        assert words[words.index(option) + 1] == value, words
    assert "--no-redundancy" in words and "--host-rate" not in words, words
    found = params.of(trial)
    assert (found["gateway_fec_percent"], found["gateway_redundancy"], found["gateway_near"]) == (20, False, None)


@pytest.mark.parametrize(("rate", "column"), [({"rate": "20Mbit"}, 20_000_000), ({}, None)])
def test_the_rate_that_a_command_line_is_given_is_a_column(rate: dict[str, str], column: int | None) -> None:
    (trial,) = gateways(kind="command", near="true $rate_bps", far="true", **rate).trials
    found = params.of(trial)
    assert (found["gateway_rate_bps"], found["gateway_cipher"]) == (column, None)


@pytest.mark.parametrize(
    ("gateway", "reason"),
    [
        ({"kind": "lft", "fec_percent": 101}, "gateway.fec_percent = 101: out of range; allowed is 0 to 100"),
        ({"fec_percent": 20}, "gateway.fec_percent = 20: no trial has a gateway that takes it; set gateway.kind"),
        ({"folder": "."}, "gateway.folder = '.': no trial has a gateway that takes it; set gateway.kind"),
    ],
)
def test_a_wrong_key_of_the_gateway_is_refused(gateway: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        gateways(**gateway)
    assert reason in str(caught.value)


def test_zero_is_given_to_the_box_where_its_own_default_is_another_number() -> None:
    assert keys.arguments(PathKeys.model_validate({"poll": "0", "granularity": "10us"})) == {
        "poll_ns": 0,
        "granularity_ns": 10_000,
    }
    assert keys.arguments(PathKeys()) == {}


@pytest.mark.parametrize(
    ("transfer", "reason"),
    [
        ({"dscp": 64}, "transfer.dscp = 64: out of range; allowed is 0 to 63"),
        ({"dscp": 46, "tool": "iperf3"}, "transfer.dscp = 46: iperf3 as it is run here sets no code point"),
    ],
)
def test_a_wrong_value_is_refused(transfer: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(**transfer)
    assert reason in str(caught.value)
