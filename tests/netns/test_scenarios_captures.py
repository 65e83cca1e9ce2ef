"""Trials captured at every point, with real packets: through lft gateways, through two relays of another maker, and
without gateways; the analysis follows each packet between the ends."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest
from lfp_process import Lfp
from socat_relays import SOCAT_RELAYS

import pktlogger

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

DELAY_NS = 10_000_000
SCENARIO = (
    r"""
[scenario]
name = "seen"
[path]
delay = "10ms"
rate = "20Mbit"
queue = "60KB"
loss = "1%"
[transfer]
bytes = "2MB"
[case.plain.capture]
points = ["snd", "box", "rcv"]
[case.lft.gateway]
kind = "lft"
rate = "10Mbit"
[case.lft.capture]
points = ["snd", "gw1-in", "gw1-out", "box", "gw2-in", "gw2-out", "rcv"]
[case.relays.gateway]
settle = "300ms"
"""
    + SOCAT_RELAYS
    + r"""
[case.relays.capture]
points = ["snd", "gw1-in", "gw1-out", "gw2-in", "gw2-out", "rcv"]
[sweep]
"scenario.case" = ["plain", "lft", "relays"]
[run]
order = "listed"
seed = 4
"""
)
PLAIN, LFT, RELAYS = range(3)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    if not shutil.which("socat"):
        pytest.skip("socat is not installed")
    folder = tmp_path_factory.mktemp("captures")
    file = folder / "seen.toml"
    file.write_text(SCENARIO)
    lfp = Lfp("run", str(file), "--runs-dir", str(folder / "runs"))
    assert lfp.finish(120) == 0, lfp.err
    assert not lfp.left(), "gateways' own children end with them"
    (run_dir,) = (folder / "runs").iterdir()
    found = sorted((run_dir / "trials").iterdir())
    for trial in found:
        status = json.loads((trial / "status.json").read_text())
        assert status["state"] == "done", (trial, status["error"])
    return found


def main_flow(folder: Path, table: str, flow: int | None = None) -> pa.Table:
    rows = parquet.read_table(folder / f"{table}.parquet")
    number = json.loads((folder / "summary.json").read_text())["main_flow"] if flow is None else flow
    return rows.filter(pc.equal(rows["flow"], number))


def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return content


def test_every_lost_packet_has_the_cause_that_the_box_counted(trials: list[Path]) -> None:
    folder = trials[PLAIN]
    box = json.loads((folder / "delay.json").read_text())["statistics"]["ab"]
    fates = summary(folder)["box"]["fates"]
    segments = parquet.read_table(folder / "segments.parquet")
    lost = segments.filter(pc.less(segments["t_received_ns"], 0))
    causes = [fates[fate] for fate in lost["box_fate"].to_pylist() if fate < len(fates)]
    assert len(causes) == len(lost) > 0, "the record knows each of them"
    assert set(causes) <= {"loss", "queue", "sent", "held"}, "sent, held: under way when the capture ended"
    for cause in ("loss", "queue"):  # the box also counts packets without data
        counted = box["drops"][cause]
        assert counted - 20 <= causes.count(cause) <= counted
    came = segments.filter(pc.greater_equal(segments["t_received_ns"], 0))
    assert set(came["box_fate"].to_pylist()) == {fates.index("sent")}
    times = [came[name].to_numpy() for name in ("t_sent_ns", "t_box_in_ns", "t_box_exit_ns", "t_received_ns")]
    assert (times[1] - times[0] > -1_000_000).all(), "the box dates arrivals back by less than that"
    assert (times[2] >= times[1]).all() and (times[3] - times[2] >= DELAY_NS).all()
    record = parquet.read_table(folder / "box.parquet")
    assert len(record.filter(pc.equal(record["direction"], 0))) == box["in_packets"]


def test_four_places_of_a_tunnel_see_the_same_bytes_in_order(trials: list[Path]) -> None:
    for folder in (trials[LFT], trials[RELAYS]):
        moved = json.loads((folder / "transfer.json").read_text())["summary"]["bytes"]
        near, far = summary(folder), summary(folder / "server")
        pairs = pktlogger.pair_flows(near, far)
        assert len(pairs) == len(near["flows"]) == 2, "control connection and data"
        assert pairs[near["main_flow"]] == far["main_flow"]
        client, server = main_flow(folder, "segments"), main_flow(folder / "server", "segments")
        assert sum(client.filter(pc.equal(client["transmission"], 1))["len"].to_pylist()) >= moved
        for place in np.linspace(1, moved, 50, dtype=np.int64):
            times = [*first_seen(client, place), *first_seen(server, place)]
            assert times == sorted(times), f"byte {place}: client, gateway in, gateway out, server"
            assert times[2] - times[1] >= DELAY_NS, "the path lies between the gateways"


def first_seen(segments: pa.Table, place: int) -> tuple[int, int]:
    """When a byte of the stream was first sent, and when it first arrived."""
    begin, end = segments["seq"].to_numpy(), segments["seq"].to_numpy() + segments["len"].to_numpy()
    own = segments.filter(pa.array((begin <= place) & (place < end) & (segments["t_received_ns"].to_numpy() >= 0)))
    return min(own["t_sent_ns"].to_pylist()), min(own["t_received_ns"].to_pylist())


def test_the_tunnels_frames_are_those_of_the_gateways_and_of_the_box(trials: list[Path]) -> None:
    tunnel = parquet.read_table(trials[LFT] / "tunnel.parquet")
    record = parquet.read_table(trials[LFT] / "box.parquet")
    box = json.loads((trials[LFT] / "delay.json").read_text())["statistics"]["ab"]
    moved = json.loads((trials[LFT] / "transfer.json").read_text())["summary"]["bytes"]

    def total(point: int, way: int, column: str) -> int:
        own = tunnel.filter(pc.and_(pc.equal(tunnel["point"], point), pc.equal(tunnel["dir"], way)))
        return int(pc.sum(own[column]).as_py() or 0)

    dropped = total(0, 0, "parts") - total(1, 0, "parts")
    assert total(0, 0, "bytes") > total(1, 0, "bytes") >= moved, "repairs, headers, and what was lost"
    frames = record.filter(pc.equal(record["direction"], 0))
    assert dropped == pytest.approx(box["drops"]["loss"], abs=60), "before the capture and under way at its end"
    assert len(frames) == box["in_packets"] and pc.sum(pc.greater(frames["fate"], 0)).as_py() == box["drops"]["loss"]
    assert set(frames["flow"].to_pylist()) == {2**32 - 1}, "nobody sees a connection in there"
    assert total(1, 1, "bytes") > 0, "acknowledgements on the way back"


def test_strangers_gateways_are_any_two_command_lines(trials: list[Path]) -> None:
    """The relays of SCENARIO.md: clients connect to them as to a proxy, and gateway.json has their processor time and
    their command lines."""
    found = json.loads((trials[RELAYS] / "gateway.json").read_text())
    assert found["kind"] == "command" and "socat" in " ".join(found["near"]["argv"]) and found["cpu_ns"] > 0
    ends = {flow["receiver"]["address"] for flow in summary(trials[RELAYS])["flows"]}
    servers = {flow["sender"]["address"] for flow in summary(trials[RELAYS] / "server")["flows"]}
    assert ends.isdisjoint(servers) and len(ends) == len(servers) == 1, "client and server each know one relay only"
    assert json.loads((trials[RELAYS] / "transfer.json").read_text())["complete"]
