"""The result of a case whose guest fails, because of `lfp` itself or of a program in it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support.tiny_scenario import Tiny

from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.conformance import suite
from scenarios.conformance.cases import BY_NAME
from scenarios.virtual import init

TINY = Tiny('[path]\ndelay = "5ms"\nrate = "100Mbit"\n[transfer]\nbytes = "1MB"\n')


class Dead:
    """A guest that powers off at once. ``said``: what `lfp` wrote in the guest, if `lfp` failed."""

    said: str | None = None

    def __init__(self, image: Path, share: Path, *_: Any, **__: Any) -> None:
        self.share, self.folder = share, share
        if self.said:
            (share / init.ERROR).write_text(json.dumps({"message": self.said, "status": 1}))

    def __enter__(self) -> Dead:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ended(self) -> bool:
        return True

    def check(self) -> None:
        raise LfpError(self.said or "out of memory")


@pytest.mark.parametrize("said", [None, "[Errno 2] No such file or directory: 'causes.json'"])
def test_only_what_ran_in_the_guest_fails_a_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    monkeypatch.setattr(suite, "Guest", type("Made", (Dead,), {"said": said}))
    trial, case = TINY.trial(tmp_path), BY_NAME["upload"]
    arguments: Any = (tmp_path / "linux", trial, case, Ledger.open(tmp_path), threading.Event())
    if said:
        with pytest.raises(LfpError, match=r"case upload: lfp failed in the guest: .Errno 2"):
            suite._one(*arguments, alone=True)
    else:
        result, _ = suite._one(*arguments, alone=True)
        assert (result.result, result.says) == ("fails", "the guest failed: out of memory")
