"""Request and response in virtual time: every figure against tshark, TCP_INFO and the delay box's own counters."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import COMPARED, arrivals, fields, ran, shown

from scenarios.plan.columns import LIMITS, LOSSES

pytestmark = COMPARED

SCENARIO = """
[scenario]
name = "exchanges"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "64KB"
loss = "1%"
[transfer]
request = "200"
response = "100000"
exchanges = 40
[capture]
points = ["snd", "box", "rcv"]
"""
FINS_LOST = SCENARIO.replace('loss = "1%"', 'ab_loss = "60%"\nonly = "fin"').replace("= 40", "= 5")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, str]:
    folder = tmp_path_factory.mktemp("exchanges")
    (found,) = ran(folder, SCENARIO)
    return found, Path(found["path"]), shown(folder)


def ports(folder: Path) -> tuple[str, str]:
    end = json.loads((folder / "transfer.json").read_text())
    return tuple(end[side]["local"].rpartition(":")[2] for side in ("sender", "receiver"))


def sent_again(capture: Path, port: str) -> tuple[int, int]:
    """What this port sent again: the number of packets, and the number of octets."""
    seen: set[int] = set()
    packets = octets = 0
    for seq, length in fields(capture, f"tcp.srcport == {port} && tcp.len > 0", "tcp.seq", "tcp.len"):
        covered = range(int(seq), int(seq) + int(length))
        again = sum(octet in seen for octet in covered)
        packets += -(-again // 1448)  # a super-packet is several packets
        octets += again
        seen.update(covered)
    return packets, octets


def test_both_directions_losses_are_the_boxs_and_tcp_infos(trial: tuple[dict[str, Any], Path, str]) -> None:
    found, folder, _ = trial
    metrics, end = found["metrics"], json.loads((folder / "transfer.json").read_text())
    client, server = ports(folder)
    for prefix, port, side, point in (("", client, "sender", "snd"), ("reverse_", server, "receiver", "rcv")):
        packets, octets = sent_again(folder / "capture" / f"{point}.pcapng", port)
        info = end[side]["tcp_info"]
        assert metrics[f"{prefix}retransmitted_bytes"] == octets == info["bytes_retrans"]
        assert metrics[f"{prefix}retransmits"] == packets
        assert packets + metrics[f"{prefix}retransmits_syn_fin"] == info["total_retrans"]
    names = ["direction", "fate", "len", "flow"]
    table = parquet.read_table(folder / "box.parquet", columns=names).to_pylist()
    back = [row for row in table if row["direction"] == 1 and row["len"]]
    data = Counter(row["flow"] for row in back).most_common(1)[0][0]
    lost = [metrics[f"reverse_lost_{cause}"] for cause in LOSSES]
    assert sum(lost) == sum(row["fate"] != 0 for row in back if row["flow"] == data)
    assert sum(lost) > 20, "1 % of 2,800 packets, and the queue"
    assert metrics["reverse_lost_queue"] > 0 and metrics["reverse_lost_chance"] > 0
    assert metrics["reverse_lost_outage"] == metrics["reverse_lost_unknown"] == 0


def test_latency_and_goodput_are_tsharks(trial: tuple[dict[str, Any], Path, str]) -> None:
    """An exchange lasts from its request to its response's last octet, and the next request follows at once."""
    found, folder, said = trial
    metrics, (client, server) = found["metrics"], ports(folder)
    asked = fields(
        folder / "capture" / "snd.pcapng", f"tcp.srcport == {client} && tcp.len > 0", "frame.time_epoch", "tcp.seq"
    )
    first = {int(seq): int(time.replace(".", "")) for time, seq in reversed(asked)}
    begun = np.asarray([first[1 + 200 * number] for number in range(40)])
    t_ns, new = arrivals(folder / "capture" / "snd.pcapng", f"tcp.srcport == {server}")
    # In order: the last octet of a response is there when all octets before it are.
    octets = np.cumsum(new)
    ended = np.asarray([t_ns[np.searchsorted(octets, 100_000 * (number + 1))] for number in range(40)])
    latencies = ended - begun
    assert metrics["latency_mean_ns"] == pytest.approx(latencies.mean(), abs=100_000)
    assert metrics["latency_max_ns"] == pytest.approx(latencies.max(), abs=200_000)
    for key, number in (("p50", 19), ("p90", 35), ("p99", 39)):
        exact = np.sort(latencies)[number]
        assert exact - 100_000 <= metrics[f"latency_{key}_ns"] <= exact * (1 + 1 / 32) + 100_000, "the histogram's step"
    whole_ns = ended[-1] - begun[0]
    assert metrics["exchanges_per_s"] == pytest.approx(40e9 / whole_ns, rel=1e-3)
    assert metrics["response_bps"] == pytest.approx(8e5 * 40e9 / whole_ns, rel=1e-3)
    for words in ("exchanges/s, median", "p99", "responses", "exchanges, verdict", "up to 3.2 %"):
        assert words in said, said
    assert "kbit/s" not in said, "the rate of the requests is not the headline"


