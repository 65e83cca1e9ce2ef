"""Everything a client and a server notice of each other, with the gateways and bypassed, IPv4 and IPv6, as one table.

The table is docs/reference/lft-conformance.md; `LFP_WRITE_TABLES=1` writes it again, from the run in real time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from lft_conformance import conformance
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "lft-conformance.md"


def check(found: dict[str, Any]) -> None:
    print(found["text"])
    assert not found["faults"]
    assert TABLE.read_text(encoding="utf-8") == found["text"], "docs/reference/lft-conformance.md says something else"


def test_the_conformance_table() -> None:
    found = conformance()
    if os.environ.get("LFP_WRITE_TABLES"):
        TABLE.write_text(found["text"], encoding="utf-8")
    check(found)


@pytest.mark.virtual
@virtual[1]
def test_the_conformance_table_in_virtual_time() -> None:
    check(in_virtual_time(conformance, spin="0"))
