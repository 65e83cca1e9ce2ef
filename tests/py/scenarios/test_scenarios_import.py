"""`lfp import`: a run of captures that others made, read by everything that reads runs."""

from __future__ import annotations

import gzip
import ipaddress
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.pktlogger_clock import retimed
from support.pktlogger_conversation import MS
from support.pktlogger_numbers import renumber
from support.relayed_capture import relayed

import lfp
from dashboard.core.runs import load_run
from dashboard.report.html import render
from dashboard.timeline import export, timeline
from lfp import cli
from netcommon import binaries
from netcommon.strangers import refuse_links
from scenarios.certify import seal
from scenarios.run import imported, runs

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
FULL = [CAPTURES / "15-full-snd.pcap", CAPTURES / "15-full-rcv.pcap"]


def made(tmp_path: Path, *arguments: str | Path) -> Path:
    """The run that an import makes."""
    assert cli.run(["import", *map(str, arguments), "--runs-dir", str(tmp_path / "runs")]) == 0
    return runs.find("last", tmp_path / "runs")


def analysed(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """What pktlogger says of the same captures."""
    command: list[str | Path] = [binaries.find("pktlogger"), "analyse", *map(str, arguments), "-o", folder]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def both(tmp_path: Path, files: list[Path]) -> dict[str, Any]:
    return analysed(tmp_path / "direct", "--sender", files[0], "--receiver", files[1])


def test_both_ends_have_the_figures_of_analyse(tmp_path: Path) -> None:
    run = made(tmp_path, *FULL)
    summary = both(tmp_path, FULL)
    assert json.loads((run / "trials/0000/summary.json").read_text())["flows"] == summary["flows"]
    flow = summary["flows"][summary["main_flow"]]
    (row,) = lfp.load(run).results().to_pylist()
    assert row["elapsed_ns"] == flow["elapsed_ns"] and row["rtt_min_ns"] == flow["min_rtt_ns"]
    assert row["short_term_bps"] == pytest.approx(flow["bytes"] * 8e9 / flow["elapsed_ns"])
    assert (row["retransmits"], row["timeouts"]) == (flow["retransmitted"], flow["timeouts"])
    limits = {name: row[f"limited_{name}"] for name in flow["limits_ns"]}
    assert limits == {name: ns / sum(flow["limits_ns"].values()) for name, ns in flow["limits_ns"].items()}


def test_what_a_capture_cannot_know_is_null_and_not_zero(tmp_path: Path) -> None:
    run = made(tmp_path, *FULL)
    trial = run / "trials/0000"
    params = json.loads((trial / "params.json").read_text())
    assert {name for name, value in params.items() if value is not None} == {
        "v",
        "trial",
        "repeat",
        "topology",
        "capture",
        "gateway",
    }
    assert not [name for name in ("delay", "transfer", "gateway") if (trial / f"{name}.json").exists()]
    (row,) = lfp.load(run).results().to_pylist()
    unknown = ("peak_bps", "cpu_sender_ns", "cpu_receiver_ns", "ecn_marks_box", "ce_marked", "verified", "rate_bps",
               "delay_ns", "window_granted_bytes", "seed")  # fmt: skip
    assert [row[name] for name in unknown] == [None] * len(unknown)


def test_the_run_stands_alone_and_is_sealed(tmp_path: Path) -> None:
    copies = [tmp_path / file.name for file in FULL]
    for file, copy in zip(FULL, copies, strict=True):
        shutil.copy(file, copy)
    run = made(tmp_path, *copies)
    for copy in copies:
        copy.unlink()
    refuse_links(run)
    seal.check(run)
    files = runs.manifest(run)["imported"]["files"]
    assert [one["sha256"] for one in files] == [seal.sha256(file) for file in FULL]
    assert [(run / one["kept"]).read_bytes() for one in files] == [file.read_bytes() for file in FULL]
    assert [one["file"] for one in files] == [str(copy) for copy in copies]
    assert lfp.load(run).trial(0).table("segments").num_rows > 0


def test_without_captures_the_tables_stay(tmp_path: Path) -> None:
    run = made(tmp_path, *FULL, "--no-captures")
    assert not list(run.rglob("*.pcap")) and (run / "trials/0000/segments.parquet").exists()
    assert "not in this run" in dict(imported.facts(runs.manifest(run)))["Capture snd"]


def test_everything_that_reads_runs_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path, *FULL)
    said = capsys.readouterr().out
    assert "clock of rcv" in said and str(run) in said
    for verb in (
        ["show", run],
        ["show", run, "--json"],
        ["show", run, "--summary", "short_term_bps"],
        ["legs", run],
        ["compare", run, run],
        ["history"],
    ):
        assert cli.run([*map(str, verb), "--runs-dir", str(tmp_path / "runs")]) == 0, verb
    assert "Capture snd: " in capsys.readouterr().out
    loaded = load_run(run)
    assert timeline.load(loaded, loaded.trial(0)).sent_ns.size
    assert "Seq/Ack timeline" in render(loaded)


