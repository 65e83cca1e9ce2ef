"""A run directory that a stranger made: with links or a pipe in it, or owned by another user. Nothing outside it
changes, and every command says in one line what is wrong."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from support import synthetic_run

from bench import publish
from bench.registry import Result
from dashboard.core import tags
from dashboard.core.runs import list_runs, load_run
from dashboard.report.html import write_report
from dashboard.server.app import Runs, make_app, page_at, page_or_problem
from dashboard.timeline import kept_files
from lfp import cli as lfp
from lfp import tables as lfp_tables
from lfp.commands import papers
from netcommon import result_rows, run_format, trial_tables
from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError
from netcommon.strangers import refuse_links, replacing, write_text
from pktlogger import parquet as pktlogger_parquet
from scenarios.papers import stored
from scenarios.plan.plan import load_plan
from scenarios.run import history, runs, speed

SECRET = "ssh-ed25519 mine\n"
WRITTEN = [  # every file that is written into a run, with the temporary names of earlier versions
    "report.html", ".report.html.tmp", "tags.json", ".tags.json.tmp", "manifest.json.new", ".manifest.json.tmp",
    "results.parquet.tmp", ".results.parquet.tmp", "dossier.json", "dossier.html", "seal.json", ".seal.json.tmp",
    "hashes.json", "trc.json", "files/0123abcd/loss.txt", "trials/0000/capture/snd.pcapng", "trials/0000/legs.json",
    "trials/0000/reverse/segments.parquet", "trials/0000/server/summary.json", "trials/0000/through.json",
    "trials/.0000.tmp", "trials/0000/status.json.new", "trials/0000/timeline-4-1-1-0", "trials/0000/.status.json.tmp",
    "superseded", "trials/0001",
]  # fmt: skip
PAGES = ("", "/certificate", "/trial/0")
COMMANDS = (
    ("report", "{run}"), ("report", "{run}", "--output", "{out}"), ("report", "{run}", "--markdown", "{out}"),
    ("report", "{run}", "--markdown", "{out}", "--no-pictures"), ("dashboard", "{run}", "--port", "0"),
    ("show", "{run}", "--summary", "short_term_bps"), ("compare", "{run}", "--by", "repeat=0,1"),
    ("certify", "{run}", "--output", "{out}"), ("certify", "{run}", "--entered", "2026-01-01"),
    ("gate", "{run}", "lfp-syndrome", "--markdown", "{out}"), ("tag", "{run}", "--remove"),
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


def test_no_file_of_a_run_may_be_a_link(run: Path, secret: Path, command: Lfp) -> None:
    """Replaces each file that `lfp run` writes in turn by a link."""
    command(("show", "{run}"))  # the command keeps its output, which must not be shown later
    files = [file for file in sorted(run.rglob("*")) if file.is_file()]
    assert len(files) > 8
    for file in files:
        was = file.read_bytes()
        file.unlink()
        file.symlink_to(secret)
        for words in COMMANDS:
            status, said = command(words)
            assert (status, said.count("\n")) == (2, 1) and str(file) in said and "a link" in said, (file, words, said)
        with pytest.raises(LfpError, match="a link"):
            lfp_tables.load(run)
        file.unlink()
        file.write_bytes(was)
    assert secret.read_text() == SECRET and list(secret.parent.iterdir()) == [secret]


def test_a_linked_folder_is_refused_too(run: Path, secret: Path, command: Lfp) -> None:
    shutil.rmtree(run / "trials" / "0000")
    (run / "trials" / "0000").symlink_to(secret.parent)
    for words in COMMANDS:
        status, said = command(words)
        assert status == 2 and "0000: a link" in said, (words, said)
    assert list(secret.parent.iterdir()) == [secret]


@pytest.mark.timeout(60)
def test_a_pipe_in_a_run_holds_nobody(run: Path) -> None:
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    with pytest.raises(LfpError):
        load_run(run)
    with pytest.raises(LfpError, match="pipe"):
        refuse_links(run)
    assert list_runs(run.parent) == []
    assert history.readable_manifests(run.parent) == {} and history.left_out(run.parent) == []
    assert speed.measured(run.parent, virtual=False).runs == 0
    with pytest.raises(LfpError, match="no runs in"):
        runs.find("last", run.parent)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_a_run_with_links(page: str, run: Path, secret: Path) -> None:
    address, shown = f"/run/{run.name}{page}", Runs(run.parent)
    page_at(shown, address)  # it is a page, without links
    (run / "trials" / "0000" / "params.json.old").symlink_to(secret)
    with pytest.raises(LfpError, match="a link"):
        page_at(shown, address)
    assert list_runs(run.parent) == []


def test_nothing_of_a_run_with_links_is_served(run: Path, secret: Path) -> None:
    other = run.parent / "other"
    shutil.copytree(run, other)
    server, name = make_app(run.parent).server, run.name
    client, rules = server.test_client(), [rule.rule for rule in server.url_map.iter_rules()]
    files = [rule.replace("<name>", name).replace("<int:number>", "0") for rule in rules if rule.startswith("/run/")]
    files += [f"/export/{file}?run={name}" for file in ("runs.tar", "results.csv")]
    before = {address: client.get(address).status_code for address in files}
    assert set(before.values()) <= {200, 404} and list(before.values()).count(200) >= 5, before
    (run / "trials" / "0000" / "capture").symlink_to(secret.parent)
    for address in files:
        answer = client.get(address)
        assert answer.status_code == 404 and SECRET.encode() not in answer.data, address
    for address in (f"/compare/{name}/other", f"/compare/other/{name}", f"/run/{name}"):
        said = str(page_or_problem(Runs(run.parent), address, ""))
        assert "a link" in said and SECRET not in said, address
    for address in ("/", "/history"):
        said = str(page_or_problem(Runs(run.parent), address, ""))
        assert name not in said and "other" in said, address


ODD: list[object] = [None, "text", -1, True, ["x"], {"x": "y"}, 10**30]


@pytest.mark.parametrize("key", ["v", "speed", "virtual", "imported", "machine", *run_format.KINDS])
def test_what_a_manifest_says_hides_no_other_run(key: str, run: Path, command: Lfp) -> None:
    """With any value of any type at each key, the run is shown, or left out with one line; other runs are still
    shown."""
    other = run.parent / "other"
    shutil.copytree(run, other)
    content = json.loads((run / "manifest.json").read_text())
    for value in ODD:
        (run / "manifest.json").write_text(json.dumps(content | {key: value}))
        for address, search in (("/", ""), ("/history", "?scenario=lfp-seqack")):
            said = str(page_or_problem(Runs(run.parent), address, search))
            assert "other" in said and "not readable" not in said, (address, value)
        page_or_problem(Runs(run.parent), f"/run/{run.name}", "")
        kind = run_format.KINDS.get(key)
        if kind and value is not None and (not isinstance(value, kind) or value == 10**30):
            for words in (("show", "{run}"), ("report", "{run}"), ("compare", "{run}", "{run}"), ("certify", "{run}")):
                status, said = command(words)
                assert (status, said.count("\n")) == (1, 1) and f"'{key}'" in said, (words, value, said)


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "[]", "5", '"\\ud800"', "\0", "\xff"])
def test_a_manifest_that_is_none_hides_no_other_run(text: str, run: Path, command: Lfp) -> None:
    other = run.parent / "other"
    shutil.copytree(run, other)
    (run / "manifest.json").write_bytes(text.encode("latin-1"))
    for address in ("/", "/history"):
        assert "other" in str(page_or_problem(Runs(run.parent), address, ""))
    assert runs.find("last", run.parent) == other
    for words in (("show", "{run}"), ("report", "{run}"), ("compare", "{run}", "{run}")):
        status, said = command(words)
        assert status in (1, 2) and said.count("\n") == 1 and "manifest.json" in said, (words, said)


def test_a_terminal_obeys_nothing_that_is_in_a_run(run: Path, command: Lfp, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters that set a terminal's title or the clipboard, overwrite a line, or reverse the text."""
    evil = "\x1b]0;mine\x07 \x1b]52;c;cm0gLXJm\x07 \x9b2J \r \u202elive"
    trial = run / "trials" / "0000"
    for file in (run / "manifest.json", trial / "params.json", trial / "status.json"):
        text = json.dumps(_with_texts(json.loads(file.read_text()), evil))
        file.write_text(text)
    moved = run.rename(run.with_name(f"run-{evil}"))
    own = (("show", moved), ("legs", moved), ("compare", moved, moved), ("certify", moved), ("tag", moved))
    for words in (*own, ("show", "nothing", "--runs-dir", moved.parent)):
        capsys.readouterr()
        lfp.run([str(word) for word in words])
        out = capsys.readouterr()
        assert not set(out.out + out.err) & set("\x1b\x07\x9b\r\u202e"), words
        assert out.out or out.err


