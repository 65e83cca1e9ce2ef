"""What Python reads of the option `only` is what the daemon takes."""

from __future__ import annotations

import re

import pytest

from comet_delay import only, options
from netcommon import binaries

DATA = only.Packet(data=True, size=1514, src=("10.0.0.1", 40000), dst=("10.0.1.2", 5001))
ACK = only.Packet(data=False, size=66, src=("fd77::2", 5001), dst=None)


def test_each_term_of_the_daemon_is_known() -> None:
    try:
        binaries.find("comet-delay")
    except binaries.MissingBinary:
        pytest.skip("no comet-delay is built")
    why = options.refusal("ab-only", "nonsense")
    assert why is not None
    listed = re.search(r"each one of (.*) \(with", why)
    assert listed and listed[1].split(", ") == list(only.TERMS), why
    values = {"sport=": "5001", "dport=": "80", "src=": "10.1.0.0/16", "dst=": "2001:db8::1"}
    values |= {"min-size=": "1000", "max-size=": "100"}
    for term in only.TERMS:
        for text in (term + values.get(term, ""), f"!{term}{values.get(term, '')}"):
            assert options.refusal("ab-only", text) is None, text
            only.chosen(text, DATA)


@pytest.mark.parametrize(
    ("text", "data", "ack"),
    [
        ("all", True, True),
        ("tcp", True, True),
        ("!udp", True, True),
        ("syn", False, False),
        ("data,min-size=1000", True, False),
        ("ack-only,max-size=66", False, True),
        ("src=10.0.0.0/16", True, False),
        ("!src=10.0.0.0/16", False, True),
        ("src=fd77::/64,sport=5001", False, True),
        ("dport=5001", True, True),  # where the acknowledgement goes is not known
        ("!dport=5001", False, True),
    ],
)
def test_a_text_chooses_packets_as_far_as_they_are_known(text: str, data: bool, ack: bool) -> None:
    assert (only.chosen(text, DATA), only.chosen(text, ACK)) == (data, ack)
