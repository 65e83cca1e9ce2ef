"""The matrix of log.agree: pktlogger, tshark and tcptrace against the known counts of captures that scripts made, of
every link type, tag, tunnel, beginning, doubling, cut, form and packing.

A difference between pktlogger and the script is an error. A difference between pktlogger and another program needs a
rule with a source, which converts the right count to what that program counts.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.log import matrix_captures, matrix_tools
from bench.log.matrix_captures import Made
from bench.log.matrix_cover import Case
from bench.log.matrix_layers import LINKS
from bench.log.matrix_talk import FIN, SYN, Segment, Talk
from bench.log.matrix_tools import Account, Accounts
from bench.registry import Row

SEED = 45
QUANTITIES = ("packets", "payload", "handshake", "octets", "again", "again_octets", "scales")


@dataclass(frozen=True)
class Rule:
    """A rule for another program's different count: `changes` converts the right counts to the program's."""

    name: str
    says: str
    source: str
    changes: Callable[[Account, Made, Talk], Account]
    may: bool = False  # the program does not always follow the rule


@dataclass
class Tally:
    """The result of comparing quantities: how many agree, how many differ by each rule, and the differences that no
    rule explains."""

    compared: int = 0
    agree: int = 0
    by_rule: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.compared += other.compared
        self.agree += other.agree
        self.by_rule += other.by_rule
        self.wrong += other.wrong

    def row(self, what: str) -> Row:
        """A row of the bench: the number of quantities that agree, out of those compared; differences that a rule
        explains are allowed."""
        notes = [f"{rule}: {n}" for rule, n in sorted(self.by_rule.items())] + self.wrong[:3]
        explained = self.compared - self.agree - len(self.wrong)
        return Row(what, f"of {self.compared}", self.agree, self.compared - explained, self.compared, "; ".join(notes))


def compare(made: Made, right: Accounts, theirs: Accounts, rules: Iterable[Rule]) -> Tally:
    """Every quantity of every connection that a program reports."""
    tally = Tally()
    talks = dict(zip(matrix_tools.by_script(made), made.talks, strict=True))
    for key in sorted(right.keys() | theirs.keys()):
        if key not in right or key not in theirs:
            tally.compared += 1
            if key not in right and key[:2] in {one[:2] for one in right} and made.case["twice"] != "no":
                tally.by_rule["copies"] += 1  # the program takes a copied reset for a new connection
                continue
            if not right and made.case["snap"] != "whole":
                tally.by_rule["cut header"] += 1
                continue
            tally.wrong.append(f"{_named(made.case)}: connection {key}: {'missing' if key in right else 'too many'}")
            continue
        expected = _expected(right[key], made, talks[key], rules)
        for name in QUANTITIES:
            said = getattr(theirs[key], name)
            if said is None:
                continue
            tally.compared += 1
            wanted = getattr(right[key], name)
            if said == wanted:
                tally.agree += 1
            elif used := next((used[name] for account, used in expected if getattr(account, name) == said), None):
                tally.by_rule[" and ".join(used)] += 1
            else:
                tally.wrong.append(f"{_named(made.case)}: {key} ({talks[key].kind}): {name} {said}, right {wanted}")
    return tally


def _expected(
    right: Account, made: Made, talk: Talk, rules: Iterable[Rule]
) -> list[tuple[Account, dict[str, list[str]]]]:
    """The counts expected of another program, and the rules that changed each quantity."""
    paths: list[tuple[Account, dict[str, list[str]]]] = [(right, {name: [] for name in QUANTITIES})]
    for rule in rules:
        found = paths if rule.may else []
        for before, used in paths:
            after = rule.changes(before, made, talk)
            by = {name: [rule.name] * (getattr(after, name) != getattr(before, name)) for name in QUANTITIES}
            found = [*found, (after, {name: used[name] + by[name] for name in QUANTITIES})]
        paths = found
    return paths


def _named(case: Case) -> str:
    return ", ".join(f"{axis} {value}" for axis, value in case.items() if value not in ("", "no", "none", "whole"))


# tcptrace


def _seen_before(talk: Talk, times: int, ends: bool = False, garbage: bool = False) -> tuple[int, int]:
    """How many of the sender's packets repeat sequence numbers that the capture has shown before, and how many numbers
    they repeat. `times`: how often each packet is in the capture. `ends`: a SYN and a FIN count. `garbage`: octets that
    are not data count, too, except probes of a closed window."""
    seen: set[int] = set()
    again = octets = 0
    for one in talk.segments:
        length = one.length + ends * (bool(one.flags & SYN) + bool(one.flags & FIN))
        if not one.from_sender or not length or (not one.counts and (not garbage or talk.kind == "closed window")):
            continue
        numbers = set(range(one.octet, one.octet + length))
        for _ in range(times):
            again += bool(numbers & seen)
            octets += len(numbers & seen)
            seen |= numbers
    return again, octets


def _times(made: Made) -> int:
    return 1 if made.case["twice"] == "no" else 2


def _numbers(**counted: bool) -> Callable[[Account, Made, Talk], Account]:
    def changes(account: Account, made: Made, talk: Talk) -> Account:
        again, octets = _seen_before(talk, 1, **counted)
        return replace(account, again=again, again_octets=octets)

    return changes


def _copied(account: Account, made: Made, talk: Talk) -> Account:
    times = _times(made)
    again, octets = _seen_before(talk, times, ends=True, garbage=True)
    packets, payload = account.packets or (0, 0), account.payload or (0, 0)
    return replace(
        account,
        packets=(packets[0] * times, packets[1] * times),
        payload=(payload[0] * times, payload[1] * times),
        again=again,
        again_octets=octets,
    )


def _all_sent(account: Account, made: Made, talk: Talk) -> Account:
    numbers = {
        octet
        for one in talk.segments
        if one.from_sender and one.counts
        for octet in range(one.octet, one.octet + one.length)
    }
    return replace(account, octets=len(numbers))


def _used_ports(account: Account, made: Made, talk: Talk) -> Account:
    if talk.kind != "ports used again" or made.case["begun"] != "late" or talk.sender_opens:
        return account
    sent, got = account.packets or (0, 0)
    handshake = account.handshake and _times(made) == 2  # the copy of the SYN counts as the opening
    return replace(account, packets=(sent, got - 1 if talk.opened else got + 1), handshake=handshake)


TCPTRACE = (
    Rule("before the capture", "octets below the first one captured are new, although they were sent before",
         "tcptrace(1), unique bytes sent", _all_sent),
    Rule("out of order", "what fills a hole in the receiver's capture is out of order, and not sent again",
         "tcptrace(1), rexmt data pkts and out-of-order pkts", _numbers()),
    Rule("FIN again", "a SYN or FIN that is sent again counts as a packet and an octet of data sent again",
         "findings/tcptrace-fin.sh", _numbers(ends=True)),
    Rule("keep-alive", "the octet of garbage in a keep-alive counts as sent again", "RFC 1122, 4.2.3.6",
         _numbers(ends=True, garbage=True)),
    Rule("copies", "a packet that the capture has twice counts twice, and as sent again",
         "tcptrace(1) knows no interfaces", _copied),
    Rule("SYN of used ports",
         "where the SYN of a connection was not captured, the next connection's SYN may count instead",
         "as tcptrace 6.6.7 behaves; its manual is silent", _used_ports, may=True),
)  # fmt: skip


# tshark


def _whole(talk: Talk) -> list[Segment]:
    """The sender's packets that have data of the stream and complete headers."""
    return [one for one in talk.segments if one.from_sender and one.length and one.counts and not one.cut]


