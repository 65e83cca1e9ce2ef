"""One capture of the matrix: four connections in the layers, file format and state that its case asks for, and the
right counts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.log import matrix_cover, matrix_files, matrix_layers, matrix_talk
from bench.log.matrix_cover import Case
from bench.log.matrix_files import FORMS, PACKINGS, Frame
from bench.log.matrix_layers import BY_TYPE, LINKS, TAGS, TUNNELS, Way
from bench.log.matrix_talk import BEGUN, KINDS, SYN, Segment, Talk

T0_NS = 1_700_000_000_000_000_000
COOKED2 = "cooked 2 (276)"  # this link header names each packet's interface
SAME_NS, OTHER_NS = 3_000, 20_000  # time from a packet to its copy, at the same and at another interface
AXES: dict[str, tuple[str, ...]] = {
    "link": tuple(LINKS), "tags": tuple(TAGS), "tunnel": tuple(TUNNELS), "outer": ("4", "6"), "ip": ("4", "6"),
    "begun": BEGUN, "twice": ("no", "same interface", "other interface"), "snap": ("whole", "128", "96", "68"),
    "form": tuple(FORMS), "packing": tuple(PACKINGS), "kind": KINDS, "end": ("sender", "receiver"),
}  # fmt: skip
TCPTRACE_LINKS = ("Ethernet", "raw IP (101)", "raw IP (12)", "cooked (113)", "BSD loopback (0)",
                  "BSD loopback (0), big-endian", "PPP (9)", "PPP (9), framed", "Cisco HDLC (104)")  # fmt: skip


def allowed(case: Case) -> bool:
    """Whether a case (with some values possibly still missing) can exist: a link without EtherTypes has neither tags
    nor MPLS, some links carry one version of IP, and two interfaces need pcapng or a link that names them."""
    link, tunnel, twice = LINKS.get(case.get("link", "")), case.get("tunnel"), case.get("twice")
    if link and not link.typed and (case.get("tags", "none") != "none" or tunnel in BY_TYPE):
        return False
    if link and link.version:
        inner, outer = case.get("ip", str(link.version)), case.get("outer", str(link.version))
        shown = {"none": (inner,), None: (inner, outer)}.get(tunnel, (outer,))
        if str(link.version) not in shown:
            return False
    one_interface = "form" in case and not FORMS[case["form"]].ng and case.get("link", COOKED2) != COOKED2
    return not (twice == "other interface" and one_interface)


def cases(seed: int) -> list[Case]:
    """The cases of a seed, in which every allowed pair of values occurs."""
    return matrix_cover.cover(AXES, allowed, seed)


def plain_cases(seed: int) -> list[Case]:
    """The cases of a seed within the small part that tcptrace can read."""
    axes = AXES | {"link": TCPTRACE_LINKS, "tags": ("none", "8100"), "tunnel": ("none", "PPPoE"), "packing": ("",)}
    return matrix_cover.cover(axes, lambda case: allowed({"link": "Ethernet"} | case) and tcptrace_reads(case), seed)


def tcptrace_reads(case: Case) -> bool:
    """Whether tcptrace 6.6.7 can read the case. On PPP and in PPPoE it reads only IPv4. It reads only a single tag
    0x8100, only on Ethernet and not with PPPoE. Its libpcap refuses a second interface of raw IP
    (findings/libpcap-raw-interfaces.sh)."""
    link, tags, tunnel = (case.get(axis, "none") for axis in ("link", "tags", "tunnel"))
    if link not in ("none", *TCPTRACE_LINKS) or tags not in ("none", "8100") or tunnel not in ("none", "PPPoE"):
        return False
    if (tags, tunnel) != ("none", "none") and (link not in ("none", "Ethernet") or "none" not in (tags, tunnel)):
        return False
    if link == "raw IP (101)" and case.get("twice") == "other interface":
        return False
    return not (case.get("ip") == "6" and (tunnel == "PPPoE" or link.startswith("PPP")))


@dataclass(frozen=True)
class Made:
    """A capture: its file, an unpacked copy for programs that cannot read the packing, and its connections as far as
    the capture shows them."""

    case: Case
    file: Path
    plain: Path
    talks: list[Talk]
    scales: list[tuple[int | None, int | None]]

    @property
    def at_sender(self) -> bool:
        return self.case["end"] == "sender"


def make(case: Case, folder: Path, seed: int) -> Made:
    """Writes the capture of a case."""
    rng = random.Random(seed)
    at_sender = case["end"] == "sender"
    talks: list[Talk] = []
    for number in range(4):
        kind = case["kind"] if number < 2 else rng.choice(KINDS)
        ports = 40_000 + rng.randrange(1000) * 4 + number, rng.choice((7001, 7002))
        begin_ns = T0_NS + rng.randrange(50_000_000)
        talks += matrix_talk.make(rng, kind, case["ip"] == "6", ports, at_sender, begin_ns, case["begun"])
    wrapped = [list(_frames(case, talk, at_sender, seed)) for talk in talks]
    shown = [_shown(talk, frames, case) for talk, frames in zip(talks, wrapped, strict=True)]
    frames = sorted((frame for every in wrapped for _, _, frame in every), key=lambda frame: frame.t_ns)
    form = FORMS[case["form"]]
    interfaces = 2 if case["twice"] == "other interface" else 1
    data = matrix_files.octets(frames, LINKS[case["link"]].number, form, interfaces)
    name = f"{seed}.pcap" + "ng" * form.ng
    plain = matrix_files.write(folder, name, data, "")
    file = matrix_files.write(folder, name, data, case["packing"])
    return Made(
        case,
        file,
        plain,
        [talk for talk, _ in shown if talk.segments],
        [scales for talk, scales in shown if talk.segments],
    )


def _frames(case: Case, talk: Talk, at_sender: bool, seed: int) -> Iterator[tuple[Segment, int, Frame]]:
    """Each segment and each copy of it: the segment, the octets captured from its TCP header on, and the frame."""
    snap = 2**31 if case["snap"] == "whole" else int(case["snap"])
    for segment in talk.segments:
        for again in range(1 + (case["twice"] != "no")):
            other = again * (case["twice"] == "other interface")
            near = segment.from_sender == at_sender
            tunnelled = case["tunnel"] != "none"
            t_ns = segment.t_ns + again * (OTHER_NS if other else SAME_NS)
            way = Way(0 if segment.from_sender else 1, near, other, 64 - other, int(case["outer"]), t_ns, seed)
            version, packet, at = matrix_layers.tcp_packet(talk, segment, 64 if tunnelled else 64 - other)
            data = matrix_layers.frame(case["link"], case["tags"], case["tunnel"], way, version, packet)
            captured = min(len(data), snap) - (len(data) - len(packet) + at)
            if case["link"] == "Ethernet" and not near:
                data += bytes(max(60 - len(data), 0))
            yield segment, captured, Frame(t_ns, data[:snap], len(data), other)


def _shown(
    talk: Talk, frames: list[tuple[Segment, int, Frame]], case: Case
) -> tuple[Talk, tuple[int | None, int | None]]:
    """The connection without the segments whose TCP header the capture cut off, and the scales that it shows."""
    first = frames[:: 1 if case["twice"] == "no" else 2]
    there = [(segment, captured - 20) for segment, captured, _ in first if captured >= 20]
    kept = [replace(segment, cut=more < len(segment.options)) for segment, more in there]
    scales: list[int | None] = [None, None]
    for segment, captured, _ in first:
        if segment.flags & SYN and captured >= 20 + len(segment.options.rstrip(b"\x01")):
            scales[0 if segment.from_sender else 1] = talk.scale
    shown = Talk(talk.kind, talk.v6, talk.ports, talk.sender_opens, kept, talk.opened and bool(kept), talk.scale)
    return shown, (scales[0], scales[1])
