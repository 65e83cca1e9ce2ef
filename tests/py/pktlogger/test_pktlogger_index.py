"""`pktlogger index` on captures whose every value is known."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.pktlogger_frames import (
    ACK,
    AE,
    CE,
    CWR,
    ECE,
    ECT0,
    ECT1,
    FIN,
    PSH,
    RST,
    SYN,
    T0_NS,
    A,
    B,
    Packet,
    Pcapng,
    options,
    write_pcap,
    write_pcapng,
)

import pktlogger
from netcommon.binaries import find

CLIENT, SERVER = (A, 40000), (B, 5010)
NO_ACK = 2**64 - 1
ISN_C, ISN_S = 2**32 - 1000, 7  # the client's numbers wrap within the first 1,000 bytes


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [str(find("pktlogger")), *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30)


def index(capture: Path, folder: Path) -> dict[str, np.ndarray]:
    done = run("index", capture, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["event"] == "end"
    table = pktlogger.read_index(folder)
    columns = {}
    for name in table.schema.names:
        column = table[name].combine_chunks()
        wide = name.startswith("sack_") and name != "sack_n"
        columns[name] = column.flatten().to_numpy().reshape(-1, 4) if wide else column.to_numpy()
    return columns


def conversation() -> list[Packet]:
    """Handshake, 4,344 bytes in a super-packet across the wrap, an ACK with SACK, a reset."""
    ts = (11, 22)
    return [
        Packet(T0_NS, CLIENT, SERVER, ISN_C, 0, SYN, 0, 64240, 1, options(1460, 7, True, (10, 0))),
        Packet(T0_NS + 10, SERVER, CLIENT, ISN_S, ISN_C + 1, SYN | ACK, 0, 65160, 0, options(1400, 9, True, (20, 10))),
        Packet(T0_NS + 20, CLIENT, SERVER, ISN_C + 1, ISN_S + 1, ACK, 0, 502, 2, options(ts=ts)),
        Packet(T0_NS + 30, CLIENT, SERVER, ISN_C + 1, ISN_S + 1, PSH | ACK, 4344, 502, 3, options(ts=ts)),
        Packet(
            T0_NS + 40,
            SERVER,
            CLIENT,
            ISN_S + 1,
            ISN_C + 1,
            ACK,
            0,
            300,
            9,
            options(ts=ts, sack=(((ISN_C + 1389) % 2**32, (ISN_C + 2777) % 2**32),)),
        ),
        Packet(T0_NS + 50, CLIENT, SERVER, ISN_C + 4345, 0, RST, 0, 0, 4),
    ]


def expect_conversation(columns: dict[str, np.ndarray], t_unit_ns: int = 1) -> None:
    wanted = {
        "frame": [1, 2, 3, 4, 5, 6],
        "flow": [0] * 6,
        "dir": [0, 1, 0, 0, 1, 0],
        "seq": [0, 0, 1, 1, 1, 4345],
        "ack": [NO_ACK, 1, 1, 1, 1, NO_ACK],
        "len": [0, 0, 0, 4344, 0, 0],
        "parts": [1, 1, 1, 4, 1, 1],  # 4344 / (1400 - 12)
        "flags": [SYN, SYN | ACK, ACK, PSH | ACK, ACK, RST],
        "window": [64240, 65160, 502 << 7, 502 << 7, 300 << 9, 0],
        "ip_id": [1, 0, 2, 3, 9, 4],
        "tsval": [10, 20, 11, 11, 11, 0],
        "tsecr": [0, 10, 22, 22, 22, 0],
        "sack_n": [0, 0, 0, 0, 1, 0],
    }
    for name, values in wanted.items():
        assert columns[name].tolist() == values, name
    assert columns["sack_left"][4].tolist() == [1389, 0, 0, 0]
    assert columns["sack_right"][4].tolist() == [2777, 0, 0, 0]
    times = [(T0_NS + 10 * i) // t_unit_ns * t_unit_ns for i in range(6)]
    assert columns["t_ns"].tolist() == times
    assert columns["wire_len"][3] == 14 + 20 + 32 + 4344


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_column_of_a_known_conversation(tmp_path: Path, order: str) -> None:
    expect_conversation(index(write_pcapng(tmp_path / "a.pcapng", conversation(), order), tmp_path / "i"))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [True, False])
def test_classic_pcap(tmp_path: Path, order: str, nano: bool) -> None:
    file = write_pcap(tmp_path / "a.pcap", conversation(), order, nano)
    expect_conversation(index(file, tmp_path / "i"), 1 if nano else 1000)


@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")])
def test_marks_and_what_reports_them(tmp_path: Path, hosts: tuple[str, str]) -> None:
    """The ECN field of IP, and the option of AccECN in both of its orders."""
    a, b = (hosts[0], 40000), (hosts[1], 5001)
    packets = [
        Packet(T0_NS, a, b, ISN_C, 0, SYN | AE | CWR | ECE, options=options(1460)),
        Packet(T0_NS + 1, b, a, ISN_S, ISN_C + 1, SYN | ACK | AE, options=options(1460, accecn=(1, 0, 1))),
        Packet(T0_NS + 2, a, b, ISN_C + 1, ISN_S + 1, ACK, 2920, ecn=CE),
        Packet(T0_NS + 3, a, b, ISN_C + 2921, ISN_S + 1, ACK, 1460, ecn=ECT1),
        Packet(T0_NS + 4, b, a, ISN_S + 1, ISN_C + 4381, ACK | AE | CWR | ECE, ecn=ECT0,
               options=options(accecn=(1461, 2920), accecn_kind=174)),
    ]  # fmt: skip
    columns = index(write_pcapng(tmp_path / "a.pcapng", packets), tmp_path / "i")
    assert columns["ecn"].tolist() == [0, 0, CE, ECT1, ECT0]
    assert (columns["flags"] >> 6 & 7).tolist() == [7, 4, 0, 0, 7]
    assert columns["accecn"].tolist() == [0, 7, 0, 0, 6]
    assert columns["ee0b"].tolist() == [0, 1, 0, 0, 0]
    assert columns["eceb"].tolist() == [0, 0, 0, 0, 2920]
    assert columns["ee1b"].tolist() == [0, 1, 0, 0, 1461]
    assert pktlogger.flows(tmp_path / "i")[0]["ecn"] == "accecn"


def test_several_interfaces_resolutions_sections_and_unknown_blocks(tmp_path: Path) -> None:
    """Each packet is written with another interface's time unit; the columns must not show it."""
    packets = conversation()
    file = Pcapng("<")
    file.interface(tsresol=9)
    file.interface(tsresol=12, tsoffset_s=T0_NS // 10**9)
    file.interface(tsresol=0x80 | 30, tsoffset_s=T0_NS // 10**9)  # 2^-30 s, which rounds 10 ns a little
    file.raw(0x0BAD, b"unknown, skipped")
    file.packet(packets[0].frame(), packets[0].t_ns)
    file.packet(packets[1].frame(), (packets[1].t_ns - T0_NS) * 1000, interface=1)
    file.packet(packets[2].frame(), -(-((packets[2].t_ns - T0_NS) << 30) // 10**9), interface=2)
    file.order = ">"
    file.section()
    file.interface(tsresol=None, link=147)  # microseconds, a link type that nobody decodes
    file.packet(packets[3].frame(), 0)
    file.interface(tsresol=9)
    for packet in packets[3:]:
        file.packet(packet.frame(), packet.t_ns, interface=1)
    columns = index(file.write(tmp_path / "a.pcapng"), tmp_path / "i")
    assert columns["frame"].tolist() == [1, 2, 3, 5, 6, 7]  # the undecodable frame keeps its number
    assert np.abs(columns["t_ns"] - np.array([p.t_ns for p in packets])).max() <= 1
    content = json.loads((tmp_path / "i" / "flows.json").read_text())
    assert content["capture"]["kinds"]["unknown_link"] == 1


def test_simple_packet_blocks_have_no_time(tmp_path: Path) -> None:
    file = Pcapng()
    file.interface()
    data, wire = conversation()[0].frame()
    file.raw(3, struct.pack("<I", wire) + data)
    for packet in conversation():
        file.packet(packet.frame(), packet.t_ns)
    columns = index(file.write(tmp_path / "a.pcapng"), tmp_path / "i")
    content = json.loads((tmp_path / "i" / "flows.json").read_text())
    assert content["capture"]["kinds"]["no_time"] == 1 and min(columns["t_ns"]) == content["capture"]["first_ns"] > 0
    assert len(columns["t_ns"]) == len(conversation())


def test_flows_json_tells_the_handshake_and_the_drops(tmp_path: Path) -> None:
    file = Pcapng()
    file.interface()
    for packet in conversation():
        file.packet(packet.frame(), packet.t_ns)
    file.statistics(accepted=20, kernel=5, interface=2, delivered=12)
    index(file.write(tmp_path / "a.pcapng"), tmp_path / "i")
    content = json.loads((tmp_path / "i" / "flows.json").read_text())
    assert content["capture"]["drops"] == {"kernel": 5, "interface": 2, "process": 3}
    (flow,) = content["flows"]
    assert flow["handshake"] and flow["window_scaled"]
    client, server = flow["sides"]
    assert (client["address"], client["port"], client["isn"]) == (A, 40000, ISN_C)
    assert (client["mss"], client["wscale"], server["mss"], server["wscale"]) == (1460, 7, 1400, 9)
    assert flow["mss_in_use"] == 1388
    assert (client["bytes"], client["packets"], server["packets"]) == (4344, 4, 2)
    assert (flow["first_ns"], flow["last_ns"]) == (T0_NS, T0_NS + 50)


def test_without_handshake_windows_are_unscaled_and_numbers_start_at_two_to_the_32(tmp_path: Path) -> None:
    packets = conversation()[3:5]
    late = Packet(T0_NS + 60, CLIENT, SERVER, ISN_C - 99, ISN_S + 1, ACK, 100, 502, 5)  # from before the first seen
    columns = index(write_pcapng(tmp_path / "a.pcapng", [*packets, late]), tmp_path / "i")
    assert columns["seq"].tolist() == [2**32, 2**32, 2**32 - 100]
    assert columns["ack"].tolist() == [2**32, 2**32, 2**32]
    assert columns["window"].tolist() == [502, 300, 502]
    (flow,) = pktlogger.flows(tmp_path / "i")
    assert not flow["handshake"] and not flow["window_scaled"]
    bases = np.array([flow["sides"][d]["isn"] for d in columns["dir"]])
    assert ((bases + columns["seq"].astype(np.int64)) % 2**32).tolist() == [ISN_C + 1, ISN_S + 1, ISN_C - 99]


def test_one_sided_window_scaling_is_no_scaling(tmp_path: Path) -> None:
    packets = conversation()
    packets[1].options = options(1400, None, True, (20, 10))
    columns = index(write_pcapng(tmp_path / "a.pcapng", packets), tmp_path / "i")
    assert columns["window"].tolist() == [64240, 65160, 502, 502, 300, 0]


def test_a_new_syn_on_old_ports_is_a_new_flow(tmp_path: Path) -> None:
    first = conversation()
    again = Packet(T0_NS + 100, CLIENT, SERVER, 5_000_000, 0, SYN, 0, 64240, 1, options(1460))
    repeated = Packet(T0_NS + 200, CLIENT, SERVER, 5_000_000, 0, SYN, 0, 64240, 2, options(1460))
    columns = index(write_pcapng(tmp_path / "a.pcapng", [*first, again, repeated]), tmp_path / "i")
    assert columns["flow"].tolist() == [0] * 6 + [1, 1]
    assert columns["seq"].tolist()[-2:] == [0, 0]


def test_sequence_numbers_stay_unwrapped_over_many_gigabytes(tmp_path: Path) -> None:
    step = 2**30
    packets = [Packet(T0_NS, CLIENT, SERVER, 100, 0, SYN)]
    packets += [Packet(T0_NS + i, CLIENT, SERVER, 101 + i * step, 1, ACK, 1) for i in range(20)]
    columns = index(write_pcapng(tmp_path / "a.pcapng", packets), tmp_path / "i")
    assert columns["seq"].tolist() == [0] + [1 + i * step for i in range(20)]


def test_ipv6_and_other_kinds_are_told_apart(tmp_path: Path) -> None:
    file = Pcapng()
    file.interface()
    six = Packet(T0_NS, ("fd00::1", 1), ("fd00::2", 2), 1, 0, SYN | FIN)
    file.packet(six.frame(), T0_NS)
    arp = (bytes(12) + b"\x08\x06" + bytes(28), 42)
    file.packet(arp, T0_NS)
    data, wire = six.frame()
    file.packet((data[:40], wire), T0_NS)
    columns = index(file.write(tmp_path / "a.pcapng"), tmp_path / "i")
    assert columns["frame"].tolist() == [1]
    kinds = json.loads((tmp_path / "i" / "flows.json").read_text())["capture"]["kinds"]
    assert (kinds["tcp"], kinds["not_ip"], kinds["truncated"]) == (1, 1, 1)
    assert pktlogger.flows(tmp_path / "i")[0]["sides"][0]["address"] == "fd00::1"


def test_a_file_cut_short_keeps_all_before_the_cut(tmp_path: Path) -> None:
    file = write_pcapng(tmp_path / "a.pcapng", conversation())
    file.write_bytes(file.read_bytes()[:-7])
    done = run("index", file, "-o", tmp_path / "i")
    assert done.returncode == 0 and "ends inside a packet" in done.stderr
    assert json.loads(done.stdout)["truncated"] is True
    assert pktlogger.read_index(tmp_path / "i").num_rows == 5


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    index(write_pcapng(tmp_path / "a.pcapng", conversation()), tmp_path / "i")
    pktlogger.to_parquet(tmp_path / "i", tmp_path / "i.parquet")
    written, columns = pq.read_table(tmp_path / "i.parquet"), pktlogger.read_index(tmp_path / "i")
    edges = ["sack_left", "sack_right"]
    assert written.column_names == columns.column_names and written.schema.metadata == columns.schema.metadata
    assert written.drop_columns([*edges, "ack"]).equals(columns.drop_columns([*edges, "ack"]))
    acks = [None if ack == 2**64 - 1 else ack for ack in columns["ack"].to_pylist()]
    assert written["ack"].to_pylist() == acks and None in acks
    numbers = columns["sack_n"].to_pylist()
    for name in edges:
        cut = [four[:n] for four, n in zip(columns[name].to_pylist(), numbers, strict=True)]
        assert written[name].to_pylist() == cut and any(cut)
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")] == []


def test_a_capture_without_tcp_gives_empty_columns(tmp_path: Path) -> None:
    file = Pcapng()
    file.interface()
    columns = index(file.write(tmp_path / "a.pcapng"), tmp_path / "i")
    assert all(len(values) == 0 for values in columns.values())


def test_wrong_input_is_one_clear_line(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("not a capture\n" * 10)
    empty = tmp_path / "empty"
    empty.touch()
    good = write_pcapng(tmp_path / "a.pcapng", conversation())
    damaged = tmp_path / "damaged"
    damaged.write_bytes(good.read_bytes()[:-4] + b"\xff\xff\xff\xff")
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    cases: list[tuple[int, str, list[str | Path]]] = [
        (2, "not a capture file", ["index", text, "-o", tmp_path / "x"]),
        (2, "is empty", ["index", empty, "-o", tmp_path / "x"]),
        (2, "No such file", ["index", tmp_path / "none", "-o", tmp_path / "x"]),
        (1, "the two lengths of a block differ", ["index", damaged, "-o", tmp_path / "x"]),
        (2, "not an empty folder", ["index", good, "-o", full]),
        (2, "cannot create it", ["index", good, "-o", tmp_path / "no" / "such"]),
        (2, "--output", ["index", good]),
        (2, "want one of capture, record", ["indx", good]),
        (2, "--receiver", ["export", "--csv", "--sender", good, "-o", tmp_path / "x"]),
    ]
    for status, words, arguments in cases:
        done = run(*arguments)
        assert done.returncode == status, (arguments, done.stderr)
        assert words in done.stderr and done.stderr.count("\n") == 1
        event = json.loads(done.stdout.splitlines()[-1])
        assert (event["event"], event["status"]) == ("error", status)
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["a.pcapng", "damaged", "empty", "full", "text"]


@pytest.mark.parametrize("command", ["capture", "index", "analyse", "export"])
def test_man_page_and_help_have_every_option(command: str) -> None:
    page = (Path(pktlogger.__file__).parent / "pktlogger.1").read_text().replace("\\-", "-")
    told = run(command, "--help")
    assert told.returncode == 0
    for option in json.loads(run(command, "--options-json").stdout)["options"]:
        assert f"--{option['name']}" in page, option
        assert f"--{option['name']}" in told.stdout, option


def _small_window(window: int, ts: bool, scale: int | None = 0, grown: int = 0) -> list[Packet]:
    """A sender with jumbo frames, and windows that hold no two of them."""
    opening = options(8960, scale, ts=(1, 0) if ts else None)
    stamp = options(ts=(2, 1)) if ts else b""
    first = [
        Packet(T0_NS, CLIENT, SERVER, ISN_C, 0, SYN, 0, 60000, 1, opening),
        Packet(T0_NS + 10, SERVER, CLIENT, ISN_S, ISN_C + 1, SYN | ACK, 0, window, 1, opening),
        Packet(T0_NS + 20, CLIENT, SERVER, ISN_C + 1, ISN_S + 1, ACK, 0, 60000, 2, stamp),
        Packet(T0_NS + 30, CLIENT, SERVER, ISN_C + 1, ISN_S + 1, ACK, 16000, 60000, 3, stamp),
    ]
    later = [
        Packet(T0_NS + 40, SERVER, CLIENT, ISN_S + 1, ISN_C + 16001, ACK, 0, grown, 2, stamp),
        Packet(T0_NS + 50, CLIENT, SERVER, ISN_C + 16001, ISN_S + 1, ACK, 16000, 60000, 5, stamp),
    ]
    return first + (later if grown else [])


@pytest.mark.parametrize("ts", [False, True])
def test_a_super_packet_stands_for_segments_of_half_a_window(ts: bool, tmp_path: Path) -> None:
    """16,000 octets are 1.8 segments of 8,960, and 4 of 4,000."""
    columns = index(write_pcapng(tmp_path / "a.pcapng", _small_window(8000, ts)), tmp_path / "i")
    assert columns["parts"].tolist() == [1, 1, 1, 4]
    columns = index(write_pcapng(tmp_path / "b.pcapng", _small_window(8000, ts, grown=16000)), tmp_path / "j")
    assert columns["parts"].tolist() == [1, 1, 1, 4, 1, 2], "of the largest window so far"
    columns = index(write_pcapng(tmp_path / "c.pcapng", _small_window(8000, ts, grown=20000)), tmp_path / "k")
    assert columns["parts"].tolist() == [1, 1, 1, 4, 1, 2], "the MSS, and what is left"
    columns = index(write_pcapng(tmp_path / "d.pcapng", _small_window(8000, ts)[1:]), tmp_path / "l")
    assert columns["parts"].tolist()[-1] == 2, "nobody knows how windows are scaled"


def test_windows_of_the_sender_do_not_bound_its_segments(tmp_path: Path) -> None:
    packets = _small_window(60000, False)
    for packet in packets:
        packet.window = 8000 if packet.src == CLIENT else packet.window
    columns = index(write_pcapng(tmp_path / "a.pcapng", packets), tmp_path / "i")
    assert columns["parts"].tolist() == [1, 1, 1, 2]
