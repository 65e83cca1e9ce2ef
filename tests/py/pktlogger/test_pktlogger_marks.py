"""`pktlogger analyse` counts ECN marks, the reports of them, and the time that they limited the sender."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pktlogger_conversation import MSS, Conversation, at
from support.pktlogger_frames import AE, CWR, ECE, ECT0, ECT1, FIN

CLASSIC, ACCURATE = (CWR | ECE, ECE), (AE | CWR | ECE, AE)
NO_ARRIVAL = 255


def ace(count: int) -> int:
    """The flags that hold a counter of AccECN."""
    return (count % 8) << 6


@pytest.mark.parametrize("v6", [False, True])
def test_marks_of_super_packets_count_as_packets_of_the_wire(tmp_path: Path, v6: bool) -> None:
    """Ten parts leave as one packet. Of the three packets that GRO makes of them the first and the last have CE: 4 and
    3 parts. One part is lost."""
    path = Conversation(v6=v6, ts=True, syns=CLASSIC)
    path.send(30, 1, 10, [(0, 4, 10), (4, 2, 10), (6, 3, 10)], ecn=ECT0, ces=(0, 2))
    path.ack(41, 6 * MSS + 1, flags=ECE)
    found, flow = path.analyse(tmp_path)
    assert flow["ecn"] == "classic"
    assert (flow["ce_received"], flow["ce_received_bytes"]) == (7, 7 * MSS)
    assert found.segments["ecn_sent"].to_pylist() == [ECT0] * 10
    assert found.segments["ecn_received"].to_pylist() == [3] * 4 + [ECT0] * 2 + [3] * 3 + [NO_ARRIVAL]
    assert found.acks["ace"].to_pylist()[-1] == 1
    assert flow["ce_marked"] is None, "there is no record of a box"


def test_a_reduction_is_what_the_sender_says_by_cwr(tmp_path: Path) -> None:
    """Two acknowledgements report marks, and then the sender says that it has reduced its window. A third one was sent
    before it heard that."""
    path = Conversation(syns=CLASSIC)
    for number in range(3):
        path.send(30 + number, 1 + number * MSS, ecn=ECT0, ces=(0,) if number == 0 else ())
    path.ack(41, MSS + 1, flags=ECE)
    path.ack(42, 2 * MSS + 1, flags=ECE)
    path.send(53, 3 * MSS + 1, flags=CWR, ecn=ECT0)
    path.ack(54, 3 * MSS + 1, flags=ECE)
    path.ack(64, 4 * MSS + 1)
    path.send(75, 4 * MSS + 1, ecn=ECT0)
    path.ack(86, 5 * MSS + 1)
    found, flow = path.analyse(tmp_path)
    counted = {key: flow[key] for key in ("ce_received", "ece_received", "cwr_sent", "ecn_reductions")}
    assert counted == {"ce_received": 1, "ece_received": 3, "cwr_sent": 1, "ecn_reductions": 1}
    assert flow["ce_reported"] is None
    (event,) = found.events.to_pylist()
    names = found.summary["event_kinds"]
    assert names[event["kind"]] == "ecn_reduction"
    assert (event["t0_ns"], event["t1_ns"]) == (at(51), at(53))
    assert (event["seq"], event["bytes"], event["packets"]) == (2 * MSS + 1, MSS, 2)


def test_a_reduction_behind_packets_that_the_capture_missed_has_nothing_outstanding(tmp_path: Path) -> None:
    """The sender's capture lacks the second and the third packet, which an acknowledgement shows to have been sent."""
    path = Conversation(syns=CLASSIC)
    path.send(30, 1, ecn=ECT0)
    path.ack(41, 3 * MSS + 1, flags=ECE)
    path.send(53, 3 * MSS + 1, flags=CWR, ecn=ECT0)
    path.ack(64, 4 * MSS + 1)
    found, flow = path.analyse(tmp_path)
    assert flow["ecn_reductions"] == 1
    (event,) = found.events.to_pylist()
    assert found.summary["event_kinds"][event["kind"]] == "ecn_reduction"
    assert (event["seq"], event["bytes"], event["packets"]) == (3 * MSS + 1, 0, 1)


def test_counters_of_accecn_go_round(tmp_path: Path) -> None:
    """ACE begins at 5 and counts modulo 8. Nine packets are marked between two acknowledgements, which ACE alone would
    call one: the octets of the option tell."""
    path = Conversation(syns=ACCURATE)
    path.send(30, 1, 2, ecn=ECT1, ces=(0,))
    path.ack(41, 2 * MSS + 1, flags=ace(5 + 2), accecn=(1, 2 * MSS, 1))
    path.send(52, 2 * MSS + 1, 9, ecn=ECT1, ces=(0,))
    path.ack(63, 11 * MSS + 1, flags=ace(5 + 11), accecn=(1, 11 * MSS, 1))
    path.send(75, 11 * MSS + 1, ecn=ECT1)
    path.ack(86, 12 * MSS + 1, flags=ace(5 + 11), accecn=(1, 11 * MSS, MSS + 1))
    found, flow = path.analyse(tmp_path)
    assert flow["ecn"] == "accecn"
    assert (flow["ce_received"], flow["ce_reported"], flow["ce_reported_bytes"]) == (11, 11, 11 * MSS)
    assert flow["ece_received"] is None, "the flag is a digit of ACE here"
    assert flow["cwr_sent"] is None
    assert flow["ecn_reductions"] == 2
    assert found.acks["ace"].to_pylist()[-3:] == [7, 0, 0]


