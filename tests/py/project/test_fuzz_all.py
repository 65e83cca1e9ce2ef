"""`make fuzz` runs tools/fuzz-all: each target on its own corpus, then in search of costly inputs; findings fail it."""

from __future__ import annotations

import subprocess
from pathlib import Path

FUZZ_ALL = Path(__file__).resolve().parents[3] / "tools" / "fuzz-all"


def add_target(build: Path, name: str, script: str) -> None:
    """The parts of a fuzz build that belong to one target: its program, here a script, and the path of its corpus."""
    folder = build / "tests" / "fuzz" / "tool"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"fuzz_{name}"
    target.write_text(f"#!/bin/sh\n{script}\n")
    target.chmod(0o755)
    target.with_suffix(".corpus").write_text(f"/corpora/{name}\n")


def fuzz_all(build: Path) -> subprocess.CompletedProcess[str]:
    cost = build / "cost"
    for folder in (build, cost):
        (folder / "tests" / "fuzz").mkdir(parents=True, exist_ok=True)
    return subprocess.run([FUZZ_ALL, "1", build, cost], capture_output=True, text=True, timeout=30, check=False)


def test_every_target_runs_on_its_own_corpus(tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        add_target(tmp_path, name, 'for last; do :; done; echo "stat::number_of_executed_units: $last"')
    done = fuzz_all(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "number_of_executed_units: /corpora/alpha" in done.stdout
    assert "number_of_executed_units: /corpora/beta" in done.stdout


def test_a_finding_ends_it_with_the_trace_and_status_1(tmp_path: Path) -> None:
    add_target(tmp_path, "alpha", "echo 'ERROR: AddressSanitizer: heap-use-after-free'; echo '#0 in f'; exit 77")
    add_target(tmp_path / "cost", "beta", "echo beta ran")
    done = fuzz_all(tmp_path)
    assert done.returncode == 1
    assert "heap-use-after-free" in done.stdout and "#0 in f" in done.stdout
    assert "fuzz_alpha" in done.stderr and "beta" not in done.stdout


def test_an_input_that_costs_too_much_is_a_finding(tmp_path: Path) -> None:
    add_target(tmp_path / "cost", "gamma", 'echo "$@"; echo input >cost-finding; exit 1')
    (tmp_path / "cost" / "tests" / "fuzz" / "tool" / "fuzz_gamma.cost").write_text("10 20\n")
    done = fuzz_all(tmp_path)
    assert done.returncode == 1
    assert "10 20 1" in done.stdout and "fuzz_gamma" in done.stderr
    assert (tmp_path / "cost" / "finding-fuzz_gamma-cost").read_text() == "input\n"
