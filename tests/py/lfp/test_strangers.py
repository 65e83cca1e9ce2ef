"""A run directory of a stranger: full of links, with a pipe, or of another user. Nothing outside it changes, and every
command says in one line what is wrong."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from support import synthetic_run

from dashboard.core import tags
from dashboard.core.runs import list_runs, load_run
from dashboard.report.html import write_report
from dashboard.server.app import Runs, page_at
from dashboard.timeline import kept_files
from lfp import cli as lfp
from netcommon.errors import LfpError
from netcommon.strangers import refuse_links, replacing, write_text

SECRET = "ssh-ed25519 mine\n"
WRITTEN = [  # every file that is written into a run, with the temporary names of earlier versions
    "report.html", ".report.html.tmp", "tags.json", ".tags.json.tmp", "manifest.json.new", ".manifest.json.tmp",
    "results.parquet.tmp", ".results.parquet.tmp", "dossier.json", "dossier.html", "seal.json", ".seal.json.tmp",
    "trials/.0000.tmp", "trials/0000/status.json.new", "trials/0000/timeline-4-1-1-0", "trials/0000/.status.json.tmp",
    "superseded", "trials/0001",
]  # fmt: skip
PAGES = ("", "/certificate", "/trial/0")
COMMANDS = (
    ("report", "{run}"), ("report", "{run}", "--output", "{out}"), ("report", "{run}", "--markdown", "{out}"),
    ("tag", "{run}", "word"), ("tag", "{run}"), ("show", "{run}"), ("show", "{run}", "--json"), ("legs", "{run}", "0"),
    ("compare", "{run}", "{run}"), ("certify", "{run}"), ("certify", "{run}", "--check"),
    ("run", "--resume", "{run}"), ("gate", "{run}", "lfp-syndrome"),
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_run.seqack(tmp_path_factory.mktemp("made"))


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "runs" / made.name
    shutil.copytree(made, copied)
    return copied


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "home" / "authorized_keys"
    file.parent.mkdir()
    file.write_text(SECRET)
    return file


class Lfp:
    """The command `lfp` with a run and a file for its output; gives its exit status and what it said of an error."""

    def __init__(self, run: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.run, self.out, self._capsys = run, out, capsys

    def __call__(self, words: tuple[str, ...]) -> tuple[int, str]:
        self._capsys.readouterr()
        status = lfp.run([word.format(run=self.run, out=self.out) for word in words])
        return status, self._capsys.readouterr().err


@pytest.fixture
def command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lfp:
    return Lfp(run, tmp_path / "out", capsys)


@pytest.mark.parametrize("name", WRITTEN)
def test_no_command_follows_a_link_in_a_run(name: str, run: Path, secret: Path, command: Lfp) -> None:
    link = run / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret)
    for words in COMMANDS:
        status, said = command(words)
        assert (status, said.count("\n")) == (2, 1) and str(link) in said and "link" in said, (words, said)
    assert secret.read_text() == SECRET and list(secret.parent.iterdir()) == [secret]
    assert not command.out.exists()


def test_a_linked_folder_is_refused_too(run: Path, secret: Path, command: Lfp) -> None:
    shutil.rmtree(run / "trials" / "0000")
    (run / "trials" / "0000").symlink_to(secret.parent)
    for words in COMMANDS:
        status, said = command(words)
        assert status == 2 and "0000: a link" in said, (words, said)
    assert list(secret.parent.iterdir()) == [secret]


def test_a_pipe_in_a_run_holds_nobody(run: Path) -> None:
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    with pytest.raises(LfpError):
        load_run(run)
    with pytest.raises(LfpError, match="pipe"):
        refuse_links(run)
    assert list_runs(run.parent) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_a_run_with_links(page: str, run: Path, secret: Path) -> None:
    address, runs = f"/run/{run.name}{page}", Runs(run.parent)
    page_at(runs, address)  # it is a page, without links
    (run / "trials" / "0000" / "params.json.old").symlink_to(secret)
    with pytest.raises(LfpError, match="a link"):
        page_at(runs, address)
    assert list_runs(run.parent) == []


def test_the_folder_of_a_run_may_be_a_link_of_the_user(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "more"
    other.mkdir()
    (other / run.name).symlink_to(run)
    assert tags.change(other / run.name, add=["mine"]) == ("mine",)
    assert load_run(other / run.name).tags == ("mine",)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_nothing_is_written_into_a_run_of_another_user(run: Path, tmp_path: Path, command: Lfp) -> None:
    os.chown(run / "trials", 65534, 65534)
    before = sorted(str(file) for file in run.rglob("*"))
    for words in (("report", "{run}"), ("tag", "{run}", "word"), ("certify", "{run}"), ("run", "--resume", "{run}")):
        status, said = command(words)
        assert status == 2 and "another user" in said and "cp -r" in said, (words, said)
    assert sorted(str(file) for file in run.rglob("*")) == before
    assert write_report(run, tmp_path / "mine.html").stat().st_size > 1000  # reading it is no danger


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, secret: Path) -> None:
    target = tmp_path / "file"
    write_text(target, "one")
    with pytest.raises(ZeroDivisionError), replacing(target) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert target.read_text() == "one" and {path.name for path in tmp_path.iterdir()} == {"file", "home"}
    target.unlink()
    target.symlink_to(secret)
    write_text(target, "two")
    assert target.read_text() == "two" and not target.is_symlink() and secret.read_text() == SECRET


def test_long_timelines_are_kept_outside_the_run_in_bounded_space(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trials = [tmp_path / name for name in ("first", "second", "third")]
    for when, trial in enumerate(trials):
        trial.mkdir()
        kept_files.make_room(trial, 2500)
        (kept_files.folder(trial) / "0").write_bytes(bytes(1000))
        os.utime(kept_files.folder(trial), ns=(when, when))
    assert run.parent not in kept_files.folder(trials[0]).parents
    trials[1].rmdir()
    last = tmp_path / "last"
    last.mkdir()
    kept_files.make_room(last, 1500)
    kept = [kept_files.folder(one).exists() for one in (*trials, last)]
    assert kept == [False, False, True, True]  # the oldest had to go, and the one whose trial is gone
    assert stat.S_IMODE(kept_files.folder(last).parent.stat().st_mode) == 0o700