def test_octets_that_are_reported_later_are_not_counted_as_another_round(tmp_path: Path) -> None:
    """The option is not on every acknowledgement: the first one has ACE alone, the second reports the same marks."""
    path = Conversation(syns=ACCURATE)
    path.send(30, 1, 2, ecn=ECT1, ces=(0,))
    path.ack(41, 2 * MSS + 1, flags=ace(5 + 2))
    path.send(52, 2 * MSS + 1, ecn=ECT1)
    path.ack(63, 3 * MSS + 1, flags=ace(5 + 2), accecn=(1, 2 * MSS, MSS + 1))
    _, flow = path.analyse(tmp_path)
    assert (flow["ce_reported"], flow["ce_reported_bytes"]) == (2, 2 * MSS)
    assert flow["ecn_reductions"] == 1


def test_the_last_acknowledgement_of_a_peer_that_ended_before_reports_nothing(tmp_path: Path) -> None:
    """Linux answers a FIN from TIME-WAIT with ACE 0, which is three more than at the beginning."""
    path = Conversation(syns=ACCURATE)
    path.send(30, 1, 2, ecn=ECT1)
    path.ack(41, 2 * MSS + 1, flags=FIN | ace(5))
    path.ack(63, 2 * MSS + 2)
    _, flow = path.analyse(tmp_path)
    assert flow["ecn"] == "accecn" and flow["ce_reported"] == 0


def test_options_of_a_packet_are_part_of_its_segments(tmp_path: Path) -> None:
    """The MSS is 1,000 octets with the options (RFC 6691), and AccECN's take 12: three parts of 988 leave as one
    packet, and each of them arrives by itself, the second one with CE."""
    path = Conversation(syns=ACCURATE)
    path.send(30, 1, 3, [(0, 1, 10), (1, 1, 10), (2, 1, 10)], ecn=ECT1, ces=(1,))
    for number, packet in enumerate([path.sender[-1], *path.receiver[-3:]]):
        packet.options = b"\xac\x0b" + bytes(9) + b"\x01"
        packet.length = 3 * (MSS - 12) if number == 0 else MSS - 12
        packet.seq -= 12 * max(number - 1, 0)
    path.ack(41, 3 * (MSS - 12) + 1, flags=ace(6))
    found, flow = path.analyse(tmp_path)
    assert found.segments["len"].to_pylist() == [MSS - 12] * 3
    assert found.segments["ecn_received"].to_pylist() == [ECT1, 3, ECT1]
    assert flow["ce_received"] == 1


def test_a_window_that_marks_hold_down_is_neither_the_send_buffer_nor_the_application(tmp_path: Path) -> None:
    """In every round trip the flight is exactly 20 parts, as DCTCP's may be; only in the first rounds it grows."""
    path = Conversation(syns=CLASSIC)
    seq, now = 1, 30.0
    for number, parts in enumerate([5, 10, 20, 20, 20, 20, 20, 20, 20, 20]):
        path.send(now, seq, parts, ecn=ECT0, ces=(0,) if number >= 2 else (), flags=CWR if number >= 3 else 0)
        seq += parts * MSS
        path.ack(now + 10 + parts / 10, seq, flags=ECE if number >= 2 else 0)
        now += 20 + parts / 10
    path.send(now, seq, ecn=ECT0)
    _, flow = path.analyse(tmp_path)
    assert set(flow["limits_ns"]) <= {"slow_start", "ecn", "path_rate"}, flow["limits_ns"]
    assert flow["limits_ns"]["ecn"] > 0.6 * sum(flow["limits_ns"].values())


@pytest.mark.parametrize(("control", "reduces"), [("bbr", False), ("bbr1", False), ("bbr3", True), ("cubic", True)])
def test_a_control_that_heeds_no_marks_has_not_reduced_its_window_for_them(
    tmp_path: Path, control: str, reduces: bool
) -> None:
    """The same rounds. BBR sends at the rate that it has found, whatever is marked, and yet its kernel sets CWR."""
    path = Conversation(syns=CLASSIC)
    seq, now = 1, 30.0
    for number in range(10):
        path.send(now, seq, 20, ecn=ECT0, ces=(0,) if number >= 2 else (), flags=CWR if number >= 3 else 0)
        seq += 20 * MSS
        path.ack(now + 12, seq, flags=ECE if number >= 2 else 0)
        now += 22
    path.send(now, seq, ecn=ECT0)
    samples = tmp_path / "samples.csv"
    rows = (f"{at(ms)},40000,5010,200000,{control}" for ms in range(int(now)))
    samples.write_text("\n".join(["t_ns,local_port,remote_port,notsent_bytes,congestion", *rows]) + "\n")
    found, flow = path.analyse(tmp_path, "--samples", samples)
    assert flow["samples"] > 100 and flow["cwr_sent"] == 7
    assert flow["ecn_reductions"] == (7 if reduces else 0)
    assert ("ecn" in flow["limits_ns"]) == reduces
    kinds = {found.summary["event_kinds"][kind] for kind in found.events["kind"].to_pylist()}
    assert ("ecn_reduction" in kinds) == reduces
