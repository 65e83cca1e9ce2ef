"""Gateways and every capture point in virtual time, where its kernel is built: as fast as theory says, seen everywhere
on one axis, and each relay model, carriage and family there is.

Theory (docs/explanation/lft-recovery.md): of a limit L frames carry the share η, and 1 - p of them arrive.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest
from lft_windows import burst_bytes, most_above, most_in_a_window
from numpy.typing import NDArray
from socat_relays import SOCAT_RELAYS

import pktlogger
from scenarios.trial import legs
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
LIMIT_BPS, SHARE, LOSS = 45e6, 0.951, 0.01
DELAY_NS = 30_000_000
ETHERNET_BYTES = 14
SEEN = """
[scenario]
name = "seen"
[path]
delay = "30ms"
rate = "50Mbit"
queue = "1MB"
loss = "1%"
[transfer]
bytes = "12MB"
[case.plain.transfer]
bytes = "2MB"
[case.plain.capture]
points = ["snd", "box", "rcv"]
[case.lft.gateway]
kind = "lft"
rate = "45Mbit"
[case.lft.capture]
points = ["snd", "gw1-in", "gw1-out", "box", "gw2-in", "gw2-out", "rcv"]
[sweep]
"scenario.case" = ["plain", "lft"]
[run]
order = "listed"
seed = 4
"""
FAST_BPS = 800_000_000
FAST = """
[scenario]
name = "fast"
[path]
delay = "10ms"
rate = "1Gbit"
queue = "4MB"
loss = "1%"
granularity = "50us"
[transfer]
bytes = "80MB"
[gateway]
kind = "lft"
rate = "800Mbit"
[capture]
points = ["box"]
[run]
seed = 4
"""
LONG = """
[scenario]
name = "long"
[path]
delay = "100ms"
rate = "800Mbit"
queue = "4MB"
granularity = "{granularity}"
[transfer]
bytes = "{size}"
[gateway]
kind = "lft"
rate = "800Mbit"
[run]
seed = 4
"""
KINDS = (
    r"""
[scenario]
name = "kinds"
[path]
delay = "10ms"
rate = "20Mbit"
queue = "100KB"
[transfer]
bytes = "1500KB"
[case.router6]
gateway = { kind = "lft", rate = "10Mbit" }
transfer = { family = "ipv6" }
[case.proxy6]
gateway = { kind = "lft", rate = "10Mbit", model = "proxy", carriage = "esp" }
transfer = { family = "ipv6" }
[case.host.gateway]
kind = "lft"
model = "host"
rate = "10Mbit"
[case.relays.gateway]
"""
    + SOCAT_RELAYS
    + r"""
