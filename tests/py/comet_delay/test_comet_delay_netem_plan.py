"""The box's parameters as settings of netem and tbf, and the messages that the kernel gets."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from comet_delay.netem_messages import PRNG_SEED, _QdiscMessage, kept_attributes, netem_options, size_table, tbf_options
from comet_delay.netem_plan import UNLIMITED, Framing, Netem, plan
from netcommon.errors import UsageError

FRAME = 1500 + 14
LARGEST = FRAME + 4  # with a VLAN tag


def test_limit_of_the_delay_comes_from_rate_times_delay() -> None:
    """The smallest packets that fill line and queue must fit, at any rate and delay."""
    for rate_bps, delay_ns in ((45_000_000, 4_200_000), (10**10, 249_000_000), (10**6, 10**9), (10**9, 0)):
        line = plan({"rate_bps": rate_bps, "delay_ns": delay_ns, "queue_bytes": 10**6}, 1500).line
        assert line.limit_packets >= max((rate_bps * delay_ns / 8e9 + 10**6) / 42, 1000)
        endless = plan({"rate_bps": rate_bps, "delay_ns": delay_ns}, 1500)
        assert (endless.line.limit_packets, endless.bucket) == (UNLIMITED, None)


@pytest.mark.parametrize("queue_bytes", [2 * LARGEST, 64 * 1024, 110 * 1024, 73 * FRAME, 73 * FRAME - 1, 10**9])
def test_bucket_takes_what_a_queue_takes(queue_bytes: int) -> None:
    """The bucket's tokens and its queue together take as many full frames as the box's queue. The bucket's queue takes
    one of them."""
    bucket = plan({"rate_bps": 45_000_000, "queue_bytes": queue_bytes}, 1500).bucket
    assert bucket and bucket.limit_bytes >= LARGEST and bucket.burst_bytes >= LARGEST
    assert abs(bucket.burst_bytes + bucket.limit_bytes - queue_bytes) <= 4
    assert bucket.burst_bytes // FRAME + bucket.limit_bytes // FRAME == queue_bytes // FRAME
    assert (
        bucket.limit_bytes // FRAME == 1
    )  # only packets that do not fit wait, so a queue that is not full needs no timer


def test_only_what_has_something_to_do() -> None:
    found = plan({"delay_ns": 10**6, "loss_ppb": 10**7}, 1500)
    assert list(found.bottleneck()) == ["loss"]
    assert (found.line.rate_bps, found.line.delay_ns, found.line.loss_ppb) == (0, 10**6, 0)
    assert not plan({"rate_bps": 10**6}, 1500).bottleneck()
    everything = {"rate_bps": 10**6, "queue_bytes": 10**5, "access_rate_bps": 10**7, "loss_ppb": 1}
    assert list(plan(everything, 1500).bottleneck()) == ["access", "loss", "bucket"]


def test_access_line_only_has_a_rate() -> None:
    """The access line comes before loss, and its queue never drops."""
    access = plan({"access_rate_bps": 10**8, "loss_ppb": 1, "delay_ns": 5}, 1500).access
    assert access == Netem(rate_bps=10**8, limit_packets=UNLIMITED)


def _counter(table: Any) -> Callable[[int, int], int]:
    """The kernel's __qdisc_calculate_pkt_len with the patch super-packets, over the size table of a message."""
    base: dict[str, int] = table.get_attr("TCA_STAB_BASE")
    data = table.get_attr("TCA_STAB_DATA") or b""
    entries: tuple[int, ...] = struct.unpack(f"={len(data) // 2}H", data)
    assert len(entries) == base["tsize"]

    def counted(length: int, packets: int) -> int:
        length += packets * base["overhead"]
        if not entries:
            return length
        slot = max(length + base["cell_align"], 0) >> base["cell_log"]
        if slot < len(entries):
            return entries[slot]
        return entries[-1] * (slot // len(entries)) + entries[slot % len(entries)]

    return counted


@pytest.mark.parametrize(("framing", "overhead", "shortest"), [("ethernet", 24, 84), ("ip", -14, 0)])
def test_framing(framing: str, overhead: int, shortest: int) -> None:
    """Every frame up to jumbo frames, and super-packets of 20 packets; 84 octets for a bare acknowledgement."""
    wanted = plan({"framing": framing}, 1500).framing
    counted = _counter(_over_the_wire("netem", netem_options(limit_packets=1), wanted).get_attr("TCA_STAB"))
    for length in range(42, 9019):
        assert counted(length, 1) == max(length + overhead, shortest)
    for length in range(2000, 70_000):
        if (length + 20 * overhead - shortest + 1) % 2**14:
            assert counted(length, 20) == length + 20 * overhead


def test_frames_of_l2_count_as_they_are() -> None:
    framing = plan({"framing": "l2"}, 1500).framing
    assert size_table(framing.overhead_bytes, framing.shortest_bytes) is None


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"framing": "atm"}, "framing 'atm': want one of l2, ethernet, ip"),
        ({"rate_bps": 10**6, "queue_bytes": 1500}, "two frames of 1518 bytes"),
        ({"rate_bps": 10}, "1000 bit/s at least"),
        ({"access_rate_bps": 10}, "access_rate_bps 10: netem wants 1000 bit/s"),
        ({"delay_ns": "5ms"}, "delay_ns '5ms': want a whole number"),
        ({"delay_ns": -1}, "delay_ns -1: negative"),
        ({"loss_ppb": 10**9 + 1}, "loss_ppb 1000000001: more than all"),
    ],
)
def test_wrong_values(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(parameters, 1500)
    assert said in str(raised.value)


def _over_the_wire(kind: str, options: dict[str, Any], framing: Framing | None = None) -> Any:
    """The message as bytes and back."""
    message = _QdiscMessage()
    message["attrs"] = [("TCA_KIND", kind)]
    if framing:
        message["attrs"].append(("TCA_STAB", size_table(framing.overhead_bytes, framing.shortest_bytes)))
    message["attrs"].append(("TCA_OPTIONS", options))
    message.encode()
    back = _QdiscMessage(message.data)
    back.decode()
    return back


def test_netem_message() -> None:
    options = netem_options(limit_packets=7, delay_ns=1_234_567, loss_ppb=500_000_000, rate_bps=40 * 10**9, seed=9)
    sent = _over_the_wire("netem", options, Framing(-14)).get_attr("TCA_OPTIONS")
    assert (sent["limit"], sent["loss"], sent["jitter"]) == (7, 2**31, 0)
    assert sent.get_attr("TCA_NETEM_LATENCY64") == 1_234_567
    assert sent.get_attr("TCA_NETEM_RATE")["rate"] == 2**32 - 1
    assert sent.get_attr("TCA_NETEM_RATE64") == 5 * 10**9
    assert sent.get_attr("TCA_NETEM_PRNG_SEED") == 9
    off = _over_the_wire("netem", netem_options(limit_packets=1)).get_attr("TCA_OPTIONS")
    assert off.get_attr("TCA_NETEM_RATE")["rate"] == 0  # the kernel would keep the previous value
    assert _QdiscMessage.nla_map[8][0] == "TCA_STAB"
    assert netem_options(limit_packets=1, loss_ppb=10**9)["loss"] == 2**32 - 1


def test_seed_has_the_kernels_number() -> None:
    message = _over_the_wire("netem", netem_options(limit_packets=1, seed=1))

    class Dumped:
        """Attributes as pyroute2 returns them if it has no name for them."""

        @staticmethod
        def get_attr(_: str) -> dict[str, Any]:
            return {"attrs": [("UNKNOWN", {"header": {"type": PRNG_SEED}}), ("TCA_NETEM_RATE", {})]}

    assert message.get_attr("TCA_OPTIONS").get_attr("TCA_NETEM_PRNG_SEED") == 1
    assert kept_attributes(Dumped()) == {14}


def test_tbf_message() -> None:
    options = tbf_options(rate_bps=45_000_000, burst_bytes=5000, limit_bytes=2**40)
    sent = _over_the_wire("tbf", options).get_attr("TCA_OPTIONS")
    parms = sent.get_attr("TCA_TBF_PARMS")
    assert (parms["rate"], parms["limit"], sent.get_attr("TCA_TBF_BURST")) == (5_625_000, 2**32 - 1, 5000)
    assert sent.get_attr("TCA_TBF_RATE64") is None
