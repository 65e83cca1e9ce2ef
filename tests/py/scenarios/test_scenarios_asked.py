"""TCP ran with the requested settings: each setting that differs makes a trial not valid and says so, at every end of
every flow; an unknown value is reported as such and does not count as a difference."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from scenarios.plan.model import Scenario
from scenarios.plan.plan import load_plan
from scenarios.trial import asked, handshakes
from scenarios.trial.verdicts import KINDS, Reason

Json = dict[str, Any]
UNLIMITED = 2**63 - 1
TIME_STAMPS, SACK, SCALE, ECN = 1, 2, 4, 8
PLAIN = """
[scenario]
name = "asked"
[transfer]
duration = "1s"
"""


def setting(folder: Path, *overrides: str, more: str = "") -> Scenario:
    file = folder / "asked.toml"
    file.write_text(PLAIN + more)
    return load_plan(str(file), overrides=overrides, seed=1).trials[0].setting


def side(control: str = "cubic", options: int = TIME_STAMPS | SACK | SCALE, **info: int) -> Json:
    """One end as rttcp reports it on a kernel that has no field for ECN's kind."""
    known = {
        "options": options,
        "advmss": 1448 if options & TIME_STAMPS else 1460,
        "pmtu": 1500,
        "max_pacing_rate_bytes_per_s": UNLIMITED,
    }
    return {"congestion": control, "tcp_info": known | info, "streams": [{"stream": 0}]}


def end(sender: Json, receiver: Json | None = None) -> Json:
    return {"sender": sender, "receiver": copy.deepcopy(receiver or sender)}


def why(one: Scenario, transfer: Json) -> list[Reason]:
    return asked.reasons(asked.facts(one, transfer))


def test_what_was_asked_for_is_valid(tmp_path: Path) -> None:
    found = asked.facts(setting(tmp_path), end(side()))
    assert asked.reasons(found) == [] and asked.unknown(found) == []
    compared = {(fact.end, fact.setting) for fact in found}
    both = {"congestion control", "ECN", "MSS", "path MTU", "window scale", "SACK", "time stamps"}
    assert compared == {(who, name) for who in ("sender", "receiver") for name in both} | {("sender", "pacing")}


@pytest.mark.parametrize(
    ("overrides", "ran", "words"),
    [
        (["transfer.congestion=bbr"], side(), "congestion control: bbr was asked for, cubic is what ran"),
        (["transfer.congestion=lfp_xys:x=4"], side("lfp_cpeak"), "lfp_xys was asked for, lfp_cpeak is what ran"),
        (["profile.sysctl=net.ipv4.tcp_ecn=1"], side(), "ECN: RFC 3168 was asked for, none is what ran"),
        ([], side(options=7 | ECN), "ECN: none was asked for, RFC 3168 is what ran"),
        ([], side(options=SACK | SCALE), "time stamps: on was asked for, off is what ran"),
        ([], side(options=TIME_STAMPS | SCALE), "SACK: on was asked for, off is what ran"),
        ([], side(options=TIME_STAMPS | SACK), "window scale: on was asked for, off is what ran"),
        (["profile.sysctl=net.ipv4.tcp_sack=0"], side(), "SACK: off was asked for, on is what ran"),
        (["path.mtu=9000"], side(pmtu=9000), "MSS: 8960 bytes was asked for, 1460 bytes is what ran"),
        (["path.mtu=9000"], side(advmss=8948), "path MTU: 9000 bytes was asked for, 1500 bytes is what ran"),
        (["transfer.family=ipv6"], side(advmss=1440), "MSS: 1440 bytes was asked for, 1452 bytes is what ran"),
    ],
)
def test_each_setting_that_differs_is_a_reason(tmp_path: Path, overrides: list[str], ran: Json, words: str) -> None:
    (found,) = why(setting(tmp_path, *overrides), end(ran))
    assert words in found.text and "(sender, receiver)" in found.text and "\n" not in found.text
    assert found.kind in KINDS and 0 < len(found.short) < 60


@pytest.mark.parametrize(
    ("overrides", "rate", "words"),
    [
        ([], 12_500_000, "pacing: none was asked for, 100 Mbit/s is what ran"),
        (["transfer.pace=100Mbit"], 6_250_000, "pacing: 100 Mbit/s was asked for, 50 Mbit/s is what ran"),
        (["transfer.pace=100Mbit"], UNLIMITED, "pacing: 100 Mbit/s was asked for, none is what ran"),
        (["transfer.pace=100Mbit", "transfer.parallel=4"], 12_500_000, "25 Mbit/s was asked for, 100 Mbit/s is"),
        (["transfer.pace=100Mbit", "transfer.pace_burst=64KB"], 12_500_000, "none was asked for, 100 Mbit/s is what"),
    ],
)
def test_the_pace_is_the_senders(tmp_path: Path, overrides: list[str], rate: int, words: str) -> None:
    sender = side(max_pacing_rate_bytes_per_s=rate)
    (found,) = why(setting(tmp_path, *overrides), end(sender, side()))
    assert words in found.text and "(sender)" in found.text


