"""The guest's half of `support.virtual`: it imports little, because a guest is started for each function."""

from __future__ import annotations

import json
from importlib import import_module

RESULT = "result of the guest: "


def call(module: str, function: str, arguments: str) -> None:
    """Calls a function with JSON arguments and prints what it returned."""
    found = getattr(import_module(module), function)(**json.loads(arguments))
    print(RESULT + json.dumps(found), flush=True)