def test_it_cannot_be_run_again_or_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path, *FULL)
    assert cli.run(["run", "--resume", str(run)]) == 2
    assert "made of captures by 'lfp import'" in capsys.readouterr().err
    assert cli.run(["certify", str(run)]) == 2
    assert "made of captures by 'lfp import'" in capsys.readouterr().err


def test_clocks_are_estimated_and_said(tmp_path: Path) -> None:
    ahead = tmp_path / "rcv.pcap"
    retimed(FULL[1], ahead, lambda t_ns: t_ns + 3_600_000 * MS)
    run = made(tmp_path, FULL[0], ahead)
    (clock,) = runs.manifest(run)["imported"]["clocks"]
    assert clock["clock"] == "two" and abs(clock["offset_ns"] - 3_600_000 * MS) <= clock["asymmetry_ns"]
    assert "ahead by 1 h ±" in dict(imported.facts(runs.manifest(run)))["Clock of rcv"]
    loaded = load_run(run)
    delays = lfp.load(run).trial(0).table("segments")["delay_ns"].to_pylist()
    assert max(delays) < 3_600_000 * MS and timeline.load(loaded, loaded.trial(0)).duration_ns < 3_600_000 * MS


def test_a_given_clock_is_passed_on(tmp_path: Path) -> None:
    run = made(tmp_path, *FULL, "--clock", "same")
    (clock,) = runs.manifest(run)["imported"]["clocks"]
    assert clock["clock"] == "same"


@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_compressed_captures(tmp_path: Path, packed: str) -> None:
    files = [tmp_path / f"{file.name}{packed}" for file in FULL]
    for file, target in zip(FULL, files, strict=True):
        if packed == ".gz":
            target.write_bytes(gzip.compress(file.read_bytes()))
        else:
            subprocess.run(["zstd", "-q", file, "-o", target], check=True)
    run = made(tmp_path, *files)
    assert (run / f"trials/0000/capture/snd.pcap{packed}").is_file()
    assert json.loads((run / "trials/0000/summary.json").read_text())["flows"] == both(tmp_path, FULL)["flows"]


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lfp", "import", "-", str(FULL[1]), "--runs-dir", str(tmp_path / "runs")]
    with FULL[0].open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    run = runs.find("last", tmp_path / "runs")
    (first, _) = runs.manifest(run)["imported"]["files"]
    assert first["file"] == "-" and first["sha256"] == seal.sha256(FULL[0])


def points_of_a_relay(tmp_path: Path) -> list[Path]:
    """Captures at a sender, at both sides of a relay that takes 3 ms, and at a receiver; each path takes 10 ms. The
    relay's connections have numbers of their own."""
    relayed(tmp_path, 3)
    for end in "sr":
        renumber(tmp_path / "far" / f"{end}.pcapng", 50000, 123_456_789)
    return [tmp_path / side / f"{end}.pcapng" for side in ("near", "far") for end in "sr"]


def test_a_gateway_between_points_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path, *points_of_a_relay(tmp_path))
    own = runs.manifest(run)["imported"]
    assert [(one["from"], one["to"]) for one in own["apart"]] == [("mid1", "mid2")]
    capsys.readouterr()
    assert cli.run(["legs", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["from"], one["to"]) for one in found["legs"]] == [("snd", "mid1"), ("mid2", "rcv")]
    assert found["gateways"][0]["dwell_ns"]["p50"] == 3 * MS and found["delay_ns"]["p50"] == 23 * MS
    loaded = load_run(run)
    assert timeline.load(loaded, loaded.trial(0)).server is not None


