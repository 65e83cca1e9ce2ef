"""`pktlogger match`: a string in a stream is found once, in whatever packets it came."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.pktlogger_frames import ACK, FIN, SYN, T0_NS, A, B, Packet, Pcapng

from netcommon.binaries import find

CLIENT, SERVER = (A, 40000), (B, 80)
CLIENT6, SERVER6 = ("fd00::1", 40000), ("fd00::2", 80)
ISN = 2**32 - 40  # the numbers wrap in every stream
Bytes = tuple[int, bytes]  # offset in the stream, and the bytes there


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("engine")
    capture(folder / "none.pcapng", [])
    done = match(folder, 'a string "a"', "none.pcapng")
    if done.returncode == 3:
        assert "libvectorscan-dev" in done.stderr
        pytest.skip("this build has neither Vectorscan nor Hyperscan")


def match(folder: Path, rules: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "rules").write_bytes(rules.encode("latin-1"))
    argv = [str(find("pktlogger")), "match", "--rules", "rules", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=folder)


def found(done: subprocess.CompletedProcess[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The hits, and the counts at the end."""
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["event"] for line in lines] == ["hit"] * (len(lines) - 1) + ["end"]
    assert lines[-1]["hits"] == len(lines) - 1
    return lines[:-1], lines[-1]


def capture(path: Path, packets: Iterable[tuple[Packet, bytes]]) -> Path:
    file = Pcapng()
    file.interface()
    for packet, payload in packets:
        head, wire = packet.frame()
        file.packet((head + payload, wire), packet.t_ns)
    return file.write(path)


def stream(
    parts: Iterable[Bytes], ends: tuple[tuple[str, int], tuple[str, int]] = (CLIENT, SERVER)
) -> list[tuple[Packet, bytes]]:
    """A SYN, then the parts one microsecond apart."""
    packets = [(Packet(T0_NS, *ends, ISN - 1, 0, SYN), b"")]
    for number, (offset, payload) in enumerate(parts, 1):
        packets.append((Packet(T0_NS + 1000 * number, *ends, ISN + offset, 1, ACK, len(payload)), payload))
    return packets


TEXT = b"x" * 30 + b"needle-in-a-stream" + b"y" * 30
CUT = 36  # inside the needle, and after the sequence numbers have wrapped
ORDERS: dict[str, list[Bytes]] = {
    "whole": [(0, TEXT)],
    "split": [(0, TEXT[:CUT]), (CUT, TEXT[CUT:])],
    "byte by byte": [(i, TEXT[i : i + 1]) for i in range(len(TEXT))],
    "backwards": [(i, TEXT[i : i + 1]) for i in reversed(range(len(TEXT)))],
    "out of order": [(0, TEXT[:20]), (CUT, TEXT[CUT:]), (20, TEXT[20:CUT])],
    "retransmitted": [(0, TEXT[:CUT]), (0, TEXT[:CUT]), (CUT, TEXT[CUT:]), (CUT, TEXT[CUT:]), (0, TEXT)],
    "overlapping": [(0, TEXT[:40]), (50, TEXT[50:]), (33, TEXT[33:60])],
    "retransmitted with another content": [(0, TEXT[:CUT]), (0, b"z" * CUT), (CUT, TEXT[CUT:])],
}


@pytest.mark.parametrize("rule", ['r string "needle-in-a-stream"', r"r regex /ne+dle\-in[a-z-]+stream/ start"])
@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (CLIENT6, SERVER6)], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_pattern_is_found_once_however_its_bytes_came(
    tmp_path: Path, order: str, ends: tuple[tuple[str, int], tuple[str, int]], rule: str
) -> None:
    capture(tmp_path / "c.pcapng", stream(ORDERS[order], ends))
    hits, end = found(match(tmp_path, rule, "c.pcapng"))
    assert [(hit["rule"], hit["start"], hit["end"]) for hit in hits] == [("r", 30, 48)]
    hit = hits[0]
    assert (hit["dir"], hit["flow"], hit["gaps"], hit["from_start"]) == (0, 0, 0, True)
    assert (hit["from"], hit["to"]) == tuple({"address": a, "port": p} for a, p in ends)
    assert hit["t_ns"] == T0_NS + 1000 * (hit["frame"] - 1)
    assert end["scanned_bytes"] == len(TEXT) and end["gaps"] == 0
    sent = sum(len(payload) for _, payload in ORDERS[order])
    assert end["duplicate_bytes"] == sent - len(TEXT)