def _with_texts(value: Any, more: str) -> Any:
    """The value, with ``more`` added to each text for people, but not to names of columns, states or settings."""
    if isinstance(value, dict):
        told = ("title", "description", "summary", "reasons", "error", "paper", "kernel", "congestion", "case")
        return {key: _added(one, more) if key in told else _with_texts(one, more) for key, one in value.items()}
    return [_with_texts(one, more) for one in value] if isinstance(value, list) else value


def _added(value: Any, more: str) -> Any:
    if isinstance(value, list):
        return [*value, more]
    return f"{value or ''}{more}" if isinstance(value, str | None) else _with_texts(value, more)


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


@pytest.mark.timeout(120)
@pytest.mark.parametrize("bomb", ["rows", "text", "damaged"])
def test_a_small_table_does_not_become_a_large_one(bomb: str, run: Path, command: Lfp) -> None:
    other = run.parent / "other"
    shutil.copytree(run, other)
    file = run / "results.parquet"
    table = parquet.read_table(file)
    if bomb == "rows":
        with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
            writer.write_table(table.take(pa.nulls(1 << 20, pa.int64()).fill_null(0)))
    elif bomb == "text":
        place, many = table.column_names.index("reasons"), table.take(pa.nulls(2048, pa.int64()).fill_null(0))
        long = pa.DictionaryArray.from_arrays(pa.nulls(2048, pa.int32()).fill_null(0), pa.array(["x" * (1 << 20)]))
        parquet.write_table(many.set_column(place, "reasons", long), file, compression="zstd")
    else:
        file.write_bytes(file.read_bytes()[:-5] + b"xxxxx")
    assert file.stat().st_size < 4 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for address in ("/", "/history"):
        said = str(page_or_problem(Runs(run.parent), address, ""))
        assert "other" in said and "not readable" not in said, address
    for words in (("report", "{run}", "--output", "{out}"), ("compare", "{run}", "{run}")):
        status, said = command(words)
        assert status == 1 and said.count("\n") == 1 and "results.parquet" in said, (words, said)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 << 10  # KB