def test_points_of_one_connection_are_legs_without_a_gateway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tap in the middle, whose clock is 2 s behind: it saw each packet when the receiver did."""
    middle = tmp_path / "middle.pcap"
    retimed(FULL[1], middle, lambda t_ns: t_ns - 2_000 * MS)
    run = made(tmp_path, FULL[0], middle, FULL[1])
    own = runs.manifest(run)["imported"]
    assert not own["apart"]
    assert [(one["from"], one["to"]) for one in own["clocks"]] == [("snd", "mid1"), ("mid1", "rcv")]
    flows = json.loads((run / "trials/0000/summary.json").read_text())["flows"]
    assert flows == both(tmp_path, FULL)["flows"]  # as from the captures of both ends alone
    capsys.readouterr()
    assert cli.run(["legs", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gateways"][0]["dwell_ns"]["max"] == 0
    assert cli.run(["legs", str(run)]) == 0
    said = capsys.readouterr().out
    assert "gateway" not in said and "limited for 307.2 ms (100 %) by: " in said


ONE_END = [f"{name}-{end}" for name in ("15-full", "06b-more", "37-cut") for end in ("snd", "rcv")]


@pytest.mark.parametrize("name", ONE_END)
def test_one_end_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Without the other end's capture, arrivals are unknown, neither losses nor zero. What one end knows is in the
    run."""
    run = made(tmp_path, CAPTURES / f"{name}.pcap")
    summary = analysed(tmp_path / "direct", "--sender", CAPTURES / f"{name}.pcap")
    assert json.loads((run / "trials/0000/summary.json").read_text())["flows"] == summary["flows"]
    flow = summary["flows"][summary["main_flow"]]
    (row,) = lfp.load(run).results().to_pylist()
    assert (row["retransmits"], row["elapsed_ns"]) == (flow["retransmitted"], flow["elapsed_ns"])
    loaded = load_run(run)
    own = timeline.load(loaded, loaded.trial(0))
    if summary["ends"] == "sender":
        assert own.lost_rows.size == flow["lost"] and not own.arrival_rows.size
    else:
        assert not own.lost_rows.size and own.arrival_rows.size == own.sent_ns.size and not own.rtt.value.size
    assert "Seq/Ack timeline" in render(loaded)
    assert "t_sent_ns" in export.segments_csv(own, 0, 10**12).decode()
    assert lfp.load(run).trial(0).table("segments").num_rows == own.sent_ns.size
    capsys.readouterr()
    assert cli.run(["show", str(run)]) == 0
    assert cli.run(["legs", str(run)]) == 2
    assert "captured at one end alone" in capsys.readouterr().err


def test_errors_are_one_line_and_leave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, text = tmp_path / "runs", tmp_path / "text.pcap"
    text.write_text("no capture at all, but long enough to be looked at\n")
    relay = points_of_a_relay(tmp_path)
    cases: list[tuple[Sequence[str | Path], int, str]] = [
        ([tmp_path / "none.pcap", FULL[1]], 2, "No such file"),
        ([tmp_path, FULL[1]], 2, "not a file"),
        ([text, FULL[1]], 2, "not a capture file"),
        ([FULL[0], FULL[0]], 2, "given twice"),
        (relay[::3], 1, "snd' and 'rcv' have no connection in common"),
        ([*FULL, "--name", "../up"], 2, "--name '../up'"),
        ([*FULL, "--key", text], 2, "only with --anonymise"),
        ([*FULL, "--clock", "wrong"], 2, "--clock"),
        ([], 2, "Missing argument"),
    ]
    for arguments, status, words in cases:
        assert cli.run(["import", *map(str, arguments), "--runs-dir", str(folder)]) == status, arguments
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1, said
        assert not folder.exists() or not list(folder.iterdir()), arguments


