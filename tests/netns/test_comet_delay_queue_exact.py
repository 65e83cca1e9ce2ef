"""How much the queue of either back end takes, against theory, in virtual time and over drawn paths."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import queue_measures
from queue_measures import DATAGRAM
from support.virtual import in_virtual_time, virtual
from udp_trains import TRAIN

from lfp import cli

pytestmark = [pytest.mark.netns, *virtual]

HEADERS = {"l2": 42, "ethernet": 66, "ip": 28}
SEED = 15
MTU, SEGMENT = 1500, 1448
TRAIN_S = 4e-6  # the time that program and kernel take to send a train


def drawn(chance: random.Random) -> dict[str, Any]:
    """A path whose granularity lets super-packets of up to 64 KB pass netem whole."""
    rate_bps, queue_bytes = int(10 ** chance.uniform(8, 9.7)), chance.randint(600_000, 3_000_000)
    return {
        "rate_bps": rate_bps,
        "queue_bytes": queue_bytes,
        "delay_ns": int(chance.uniform(0.01, 1) * 8e16 / rate_bps),
        "granularity_ns": int(chance.uniform(0.3, 2) * 65_536 * 8e9 / rate_bps),
        "framing": chance.choice(list(HEADERS)),
        "trains": queue_bytes // (DATAGRAM * TRAIN) + 3,
    }


def test_the_first_drop_is_where_the_queue_is_full() -> None:
    """Super-packets arrive at once. The line sends meanwhile, so the queue may take more than its size, and netem may
    refuse packets that still fit when the free space is less than a super-packet."""
    chance = random.Random(SEED)
    cases = [drawn(chance) for _ in range(12)]
    found = in_virtual_time(queue_measures.first_drops, memory_bytes=1 << 30, cases=cases)
    for case, first in zip(cases, found, strict=True):
        frame = DATAGRAM + HEADERS[case["framing"]]
        fits, sent = case["queue_bytes"] // frame, case["rate_bps"] * case["trains"] * TRAIN_S / 8 / frame
        print(SEED, case, fits, sent, first)
        assert fits <= first["comet"] <= fits + 1 + sent
        assert fits - TRAIN <= first["netem"] <= fits + 1 + sent


@pytest.mark.parametrize(("framing", "octets"), [("ethernet", 84), ("l2", 54), ("ip", 40)])
def test_a_short_frame_takes_what_its_framing_says(framing: str, octets: int) -> None:
    """A line of 1 Mbit/s carries 1,488 bare acknowledgements a second on Ethernet: IEEE 802.3 pads each to 64 octets,
    and preamble and gap add 20."""
    found = in_virtual_time(queue_measures.short_frames, rate_bps=1_000_000, framing=framing)
    for name, times_ns in found.items():
        error_ns = np.diff(times_ns) - octets * 8_000
        assert np.abs(error_ns).max() <= 10_000, (name, error_ns)
        assert times_ns[-1] - times_ns[0] == pytest.approx(99 * octets * 8_000, abs=10_000), name


def lines(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Paths whose line alone holds less than the window, and whose queue holds more: however TCP bunches its packets,
    nothing is lost. The queue of the first path holds a whole number of packets."""
    found = []
    for number in range(count):
        rate_bps, rtt_s = chance.uniform(0.5e9, 2e9), chance.uniform(0.01, 0.03)
        line_packets = int(rate_bps * rtt_s / 8 / MTU)
        queue = int(chance.uniform(1.2, 2) * line_packets) * MTU + (chance.randrange(MTU) if number else 0)
        most_packets = (queue - 70_000) // MTU  # netem may refuse when the free space is less than a super-packet
        found.append(
            {
                "rate": f"{rate_bps:.0f}bit",
                "delay": f"{rtt_s / 2 * 1e9:.0f}ns",
                "queue": queue,
                "granularity": f"{chance.uniform(1, 2) * 65_536 * 8e9 / rate_bps:.0f}ns",
                "window": int(chance.uniform(1.1 * line_packets, most_packets)) * SEGMENT,
            }
        )
    return found


@pytest.mark.parametrize("box", ["netem", "comet"])
def test_a_window_that_fits_loses_nothing_and_fills_the_line(tmp_path: Path, box: str) -> None:
    """The fastest second carries the rate without headers, to 0.5 %: octets arrive in bursts of up to a round trip."""
    cases = lines(random.Random(SEED), 5)
    text = '[scenario]\nname = "lines"\n[transfer]\nduration = "3s"\n[sweep]\n"scenario.case" = '
    text += json.dumps([f"c{number}" for number in range(len(cases))]) + "\n"
    for number, case in enumerate(cases):
        window = case.pop("window")
        text += f"[case.c{number}.transfer]\nwindow = {window}\n[case.c{number}.path]\n"
        text += "".join(f"{name} = {json.dumps(value)}\n" for name, value in case.items())
    scenario = tmp_path / "lines.toml"
    scenario.write_text(text)
    own = ("--time", "virtual", "--box", box, "--seed", str(SEED), "--runs-dir", str(tmp_path / "runs"))
    assert cli.run(["run", str(scenario), *own]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    for case, row in zip(cases, parquet.read_table(run / "results.parquet").to_pylist(), strict=True):
        used = row["peak_bps"] / (float(case["rate"][:-3]) * SEGMENT / MTU)
        print(SEED, box, case, row["case"], row["retransmits"], used)
        assert row["valid"] and row["retransmits"] == 0 and 0.995 <= used <= 1.005


@pytest.mark.parametrize(("name", "own_ms", "overtakes"), [("comet", 70, False), ("netem", 20, True)])
def test_where_the_delay_becomes_shorter_the_box_keeps_the_order_and_netem_does_not(
    name: str, own_ms: int, overtakes: bool
) -> None:
    """A train at delay 100 ms; 30 ms later the delay becomes 20 ms and another train is sent. The first one arrives
    70 ms after that. In the box the second one waits for it; in netem it arrives after its own 20 ms."""
    arguments: dict[str, Any] = {"name": name, "before_ns": 100_000_000, "after_ns": 20_000_000, "apart_s": 0.03}
    found = in_virtual_time(queue_measures.arrivals_around_a_shorter_delay, **arguments)
    first, second = list(range(TRAIN)), list(range(TRAIN, 2 * TRAIN))
    assert found["numbers"] == (second + first if overtakes else first + second)
    after_ms = dict(zip(found["numbers"], np.array(found["after_ns"]) / 1e6, strict=True))
    assert after_ms[0] == pytest.approx(70, abs=1), "what programs of the guest take of the clock"
    assert after_ms[TRAIN] == pytest.approx(own_ms, abs=1)
