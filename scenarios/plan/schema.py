"""The JSON Schema of a scenario file, made from the model, so that an editor completes keys and marks mistakes.

The schema describes what a file may hold, while the model describes a complete scenario. In a file quantities are
numbers or texts with units, no table has to be complete (another layer may say the rest), and there are also
``extends``, [sweep], [case.NAME] and [quick]. A file that the schema accepts may still be refused; a file that `lfp`
accepts is never marked.
"""

from __future__ import annotations

from typing import Any

from scenarios.plan.model import NAMED, SWEEPABLE, Scenario

DIRECTIVE = "#:schema"  # the line by which editors (taplo, Even Better TOML) find it
_ANY_POINTS = {"enum": ["all"]}


def schema() -> dict[str, Any]:
    """The schema, ready for `json.dumps`."""
    made = Scenario.model_json_schema(by_alias=True)
    tables, definitions = made["properties"], made["$defs"]
    for one in (made, *definitions.values()):
        _loosen(one)
    definitions["About"]["properties"]["extends"] = {
        "type": "string",
        "description": "A scenario of the library, or a file in this file's folder, that this file changes.",
    }
    points = definitions["Capture"]["properties"]["points"]
    definitions["Capture"]["properties"]["points"] = {"anyOf": [points, _ANY_POINTS]}
    names = [*_settings(tables, definitions)]
    sweep = {
        "type": "object",
        "description": "Settings and the values that each takes: the cross product of all lists.",
        "properties": {name: {"type": ["array", "object"]} for name in names},
        "patternProperties": {rf"^({'|'.join(NAMED)})\.": {"type": ["array", "object"]}},
        "additionalProperties": False,
    }
    layer: dict[str, Any] = {"type": "object", "additionalProperties": False}
    definitions |= {"Sweep": sweep, "Layer": layer}
    properties = {
        "sweep": {"$ref": "#/$defs/Sweep"},
        "case": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/Layer"},
            "description": "Settings that go together, under a name.",
        },
    }
    layer["properties"] = {**tables, **properties}
    properties["quick"] = {"$ref": "#/$defs/Layer", "description": "What --quick puts on top."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of lfp",
        **{key: value for key, value in made.items() if key != "title"},
        "properties": {**tables, **properties},
    }


def settings() -> dict[str, list[str]]:
    """Every setting that ``--set`` takes, as TABLE.KEY, with the allowed words if it takes one of a few."""
    made = Scenario.model_json_schema(by_alias=True)
    return _settings(made["properties"], made["$defs"])


def _settings(tables: dict[str, Any], definitions: dict[str, Any]) -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    for table in (*(one for one in SWEEPABLE if one not in NAMED), "run", "report", "route"):
        keys = definitions[_name(tables[table])]["properties"]
        words |= {f"{table}.{key}": _words(said) for key, said in keys.items()}
    return words


def _name(said: dict[str, Any]) -> str:
    reference = said.get("$ref") or said["allOf"][0]["$ref"]
    return str(reference).rpartition("/")[2]


def _words(said: dict[str, Any]) -> list[str]:
    if said.get("type") == "boolean":
        return ["true", "false"]
    listed = said.get("items") or said
    own = listed.get("enum") or ([listed["const"]] if "const" in listed else [])
    return [*own, *(word for one in said.get("anyOf", ()) for word in _words(one))]


def _loosen(table: dict[str, Any]) -> None:
    """Removes the requirements that a single layer need not fulfil, and pydantic's titles, which repeat the keys."""
    table.pop("required", None)
    for said in table.get("properties", {}).values():
        said.pop("title", None)