def test_a_cut_capture_is_not_valid_and_says_why(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(FULL[1].read_bytes()[:-7])
    verdict = runs.manifest(made(tmp_path, FULL[0], cut))["verdict"]
    assert not verdict["valid"] and "the capture at the receiver is cut" in verdict["reasons"][0]


def every_octet(run: Path) -> bytes:
    """All files of a run, with what is compressed in them."""
    import pyarrow.parquet as parquet

    found = []
    for file in sorted(run.rglob("*")):
        if file.is_file():
            found.append(file.read_bytes())
        if file.suffix == ".parquet":
            table = parquet.read_table(file)
            found.append(repr((table.schema.metadata, table.to_pydict())).encode())
    return b"\0".join([*found, *(str(file.relative_to(run)).encode() for file in run.rglob("*"))])


def forms(address: str) -> list[bytes]:
    """The forms in which an address may occur in a file."""
    known = ipaddress.ip_address(address)
    whole, packed = int(known), known.packed
    return [
        packed,
        packed[::-1],
        address.encode(),
        known.exploded.encode(),
        packed.hex().encode(),
        known.reverse_pointer.encode(),
        *([str(whole).encode()] if known.version == 4 else []),
    ]


def addresses(summary: dict[str, Any]) -> set[str]:
    return {flow[end]["address"] for flow in summary["flows"] for end in ("sender", "receiver")}


PAIRS = {
    "IPv4": ("15-full-snd.pcap", "15-full-rcv.pcap"),
    "IPv6, segment routing": ("12-srv6-snd.pcap", "12-srv6-rcv.pcap"),
    "copies": ("10-double-copy.pcap", "10-double-rcv.pcap"),
    "probes": ("06-zwp-byte-snd.pcap", "06-zwp-byte-rcv.pcap"),
}


def same_but_for_ends(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in flow.items() if key not in ("sender", "receiver")} for flow in flows]


@pytest.mark.parametrize("pair", PAIRS)
def test_an_anonymised_run_has_the_same_figures_and_no_address(tmp_path: Path, pair: str) -> None:
    key = tmp_path / "key"
    key.write_text("5a" * 32 + "\n")
    key.chmod(0o600)
    files = [tmp_path / f"secret-name-{number}.pcap" for number in range(2)]
    for name, file in zip(PAIRS[pair], files, strict=True):
        shutil.copy(CAPTURES / name, file)
    run = made(tmp_path, *files, "--anonymise", "--key", key)
    plain = both(tmp_path, files)
    hidden = json.loads((run / "trials/0000/summary.json").read_text())
    assert same_but_for_ends(hidden["flows"]) == same_but_for_ends(plain["flows"])
    assert not addresses(hidden) & addresses(plain)
    (run / "report.html").unlink(missing_ok=True)  # plotly.js contains numbers that look like addresses
    octets = every_octet(run)
    for address in addresses(plain):
        assert not [form for form in forms(address) if form in octets], address
    assert b"secret-name" not in octets and os.uname().nodename.encode() not in octets
    assert str(tmp_path).encode() not in octets
    manifest = runs.manifest(run)
    assert manifest["machine"] == {} and manifest["imported"]["anonymised"] == {"key": "given"}


