"""rttcp over loopback: verification, streams, directions, formats, schemas; and what must not hang."""

from __future__ import annotations

import itertools
import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.ports import free_port
from support.rttcp_tool import BINARY, DEADLINE_S, REPOSITORY, Receiver, control_proxy, flip_in_stream_0, send
from support.waiting import wait_until

import rttcp
import rttcp.iperf3

SCHEMAS = REPOSITORY / "rttcp" / "schema"
pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


def _valid(document: dict[str, Any], name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)


def _end(receiver: Receiver, **options: Any) -> rttcp.End:
    """Runs a transfer that must succeed; both ends print the same `end`, which fits the schema."""
    status, events, errors = send(receiver.port, **options)
    assert status == 0, errors
    ours, theirs = events[-1], receiver.event()
    _valid(ours, "end")
    _valid(theirs, "end")
    assert {**ours, "role": ""} == {**theirs, "role": ""}
    return rttcp.parse_end(ours)


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("parallel", [1, 3])
def test_every_direction_and_stream_is_verified(receiver: Receiver, direction: str, parallel: int) -> None:
    total = 10_000_001
    end = _end(receiver, bytes=total, direction=direction, parallel=parallel, verify=True, seed=7, length_bytes=10_007)
    assert end.direction == direction and end.role == ("receiver" if direction == "reverse" else "sender")
    ways: list[rttcp.End | rttcp.Way] = [end, end.reverse] if end.reverse else [end]
    assert len(ways) == (2 if direction == "both" else 1)
    digests = set()
    for way in ways:
        assert way.summary.verified == "ok" and way.summary.complete and way.summary.verdict.valid
        assert way.sender.bytes == way.receiver.bytes == total == sum(s.bytes for s in way.receiver.streams)
        assert sum(row[2] for row in way.receiver.intervals) == total
        assert [s.digest for s in way.sender.streams] == [s.digest for s in way.receiver.streams]
        digests |= {s.digest for s in way.sender.streams}
        assert len(way.sender.streams) == parallel
        assert max(s.bytes for s in way.sender.streams) - min(s.bytes for s in way.sender.streams) <= 1
    assert len(digests) == parallel * len(ways), "no two streams carry the same content"


def test_the_content_is_a_function_of_seed_stream_and_offset(receiver: Receiver) -> None:
    """The digest stays the same with other write lengths or in the other direction, and changes with the seed."""
    digests = [
        _end(receiver, bytes=3_000_003, verify=True, **options).receiver.streams[0].digest
        for options in (
            {"seed": 1},
            {"seed": 1, "length_bytes": 777, "window_bytes": 65536},
            {"seed": 1, "direction": "reverse"},
            {"seed": 2},
        )
    ]
    assert digests[0] == digests[1] == digests[2] != digests[3]


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_transfer_that_ends_in_its_opening_kept_the_window(receiver: Receiver, direction: str) -> None:
    """The opening is sent a window at a time, so it does not matter that the receiver still offers more at the end."""
    end = _end(receiver, bytes=60 << 10, window_bytes=16384, direction=direction)
    assert end.sender.bytes == 60 << 10
    assert end.summary.verdict.valid, end.summary.verdict.reasons


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_a_window_holds_in_both_directions(receiver: Receiver, direction: str) -> None:
    end = _end(receiver, bytes=5_000_000, window_bytes=65536, direction=direction)
    assert end.receiver.window_clamp_bytes == end.receiver.window_granted_bytes == 65536
    assert end.sender.tcp_info["snd_wnd"] <= 65536 + 2 * end.sender.mss_bytes


