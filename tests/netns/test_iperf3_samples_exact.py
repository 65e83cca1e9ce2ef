"""`tool = "iperf3"` in virtual time: samples of its sockets' queues (sock_diag) show what limited it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

from bench.invariants import trials
from bench.invariants.checks import broken
from bench.invariants.draws import Space, draw
from bench.invariants.trials import Trial

pytestmark = [pytest.mark.netns, *virtual, pytest.mark.timeout(600)]

SEED = 303
MS = 1_000_000  # a jiffy of the virtual kernel, too
PLAIN: Space = {
    "tool": ("iperf3",),
    "control": ("bbr", "cubic"),
    "wmem": (None, "4096 65536 131072"),
    "gateway": ("none",),
    "window": (None,),
    "path.ab_loss": ("0%",),
    "path.ba_loss": ("0%",),
    "change": ("none",),
    "beside": (0, 1),
    "flow.pair": (1,),
}
# Draws in which, without samples, pktlogger named the send buffer or the application where the kernel's congestion
# window was the limit.
DRAWS = [draw(8675309, 20), draw(777, 27), draw(777, 21), *(draw(SEED, number, PLAIN) for number in range(6))]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return trials.run(DRAWS, tmp_path_factory.mktemp("drawn") / "runs")


def test_its_limits_are_those_of_its_kernel(drawn: list[Trial]) -> None:
    wrong = [f"{one.folder}: {text}\n{one.draw.file()}" for one in drawn for text in broken(one).values()]
    assert not wrong, "\n".join(wrong)


def test_each_flow_has_the_samples_of_its_data_connection(drawn: list[Trial]) -> None:
    """Control connections are left out, and so are values that cannot be known of another program. A sample is taken
    each 10 ms, late by a jiffy at most, and one more when iperf3 has ended."""
    for one in drawn:
        for row, end in zip(one.rows, one.ends, strict=True):
            if row["tool"] != "iperf3":
                continue
            samples = one.samples(row)
            (stream,) = end["sender"]["streams"]
            assert set(samples["stream"]) == {stream["stream"]}
            assert set(samples["local_port"]) == {int(stream["local"].rpartition(":")[2])}
            assert not {"waiting_bytes", "opening_bytes"} & samples.keys()
            lasted_ns = int(samples["t_ns"][-1] - samples["t_ns"][0])
            looks = samples["t_ns"].size
            assert (looks - 2) * 10 * MS - MS <= lasted_ns <= (looks - 1) * 10 * MS + MS, one.draw.file()
            assert row["rtt_median_ns"] > 0 and row["rtt_min_ns"] > 0


def test_the_same_seed_gives_the_same_samples(drawn: list[Trial], tmp_path: Path) -> None:
    again = trials.run(DRAWS[:1], tmp_path / "runs")
    for name in ("tcp_info", "limits", "segments"):
        first, second = (parquet.read_table(one[0].folder / f"{name}.parquet") for one in (drawn, again))
        assert first.equals(second), name