def _not_analysed(account: Account, made: Made, talk: Talk) -> Account:
    if account.again is None or not any(one.cut and one.length for one in talk.segments):
        return account
    return replace(account, again=sum(one.again > 0 for one in _whole(talk)))


def _copied_for_tshark(account: Account, made: Made, talk: Talk) -> Account:
    if _times(made) == 1:
        return account
    packets, payload = account.packets or (0, 0), account.payload or (0, 0)
    return replace(
        account,
        packets=(2 * packets[0], 2 * packets[1]),
        payload=(2 * payload[0], 2 * payload[1]),
        again=len(_whole(talk)) + (account.again or 0),
    )


def _copied_answers(account: Account, made: Made, talk: Talk) -> Account:
    reordered = _times(made) == 2 and talk.kind == "reordering" and not made.at_sender
    return replace(account, again=(account.again or 0) + reordered)


TSHARK = (
    Rule("options cut", "a packet whose TCP options the capture cut has no SEQ/ACK analysis",
         "as tshark 4.0.17 behaves; its manual is silent", _not_analysed),
    Rule("copies", "a packet that the capture has twice counts twice, and as sent again",
         "Wireshark User's Guide, D.9: editcap -d removes duplicates", _copied_for_tshark),
    Rule("copied answers", "copies of two duplicate acknowledgements make an overtaken segment a fast retransmission",
         "Wireshark User's Guide, 7.5: more than one duplicate acknowledgement", _copied_answers, may=True),
)  # fmt: skip


