"""A key of [transfer] is one row: column, argument, refusal, document and schema follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import key_rows

from netcommon import options
from netcommon.errors import UsageError
from scenarios.plan import columns, keys, params, profiles
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.plan.tool_options import source_of
from scenarios.plan.transfer import Transfer
from scenarios.trial import transfer_tool


def plan(**transfer: Any) -> Plan:
    values = {"scenario": {"name": "rows"}, "transfer": {"bytes": "1MB", **transfer}}
    return make_plan(Document("rows.toml", values), 1)


def test_the_specification_has_the_rows_of_the_table() -> None:
    assert key_rows.PAGE.read_text() == key_rows.page(), "run .venv/bin/python tools/key-rows"


def test_the_schema_has_the_parameters_of_a_session() -> None:
    assert key_rows.SCHEMA.read_text() == key_rows.schema(), "run .venv/bin/python tools/key-rows"


def test_the_causes_are_pktloggers() -> None:
    assert key_rows.CAUSES.read_text() == key_rows.causes_json(), "run .venv/bin/python tools/key-rows"


def test_the_dissector_has_the_gateways_recoveries() -> None:
    assert key_rows.LUA.read_text() == key_rows.lua(), "run .venv/bin/python tools/key-rows"


def test_every_key_has_a_row_and_a_column() -> None:
    own = dict(keys.rows(Transfer))
    assert own.keys() == Transfer.model_fields.keys()
    for key, row in own.items():
        assert columns.COLUMNS[keys.column_of(key, row)].setting == f"transfer.{key}"


def test_what_is_given_to_the_tool_is_an_option_of_it() -> None:
    known = options.options("rttcp")
    for key, row in keys.rows(Transfer):
        assert not row.given or source_of("transfer", key).name in known, key


def test_a_key_is_an_argument_and_a_column() -> None:
    (trial,) = plan(dscp=46).trials
    assert params.of(trial)["dscp"] == 46
    profile = profiles.of(trial.setting.profile)
    made = transfer_tool.commands(trial.setting, profile, "10.0.0.2", Path("samples"))
    assert made.sender[made.sender.index("--dscp") + 1] == "46"


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