@pytest.mark.parametrize(
    "name", ["manifest", "trials/0000/params", "trials/0000/status", "trials/0000/transfer", "trials/0000/summary"]
)
def test_odd_values_in_the_files_of_a_run_are_named(name: str, run: Path, command: Lfp) -> None:
    """Each value of the file in turn is missing or odd: one line names what cannot be shown, and the file."""
    file = run / f"{name}.json"
    content = json.loads(file.read_text())
    for place in _places(content):
        for odd in (*ODD, 0.5, ...):
            file.write_text(json.dumps(_with(content, place, odd)))
            for words in (("show", "{run}"), ("show", "{run}", "--json")):
                status, said = command(words)
                assert status == 0 or said.count("\n") == 1, (place, odd, said)
                assert status == 0 or str(run) in said, (place, odd, said)
                if status and odd is ... and len(place) == 1:
                    assert str(file) in said and f"'{place[0]}" in said, (place, said)


NAMED = (
    ("manifest", "scenario.sweep", 1), ("manifest", "seed", "text"),
    ("trials/0000/params", "mtu", "text"), ("trials/0000/params", "rate_bps", [1]),
    ("trials/0000/params", "delay_ns", "text"), ("trials/0000/status", "verdict", "text"),
    ("trials/0000/status", "verdict.reasons", None), ("trials/0000/status", "verdict.valid", ...),
    ("trials/0000/transfer", "summary", "text"), ("trials/0000/transfer", "summary.bytes", "text"),
    ("trials/0000/transfer", "summary.short_term_bps", [1]), ("trials/0000/summary", "flows", "text"),
    ("trials/0000/summary", "main_flow", None),
)  # fmt: skip


