"""Skeleton of the tests of one setting: a small scenario, the error about a wrong one, the row of a finished trial."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netcommon.errors import UsageError
from scenarios.plan import params
from scenarios.plan.plan import Plan, Trial, load_plan
from scenarios.run import results


@dataclass(frozen=True)
class Tiny:
    """The text of a scenario, whose [scenario] is always the same."""

    rest: str

    def write(self, folder: Path, old: str = "", new: str = "", *, more: str = "") -> str:
        """Writes it to tiny.toml, with the first ``old`` replaced by ``new`` and with ``more`` at its end."""
        path = folder / "tiny.toml"
        path.write_text(('[scenario]\nname = "tiny"\n' + self.rest).replace(old, new, 1) + more)
        return str(path)

    def plan(self, folder: Path, old: str = "", new: str = "", *, more: str = "", quick: bool = False) -> Plan:
        return load_plan(self.write(folder, old, new, more=more), quick=quick)

    def trial(self, folder: Path, old: str = "", new: str = "", *, more: str = "") -> Trial:
        """Its first trial."""
        return self.plan(folder, old, new, more=more).trials[0]

    def refused(self, folder: Path, says: str, old: str = "", new: str = "", *, more: str = "") -> None:
        """Fails unless the scenario is a usage error that says so. One with a [quick] table is loaded as --quick."""
        with pytest.raises(UsageError) as caught:
            self.plan(folder, old, new, more=more, quick="quick" in more)
        assert says in str(caught.value)


def row(folder: Path, trial: Trial, transfer: dict[str, Any]) -> dict[str, Any]:
    """The row of a valid trial whose transfer ended with this object. The row is also a row of results.parquet."""
    status = {"state": "done", "verdict": {"valid": True, "reasons": []}}
    for name, content in (("params", params.of(trial)), ("transfer", transfer), ("status", status)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    made = results.row(folder)
    results.write(folder, [made])
    return made
