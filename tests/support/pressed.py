"""What a browser posts to the dashboard when a button is pressed, without a browser."""

from __future__ import annotations

from typing import Any

from flask import Flask


def pressed(
    server: Flask, output: str, inputs: dict[str, str], state: dict[str, object], button: str, **headers: str
) -> Any:
    """The answer to the press of `button`. `output`: the callback's outputs as Dash names them; `inputs`: property of
    each input; `state`: the values of the fields."""
    client = server.test_client()
    client.get("/_dash-dependencies")
    body = {
        "output": output,
        "outputs": outputs(output),
        "changedPropIds": [f"{button}.{inputs[button]}"],
        "inputs": [
            {"id": name, "property": kind, "value": 1 if name == button else None} for name, kind in inputs.items()
        ],
        "state": [{"id": name, "property": "value", "value": value} for name, value in state.items()],
    }
    return client.post("/_dash-update-component", json=body, headers=headers)


def said(answer: Any, name: str) -> str:
    """The text that an answer puts into the element of that name."""
    return str(answer.json["response"][name]["children"])


def outputs(output: str) -> Any:
    """Dash's name of an output as an object: `a.children`, or `..a.children...b.value..` for a list of outputs."""
    names = output.strip(".").split("...")
    found = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
    return found if output.startswith("..") else found[0]