def test_prefixes_are_kept_and_one_key_is_one_mapping(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("00" * 31 + "01")
    key.chmod(0o600)
    with_key: list[str | Path] = ["--key", key]
    runs_made = [
        made(tmp_path / name, *FULL, "--anonymise", *more)
        for name, more in (("a", with_key), ("b", with_key), ("c", list[str | Path]()))
    ]
    hidden = [json.loads((run / "trials/0000/summary.json").read_text()) for run in runs_made]
    assert addresses(hidden[0]) == addresses(hidden[1]) != addresses(hidden[2])
    lengths = [common_bits(*sorted(addresses(one))) for one in (both(tmp_path, FULL), *hidden)]
    assert len(set(lengths)) == 1


def common_bits(one: str, other: str) -> int:
    own, others = ipaddress.ip_address(one), ipaddress.ip_address(other)
    return own.max_prefixlen - (int(own) ^ int(others)).bit_length()


@pytest.mark.parametrize("name", ["17-secret-qinq.pcap", "11-vlan-9100.pcap", "01-sll2.pcap", "01-null.pcap"])
def test_a_capture_is_anonymised_without_payload_and_macs(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out.pcapng"
    command: list[str | Path] = [binaries.find("pktlogger"), "anonymise", CAPTURES / name, "-w", out]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["packets"] > 0
    octets = out.read_bytes()
    assert b"PASSWORD" not in octets and (CAPTURES / name).read_bytes()[40:52] not in octets


def test_tshark_finds_the_anonymised_headers_right(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    subprocess.run([binaries.find("pktlogger"), "anonymise", FULL[0], "-w", out], capture_output=True, check=True)
    fields = ("ip.checksum.status", "ip.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.window_size_value",
              "tcp.len", "tcp.options.timestamp.tsval", "frame.time_epoch")  # fmt: skip
    read = [told(file, fields) for file in (FULL[0], out)]
    assert {row[0] for row in read[1]} == {"1"}  # good
    assert [row[2:] for row in read[0]] == [row[2:] for row in read[1]]


def told(file: Path, fields: tuple[str, ...]) -> list[list[str]]:
    command: list[str | Path] = ["tshark", "-n", "-r", file, "-o", "ip.check_checksum:TRUE", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def test_links_and_pipes_among_a_set_are_none_of_its_files(tmp_path: Path) -> None:
    """The user has not named these files, and they lead outside the set, or nowhere."""
    whole, secret = tmp_path / "rcv.pcap", tmp_path / "secret"
    command: list[str | Path] = ["editcap", "-F", "nsecpcap", "-c", "40", FULL[1], whole]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    before = both(tmp_path, [FULL[0], whole])["flows"]
    secret.write_bytes(FULL[0].read_bytes())
    (tmp_path / "rcv_00098_20990101000000.pcap").symlink_to(secret)
    os.mkfifo(tmp_path / "rcv_00099_20990101000000.pcap")
    for options in ((), ("--no-captures",), ("--anonymise",)):
        run = made(tmp_path / f"runs{len(options)}{''.join(options)}", FULL[0], whole, *options)
        kept = {file.read_bytes() for file in run.rglob("rcv*") if file.is_file()}
        assert secret.read_bytes() not in kept
        flows = json.loads((run / "trials/0000/summary.json").read_text())["flows"]
        assert same_but_for_ends(flows) == same_but_for_ends(before), options


def test_a_set_of_files_is_one_capture(tmp_path: Path) -> None:
    """Files of a set, named as dumpcap and `editcap -c` name them."""
    whole = tmp_path / "rcv.pcap"
    command: list[str | Path] = ["editcap", "-F", "nsecpcap", "-c", "40", FULL[1], whole]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert not whole.exists() and len(list(tmp_path.glob("rcv_*.pcap"))) > 2
    run = made(tmp_path, FULL[0], whole)
    assert len(list((run / "trials/0000/capture").glob("rcv_*.pcap"))) == len(list(tmp_path.glob("rcv_*.pcap")))
    direct = both(tmp_path, FULL)["flows"]
    assert json.loads((run / "trials/0000/summary.json").read_text())["flows"] == direct
    hidden = made(tmp_path / "hidden", FULL[0], whole, "--anonymise")
    flows = json.loads((hidden / "trials/0000/summary.json").read_text())["flows"]
    assert same_but_for_ends(flows) == same_but_for_ends(direct)


def test_cut_headers_are_anonymised_as_they_are_analysed(tmp_path: Path) -> None:
    """A snap length of 60 octets cuts a frame within its TCP options, if it has any."""
    files = [tmp_path / name for name in ("snd.pcap", "rcv.pcap")]
    for file, target in zip(FULL, files, strict=True):
        command: list[str | Path] = ["editcap", "-F", "nsecpcap", "-s", "60", file, target]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    hidden = json.loads((made(tmp_path, *files, "--anonymise") / "trials/0000/summary.json").read_text())
    assert same_but_for_ends(hidden["flows"]) == same_but_for_ends(both(tmp_path, files)["flows"])
    assert hidden["flows"]


def test_what_tcpdump_writes_again_is_imported(tmp_path: Path) -> None:
    """Microseconds and a snap length, as tcpdump has them by default on older systems."""
    files = [tmp_path / file.name for file in FULL]
    for file, target in zip(FULL, files, strict=True):
        command: list[str | Path] = ["tcpdump", "-r", file, "-w", target, "--time-stamp-precision=micro", "tcp"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    run = made(tmp_path, *files)
    summary = json.loads((run / "trials/0000/summary.json").read_text())
    (flow,) = summary["flows"]
    (exact,) = both(tmp_path, FULL)["flows"]
    assert (flow["bytes"], flow["lost"], flow["retransmitted"]) == (exact["bytes"], 0, 0)
    assert flow["elapsed_ns"] == pytest.approx(exact["elapsed_ns"], abs=2_000)