@pytest.mark.parametrize(("name", "key", "odd"), NAMED)
def test_a_value_of_another_kind_is_named_with_its_key(
    name: str, key: str, odd: object, run: Path, command: Lfp
) -> None:
    file = run / f"{name}.json"
    file.write_text(json.dumps(_with(json.loads(file.read_text()), tuple(key.split(".")), odd)))
    status, said = command(("show", "{run}"))
    assert (status, said.count("\n")) == (1, 1) and f"{file}: damaged: '{key}' is" in said, said


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside a JSON value, down to three levels; of a list only its first element."""
    below: Any = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, one in below:
        yield (*above, key)
        if len(above) < 2:
            yield from _places(one, (*above, key))


def _with(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """The value, with ``other`` at this path, or without the element there (``other`` is an ellipsis)."""
    found = copy.deepcopy(value)
    inside = found
    for key in place[:-1]:
        inside = inside[key]
    if other is ...:
        del inside[place[-1]]
    else:
        inside[place[-1]] = other
    return found


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "9" * 5000, '{"v": ' + "9" * 5000 + "}", "\xff"])
@pytest.mark.parametrize("name", ["manifest", "trials/0000/params", "trials/0000/summary"])
def test_json_that_python_cannot_read_is_damaged(name: str, text: str, run: Path, command: Lfp) -> None:
    (run / f"{name}.json").write_bytes(text.encode("latin-1"))
    (run / "results.parquet").unlink()
    for words in (("show", "{run}"), ("report", "{run}", "--output", "{out}"), ("legs", "{run}", "0")):
        status, said = command(words)
        assert status in (0, 1) and said.count("\n") == status, (words, said)
        assert status == 0 or f"{name}.json" in said, (words, said)
    assert command(("show", "{run}"))[0] == 1


def _swollen(file: Path, bomb: str) -> None:
    """Makes a table of a trial one that is small on disk and large in memory, or damages it."""
    table = parquet.read_table(file)
    some = table.take(pa.nulls(1 << 20, pa.int64()).fill_null(0))
    if bomb == "rows":
        many = pa.concat_tables([some] * ((1 << 30) // some.nbytes + 1))
        newer = "max_rows_per_page" in inspect.signature(parquet.write_table).parameters  # older: no limit
        pages: dict[str, Any] = {"max_rows_per_page": 1 << 30} if newer else {}
        parquet.write_table(many, file, compression="zstd", row_group_size=1 << 26, data_page_size=1 << 30, **pages)
    elif bomb == "text":
        number = pa.nulls(2048, pa.int32()).fill_null(0)
        long = pa.DictionaryArray.from_arrays(number, pa.array(["x" * (1 << 20)]))
        parquet.write_table(some.slice(0, 2048).append_column("why", long), file, compression="zstd")
    elif bomb == "lists":
        lists = pa.array([[0] * 1000] * table.num_rows, pa.list_(pa.int64()))
        parquet.write_table(table.append_column("more", lists), file, compression="zstd")
    elif bomb == "pages":
        parquet.write_table(table, file, compression="zstd", use_dictionary=False)
        content = bytearray(file.read_bytes())
        for column in range(parquet.read_metadata(file).num_columns):
            begin = parquet.read_metadata(file).row_group(0).column(column).data_page_offset
            content[begin + 20 : begin + 60] = bytes(40)
        file.write_bytes(content)
    else:
        file.write_bytes(file.read_bytes()[:-5] + b"xxxxx")
    assert file.stat().st_size < 1 << 20


@pytest.mark.timeout(240)
@pytest.mark.parametrize("bomb", ["rows", "text", "lists", "pages", "end"])
@pytest.mark.parametrize("name", ["segments", "acks", "events", "round_trips", "tcp_info"])
def test_a_small_table_of_a_trial_does_not_become_a_large_one(name: str, bomb: str, run: Path, command: Lfp) -> None:
    file = run / "trials" / "0000" / f"{name}.parquet"
    _swollen(file, bomb)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert file.name in str(page_or_problem(Runs(run.parent), f"/run/{run.name}/trial/0", ""))
    with pytest.raises(LfpError, match=file.name):
        lfp_tables.load(run).trial(0).table(name)
    for words in (("report", "{run}", "--output", "{out}"), ("legs", "{run}", "0")):
        status, said = command(words)
        assert (status, said.count("\n")) in ((0, 0), (1, 1)), (words, said)
        assert status == 0 or file.name in said, (words, said)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 << 10  # KB


def test_the_most_even_stream_is_no_bomb(tmp_path: Path) -> None:
    """Segments at constant intervals, as pktlogger writes them: no table compresses better."""
    count = 6_000_000
    number = np.arange(count, dtype=np.int64)
    moving = ("seq", "t_sent_ns", "t_received_ns", "sender_frame", "receiver_frame")
    columns = {"delay_ns": np.zeros(count, np.int64)} | dict.fromkeys(moving, number * 1233)
    columns |= {name: np.zeros(count, np.uint32) for name in ("flow", "len")}
    columns |= {name: np.zeros(count, np.uint8) for name in ("kind", "unseen", "ecn_sent", "ecn_received")}
    pktlogger_parquet._write(pa.table(columns), tmp_path / "segments.parquet")
    assert trial_tables.read(tmp_path / "segments.parquet", ["seq"]).num_rows == count
    size, memory = (tmp_path / "segments.parquet").stat().st_size, sum(one.nbytes for one in columns.values())
    assert memory > trial_tables.FREE_BYTES and memory / size < trial_tables.MOST_GROWTH


def test_many_long_texts_are_no_bomb(tmp_path: Path) -> None:
    texts = [f"{number} {'why ' * 200}" for number in range(10_000)]
    parquet.write_table(pa.table({"reasons": texts}), tmp_path / "results.parquet", compression="zstd")
    assert [row["reasons"] for row in result_rows.rows(tmp_path / "results.parquet")] == texts


def test_links_of_the_system_stay(tmp_path: Path) -> None:
    """/dev/stdout is a link to a link to a file or pipe. root may replace it, which would destroy it for everybody."""
    done = subprocess.run(
        [sys.executable, "-c", "from netcommon.strangers import write_text; from pathlib import Path\n"
         "write_text(Path('/proc/self/fd/1'), 'one')"],
        capture_output=True, text=True, timeout=60, check=False, cwd=CHECKOUT,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("one", "")


def test_nobody_waits_where_the_next_file_will_be_written(tmp_path: Path, secret: Path) -> None:
    """Temporary names of files could once be guessed, so a link could wait there."""
    for name in ("book.md", "page.md"):
        (tmp_path / f".{name}.tmp").symlink_to(secret)
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / ".comet-fig2.json.tmp").symlink_to(secret)
    assert lfp.run(["papers", "--no-run", "--kept", str(tmp_path), "--output", str(tmp_path / "book.md")]) in (0, 1)
    stored.write(tmp_path, "comet-fig2", "quick", stored.Stored("", {}, True, [], []))
    publish.write(Result("nothing", "within bounds", None, rows=[], method=""), tmp_path / "page.md")
    assert secret.read_text() == SECRET and (tmp_path / "book.md").is_file() and (tmp_path / "page.md").is_file()


def test_a_dossier_names_no_file_outside_the_run(run: Path, secret: Path, command: Lfp) -> None:
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    names = {f"../../home/{secret.name}": digest, str(secret): digest}
    for name, wanted in names.items():
        (run / "dossier.json").write_text(json.dumps({"entered": None, "hashes": {"files": {name: wanted}}}))
        status, said = command(("certify", "{run}", "--check"))
        assert status == 1 and said.count("\n") == 1 and "SHA-256 is not the one" in said, said


def test_the_newest_run_of_the_papers_is_no_strangers(run: Path, secret: Path) -> None:
    plan = load_plan("lfp-seqack")
    linked = run.parent / "lfp-seqack-20990101T000000-abcdef"
    run.rename(linked)
    (linked / "results.parquet").unlink()
    (linked / "results.parquet").symlink_to(secret)
    piped = run.parent / "lfp-seqack-20990101T000000-fedcba"
    piped.mkdir()
    (piped / "manifest.json").symlink_to(secret)
    assert papers._newest(plan, run.parent) is None


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
    assert kept == [False, False, True, True]  # the oldest was removed, and the one whose trial is gone
    assert stat.S_IMODE(kept_files.folder(last).parent.stat().st_mode) == 0o700
