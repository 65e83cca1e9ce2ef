"""Request and response through gateways in virtual time: both directions of both connections, against tshark and
TCP_INFO."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import COMPARED, arrivals, fields, ran
from socat_relays import SOCAT_RELAYS

from scenarios.plan.columns import LIMITS, LOSSES

pytestmark = COMPARED

DELAY_NS, EXCHANGES, REQUEST, RESPONSE = 20_000_000, 20, 3_000, 100_000
POINTS = '["snd", "gw1-in", "gw2-out", "rcv"]'
SCENARIO = (
    f"""
[scenario]
name = "exchanges"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "64KB"
loss = "1%"
[transfer]
request = "{REQUEST}"
response = "{RESPONSE}"
exchanges = {EXCHANGES}
[case.router]
capture.points = {POINTS}
gateway.kind = "lft"
gateway.rate = "40Mbit"
[case.proxy]
capture.points = {POINTS}
gateway.kind = "lft"
gateway.model = "proxy"
gateway.rate = "40Mbit"
[case.relays]
capture.points = {POINTS}
[case.relays.gateway]
{SOCAT_RELAYS}"""
    + """
[sweep]
"scenario.case" = ["router", "proxy", "relays"]
[run]
order = "listed"
"""
)
Trial = tuple[dict[str, Any], Path, dict[str, Any]]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    found = [(one, Path(one["path"])) for one in ran(tmp_path_factory.mktemp("exchanges"), SCENARIO)]
    return [(one, path, json.loads((path / "transfer.json").read_text())) for one, path in found]


def port(end: str) -> str:
    return end.rpartition(":")[2]


def octets(folder: Path, point: str, wanted: str) -> tuple[int, int]:
    """Octets that were new at this point, and those that had passed it before, by tshark."""
    _, new = arrivals(folder / "capture" / f"{point}.pcapng", wanted)
    lengths = fields(folder / "capture" / f"{point}.pcapng", f"{wanted} && tcp.len > 0", "tcp.len")
    return int(new.sum()), sum(int(length) for (length,) in lengths) - int(new.sum())


def test_what_is_sent_again_in_either_direction_is_known(trials: list[Trial]) -> None:
    for found, folder, end in trials:
        for prefix, side, point in (("", "sender", "snd"), ("reverse_", "receiver", "rcv")):
            metrics, info = found["metrics"], end[side]["tcp_info"]
            new, again = octets(folder, point, f"tcp.srcport == {port(end[side]['local'])}")
            assert new == EXCHANGES * (RESPONSE if prefix else REQUEST)
            assert metrics[f"{prefix}retransmitted_bytes"] == again == info["bytes_retrans"]
            sent_again = metrics[f"{prefix}retransmits"] + metrics[f"{prefix}retransmits_syn_fin"]
            assert sent_again == info["total_retrans"]
            assert metrics[f"{prefix}timeouts"] is not None


def test_responses_have_causes_of_losses_and_limits(trials: list[Trial]) -> None:
    """Nothing is lost between a host and its gateway, whose link has no limit. Losses on the path concern only the
    gateways' tunnel."""
    for found, folder, end in trials:
        metrics = found["metrics"]
        assert [metrics[f"reverse_lost_{cause}"] for cause in LOSSES] == [0] * len(LOSSES)
        server, client = port(end["receiver"]["local"]), port(end["sender"]["local"])
        legs = (("rcv", "gw2-out", f"tcp.srcport == {server}"), ("gw1-in", "snd", f"tcp.dstport == {client}"))
        for sent, got, wanted in legs:
            assert octets(folder, sent, wanted) == octets(folder, got, wanted), "by tshark, too"
        assert metrics["limits_direction"] == "responses"
        assert sum(metrics[f"limited_{name}"] for name in LIMITS) == pytest.approx(1)
        through = json.loads((folder / "reverse" / "through.json").read_text())["flows"]
        assert sum(sum(one["limits_ns"].values()) for one in through) > EXCHANGES * 2 * DELAY_NS


def test_the_tables_of_responses_are_of_both_connections(trials: list[Trial]) -> None:
    """Both connections carry the same octets. Their ports are the same in the router model alone."""
    for _, folder, end in trials:
        back = folder / "reverse"
        server, client = port(end["receiver"]["local"]), port(end["sender"]["local"])
        ours = [json.loads((place / "summary.json").read_text()) for place in (back, back / "server")]
        near, far = (summary["flows"][summary["main_flow"]] for summary in ours)
        assert (str(near["sender"]["port"]), str(far["receiver"]["port"])) == (server, client)
        assert near["bytes"] == far["bytes"] == EXCHANGES * RESPONSE
        pairs = {one["flow"]: one["far_flow"] for one in json.loads((back / "through.json").read_text())["flows"]}
        assert pairs[near["flow"]] == far["flow"]
        came_ns, came = arrivals(folder / "capture" / "gw2-out.pcapng", f"tcp.srcport == {server}")
        left_ns, left = arrivals(folder / "capture" / "gw1-in.pcapng", f"tcp.dstport == {client}")
        table = parquet.read_table(back / "passes.parquet")
        mine = table["flow"].to_numpy() == near["flow"]
        ends = (table["seq"].to_numpy() + table["len"].to_numpy())[mine] - 1
        dwell = left_ns[np.searchsorted(left.cumsum(), ends)] - came_ns[np.searchsorted(came.cumsum(), ends)]
        assert table["dwell_ns"].to_numpy()[mine].min() == dwell.min() >= DELAY_NS
        assert len(ends) > 1000