def test_both_directions_and_flags(tmp_path: Path) -> None:
    packets = stream([(0, b"Hello hello")])
    packets.append((Packet(T0_NS + 5000, SERVER, CLIENT, 1, ISN, ACK, 11), b"hello HELLO"))
    capture(tmp_path / "c.pcapng", packets)
    rules = 'all string "hello" nocase\none string "hello" nocase once\nask string "hello" opener\n'
    rules += 'reply regex /^h.*O$/ answerer\nbytes string "\\x48ello\\x20"\n'
    hits, _ = found(match(tmp_path, rules, "c.pcapng"))
    ends = sorted((hit["rule"], hit["dir"], hit["end"]) for hit in hits)
    assert ends == [("all", 0, 5), ("all", 0, 11), ("all", 1, 5), ("all", 1, 11), ("ask", 0, 11), ("bytes", 0, 6),
                    ("one", 0, 5), ("one", 1, 5)]  # fmt: skip
    packets.append((Packet(T0_NS + 6000, SERVER, CLIENT, 12, ISN, ACK | FIN), b""))
    packets.append((Packet(T0_NS + 7000, CLIENT, SERVER, ISN + 11, 13, ACK | FIN), b""))
    capture(tmp_path / "c.pcapng", packets)  # only now is the end of the data known
    hits, _ = found(match(tmp_path, rules, "c.pcapng"))
    assert [(hit["dir"], hit["end"]) for hit in hits if hit["rule"] == "reply"] == [(1, 11)]


def test_a_gap_is_said_and_nothing_is_found_across_it(tmp_path: Path) -> None:
    parts = [(0, b"first need"), (20, b"le in a stream and a needle")]
    capture(tmp_path / "c.pcapng", stream(parts))
    hits, end = found(match(tmp_path, 'r string "needle"', "c.pcapng"))
    assert [(hit["start"], hit["end"], hit["gaps"]) for hit in hits] == [(41, 47, 1)]
    assert (end["gaps"], end["gap_bytes"], end["scanned_bytes"]) == (1, 10, 37)


def test_the_parts_of_a_capture_are_one_stream(tmp_path: Path) -> None:
    packets = stream([(0, TEXT[:CUT]), (CUT, TEXT[CUT:])])
    capture(tmp_path / "1.pcapng", packets[:2])
    capture(tmp_path / "2.pcapng", packets[2:])
    hits, end = found(match(tmp_path, 'r string "needle-in"', "1.pcapng", "2.pcapng"))
    assert [hit["frame"] for hit in hits] == [3] and end["frames"] == 3


def test_a_thousand_patterns_in_a_hundred_shuffled_connections(tmp_path: Path) -> None:
    """Every planted string is found once, at its offset, whatever the order, the cuts and the repeats."""
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(12, 24))) for _ in range(1000)]
    rules = "\n".join(f'w{number} string "{word}"' for number, word in enumerate(words))
    packets: list[tuple[Packet, bytes]] = []
    planted = set()
    for port in range(1000, 1100):
        text = b""
        for _ in range(10):
            word = draw.randrange(1000)
            text += bytes(draw.choices(b"KLMNOP ", k=draw.randint(1, 900)))
            planted.add((f"w{word}", port, len(text), len(text) + len(words[word])))
            text += words[word].encode()
        cuts = sorted({0, len(text), *(draw.randrange(len(text)) for _ in range(20))})
        parts = [(low, text[low:high]) for low, high in itertools.pairwise(cuts)]
        parts += draw.sample(parts, 4)
        draw.shuffle(parts)
        packets += stream(parts, ((A, port), SERVER))
    order = sorted(range(len(packets)), key=lambda i: (packets[i][0].flags != SYN, draw.random()))
    capture(tmp_path / "c.pcapng", [packets[i] for i in order])
    hits, end = found(match(tmp_path, rules, "c.pcapng"))
    places = [(hit["rule"], hit["from"]["port"], hit["start"], hit["end"]) for hit in hits]
    assert len(places) == len(set(places)), "found twice"
    inside = {
        (f"w{n}", p, s + at, s + at + len(w))
        for w_, p, s, e in planted
        for n, w in enumerate(words)
        if (at := words[int(w_[1:])].find(w)) >= 0
    }
    assert set(places) == planted | inside
    assert end["connections"] == 100 and end["gaps"] == 0


@pytest.mark.parametrize(
    ("rules", "arguments", "says"),
    [
        ('a string "a"\nb regex /(/', ["c.pcapng"], "'rules' line 2: the expression of 'b' is refused: "),
        ("a string a", ["c.pcapng"], "'rules' line 1: a string stands between double quotes"),
        ('a string "a"', [], "want capture files or --interface, one of the two"),
        ('a string "a"', ["rules"], "'rules': not a capture file (pcapng or pcap)"),
        ('a string "a"', ["gone.pcapng"], "gone.pcapng"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, rules: str, arguments: list[str], says: str) -> None:
    capture(tmp_path / "c.pcapng", [])
    done = match(tmp_path, rules, *arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and says in done.stderr
