"""The causes in pktlogger's table (src/causes/names.c): of limits and of losses.

causes.json next to this module is the output of `pktlogger --causes-json`; `make tables` writes it. So no tool is
needed for the names when results are read. Rejected: asking the tool, which is not installed where results are only
read. Rejected: a module of the package pktlogger, which loads Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FILE = Path(__file__).with_name("causes.json")


@dataclass(frozen=True)
class Cause:
    """``words`` complete "limited by …" and "lost by …". ``role``: what is responsible for it, for colours and groups.
    ``advice``: what to change; None: nothing."""

    name: str
    words: str
    role: str
    description: str
    advice: str | None


def _list(name: str) -> Mapping[str, Cause]:
    rows = json.loads(FILE.read_text(encoding="utf-8"))[name]
    return MappingProxyType({row["name"]: Cause(**row) for row in rows})


LIMITS, LOSSES = _list("limits"), _list("losses")
GATEWAY = "gateway"  # a limit of two connections that gateways join (pktlogger.through)
# What limited a transfer, whether or not gateways were on its way.
ALL_LIMITS: Mapping[str, Cause] = MappingProxyType(
    {
        **LIMITS,
        GATEWAY: Cause(GATEWAY, "a gateway", "gateway", "A gateway held the data back.", None),
    }
)


def limit_words(name: str) -> str:
    """The words that complete "limited by …"; the bare name for a limit that only a later pktlogger knows."""
    return ALL_LIMITS[name].words if name in ALL_LIMITS else name


def loss_words(name: str) -> str:
    """The words that complete "lost by …"; the bare name for a cause that only a later pktlogger knows."""
    return LOSSES[name].words if name in LOSSES else name