def test_averages_are_told_apart(receiver: Receiver) -> None:
    """Paced to 80 Mbit/s: the steady average is the pace's; the short-term one has connect and the drain in it."""
    end = _end(receiver, duration_ns=700_000_000, omit_ns=300_000_000, pace_bps=80_000_000, interval_ns=100_000_000)
    assert end.summary.steady_bps == pytest.approx(80e6, rel=0.15)
    assert end.summary.elapsed_ns >= 1_000_000_000
    assert 0 < end.summary.drain_ns == end.sender.drain_ns < end.summary.elapsed_ns
    assert end.summary.peak_bps >= end.summary.short_term_bps * 0.9
    assert end.summary.short_term_bps == end.summary.bytes * 8 * 10**9 // end.summary.elapsed_ns


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_paced_writes_are_no_faster_than_the_pace(receiver: Receiver, direction: str) -> None:
    """Allowed above the pace are a burst at the beginning and one that makes up for a late wake-up."""
    burst, bps = 256 * 1024, 80_000_000
    end = _end(receiver, duration_ns=1_000_000_000, pace_bps=bps, pace_burst_bytes=burst, direction=direction)
    assert end.summary.bytes <= bps / 8 * 1.01 + 3 * burst


def test_a_burst_that_takes_longer_than_the_transfer_ends_with_it(receiver: Receiver) -> None:
    """1 MB at 100 kbit/s takes 80 s."""
    end = _end(receiver, duration_ns=1_000_000_000, pace_bps=100_000, pace_burst_bytes=2**20, length_bytes=2**20)
    assert end.summary.elapsed_ns < 60 * 10**9


def test_packets_a_second_are_full_segments(receiver: Receiver) -> None:
    end = _end(receiver, duration_ns=1_000_000_000, omit_ns=100_000_000, pace_packets=2000, mss_bytes=1460, parallel=2)
    assert end.summary.steady_bps == pytest.approx(2000 * 8 * end.sender.mss_bytes, rel=0.15)


def test_zero_copy_mptcp_alignment_and_buffers(receiver: Receiver) -> None:
    assert _end(receiver, bytes=3_000_000, zerocopy=True).receiver.bytes == 3_000_000
    extra = ["--buffers", "7", "--length", "3KB", "--align", "64KB", "--offset", "3", "--dscp", "46", "--repeat", "2"]
    status, events, errors = send(receiver.port, "127.0.0.1", *extra)
    assert status == 0, errors
    ends = [e for e in events if e["event"] == "end"]
    assert [e["receiver"]["bytes"] for e in ends] == [7 * 3072] * 2
    assert ends[0]["session"] != ends[1]["session"]
    if Path("/proc/sys/net/mptcp/enabled").exists():
        status, events, errors = send(receiver.port, "127.0.0.1", "--mptcp", bytes=100_000)
        assert status == 0, errors


def test_the_receiver_does_not_wake_up_once_a_packet(receiver: Receiver) -> None:
    """80 Mbit/s in 1,460-byte segments are 6,850 packets a second; one wake-up a millisecond gives 1,000 calls. Twice
    that is allowed, plus the calls before the receiver was tuned."""
    end = _end(receiver, duration_ns=1_500_000_000, pace_bps=80_000_000, mss_bytes=1460)
    packets = end.receiver.bytes / 1448
    assert packets > 5000
    assert end.receiver.calls < packets / 3


