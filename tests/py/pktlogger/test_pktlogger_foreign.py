"""Captures that other tools made: link types, compression, formats, pipes (tests/captures/README.md)."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import find

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


def pktlogger(*arguments: str | Path, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([find("pktlogger"), *arguments], capture_output=True, timeout=60, input=given)


def event(done: subprocess.CompletedProcess[bytes]) -> dict[str, object]:
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def flows(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((folder / "flows.json").read_text())["flows"]
    return found


def with_link(linktype: int, heads: bytes, name: str = "01-raw12") -> bytes:
    """A capture of raw IP with another link type and a header in front of each packet."""
    data = (CAPTURES / f"{name}.pcap").read_bytes()
    out, at = data[:20] + struct.pack("<I", linktype), 24
    while at < len(data):
        seconds, fraction, captured, wire = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + captured]
        out += struct.pack("<IIII", seconds, fraction, captured + len(heads), wire + len(heads)) + heads + packet
        at += 16 + captured
    return out


ETHERNET = bytes(12) + b"\x08\x00"
ERF = bytes(8) + b"%c\x04" + struct.pack("!HHH", 100, 0, 100)
LINKS = {
    "raw, OpenBSD": (14, b""),
    "loop": (108, struct.pack("!I", 2)),
    "null, other byte order": (0, struct.pack("!I", 2)),
    "ppp": (9, b"\x00\x21"),
    "ppp, short protocol": (9, b"\x21"),
    "ppp, framed": (9, b"\xff\x03\x00\x21"),
    "ppp hdlc": (50, b"\xff\x03\x00\x21"),
    "cisco hdlc": (104, b"\x0f\x00\x08\x00"),
    "pppoe session": (51, b"\x11\x00\x00\x01\x00\x40\x00\x21"),
    "cooked, tagged": (113, bytes(14) + b"\x81\x00\x00\x05\x08\x00"),
    "cooked 2, tagged": (276, b"\x81\x00" + bytes(18) + b"\x00\x05\x08\x00"),
    "erf ethernet": (197, ERF % 2 + bytes(2) + ETHERNET),
    "erf ipv4": (197, ERF % 22),
    "erf hdlc": (197, ERF % 1 + b"\xff\x03\x00\x21"),
    "erf, extended": (197, ERF % 0x82 + b"\x80" + bytes(7) + bytes(8) + bytes(2) + ETHERNET),
    "three tags": (1, bytes(12) + b"\x91\x00\x00\x01\x88\xa8\x00\x02\x81\x00\x00\x03\x08\x00"),
}


@pytest.mark.parametrize("name", ["01-sll", "01-sll2", "01-null", "01-raw12", *LINKS])
def test_link_types(name: str, tmp_path: Path) -> None:
    file = CAPTURES / f"{name}.pcap"
    if name in LINKS:
        file = tmp_path / "a.pcap"
        file.write_bytes(with_link(*LINKS[name]))
    done = pktlogger("index", file, "-o", tmp_path / "i")
    assert event(done)["packets"] == 10 and done.stderr == b"", done.stderr
    [flow] = flows(tmp_path / "i")
    assert flow["handshake"] is True


def test_a_tag_of_0x9100(tmp_path: Path) -> None:
    done = pktlogger("index", CAPTURES / "11-vlan-9100.pcap", "-o", tmp_path / "i")
    assert event(done)["packets"] == 8


def test_an_unknown_link_type_is_named_and_nothing_decoded_fails(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    file.write_bytes(with_link(127, bytes(8)))  # 802.11 with radiotap
    for verb in (("index",), ("frames",)):
        done = pktlogger(*verb, file, "-o", tmp_path / verb[0])
        assert done.returncode == 1 and not (tmp_path / verb[0]).exists()
        assert b"10 of 10 packets were not decoded: link type 127 (802.11 plus radiotap header)" in done.stderr


def pack(data: bytes, kind: str, folder: Path) -> bytes:
    if kind == "gz":
        return gzip.compress(data[:200]) + gzip.compress(data[200:])
    if kind == "xz":
        return lzma.compress(data[:200]) + lzma.compress(data[200:])
    if not shutil.which("lz4" if kind == "lz4" else "zstd"):
        pytest.skip(f"not installed: {kind}")
    out = b""
    for piece in (data[:200], data[200:]):
        done = subprocess.run(["lz4" if kind == "lz4" else "zstd", "-c"], input=piece, capture_output=True, check=True)
        out += done.stdout
    return out


@pytest.mark.parametrize("kind", ["gz", "xz", "lz4", "zst"])
def test_compressed_captures(kind: str, tmp_path: Path) -> None:
    """Compressed files of two members each: whole, through a pipe, and cut within the first octets."""
    plain = gzip.decompress((CAPTURES / "14-in-order.pcap.gz").read_bytes())
    packed = pack(plain, kind, tmp_path)
    file = tmp_path / f"a.pcap.{kind}"
    file.write_bytes(packed)
    assert event(pktlogger("index", file, "-o", tmp_path / "i"))["frames"] == 10
    done = pktlogger("index", "-", "-o", tmp_path / "p", given=packed)
    assert event(done)["frames"] == 10
    assert (tmp_path / "i/seq.npy").read_bytes() == (tmp_path / "p/seq.npy").read_bytes()
    file.write_bytes(packed[:14])
    done = pktlogger("index", file, "-o", tmp_path / "c")
    assert done.returncode != 0 and b"ends inside a compressed frame, before its first packet" in done.stdout
    file.write_bytes(packed[:-20])
    done = pktlogger("index", file, "-o", tmp_path / "d")
    assert event(done)["truncated"] is True and b"all before it was read" in done.stderr


def test_the_given_gzip_file(tmp_path: Path) -> None:
    assert event(pktlogger("index", CAPTURES / "14-in-order.pcap.gz", "-o", tmp_path / "i"))["frames"] == 10


def test_a_set_of_compressed_files_is_found(tmp_path: Path) -> None:
    packed = (CAPTURES / "14-in-order.pcap.gz").read_bytes()
    for i in (1, 2):
        (tmp_path / f"a_0000{i}_20260101000000.pcap.gz").write_bytes(packed)
    assert event(pktlogger("index", tmp_path / "a.pcap.gz", "-o", tmp_path / "i"))["frames"] == 20


def test_both_ends_through_pipes(tmp_path: Path) -> None:
    capture = CAPTURES / "01-sll2.pcap"
    line = f"{find('pktlogger')} analyse --sender <(cat {capture}) --receiver - -o {tmp_path / 'o'} < {capture}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60)
    assert event(done)["flows"] == 1


def test_a_capture_is_not_written_under_a_name_that_lies(tmp_path: Path) -> None:
    done = pktlogger("capture", "-i", "lo", "-w", tmp_path / "x.pcapng.gz")
    assert done.returncode == 2 and b".gz is not written; name it .zst" in done.stdout


# Formats of editcap: those that are read, and the words that name the others.
READ = {"pcap", "pcapng", "nsecpcap", "modpcap", "nokiapcap", "rh6_1pcap", "suse6_3pcap"}
NAMED = {
    "5views": "5Views",
    "k12text": "has no date",
    "lanalyzer": "has no date",
    "netmon1": "Network Monitor 1",
    "netmon2": "Network Monitor 2",
    "nettl": "nettl",
    "ngsniffer": "Sniffer",
    "ngwsniffer_1_1": "Sniffer",
    "ngwsniffer_2_0": "Sniffer",
    "observer": "Observer",
    "snoop": "snoop",
    "visual": "Visual Networks",
    "commview-ncf": "other formats",
    "commview-ncfx": "other formats",
}


@pytest.mark.skipif(not shutil.which("editcap"), reason="not installed: editcap")
@pytest.mark.parametrize("form", sorted(READ | set(NAMED)))
def test_formats_are_read_or_named_with_the_line_that_converts_them(form: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{form}"
    made = subprocess.run(["editcap", "-F", form, CAPTURES / "11-vlan-9100.pcap", file], capture_output=True)
    if made.returncode:
        pytest.skip(f"this editcap does not write {form}: {made.stderr!r}")
    done = pktlogger("index", file, "-o", tmp_path / "i")
    if form in READ:
        assert event(done)["packets"] == 8
        return
    assert done.returncode == 2, done.stdout
    said = json.loads(done.stdout)["message"]
    assert NAMED[form] in said and f"editcap -F pcapng '{file}' x.pcapng" in said


def joined(snd: Path, rcv: Path, folder: Path) -> tuple[dict[str, object], str]:
    """The only flow of `pktlogger analyse`, and what was said on stderr."""
    done = pktlogger("analyse", "--sender", snd, "--receiver", rcv, "-o", folder)
    assert done.returncode == 0, done.stdout
    [flow] = json.loads((folder / "summary.json").read_text())["flows"]
    return flow, done.stderr.decode()


def test_packets_captured_twice_are_counted_once(tmp_path: Path) -> None:
    """The tables are those of the capture without copies, apart from the frame numbers."""
    rcv = CAPTURES / "10-double-rcv.pcap"
    flow, said = joined(CAPTURES / "10-double-copy.pcap", rcv, tmp_path / "copy")
    plain, nothing = joined(CAPTURES / "10-double-none.pcap", rcv, tmp_path / "none")
    assert flow == plain and (flow["bytes"], flow["lost"], flow["retransmitted"]) == (10000, 0, 0)
    assert "26 TCP packets are copies of others" in said and nothing == ""
    kinds = json.loads((tmp_path / "copy/summary.json").read_text())["captures"]["sender"]["kinds"]
    assert (kinds["tcp"], kinds["copy"]) == (26, 26)


def test_a_packet_of_two_interfaces_is_counted_once(tmp_path: Path) -> None:
    """Two interfaces of a router, 1 ms apart and with a smaller TTL, as `-i any` shows them."""
    data = (CAPTURES / "10-double-none.pcap").read_bytes()
    out, at = data[:20] + struct.pack("<I", 276), 24
    while at < len(data):
        seconds, fraction, captured, wire = struct.unpack_from("<IIII", data, at)
        packet = bytearray(data[at + 16 + 14 : at + 16 + captured])
        for interface in (2, 3):
            head = struct.pack("!HHIHBB8x", 0x800, 0, interface, 1, 0, 6)
            packet[8] -= interface - 2  # the TTL
            time = struct.pack("<II", seconds, fraction + (interface - 2) * 1000)
            out += time + struct.pack("<II", len(packet) + 20, wire + 6) + head + packet
        at += 16 + captured
    file = tmp_path / "any.pcap"
    file.write_bytes(out)
    flow, said = joined(file, CAPTURES / "10-double-rcv.pcap", tmp_path / "o")
    assert (flow["bytes"], flow["lost"], flow["retransmitted"]) == (10000, 0, 0) and "26 TCP packets are copies" in said


def test_what_the_network_doubles_now_and_then_is_no_copy(tmp_path: Path) -> None:
    data = (CAPTURES / "10-double-none.pcap").read_bytes()
    captured = struct.unpack_from("<I", data, 32)[0]
    first = data[24 : 24 + 16 + captured]
    file = tmp_path / "a.pcap"
    file.write_bytes(data[:24] + first + data[24:])
    assert event(pktlogger("index", file, "-o", tmp_path / "i"))["packets"] == 27


def test_ports_that_are_used_again_are_matched_by_initial_numbers(tmp_path: Path) -> None:
    capture = CAPTURES / "08-reuse-noleft.pcap"
    done = pktlogger("analyse", "--sender", capture, "--receiver", capture, "-o", tmp_path / "o")
    assert event(done)["unmatched_flows"] == {"sender": 0, "receiver": 0}
    found = json.loads((tmp_path / "o/summary.json").read_text())["flows"]
    assert [flow["bytes"] for flow in found] == [100, 200, 300]


def test_a_syn_that_stands_late_in_the_file_belongs_to_its_connection(tmp_path: Path) -> None:
    assert event(pktlogger("index", CAPTURES / "09-late-syn.pcap", "-o", tmp_path / "i"))["flows"] == 1
    [flow] = flows(tmp_path / "i")
    assert flow["handshake"] is True
    assert sum(side["bytes"] for side in flow["sides"]) == 200  # type: ignore[attr-defined]


def test_segment_routing_has_the_address_of_the_final_segment(tmp_path: Path) -> None:
    """RFC 8200, 8.1; RFC 8754."""
    flow, _ = joined(CAPTURES / "12-srv6-snd.pcap", CAPTURES / "12-srv6-rcv.pcap", tmp_path / "o")
    assert (flow["bytes"], flow["lost"]) == (2500, 0)


@pytest.mark.parametrize("name", ["13-erspan2", "13-geneve"])
def test_tunnels_of_mirrors_and_overlays(name: str, tmp_path: Path) -> None:
    done = pktlogger("index", CAPTURES / f"{name}.pcap", "-o", tmp_path / "i", "--tunnels")
    assert event(done)["packets"] == 8


def both(name: str, folder: Path, middle: str = "snd") -> dict[str, object]:
    """The only flow of the captures NAME-snd and NAME-rcv."""
    flow, _ = joined(CAPTURES / f"{name}{middle and '-' + middle}.pcap", CAPTURES / f"{name}-rcv.pcap", folder)
    return flow


def figures(flow: dict[str, object], *names: str) -> list[object]:
    return [flow[name] for name in names]


@pytest.mark.parametrize("kind", ["garbage", "empty"])
def test_a_keep_alive_is_no_retransmission(kind: str, tmp_path: Path) -> None:
    """RFC 1122, 4.2.3.6: with and without an octet of garbage the application is idle."""
    flow = both(f"05-keepalive-{kind}", tmp_path / "o", middle="")
    assert figures(flow, "bytes", "segments", "retransmitted", "fast_recoveries") == [200, 2, 0, 0]
    assert list(flow["limits_ns"]) == ["application"]  # type: ignore[call-overload]
    assert [stop["cause"] for stop in flow["stops"]] == ["idle"]  # type: ignore[attr-defined]


def test_a_probe_of_a_closed_window_is_no_retransmission(tmp_path: Path) -> None:
    """RFC 9293, 3.8.6.1: the octet of a probe that was dropped is sent with the data that follow."""
    flow = both("06-zwp-byte", tmp_path / "o")
    names = ("bytes", "segments", "retransmitted", "timeouts", "duplicate_acks")
    assert figures(flow, *names) == [2000, 2, 0, 0, 0]
    said = [(stop["cause"], stop["text"]) for stop in flow["stops"]]  # type: ignore[attr-defined]
    assert said == [("zero_window", "the receiver's window was closed for 1.73 s")]
    assert list(flow["limits_ns"]) == ["zero_window"]  # type: ignore[call-overload]


def test_new_octets_behind_old_ones_count(tmp_path: Path) -> None:
    flow = both("06b-more", tmp_path / "o")
    assert figures(flow, "bytes", "retransmitted", "retransmitted_bytes", "lost_bytes") == [300, 1, 100, 100]


def test_what_is_under_way_when_a_capture_ends_is_not_lost(tmp_path: Path) -> None:
    flow = both("37-cut", tmp_path / "o")
    assert figures(flow, "segments", "lost", "in_flight_at_end") == [100, 0, 49]
    assert flow["losses_by_cause"] == {}


def test_no_judgement_on_a_window_whose_scale_is_not_known(tmp_path: Path) -> None:
    """RFC 7323, 2.2. The data in flight show that the window is scaled by at least 7 bits."""
    whole, middle = both("15-full", tmp_path / "w"), both("15-mid", tmp_path / "m")
    assert (whole["window_scaled"], whole["window_scale_least"]) == (True, None)
    assert middle["window_scaled"] is None and middle["window_scale_least"] == 7
    for flow in (middle, whole):
        assert list(flow["limits_ns"]) == ["congestion_avoidance"]  # type: ignore[call-overload]
    said = pktlogger("analyse", "--sender", CAPTURES / "15-mid-snd.pcap", "--receiver", CAPTURES / "15-mid-rcv.pcap",
                     "-o", tmp_path / "h", "--human")  # fmt: skip
    assert b"(at least 7 bits)" in said.stdout


def test_a_scale_that_only_the_receivers_capture_shows_is_used(tmp_path: Path) -> None:
    flow, _ = joined(CAPTURES / "15-mid-snd.pcap", CAPTURES / "15-full-rcv.pcap", tmp_path / "o")
    assert flow["window_scaled"] is True
    assert list(flow["limits_ns"]) == ["congestion_avoidance"]  # type: ignore[call-overload]


def test_connections_that_one_capture_alone_has_are_named(tmp_path: Path) -> None:
    """One capture has three connections, and the other has only the second of them."""
    capture, part = CAPTURES / "08-reuse-noleft.pcap", tmp_path / "part.pcapng"
    pktlogger("export", "--pcap-per-flow", tmp_path / "flows", capture)
    shutil.copy(sorted((tmp_path / "flows").iterdir())[1], part)
    done = pktlogger("analyse", "--sender", capture, "--receiver", part, "-o", tmp_path / "o", "--human")
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("left out")]
    assert len(lines) == 2 and all("in the sender's capture alone: 10.0.0.1:40000 and" in line for line in lines), lines


def test_bzip2_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap.bz2"
    file.write_bytes(bz2.compress((CAPTURES / "01-sll.pcap").read_bytes()))
    assert pktlogger("index", file, "-o", tmp_path / "i").returncode == 2