[sweep]
"scenario.case" = ["router6", "proxy6", "host", "relays"]
[run]
order = "listed"
seed = 4
"""
)
PLAIN, LFT = range(2)


def run(folder: Path, text: str) -> list[Path]:
    """Folders of the trials, all of them valid."""
    file = folder / "scenario.toml"
    file.write_text(text)
    argv = [sys.executable, "-m", "lfp", "run", str(file), "--time", "virtual", "--runs-dir", str(folder)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted(folder.glob("*/trials/0*"))
    for trial in found:
        status = content(trial, "status")
        assert status["state"] == "done" and status["verdict"]["valid"], (trial, status)
    return found


def content(trial: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((trial / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return run(tmp_path_factory.mktemp("seen"), SEEN)


def test_a_gateway_carries_what_theory_says_and_takes_no_processor_time(trials: list[Path]) -> None:
    """The throughput is theory's without four round trips for connecting, slow start and the end. The gateways' CPU
    time consists of readings of the clock, 256 ns each."""
    transfer, gateways = content(trials[LFT], "transfer"), content(trials[LFT], "gateway")
    summary = transfer["summary"]
    theory_bps = LIMIT_BPS * SHARE * (1 - LOSS)
    lost_share = 4 * 2 * DELAY_NS / summary["elapsed_ns"]
    luck = 3 * np.sqrt(LOSS / (summary["bytes"] / 1400))  # three standard deviations of the number of lost frames
    assert (1 - lost_share - luck) * theory_bps < summary["short_term_bps"] < (1 + luck) * theory_bps
    assert gateways["cpu_ns"] < 0.05 * summary["elapsed_ns"]


def test_a_gateway_that_rests_reads_all_that_came_meanwhile(tmp_path: Path) -> None:
    """On a long path the gateway rests for 2 ms, in which 130 frames arrive one by one. It once read only 64 of them a
    turn, so its socket overflowed, at 331 Mbit/s."""
    (trial,) = run(tmp_path, LONG.format(granularity="0", size="100MB"))
    assert content(trial, "gateway")["far"]["io"]["rx_overflows"] == 0


def test_frames_that_leave_together_stay_together_for_a_granularity(tmp_path: Path) -> None:
    """The gateway sends 27 frames at once, more than the line sends in a granularity. The kernel took each of these
    super-packets apart into 27, which is most of what a trial cost."""
    (trial,) = run(tmp_path, LONG.format(granularity="200us", size="10MB"))
    far = content(trial, "gateway")["far"]["io"]
    most = 200e-6 * 800e6 / 8 / 1500
    assert most / 2 < far["rx_datagrams"] / far["rx_reads"] < most


def test_client_gateways_and_server_are_on_one_axis(trials: list[Path]) -> None:
    """Each byte passes the four capture points in order; only the path between the gateways takes time."""
    folder = trials[LFT]
    near, far = content(folder, "summary"), content(folder / "server", "summary")
    assert pktlogger.pair_flows(near, far)[near["main_flow"]] == far["main_flow"]
    client, server = main_flow(folder, near), main_flow(folder / "server", far)
    for place in np.linspace(1, content(folder, "transfer")["summary"]["bytes"], 50, dtype=np.int64):
        times = [*first_seen(client, int(place)), *first_seen(server, int(place))]
        assert times == sorted(times), f"byte {place}: client, gateway in, gateway out, server"
        assert times[2] - times[1] >= DELAY_NS
        assert times[1] - times[0] < 10_000 and times[3] - times[2] < 10_000, "a link without a rate"


def test_the_stay_between_the_gateways_is_the_path_and_the_queue_before_it(trials: list[Path]) -> None:
    """Every byte passes once. No byte is faster than the path, and waiting bytes leave at the limit's rate."""
    folder, moved = trials[LFT], content(trials[LFT], "transfer")["summary"]["bytes"]
    flow = content(folder, "summary")["main_flow"]
    passes = parquet.read_table(folder / "passes.parquet")
    passes = passes.filter(pc.equal(passes["flow"], flow))
    names = ("seq", "len", "t_in_ns", "t_out_ns", "dwell_ns", "held_bytes")
    seq, length, in_ns, out_ns, dwell_ns, held = (passes[name].to_numpy().astype(np.int64) for name in names)
    assert seq[0] == 1 and (seq[1:] == (seq + length)[:-1]).all() and length.sum() == moved
    assert (out_ns - in_ns == dwell_ns).all() and (held <= moved - (seq + length - 1)).all()
    bits = (length.max() + 100) * 8
    assert DELAY_NS <= dwell_ns.min() <= DELAY_NS + bits / LIMIT_BPS * 1e9 + bits / 50e6 * 1e9 + granularity_ns(folder)
    left = np.concatenate([[1], seq + length])[np.searchsorted(out_ns, in_ns, "right")]
    ahead_ns = (seq + length - left) / (LIMIT_BPS / 8e9 * SHARE * (1 - LOSS))  # to send the bytes ahead at the limit
    waited = ahead_ns > 4 * DELAY_NS
    assert waited.sum() > len(seq) / 2
    assert abs(np.median((dwell_ns - ahead_ns)[waited])) < 2 * DELAY_NS, "repairs take a round trip"