def test_samples_of_every_stream_down_to_a_millisecond(receiver: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    _end(receiver, duration_ns=300_000_000, parallel=2, samples=file, sample_ns=1_000_000)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert {row["stream"] for row in rows} == {0, 1}
    for stream in (0, 1):
        times = [row["t_ns"] for row in rows if row["stream"] == stream]
        assert times == sorted(times) and len(times) <= 600
        # A busy machine loses samples; elsewhere two neighbours are a millisecond apart.
        assert min(later - first for first, later in itertools.pairwise(times)) < 2_000_000


def _document(receiver: Receiver, *extra: str) -> dict[str, Any]:
    argv = ["-t", "127.0.0.1", "-p", str(receiver.port), "--format", "iperf3", *extra]
    done = subprocess.run([BINARY, *argv], capture_output=True, timeout=DEADLINE_S, check=False)
    document: dict[str, Any] = json.loads(done.stdout)
    _valid(document, "iperf3")
    return document


def test_one_parser_reads_iperf3s_document_and_ours(receiver: Receiver) -> None:
    ours = _document(receiver, "-d", "300ms", "-P", "2", "-i", "100ms")
    _valid(ours["rttcp"], "end")
    port = free_port()
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", str(port)], stdout=subprocess.DEVNULL)
    try:
        theirs: dict[str, Any] = {"error": "never tried"}
        deadline = time.monotonic() + DEADLINE_S
        while "error" in theirs and time.monotonic() < deadline:
            argv = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", "1", "-P", "2", "-i", "0.5", "--json"]
            theirs = json.loads(subprocess.run(argv, capture_output=True, timeout=DEADLINE_S, check=False).stdout)
    finally:
        server.kill()
        server.wait()
    for document, mine in ((ours, True), (theirs, False)):
        parsed = rttcp.iperf3.parse(json.dumps(document))
        assert parsed.end.sum_received.bytes > 0 and len(parsed.end.streams) == 2
        assert any(interval.sum.bits_per_second > 0 for interval in parsed.intervals)
        assert parsed.end.sum_sent.bytes == sum(s.sender.bytes for s in parsed.end.streams)
        assert len(parsed.intervals) >= 1 and (parsed.rttcp is not None) == mine
    for key in ("start", "end"):
        assert theirs[key].keys() <= ours[key].keys(), "every key of iperf3 is there"
    for mine_row, row in zip(ours["end"]["streams"], theirs["end"]["streams"], strict=True):
        assert row["sender"].keys() <= mine_row["sender"].keys()
    assert theirs["intervals"][0]["streams"][0].keys() <= ours["intervals"][0]["streams"][0].keys()


def test_a_document_of_both_directions_is_as_iperf3s(receiver: Receiver) -> None:
    """What iperf3 3.12 prints with --bidir -P 2: four streams everywhere, and a sum of each direction."""
    ours = _document(receiver, "-d", "300ms", "-P", "2", "-i", "100ms", "--bidir")
    assert len(ours["start"]["connected"]) == len(ours["end"]["streams"]) == 4
    assert len({row["socket"] for row in ours["start"]["connected"]}) == 4
    assert [row["sender"]["sender"] for row in ours["end"]["streams"]] == [True, True, False, False]
    first = ours["intervals"][0]
    assert [row["sender"] for row in first["streams"]] == [True, True, False, False]
    assert first["sum"]["sender"] and not first["sum_bidir_reverse"]["sender"]
    assert ["rtt" in row for row in first["streams"]] == [True, True, False, False]
    for way, streams in (("", slice(0, 2)), ("_bidir_reverse", slice(2, 4))):
        total = ours["end"][f"sum_sent{way}"]["bytes"]
        assert total == sum(row["sender"]["bytes"] for row in ours["end"]["streams"][streams]) > 0
        assert first[f"sum{way}"]["bytes"] == sum(row["bytes"] for row in first["streams"][streams])
    parsed = rttcp.iperf3.parse(json.dumps(ours))
    assert len(parsed.end.streams) == 4


def test_what_failed_is_an_error_in_the_document_too() -> None:
    argv = [BINARY, "-t", "127.0.0.1", "-p", str(free_port()), "--format", "iperf3"]
    done = subprocess.run(argv, capture_output=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1
    _valid(json.loads(done.stdout), "iperf3")
    with pytest.raises(ValueError, match="refused"):
        rttcp.iperf3.parse(done.stdout)


def test_an_error_about_a_name_that_is_not_text_is_an_error_in_the_document_too(receiver: Receiver) -> None:
    """A file name may have any octets, JSON only UTF-8."""
    argv = ["-t", "127.0.0.1", "-p", str(receiver.port), "--format", "iperf3", "--samples", "/nowhere/\udcff"]
    done = subprocess.run([BINARY, *argv], capture_output=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == "--samples '/nowhere/?': No such file or directory"


def test_a_thousand_silent_connections_keep_nobody_out(receiver: Receiver) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))  # only of this process
    silent = [socket.create_connection(("127.0.0.1", receiver.port), timeout=DEADLINE_S) for _ in range(1000)]
    try:
        for peer in silent[:100]:
            peer.sendall(b"\0\0")  # half a frame's header
        status, events, errors = send(receiver.port, bytes=1_000_000)
        assert status == 0 and events[-1]["complete"], errors
        assert events[-1]["summary"]["elapsed_ns"] < 5 * 10**9
    finally:
        for peer in silent:
            peer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_output_to_a_full_disk_is_a_failure(receiver: Receiver) -> None:
    argv = rttcp.sender_argv("127.0.0.1", BINARY, port=receiver.port, bytes=1_000_000)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr and done.stderr.count(b"\n") == 1
    status, events, errors = send(receiver.port, bytes=1_000_000, samples="/dev/full", sample_ns=1_000_000)
    assert status == 1 and "--samples '/dev/full': No space left" in errors and errors.count("\n") == 1
    assert [e["event"] for e in events[-2:]] == ["end", "error"], "the results are kept"


def test_what_the_other_end_last_said_is_kept_when_it_dies(receiver: Receiver) -> None:
    argv = rttcp.sender_argv("127.0.0.1", BINARY, port=receiver.port, duration_ns=60 * 10**9, pace_bps=80_000_000)
    sender = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert sender.stdout is not None
    seen = 0
    while seen < 2:  # two seconds: the ends have exchanged a progress message
        seen += json.loads(sender.stdout.readline())["event"] == "interval"
    sender.kill()
    sender.communicate(timeout=DEADLINE_S)
    end = receiver.event()
    _valid(end, "end")
    assert end["complete"] is False and end["receiver"]["bytes"] > 0
    assert end["sender"]["partial"] and end["sender"]["bytes"] > 0 and end["receiver"]["partial"]


@pytest.mark.parametrize("flip_at", [0, 1_234_567, 2_999_999])
def test_one_flipped_bit_is_found_at_its_offset(receiver: Receiver, flip_at: int) -> None:
    status, events, errors = send(control_proxy(receiver.port, flip_in_stream_0(flip_at)), bytes=3_000_000, verify=True)
    assert status == 1 and f"offset {flip_at}:" in errors and errors.count("\n") == 1
    end = next(e for e in events if e["event"] == "end")
    theirs = receiver.event()
    for side in (end, theirs):
        stream = side["receiver"]["streams"][0]
        assert stream["mismatch"] and stream["mismatch_offset"] == flip_at
        assert int(stream["expected"][:2], 16) ^ int(stream["got"][:2], 16) == 0x10
        assert side["summary"]["verified"] == "mismatch" and side["complete"] is False
        assert f"offset {flip_at}:" in side["error"] and not side["summary"]["verdict"]["valid"]
        assert stream["digest"] != side["sender"]["streams"][0]["digest"]


def test_the_protocol_page_names_every_key_of_the_schema() -> None:
    page = (REPOSITORY / "rttcp" / "PROTOCOL.md").read_text(encoding="utf-8")
    definitions = json.loads((SCHEMAS / "end.schema.json").read_text())["$defs"]
    keys = {key for name in ("params", "side", "summary", "stream") for key in definitions[name]["properties"]}
    missing = sorted(key for key in keys if key not in page)
    assert not missing, f"PROTOCOL.md does not tell of {', '.join(missing)}"


@pytest.mark.parametrize(("parallel", "response"), [(1, 1), (3, 300_000)])
def test_exchanges_are_counted_and_timed_by_both_formats(receiver: Receiver, parallel: int, response: int) -> None:
    """The server counts what it answered; the client alone knows the latencies."""
    end = _end(receiver, request_bytes=100, response_bytes=response, exchanges=40, parallel=parallel)
    summary, client, server = end.summary.exchange, end.sender.exchange, end.receiver.exchange
    assert summary and client and server
    assert summary.exchanges == client.exchanges == server.exchanges == 40
    assert end.summary.bytes == summary.request_bytes == 4000 and server.response_bytes == 40 * response
    assert 0 < client.latency_min_ns <= client.latency_p50_ns <= client.latency_p999_ns <= client.latency_max_ns
    assert client.latency_min_ns <= client.latency_mean_ns <= client.latency_max_ns <= client.elapsed_ns
    assert summary.exchanges_per_s == pytest.approx(40e9 / client.elapsed_ns)
    assert server.latency_max_ns == 0
    assert (end.sender.local, end.sender.remote) == (end.receiver.remote, end.receiver.local)
    argv = rttcp.sender_argv("127.0.0.1", BINARY, port=receiver.port, request_bytes=1, response_bytes=1, exchanges=7)
    text = subprocess.run(
        [*(word for word in argv if word != "--json"), "--human"], capture_output=True, check=True, timeout=DEADLINE_S
    ).stdout.decode()
    assert "7 exchanges of 1 and 1 bytes" in text and "p99.9" in text


def test_exchanges_end_with_the_duration_and_take_the_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("5f" * 32)
    key.chmod(0o600)
    server = Receiver("--key", str(key))
    try:
        sizes = {"request_bytes": 10, "response_bytes": 10}
        end = _end(server, duration_ns=200_000_000, interval_ns=50_000_000, key=key, **sizes)
        assert end.summary.exchange and end.summary.ended_by == "duration" and end.summary.exchange.exchanges > 0
        assert sum(row[2] for row in end.sender.intervals) == 10 * end.summary.exchange.exchanges
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--request", "1"], "--response"),
        (["--response", "1"], "--request"),
        (["--exchanges", "1"], "--request"),
        (["--request", "1", "--response", "1", "--verify"], "--verify"),
        (["--request", "1", "--response", "1", "--bytes", "1MB"], "--exchanges"),
        (["--request", "1", "--response", "1", "--exchanges", "1", "--parallel", "2"], "--parallel"),
    ],
)
def test_what_exchanges_exclude_is_named(options: list[str], says: str) -> None:
    status, _, errors = send(free_port(), "127.0.0.1", *options)
    assert status == 2 and says in errors and errors.count("\n") == 1


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_streams_go_through_a_proxy_side_by_side(receiver: Receiver, kind: str) -> None:
    """All octets are checked, both ways; the receiver sees the proxy's connections."""
    relay, port = Path(__file__).parents[2] / "netns" / "proxy_relay.py", free_port()
    with subprocess.Popen([sys.executable, str(relay), kind, "127.0.0.1", str(port)]) as proxy:
        try:
            wait_until(lambda: _listens(port), "the proxy")
            end = _end(
                receiver, bytes=3_000_000, direction="both", parallel=5, verify=True, proxy=f"{kind}://127.0.0.1:{port}"
            )
        finally:
            proxy.terminate()
    assert end.summary.verified == "ok" and end.reverse and end.reverse.summary.verified == "ok"
    assert end.sender.remote == f"127.0.0.1:{port}"


def test_a_proxy_that_is_not_there_or_refuses_is_named(receiver: Receiver) -> None:
    status, _, errors = send(receiver.port, bytes=1000, proxy=f"socks5://127.0.0.1:{free_port()}")
    assert status == 1 and "--proxy" in errors and "is the proxy running there?" in errors
    status, _, errors = send(receiver.port, bytes=1000, proxy="socks4://127.0.0.1:1")
    assert status == 2 and "want socks5://HOST:PORT or http://HOST:PORT" in errors
