"""The distribution: its name, its extras, and what lfp says where an extra is not installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from support import synthetic_run

from lfp.commands import _running
from netcommon import extras
from scenarios.run import machine
from scenarios.run.terminal import console

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(','))); "
    "from lfp.cli import run; sys.exit(run(sys.argv[1:]))"
)


def brought(extra: str) -> set[str]:
    """The modules that pyproject.toml installs with an extra."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        if own := re.fullmatch(rf"{extras.DISTRIBUTION}\[(.+)\]", requirement):
            found |= {module for other in own[1].split(",") for module in brought(other)}
        else:
            found.add(re.split(r"[<>=]", requirement)[0].replace("-", "_"))
    return found


def lfp_without(modules: set[str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """``lfp`` in a Python that lacks these modules."""
    argv = [sys.executable, "-c", WITHOUT, ",".join(sorted(modules)), *arguments]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_name_and_extras_are_those_of_pyproject() -> None:
    assert PROJECT["name"] == extras.DISTRIBUTION
    offered = {extra: brought(extra) for extra in PROJECT["optional-dependencies"].keys() - {"all", "dev", "docs"}}
    offered["pictures"] -= brought("dashboard")  # a missing package of that extra is named by the dashboard itself
    assert {extra: set(modules) for extra, modules in extras.EXTRAS.items()} == offered
    assert brought("all") == set().union(*extras.EXTRAS.values()) - set(extras.EXTRAS["notebook"])
    required = {re.split(r"[<>=]", one)[0].replace("-", "_") for one in PROJECT["dependencies"]}
    assert not required & set().union(*extras.EXTRAS.values())


def test_a_manifest_says_which_version_of_the_distribution_ran() -> None:
    assert machine.versions()["lfp"] == PROJECT["version"]


def test_citation_and_changelog_are_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation and PROJECT["name"] in citation
    assert f"\n## {PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    packages = (ROOT / "debian" / "changelog").read_text(encoding="utf-8")
    assert packages.startswith(f"{PROJECT['name']} ({PROJECT['version']})")


def test_debian_packages_are_built_with_the_libraries_of_a_checkout() -> None:
    """Each library that `make setup` installs is a build dependency, so that no program loses what it can do."""
    control = (ROOT / "debian" / "control").read_text(encoding="utf-8").partition("\n\n")[0]
    needed = set(re.findall(r"[\w.+-]+", control.partition("Build-Depends:")[2]))
    listed = (ROOT / "debian-packages.txt").read_text(encoding="utf-8").partition("\n# namespaces")[0]
    libraries = [re.findall(r"[\w.+-]+-dev\b", line.partition("#")[0]) for line in listed.splitlines()]
    missing = [names for names in libraries if names and names != ["python3-dev"] and not needed & set(names)]
    assert libraries and not missing


def test_no_file_installs_the_other_project_of_the_short_name() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    wrong = []
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".1", ".sh", ".yml", ""} and path.is_file():
            text = path.read_bytes()
            wrong += [name] if re.search(rb"pip3? install[^\n]*[ '\"]lfp(?:\[|['\" \n=]|$)", text) else []
    assert wrong == []


@pytest.mark.parametrize("arguments", [("--help",), ("list",), ("show", "last"), ("explain", "lfp-line"), ("clean",)])
def test_the_core_works_without_any_extra(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with tarfile.open(ROOT / "tests/data/runs/format-1.tar.gz") as archive:
        archive.extractall(tmp_path / "runs", filter="data")
    absent = set().union(*extras.EXTRAS.values()) - {"pandas"}  # pyarrow checks its version
    done = lfp_without(absent, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("dashboard", "last"), "dashboard"),
        (("report", "last"), "dashboard"),
        (("certify", "last"), "dashboard"),
        (("history",), "history"),
        (("gate", "last", "lfp-line"), "statistics"),
        (("run", "lfp-line", "--time", "virtual", "--scheduler", "tcp://127.0.0.1:1"), "cluster"),
    ],
)
def test_one_line_names_the_extra_that_a_verb_needs(tmp_path: Path, arguments: tuple[str, ...], extra: str) -> None:
    synthetic_run.sweep(tmp_path / "runs")
    done = lfp_without(set(extras.EXTRAS[extra]), *arguments, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert re.fullmatch(
        rf"lfp: \S+: the package '\w+' is not installed; pip install 'lfp-testbed\[{extra}\]'\n", done.stderr
    )
    assert not done.stdout


def test_a_run_without_the_dashboard_says_why_it_has_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(extras, "missing", lambda extra: "dash" if extra == "dashboard" else None)
    _running._print_where([tmp_path], [], console())
    said = capsys.readouterr().out
    assert "report     none; pip install 'lfp-testbed[dashboard]'" in said
    assert "dashboard  " not in said
