"""What limits responses through a small send buffer, in virtual time: against the server's own TCP_INFO and tshark's
times of its packets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import COMPARED, fields, ran

pytestmark = COMPARED

SCENARIO = """
[scenario]
name = "responses"
[path]
delay = "20ms"
queue = "256KB"
[transfer]
request = "200"
response = "20KB"
exchanges = 20
[profile]
sysctl = "net.ipv4.tcp_wmem=4096 16384 32768"
[capture]
points = ["snd", "box", "rcv"]
[case.middle]
transfer.response = "300KB"
transfer.exchanges = 6
[case.long]
transfer.response = "3MB"
transfer.exchanges = 2
[case.short]
transfer.response = "20KB"
[sweep]
"scenario.case" = ["short", "middle", "long"]
"path.rate" = ["1Mbit", "100Mbit"]
"path.loss" = ["0%", "1%"]
[run]
order = "listed"
"""
MS = 1_000_000
TRIALS = [
    f"{case}, {rate}, {loss}"
    for case in ("short", "middle", "long")
    for rate in ("1Mbit", "100Mbit")
    for loss in ("0%", "1%")
]


@dataclass(frozen=True)
class Trial:
    """``limits_ns`` of the responses; ``waits_ns``: from a response's last new octet to the next response, by tshark;
    ``in_responses``: samples of TCP_INFO between a response's first and last packet that was sent for the first
    time; ``in_buffer``: those while the limit was the send buffer."""

    metrics: dict[str, Any]
    limits_ns: dict[str, int]
    waits_ns: int
    in_responses: dict[str, np.ndarray]
    in_buffer: dict[str, np.ndarray]

    @classmethod
    def read(cls, found: dict[str, Any]) -> Trial:
        folder = Path(found["path"])
        end = json.loads((folder / "transfer.json").read_text())
        port = end["receiver"]["local"].rpartition(":")[2]
        told = fields(
            folder / "capture" / "rcv.pcapng",
            f"tcp.srcport == {port} && tcp.len > 0",
            "frame.time_epoch",
            "tcp.seq",
            "tcp.len",
        )
        rows = np.asarray([(int(time.replace(".", "")), int(seq), int(length)) for time, seq, length in told])
        ends = np.maximum.accumulate(rows[:, 1] + rows[:, 2])
        rows = rows[np.diff(ends, prepend=1) > 0]  # with octets that were not sent before
        number = (rows[:, 1] + rows[:, 2] - 2) // found["params"]["response_bytes"]
        first = np.asarray([rows[number == one, 0].min() for one in np.unique(number)])
        last = np.asarray([rows[number == one, 0].max() for one in np.unique(number)])
        summary = json.loads((folder / "reverse" / "summary.json").read_text())
        (flow,) = (flow for flow in summary["flows"] if str(flow["sender"]["port"]) == port)
        table = parquet.read_table(folder / "reverse" / "tcp_info.parquet")
        names = ("t_ns", "notsent_bytes", "snd_mss", "waiting_bytes", "queued_bytes", "sndbuf_bytes")
        samples = {name: table[name].to_numpy() for name in names}
        samples["t_ns"] = samples["t_ns"] + end["receiver"]["t0_realtime_ns"] - end["receiver"]["t0_monotonic_ns"]
        of = np.searchsorted(first, samples["t_ns"], "right") - 1
        inside = (of >= 0) & (samples["t_ns"] < last[of])
        limits = parquet.read_table(folder / "reverse" / "limits.parquet")
        t0_ns, t1_ns, cause = (
            limits[name].to_numpy()[limits["flow"].to_numpy() == flow["flow"]] for name in ("t0_ns", "t1_ns", "cause")
        )
        of = np.searchsorted(t0_ns, samples["t_ns"], "right") - 1
        buffer = (of >= 0) & (samples["t_ns"] < t1_ns[of])
        buffer &= cause[of] == summary["limit_causes"].index("send_buffer")
        return cls(
            found["metrics"],
            flow["limits_ns"],
            int((first[1:] - last[:-1]).sum()),
            {name: column[inside] for name, column in samples.items()},
            {name: column[buffer] for name, column in samples.items()},
        )


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trial]:
    found = ran(tmp_path_factory.mktemp("responses"), SCENARIO)
    return {name: Trial.read(one) for name, one in zip(TRIALS, found, strict=True)}


@pytest.mark.parametrize("name", TRIALS)
def test_the_application_is_the_limit_between_responses_alone(trials: dict[str, Trial], name: str) -> None:
    """Within a response the server always has more to send. Where nothing was lost, it waits for the request during all
    of the time between two responses."""
    one = trials[name]
    waited_ns = one.limits_ns.get("application", 0)
    assert waited_ns <= one.waits_ns + MS
    if not {"fast_recovery", "timeout"} & one.limits_ns.keys():
        assert waited_ns == pytest.approx(one.waits_ns, abs=MS)


@pytest.mark.parametrize("name", TRIALS)
def test_the_send_buffer_is_the_limit_while_the_server_waits_for_room_alone(
    trials: dict[str, Trial], name: str
) -> None:
    """While the send buffer is the limit, rttcp reports that it has more to write. A response of 20 KB fits into the
    buffer, so its server never waits. On the fast line a longer response that loses nothing in its first round trips
    waits for the buffer alone."""
    one = trials[name]
    buffer_ns = one.limits_ns.get("send_buffer", 0)
    if name.startswith("short"):
        assert buffer_ns == 0
    assert (one.in_buffer["waiting_bytes"] > 0).all(), one.in_buffer
    if name in ("middle, 100Mbit, 0%", "long, 100Mbit, 0%"):
        assert buffer_ns > 0 and one.in_buffer["t_ns"].size