def test_limits_are_of_the_responses_and_wait_for_a_request_in_each(trial: tuple[dict[str, Any], Path, str]) -> None:
    """Between two responses the server waits for the next request. That comes at the earliest 40 ms after the
    response's last octet was sent, together with the acknowledgement of that octet."""
    found, _, said = trial
    metrics = found["metrics"]
    assert metrics["limits_direction"] == "responses" and "responses: " in said
    assert sum(metrics[f"limited_{name}"] for name in LIMITS) == pytest.approx(1)
    waited_ns = metrics["limited_application"] * 40 * metrics["latency_mean_ns"]
    assert 0.5 * 39 * 40e6 < waited_ns < 1.2 * 39 * 41e6
    assert metrics["limited_application"] < 0.3 < metrics["limited_congestion_avoidance"]


def limits(folder: Path) -> dict[str, float]:
    """The shares of what limited the main flow of an analysis."""
    summary = json.loads((folder / "summary.json").read_text())
    (flow,) = (flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"])
    return {name: ns / sum(flow["limits_ns"].values()) for name, ns in flow["limits_ns"].items()}


@pytest.mark.parametrize(("request_bytes", "response_bytes"), [(1000, 3000), (20000, 1000), (64, 300000)])
def test_who_waits_for_an_answer_is_limited_by_the_application_in_both_directions(
    tmp_path: Path, request_bytes: int, response_bytes: int
) -> None:
    """Messages of equal length, one at a time: the flight is constant, and the send buffer is never full. The end with
    the short message waits for nearly all of an exchange, and the other end for one round trip of it."""
    sizes = f'request = "{request_bytes}"\nresponse = "{response_bytes}"\nexchanges = 100'
    text = SCENARIO.replace('request = "200"\nresponse = "100000"\nexchanges = 40', sizes)
    (found,) = ran(tmp_path, text.replace('loss = "1%"\n', "").replace("64KB", "1MB"))
    asks, answers = limits(Path(found["path"])), limits(Path(found["path"]) / "reverse")
    assert asks.get("send_buffer", 0) == answers.get("send_buffer", 0) == 0
    trip = 40e6 / found["metrics"]["latency_mean_ns"]
    assert min(asks["application"], answers["application"]) > 0.95 * trip
    assert (asks if request_bytes < response_bytes else answers)["application"] > 0.95


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_sends_a_lone_packet_again_is_the_kernels_word(tmp_path: Path, seed: int) -> None:
    """A request of one packet that is lost is sent again by a tail-loss probe after the time of a time-out. The
    kernel's count of time-outs shows that it was a probe, at both ends."""
    sizes = 'request = "1000"\nresponse = "3000"\nexchanges = 200'
    text = SCENARIO.replace('request = "200"\nresponse = "100000"\nexchanges = 40', sizes).replace("1%", "2%")
    (found,) = ran(tmp_path, text, "--seed", str(seed))
    folder, probes = Path(found["path"]), 0
    end = json.loads((folder / "transfer.json").read_text())
    for side, own in (("sender", folder), ("receiver", folder / "reverse")):
        summary = json.loads((own / "summary.json").read_text())
        (flow,) = (flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"])
        assert flow["timeouts"] == end[side]["tcp_info"]["total_rto"], side
        assert bool(flow["limits_ns"].get("timeout")) == bool(flow["timeouts"]), side
        kinds = parquet.read_table(own / "segments.parquet")["kind"].to_pylist()
        probes += kinds.count(summary["segment_kinds"].index("tail_loss_probe"))
    assert probes > 0, f"seed {seed}: no probe"


def test_a_fin_that_is_sent_again_is_no_octet_sent_again(tmp_path: Path) -> None:
    """The kernel counts FINs and data that are sent again in one number, which was printed as retransmissions."""
    again = 0
    for found in ran(tmp_path, FINS_LOST, "--set", "run.repeat=3"):
        info = json.loads((Path(found["path"]) / "transfer.json").read_text())["sender"]["tcp_info"]
        metrics = found["metrics"]
        assert info["bytes_retrans"] == metrics["retransmitted_bytes"] == metrics["retransmits"] == 0
        assert metrics["retransmits_syn_fin"] == info["total_retrans"]
        again += info["total_retrans"]
    assert again > 0, "seed 1: no FIN was lost"
