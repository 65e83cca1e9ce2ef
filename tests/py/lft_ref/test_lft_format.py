"""The table of chunks and states in lft_ref/FORMAT.md is the table in the code."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[3]
WORDS = {
    "take_data": "data", "take_open": "open", "take_accept": "accept", "take_end": "end", "take_reset": "reset",
    "take_credit": "credit", "take_return": "return", "count_data": "count", "note_end": "final", "ignore": "ignore",
    "take_wrong": "wrong",
}  # fmt: skip


def in_document() -> dict[str, list[str]]:
    text = (TOP / "lft_ref" / "FORMAT.md").read_text()
    table = text.split("<!-- chunks: begin -->")[1].split("<!-- chunks: end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    assert rows[0][1:] == ["DATA", "FIN", "OPEN", "ACCEPT", "REFUSE", "RESET", "CREDIT", "RETURN"]
    return {row[0]: row[1:] for row in rows[2:]}


def in_code() -> dict[str, list[str]]:
    text = (TOP / "lft_ref" / "src" / "session" / "chunks_in.c").read_text()
    rows = re.findall(r"\[LFT_STREAM_(\w+)\] =\s*\{NULL,([^}]*)\}", text)
    return {state: [WORDS[name.strip()] for name in names.split(",")] for state, names in rows}


def test_document_and_code_have_one_table() -> None:
    assert in_document() == in_code()
    assert set(in_code()) == {"EARLY", "OPENING", "ASKED", "OPEN", "FAILING", "FAILED", "ENDED"}