@pytest.mark.parametrize(
    ("overrides", "more", "helps"),
    [
        ([], "", "the same control before the connection is opened"),
        (["transfer.tool=iperf3"], "", "net.ipv4.tcp_ecn=1"),
        (["gateway.kind=lft"], "", "leave the gateways out"),
    ],
)
def test_a_silent_fallback_to_reno_is_one_reason_that_says_what_helps(
    tmp_path: Path, overrides: list[str], more: str, helps: str
) -> None:
    one = setting(tmp_path, "transfer.congestion=dctcp", *overrides, more=more)
    (found,) = why(one, end(side("dctcp-reno"), side("dctcp-reno")))
    assert found.text.startswith(
        "congestion control: dctcp was asked for, dctcp-reno is what ran (sender, receiver): it needs ECN"
    )
    assert helps in found.text
    assert found.short == "dctcp-reno, not dctcp"


@pytest.mark.parametrize(
    ("tcp_ecn", "control", "mode"),
    [(0, "cubic", 0), (1, "cubic", 1), (2, "cubic", 0), (3, "cubic", 2), (4, "cubic", 1), (5, "cubic", 0),
     (0, "dctcp", 1), (2, "dctcp", 1), (3, "dctcp", 2), (0, "lfp_prague", 2), (3, "lfp_prague", 2)],
)  # fmt: skip
def test_two_hosts_agree_on_what_one_asks_for_and_the_other_takes(
    tmp_path: Path, tcp_ecn: int, control: str, mode: int
) -> None:
    one = setting(tmp_path, f"profile.sysctl=net.ipv4.tcp_ecn={tcp_ecn}", f"transfer.congestion={control}")
    for ran in range(3):
        found = why(one, end(side(control, options=7 | (ECN if ran else 0), ecn_mode=ran)))
        assert [reason.text[:4] for reason in found] == ([] if ran == mode else ["ECN:"]), ran


def test_accecn_is_not_guessed_where_the_kernel_does_not_say(tmp_path: Path) -> None:
    one = setting(tmp_path, "profile.sysctl=net.ipv4.tcp_ecn=3")
    found = asked.facts(one, end(side(options=7 | ECN)))
    assert asked.reasons(found) == [] and asked.unknown(found) == ["ECN (sender, receiver)"]
    assert why(one, end(side(options=7 | ECN, accecn_opt_seen=1))) == []
    assert why(one, end(side())), "none at all is known"


def test_every_flow_and_both_directions_are_compared(tmp_path: Path) -> None:
    more = '[flow.b]\ncongestion = "reno"\n'
    one = setting(tmp_path, "transfer.bidir=true", more=more)
    good, wrong = side(), side("reno")
    transfer = end(good) | {"reverse": end(wrong)} | {"flows": {"b": end(wrong, good) | {"reverse": end(wrong)}}}
    (first, second) = why(one, transfer)
    assert "(sender, reverse direction, receiver, reverse direction)" in first.text and "reno is what ran" in first.text
    assert "reno was asked for, cubic is what ran (flow b: receiver)" in second.text


def test_the_second_transfer_needs_ecn_only_where_its_own_control_does(tmp_path: Path) -> None:
    """DCTCP negotiates ECN by itself, and a CUBIC flow next to it does not."""
    one = setting(tmp_path, "transfer.congestion=dctcp", "transfer.second=cubic")
    marked, plain = side("dctcp", options=7 | ECN), side("cubic")
    assert why(one, end(marked) | {"second": end(plain)}) == []
    (found,) = why(one, end(plain | {"congestion": "dctcp"}) | {"second": end(plain)})
    assert "ECN: RFC 3168 was asked for, none is what ran (sender, receiver)" in found.text


def test_the_second_transfer_and_plain_tcp_are_compared_with_what_they_are(tmp_path: Path) -> None:
    one = setting(tmp_path, "transfer.congestion=bbr", "transfer.second=reno", "transfer.plain=true")
    transfer = end(side("bbr")) | {"second": end(side("bbr")), "plain": end(side("cubic"))}
    (found,) = why(one, transfer)
    assert "reno was asked for, bbr is what ran (second transfer: sender, second transfer: receiver)" in found.text


def test_short_transfers_beside_it_are_compared(tmp_path: Path) -> None:
    one = setting(tmp_path, "transfer.congestion=bbr", "transfer.short=10KB", "transfer.pace=10Mbit")
    sender = side("bbr", max_pacing_rate_bytes_per_s=1_250_000)
    transfer = end(sender, side("bbr")) | {"short": {"ran": [end(side("bbr")), end(side("bbr", options=SACK | SCALE))]}}
    (found,) = why(one, transfer)
    assert "time stamps: on was asked for, off is what ran (short: sender, short: receiver)" in found.text


