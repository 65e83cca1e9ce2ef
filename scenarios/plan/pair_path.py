"""A pair's own path ([pair.N.path]), read from the column ``pair_path`` of a flow's parameters.

A flow's packets cross the pair's own delay box and [path]'s. So everything that derives the path of a flow from its
parameters (params.json, a row of results.parquet) needs both.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Literal

from scenarios.plan.path import DIRECTION_KEYS, OwnPath

_PREFIXES = ("", "ab_", "ba_")
_KEYS = "|".join(sorted((f"{prefix}{key}" for key in DIRECTION_KEYS for prefix in _PREFIXES), reverse=True))
_BETWEEN = re.compile(rf"(?<![,;:]) (?=(?:{_KEYS}|distance)=)")
_WITH_FILES = ("jitter", "rate_trace")  # the column names their files by a hash, so they cannot be read
_WHOLE = ("mtu", "framing", "family")  # of [path] and [transfer], for all delay boxes


def of(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of the pair's own path, under the same columns as [path]'s; None if it has no own path."""
    text = params.get("pair_path")
    if not text:
        return None
    whole = {name: params[name] for name in _WHOLE if name in params}
    return whole | _columns(str(text))


def paths(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of [path], and of the pair's own path where it has one."""
    own = of(params)
    return [dict(params) | {"pair_path": None}, *([own] if own else [])]


def turned(text: str | None) -> str | None:
    """The column for the reverse direction."""
    if not text:
        return text
    other = {"ab_": "ba_", "ba_": "ab_"}
    return " ".join(other.get(word[:3], word[:3]) + word[3:] for word in _BETWEEN.split(text))


@functools.lru_cache(64)
def _columns(text: str) -> dict[str, Any]:
    said = dict(word.split("=", 1) for word in _BETWEEN.split(text))
    named = {key: said.pop(key) for key in list(said) if key.removeprefix("ab_").removeprefix("ba_") in _WITH_FILES}
    try:
        path = OwnPath.model_validate(said)
    except ValueError:  # a value that only an earlier version allowed
        path = OwnPath()
    found: dict[str, Any] = {"rtt_ns": path.rtt_ns()}
    ways: tuple[tuple[Literal["ab", "ba"], str], ...] = (("ab", ""), ("ba", "ba_"))
    for which, prefix in ways:
        columns = path.direction(which).columns()
        models = {key: named.get(f"{which}_{key}", named.get(key)) for key in _WITH_FILES}
        columns |= {key: model for key, model in models.items() if model}
        found |= {f"{prefix}{name}": value for name, value in columns.items()}
    return found