def test_what_limited_the_transfer_is_known_from_its_first_byte_to_its_last_one(trials: list[Path]) -> None:
    """The gateways' limit is below the path's rate, so they limit the transfer, except at its beginning."""
    folder = trials[LFT]
    flow = content(folder, "summary")["main_flow"]
    whole = parquet.read_table(folder / "whole-limits.parquet")
    whole = whole.filter(pc.equal(whole["flow"], flow))
    begin, end = whole["t0_ns"].to_numpy(), whole["t1_ns"].to_numpy()
    client = main_flow(folder, content(folder, "summary"))
    server = main_flow(folder / "server", content(folder / "server", "summary"))
    assert begin[0] == pc.min(client["t_sent_ns"]).as_py() and end[-1] == pc.max(server["t_sent_ns"]).as_py()
    assert (begin[1:] == end[:-1]).all() and (begin < end).all()
    (told,) = (one for one in content(folder, "through")["flows"] if one["flow"] == flow)
    assert sum(told["limits_ns"].values()) == end[-1] - begin[0]
    assert told["limits_ns"]["gateway"] > (end[-1] - begin[0]) - 4 * DELAY_NS
    assert told["never_left_bytes"] == 0


def test_all_points_joined_say_where_the_time_went_and_where_packets_were_lost(trials: list[Path]) -> None:
    plain, lft = (legs.of_trial(trials[case]) for case in (PLAIN, LFT))
    (leg,) = plain["legs"]
    drops = content(trials[PLAIN], "delay")["statistics"]["ab"]["drops"]
    assert {one["place"] for one in leg["losses"]} == {"in the box"}
    assert sum(one["packets"] for one in leg["losses"]) == leg["lost"] <= drops["loss"] + drops["queue"]
    assert DELAY_NS <= leg["box"]["dwell_ns"]["min"] <= leg["delay_ns"]["min"] <= plain["delay_ns"]["min"]
    near, far = lft["legs"]
    assert near["delay_ns"]["max"] < 10_000 and far["delay_ns"]["max"] < 10_000, "a link without a rate"
    (stay,), tunnel = lft["gateways"], lft["tunnel"]
    assert DELAY_NS <= tunnel["dwell_ns"]["min"] <= stay["dwell_ns"]["min"] <= lft["delay_ns"]["min"]
    assert tunnel["lost"] == {"loss": content(trials[LFT], "delay")["statistics"]["ab"]["drops"]["loss"]}
    assert (plain["bytes"], lft["bytes"]) == tuple(
        content(trials[case], "transfer")["summary"]["bytes"] for case in (PLAIN, LFT)
    )


def test_every_frame_of_the_tunnel_is_seen_at_both_ends_and_in_the_box(trials: list[Path]) -> None:
    folder = trials[LFT]
    tunnel, record = (parquet.read_table(folder / f"{name}.parquet") for name in ("tunnel", "box"))
    box = content(folder, "delay")["statistics"]["ab"]

    def packets(point: int) -> int:
        own = tunnel.filter(pc.and_(pc.equal(tunnel["point"], point), pc.equal(tunnel["dir"], 0)))
        return int(pc.sum(own["parts"]).as_py())

    assert packets(0) - packets(1) == pytest.approx(box["drops"]["loss"], abs=60)  # in flight at either end
    frames = record.filter(pc.equal(record["direction"], 0))
    lost = pc.equal(frames["fate"], content(trials[PLAIN], "summary")["box"]["fates"].index("loss"))
    assert len(frames) == box["in_packets"] and pc.sum(lost).as_py() == box["drops"]["loss"]
    assert abs(box["drops"]["loss"] - LOSS * box["in_packets"]) < 4 * np.sqrt(LOSS * box["in_packets"])