def test_each_of_parallel_streams_counts(tmp_path: Path) -> None:
    """A SYN that is lost is sent again without ECN: one stream of four may lack what the first has."""
    one = setting(tmp_path, "profile.sysctl=net.ipv4.tcp_ecn=1", "transfer.parallel=4")
    ran = side(options=7 | ECN, ecn_mode=1)
    ran["streams"] = [{"stream": n, "congestion": "cubic", "options": 15, "ecn_mode": 1} for n in range(4)]
    assert why(one, end(ran)) == []
    ran["streams"][2] |= {"options": 7, "ecn_mode": 0}
    (found,) = why(one, end(ran))
    assert "none is what ran (sender, receiver)" in found.text and "net.ipv4.tcp_ecn_fallback=0" in found.text
    rows = asked.rows(asked.facts(one, end(ran)))
    assert [row["streams"] for row in rows if row["setting"] == "ECN" and row["end"] == "sender"] == [3, 1]


def test_behind_gateways_only_what_an_end_decides_alone_is_compared(tmp_path: Path) -> None:
    found = asked.facts(setting(tmp_path, "gateway.kind=lft"), end(side(options=0, advmss=536)))
    assert {fact.setting for fact in found} == {"congestion control", "pacing"} and asked.reasons(found) == []


def test_a_tool_that_does_not_say_is_told_and_not_guessed(tmp_path: Path) -> None:
    one = setting(tmp_path, "transfer.tool=iperf3")
    found = asked.facts(one, {"sender": {"congestion": "cubic"}, "receiver": {"congestion": ""}})
    assert asked.reasons(found) == []
    said = asked.unknown(found)
    assert "congestion control (receiver)" in said and "SACK (sender, receiver)" in said and len(said) == 8


def test_hosts_that_set_nothing_are_asked_for_the_control_alone(tmp_path: Path) -> None:
    more = """
[topology]
kind = "existing"
[profile]
name = "as-it-is"
[pair.1.sender]
netns = "a"
address = "10.0.0.1"
[pair.1.receiver]
netns = "b"
address = "10.0.0.2"
"""
    found = asked.facts(setting(tmp_path, more=more), end(side("reno", options=15)))
    assert {fact.setting for fact in found} == {"congestion control", "pacing"}
    assert len(asked.reasons(found)) == 1


def syns(mss: int | None = 1460, ecn: str | None = asked.NO_ECN, *, scale: bool = True) -> asked.Handshake:
    return asked.Handshake(frozenset((40001, 5020)), (1460, mss), scale, True, True, ecn)


def with_ports(side: Json) -> Json:
    return side | {"streams": [{"stream": 0, "local": "10.77.0.1:40001", "remote": "10.77.2.2:5020"}]}


def test_the_syns_that_the_box_recorded_are_compared_too(tmp_path: Path) -> None:
    one, transfer = setting(tmp_path), end(with_ports(side()))
    assert asked.reasons(asked.seen(one, transfer, [syns()])) == []
    other = asked.Handshake(frozenset((40002, 5010)), (536, 536), False, False, False, None)
    assert asked.seen(one, transfer, [other]) == [], "another connection, such as rttcp's control connection"
    found = asked.reasons(asked.seen(one, transfer, [syns(1200, asked.RFC3168, scale=False)]))
    assert [reason.short for reason in found] == [
        "ECN RFC 3168, not none",
        "window scale off, not on",
        "MSS 1200 bytes, not 1460 bytes",
    ]
    assert asked.seen(setting(tmp_path, "gateway.kind=lft"), transfer, [syns(536)]) == []


def test_syns_say_which_ecn_it_is_where_the_kernel_does_not(tmp_path: Path) -> None:
    one = setting(tmp_path, "profile.sysctl=net.ipv4.tcp_ecn=3", "transfer.tool=iperf3")
    control = asked.Handshake(frozenset((40002, 5010)), (1460, 1460), True, True, True, asked.ACCECN)
    seen = asked.seen(one, end(side()), [control])
    assert asked.reasons(seen) == [] and asked.unknown(seen) == []
    assert "AccECN" in {fact.ran for fact in seen}


@pytest.mark.parametrize(
    ("syn", "answer", "agreed"),
    [
        (0x002, 0x012, asked.NO_ECN),
        (0x0C2, 0x052, asked.RFC3168),
        (0x0C2, 0x012, asked.NO_ECN),
        (0x1C2, 0x092, asked.ACCECN),
        (0x1C2, 0x112, asked.ACCECN),
        (0x1C2, 0x052, asked.RFC3168),
        (0x1C2, 0x1D2, asked.NO_ECN),
        (0x0C2, 0x092, None),
    ],
)
def test_two_syns_agree_on_ecn_by_their_flags(syn: int, answer: int, agreed: str | None) -> None:
    assert handshakes.agreed(syn, answer) == agreed
