"""The tags of a run: words that people give it, in `tags.json` of its folder. They say nothing about what was measured,
so no seal covers them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from netcommon.errors import LfpError, UsageError
from netcommon.strangers import refuse_foreign, refuse_links, write_text

NAME = "tags.json"
MOST, LONGEST = 20, 40
_WORD = re.compile(rf"[\w.:+#/-]{{1,{LONGEST}}}")


def read(run: Path) -> tuple[str, ...]:
    """The tags of a run, sorted; none where the file is missing or is not ours."""
    try:
        found = json.loads((run / NAME).read_text(encoding="utf-8"))["tags"]
        return tuple(sorted(tag for tag in found if _WORD.fullmatch(tag)))[:MOST]
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def change(run: Path, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
    """Adds and removes tags; returns those that the run then has. UsageError for a text that cannot be a tag, and for
    too many tags; LfpError when the file cannot be written."""
    for word in add:
        if not _WORD.fullmatch(word):
            raise UsageError(f"tag {word!r}: want 1 to {LONGEST} letters, digits or . _ : + # / -")
    tags = sorted((set(read(run)) | set(add)) - set(remove))
    if len(tags) > MOST:
        raise UsageError(f"{run.name}: a run has at most {MOST} tags; remove some")
    refuse_links(run)
    refuse_foreign(run)
    try:
        write_text(run / NAME, json.dumps({"v": 1, "tags": tags}, ensure_ascii=False) + "\n")
    except OSError as error:
        raise LfpError(f"{run / NAME}: cannot be written: {error.strerror}; check who owns it", 1) from error
    return tuple(tags)