# The whole


def against_script(case: Case, folder: Path, seed: int) -> Tally:
    """Compares pktlogger with the script that made the capture. With two interfaces, each is also compared alone."""
    made = matrix_captures.make(case, folder, seed)
    right = matrix_tools.by_script(made)
    tally = compare(made, right, matrix_tools.by_pktlogger(made, folder), ())
    if case["twice"] == "other interface":
        with_data = {key: account for key, account in right.items() if account.octets}
        for interface in (0, 1):
            found = matrix_tools.by_interface(made, folder, interface)
            theirs = {key: account for key, account in found.items() if account.octets}
            tally.add(compare(made, with_data, theirs, ()))
    return tally


def against(tool: str, made: Made, right: Accounts) -> Tally:
    """Compares the right counts of a capture with another program's."""
    ports = matrix_tools.ports_of(made.talks)
    if tool == "tshark":
        return compare(made, right, matrix_tools.by_tshark(made.plain, ports), TSHARK)
    return compare(made, right, matrix_tools.by_tcptrace(made.plain, ports), TCPTRACE)


def _one(case: Case, seed: int, tools: tuple[str, ...]) -> dict[tuple[str, str], Tally]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {("the script", case["link"]): against_script(case, folder, seed)}
        made = matrix_captures.make(case, folder, seed)
        right = matrix_tools.by_script(made)
        return found | {(tool, case["link"]): against(tool, made, right) for tool in tools}


def rows() -> Iterator[Row]:
    """A row for each program and link type. tcptrace has captures of its own, because it reads few forms."""
    jobs = [(case, seed, ("tshark",)) for seed, case in enumerate(matrix_captures.cases(SEED), SEED)]
    plain = enumerate(matrix_captures.plain_cases(SEED), SEED + len(jobs))
    jobs += [(case, seed, ("tcptrace",)) for seed, case in plain]
    total: dict[tuple[str, str], Tally] = defaultdict(Tally)
    captures: Counter[tuple[str, str]] = Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda job: _one(*job), jobs):
            for place, tally in found.items():
                total[place].add(tally)
                captures[place] += 1
    for program in ("the script", "tshark", "tcptrace"):
        for place in sorted(total):
            if place[0] == program:
                yield total[place].row(f"{place[1]}, {captures[place]} captures, {program}")


def method() -> str:
    """The part of the published page that explains the matrix, and the table of rules."""
    table = "\n".join(
        f"| {program} | {rule.name} | {rule.says} | {rule.source} |"
        for program, rules in (("tshark", TSHARK), ("tcptrace", TCPTRACE))
        for rule in rules
    )
    numbers = {LINKS[link].number for link in matrix_captures.TCPTRACE_LINKS}
    axes = "\n".join(
        f"| {axis} | {', '.join(value or 'not packed' for value in every)} |"
        for axis, every in matrix_captures.AXES.items()
    )
    return f"""\
**Captures of others.** The files of `tests/captures`: of each connection the packets and octets of both directions and
the handshake.

**Matrix.** A script (`bench/log/matrix_captures.py`, seed {SEED}) writes captures with four or more small
connections each. Every pair of values of two axes that can be occurs in one of them:

| axis | values |
|---|---|
{axes}

Of each connection are compared: packets and octets of both directions, the handshake, what was sent again, the octets
of the stream and the window scales, each where the program says it. pktlogger must agree with the script in all of
them; with `twice: other interface`, `analyse --interface` must also give each interface alone. tcptrace 6.6.7 reads
link types {", ".join(str(number) for number in sorted(numbers))} alone, on Ethernet also one tag 0x8100 or PPPoE with
IPv4, and on PPP IPv4 alone. So it has its own captures, drawn in the same way. A difference between another program
and the script must be exactly what these rules make of it; every other one is outside the bounds.

| program | rule | what it does | source |
|---|---|---|---|
| tshark | cut header | it shows packets of which the capture lacks a part of the first 20 octets of the TCP header | \
FORMAT.md, "Cut headers" |
{table}"""
