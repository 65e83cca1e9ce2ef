"""TCLink's parameters, and the box's own, as arguments of the box."""

from __future__ import annotations

from typing import Any

import pytest

from comet_delay.options import Option, Options
from comet_delay.tclink import parameters
from netcommon.errors import UsageError

_LOSS_MODEL = Option("loss")
_PATH = [
    Option("delay", "duration"),
    Option("rate", "rate"),
    Option("loss", "ratio"),
    Option("queue", "size"),
    Option("jitter", "duration"),
    Option("queue-packets", "number"),
    Option("access-rate", "rate"),
    Option("framing"),
    _LOSS_MODEL,
]
TODAY = Options({o.parameter: o for o in _PATH}, {})
OLD = Options({o.parameter: o for o in _PATH if o.name not in ("queue-packets", "jitter")}, {})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"bw": 10}, {"rate_bps": 10_000_000}),
        ({"bw": 0.5}, {"rate_bps": 500_000}),
        ({"bw": 10_000}, {"rate_bps": 10**10}),  # TCLink ends at 1000
        ({"delay": "5ms"}, {"delay_ns": 5_000_000}),
        ({"delay": "1.5 msec"}, {"delay_ns": 1_500_000}),
        ({"delay": "2sec"}, {"delay_ns": 2 * 10**9}),
        ({"delay": 5}, {"delay_ns": 5_000}),  # as tc: microseconds
        ({"delay": "250"}, {"delay_ns": 250_000}),
        ({"loss": 1}, {"loss_ppb": 10_000_000}),
        ({"loss": 0.00001}, {"loss_ppb": 100}),
        ({"loss": "0.1%"}, {"loss_ppb": 1_000_000}),
        ({"loss": "2"}, {"loss_ppb": 20_000_000}),
        ({"loss": "gilbert:1%,10"}, {"loss": "gilbert:1%,10"}),
        ({"max_queue_size": 100, "jitter": "1ms"}, {"queue_packets": 100, "jitter_ns": 1_000_000}),
        ({"bw": 10, "use_tbf": True, "latency_ms": 20}, {"rate_bps": 10_000_000, "queue_bytes": 25_000}),
        ({"bw": None, "jitter": None, "speedup": 0, "enable_red": False, "txo": False}, {}),
        ({"rate": "10Gbit", "queue_bytes": 4096}, {"rate_bps": 10**10, "queue_bytes": 4096}),
        ({"queue": "110KB", "access_rate": "1Gbit"}, {"queue_bytes": 110 * 1024, "access_rate_bps": 10**9}),
        ({"framing": "ip", "delay_ns": 7}, {"framing": "ip", "delay_ns": 7}),
    ],
)
def test_translation(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert parameters(given, TODAY) == wanted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"delay": "5 parsec"}, "delay='5 parsec': not a duration"),
        ({"delay": "-1ms"}, "delay='-1ms': negative"),
        ({"bw": "fast"}, "bw='fast'"),
        ({"bw": -1}, "bw=-1: negative"),
        ({"loss": "much"}, "loss='much'"),
        ({"max_queue_size": 1.5}, "max_queue_size=1.5: want a whole number of packets"),
        ({"bw": 1, "rate": "1Mbit"}, "rate='1Mbit': rate_bps is given twice"),
        ({"latency_ms": 20}, "give 'bw', too"),
        ({"speedup": 5}, "speedup=5: not with CometLink"),
        ({"enable_ecn": True}, "enable_ecn=True: not with CometLink"),
        ({"qeue": "5KB"}, "qeue: not a parameter of CometLink; did you mean queue?"),
        ({"zzz": 1}, "zzz: not a parameter of CometLink; allowed are bw, delay"),
        ({"access_rate": True}, "want a number in base units"),
    ],
)
def test_wrong_values_are_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parameters(given, TODAY)
    assert said in str(raised.value) and raised.value.status == 2


def test_a_daemon_that_lacks_a_parameter_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"max_queue_size=100: .* 'queue_packets'; give the queue in bytes"):
        parameters({"max_queue_size": 100}, OLD)
    with pytest.raises(UsageError, match="jitter='1ms': this comet-delay has no 'jitter_ns'; leave it out"):
        parameters({"jitter": "1ms"}, OLD)
