"""The test vectors of the gateway's FORMAT.md."""

from __future__ import annotations

import re
from pathlib import Path

FORMAT = Path(__file__).resolve().parents[2] / "lft_ref" / "FORMAT.md"


def vector(name: str) -> bytes:
    """The octets of a test vector of FORMAT.md, which may be written over several lines."""
    text = FORMAT.read_text(encoding="utf-8").split("## Test vectors")[1]
    found = re.search(rf"^    {re.escape(name)}  +((?:[0-9a-f]+\s+)+)", text, re.MULTILINE)
    assert found, f"FORMAT.md has no vector '{name}'"
    return bytes.fromhex("".join(found[1].split()))