def arrived(trial: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Times in ns and octets of the packets that the near gateway sent, as the box saw them."""
    record = parquet.read_table(trial / "box.parquet")
    record = record.filter(pc.equal(record["direction"], 0)).sort_by("t_arrival_ns")
    octets = record["wire_len"].to_numpy().astype(np.int64) - ETHERNET_BYTES
    return record["t_arrival_ns"].to_numpy().astype(np.int64), octets


def granularity_ns(trial: Path) -> int:
    """How often the box polls its ports: packets that it sees at once may have left the gateway within that time."""
    return content(trial, "params")["granularity_ns"] or 150_000  # a four-hundredth of the round trip


def test_no_interval_exceeds_the_limit_and_its_burst(trials: list[Path]) -> None:
    """With loss, so all classes of frames take part. Gateways that are stopped: test_lft_cap.py."""
    seen_at_once = LIMIT_BPS / 8e9 * granularity_ns(trials[LFT])
    assert most_above(*arrived(trials[LFT]), LIMIT_BPS) <= burst_bytes(int(LIMIT_BPS)) + seen_at_once


def test_no_100_ms_exceed_the_limit_by_more_than_a_hundredth(tmp_path: Path) -> None:
    (trial,) = run(tmp_path, FAST)
    assert most_in_a_window(*arrived(trial)) <= 1.01 * FAST_BPS / 80
    assert most_above(*arrived(trial), FAST_BPS) <= burst_bytes(FAST_BPS) + FAST_BPS / 8e9 * granularity_ns(trial)


def test_the_box_knows_of_every_lost_packet_why(trials: list[Path]) -> None:
    folder = trials[PLAIN]
    fates = content(folder, "summary")["box"]["fates"]
    segments = parquet.read_table(folder / "segments.parquet")
    lost = segments.filter(pc.less(segments["t_received_ns"], 0))
    causes = {fates[fate] for fate in lost["box_fate"].to_pylist()}
    assert "loss" in causes and causes <= {"loss", "queue", "sent", "held"}, "sent, held: under way at the end"
    came = segments.filter(pc.greater_equal(segments["t_received_ns"], 0))
    assert set(came["box_fate"].to_pylist()) == {fates.index("sent")}
    times = [came[name].to_numpy() for name in ("t_sent_ns", "t_box_in_ns", "t_box_exit_ns", "t_received_ns")]
    assert (times[2] >= times[1]).all() and (times[3] - times[2] >= DELAY_NS).all()
    assert (times[3] - times[2] - DELAY_NS).max() <= 2 * granularity_ns(folder)


def test_every_model_carriage_and_family(tmp_path: Path) -> None:
    """Each kind carries the whole transfer. lft gateways take the connection over, and are as fast as their limit
    allows: headers of IPv6 take 20 bytes more, those of bare ESP 8 bytes less."""
    for trial in run(tmp_path, KINDS):
        summary, gateway = content(trial, "transfer")["summary"], content(trial, "gateway")
        assert summary["complete"], trial
        if gateway["kind"] == "lft":
            assert gateway["near"]["relay"]["near_accepted"] >= 2, trial
            setting, trips = content(trial, "params"), 4 * 20e6 / summary["elapsed_ns"]
            more = 8 * (setting["gateway_carriage"] == "esp") - 20 * (setting["family"] == "ipv6")
            share = SHARE + more / 1500
            assert (1 - trips) * share * 10e6 < summary["short_term_bps"] < 1.005 * share * 10e6, trial


def main_flow(folder: Path, summary: dict[str, Any]) -> pa.Table:
    rows = parquet.read_table(folder / "segments.parquet")
    return rows.filter(pc.equal(rows["flow"], summary["main_flow"]))


def first_seen(segments: pa.Table, place: int) -> tuple[int, int]:
    """When a byte of the stream was first sent, and when it first arrived."""
    begin = segments["seq"].to_numpy()
    mask = (begin <= place) & (place < begin + segments["len"].to_numpy()) & (segments["t_received_ns"].to_numpy() >= 0)
    own = segments.filter(pa.array(mask))
    return min(own["t_sent_ns"].to_pylist()), min(own["t_received_ns"].to_pylist())
