"""The example of a GitHub Action: its script runs with an `lfp` that records its calls, and its workflow is compared
with the script. `test_unprivileged.py` runs the script with two real builds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "github-action"
LFP = """\
#!/bin/sh
echo "$(basename "$LFP_LFT_GATEWAY") $*" >>"$NOTES"
while [ $# -gt 1 ]; do [ "$1" = --markdown ] && echo "## verdict" >"$2"; shift; done
[ "$(basename "$LFP_LFT_GATEWAY")" = old ] || exit "$STATUS"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("bin/lfp", LFP), ("old", "#!/bin/sh\n"), ("new", "#!/bin/sh\n")):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    return tmp_path


def gate(place: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    own = {"PATH": path, "NOTES": "notes", "STATUS": str(status), "GITHUB_STEP_SUMMARY": "summary.md"}
    return subprocess.run(
        [EXAMPLE / "gate.sh", *arguments], cwd=place, env=own, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("status", [0, 1])
def test_the_old_gateway_is_the_baseline_of_the_new_one(place: Path, status: int) -> None:
    done = gate(place, "old", "new", "mine.toml", status=status)
    assert done.returncode == status
    baseline, gated = (place / "notes").read_text().splitlines()
    assert baseline == (
        f"old run mine.toml --time virtual --seed 1 --runs-dir gate-runs --gateway {place}/old --give-up 3"
    )
    assert gated == (
        f"new gate last mine.toml --seed 2 --runs-dir gate-runs --baseline-gateway {place}/old --gateway {place}/new "
        "--margin 5% --markdown gate-runs/gate.md"
    )
    assert done.stdout == (place / "summary.md").read_text() == "## verdict\n"


FOREIGN = """\
[scenario]
name = "mine"
[path]
delay = "5ms"
[transfer]
bytes = "100KB"
[gateway]
kind = "command"
model = "proxy"
near = "{near} --to $far"
far = "sleep 9"
"""


@pytest.mark.parametrize("near", ["sleep", "/bin/sh"])
def test_programs_that_the_scenario_does_not_start_are_not_passed(place: Path, near: str) -> None:
    """The script refuses to run, because the scenario's command lines start other programs than OLD and NEW."""
    (place / "mine.toml").write_text(FOREIGN.format(near=near))
    lfp = Path(sys.executable).parent
    own = {"PATH": f"{lfp}:{os.environ['PATH']}", "HOME": str(place)}
    done = subprocess.run(
        [EXAMPLE / "gate.sh", "/bin/true", "/bin/false", "mine.toml"],
        cwd=place,
        env=own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "/true: scenario mine does not start it: 1 of 1 trials with gateways ran " in done.stderr
    assert not list((place / "gate-runs").iterdir())


@pytest.mark.parametrize("arguments", [[], ["old"], ["old", "missing"]])
def test_wrong_usage_is_one_line(place: Path, arguments: list[str]) -> None:
    done = gate(place, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert not (place / "notes").exists()


def test_the_workflow_calls_the_script() -> None:
    text = (EXAMPLE / "gate.yml").read_text()
    assert "run: testbed/examples/github-action/gate.sh old/" in text
    assert "make -C testbed setup virtual" in text
    assert "sudo" not in text.partition("make -C testbed")[2]  # but for Debian packages, no step needs root
