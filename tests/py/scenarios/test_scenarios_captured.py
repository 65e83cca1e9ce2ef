"""The captures' facts about each flow of a trial, by its ports; through gateways, of both connections together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pktlogger
from scenarios.run import results
from scenarios.trial import captured, legs

STATUS = {"state": "done", "verdict": {"valid": True, "reasons": []}}


def ends(port: int) -> dict[str, Any]:
    return {"sender": {"address": "10.0.0.1", "port": port}, "receiver": {"address": "10.0.0.2", "port": 5020}}


def stream(number: int, port: int, address: str = "10.0.0.1") -> dict[str, Any]:
    return {"stream": number, "bytes": 1, "local": f"{address}:{port}", "remote": "10.0.0.2:5020"}


def sent(*ports: int) -> dict[str, Any]:
    return {"sender": {"streams": [stream(n, port) for n, port in enumerate(ports)]}, "receiver": {}, "summary": {}}


def flow(number: int, port: int, octets: int, **more: Any) -> dict[str, Any]:
    return {"flow": number, "bytes": octets, **ends(port), **more}


def trial(folder: Path, **contents: Any) -> Path:
    files = {"params": {"trial": 0, "flow_name": "main", "gateway": "none"}, "status": STATUS} | contents
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_each_flow_has_its_own_limits_and_losses(tmp_path: Path) -> None:
    """Limits and losses of a flow were once null if the trial had another flow, whichever had more data."""
    main = flow(
        2,
        40001,
        10,
        limits_ns={"path_rate": 3, "slow_start": 1},
        losses_by_cause={"tail_drop": 5},
        losses_seen={},
        stopped_share=0.25,
    )
    rival = flow(
        1,
        40002,
        99,
        limits_ns={"send_buffer": 7},
        losses_by_cause={"random": 2},
        losses_seen={"outage": 1},
        stopped_share=0.5,
    )
    folder = trial(
        tmp_path,
        summary={"main_flow": 1, "flows": [flow(0, 5010, 500), rival, main]},
        transfer=sent(40001) | {"flows": {"rival": sent(40002)}},
        flows=[{"flow": 1, "flow_name": "rival"}],
    )
    first, second = results.rows(folder)
    assert (first["limited_path_rate"], first["limited_slow_start"], first["limited_send_buffer"]) == (0.75, 0.25, 0.0)
    assert (first["lost_queue"], first["lost_chance"], first["seen_queue"], first["stopped_share"]) == (5, 0, 0, 0.25)
    assert (second["limited_send_buffer"], second["lost_chance"], second["seen_outage"]) == (1.0, 2, 1)


def test_a_flow_on_hosts_that_are_not_captured_has_none(tmp_path: Path) -> None:
    folder = trial(
        tmp_path,
        summary={"main_flow": 0, "flows": [flow(0, 40001, 99, limits_ns={"pacing": 1}, losses_by_cause={})]},
        transfer=sent(40001) | {"flows": {"other": {"sender": {"streams": [stream(0, 40001, "10.0.7.1")]}}}},
        flows=[{"flow": 1, "flow_name": "other", "pair": 2}],
    )
    first, second = results.rows(folder)
    assert first["limited_pacing"] == 1.0 and second["limited_pacing"] is None and second["lost_queue"] is None


AS = {"zero_window": "receiver_window", "fast_recovery": "losses", "congestion_avoidance": "losses"}


def test_what_limited_a_flow_most_is_the_verdict_of_its_analysis(tmp_path: Path) -> None:
    """Two different rules once named it, one in the first line of an analysis and one in `lfp show`."""
    told = {"verdict": {"cause": "cross_traffic", "share": 0.6}, "limits_as": AS}
    one = flow(0, 40001, 9, limits_ns={"congestion_avoidance": 6, "slow_start": 4}, **told)
    folder = trial(tmp_path, summary={"main_flow": 0, "flows": [one]}, transfer=sent(40001))
    row = results.row(folder)
    assert (row["limits_cause"], row["limits_share"]) == ("cross_traffic", 0.6)
    trial(tmp_path, summary={"main_flow": 0, "flows": [one | {"verdict": None}]}, transfer=sent(40001))
    assert (results.row(folder)["limits_cause"], results.row(folder)["limits_share"]) == (None, None)


def test_several_streams_are_limited_by_what_took_most_of_their_time_together(tmp_path: Path) -> None:
    streams = [
        flow(0, 40001, 9, limits_ns={"congestion_avoidance": 4, "fast_recovery": 2, "path_rate": 4}, limits_as=AS),
        flow(1, 40002, 8, limits_ns={"path_rate": 5, "zero_window": 5}, limits_as={"zero_window": "receiver_window"}),
    ]
    row = results.row(trial(tmp_path, summary={"main_flow": 0, "flows": streams}, transfer=sent(40001, 40002)))
    assert (row["limits_cause"], row["limits_share"]) == ("path_rate", 0.45)
    del streams[1]["limits_as"]
    row = results.row(trial(tmp_path, summary={"main_flow": 0, "flows": streams}, transfer=sent(40001, 40002)))
    assert row["limits_cause"] is None, "analyses of earlier versions do not say how limits count"


def test_the_streams_of_one_transfer_count_together(tmp_path: Path) -> None:
    """The losses of all streams but the largest were once left out."""
    one = {"losses_by_cause": {"tail_drop": 2}, "losses_seen": {}}
    summary = {
        "main_flow": 0,
        "flows": [
            flow(0, 40001, 9, limits_ns={"path_rate": 6}, **one),
            flow(1, 40002, 8, limits_ns={"pacing": 2}, **one),
        ],
    }
    row = results.row(trial(tmp_path, summary=summary, transfer=sent(40001, 40002)))
    assert (row["lost_queue"], row["limited_path_rate"], row["limited_pacing"]) == (4, 0.75, 0.25)


def test_an_older_trial_without_ports_has_its_largest_connection(tmp_path: Path) -> None:
    summary = {"main_flow": 1, "flows": [flow(0, 1, 1), flow(1, 2, 9, limits_ns={"pacing": 1}, losses_by_cause={})]}
    assert results.row(trial(tmp_path, summary=summary, transfer={"summary": {}}))["limited_pacing"] == 1.0
    folder = trial(tmp_path, transfer={"flows": {"x": {}}}, flows=[{"flow": 1, "flow_name": "x"}])
    assert results.row(folder)["limited_pacing"] is None, "beside another flow nobody knows whose it is"


PROXY = {"trial": 0, "flow_name": "main", "gateway": "command", "gateway_model": "proxy"}


def test_through_gateways_the_limits_are_those_of_the_whole(tmp_path: Path) -> None:
    """The client waits for its gateway, and the gateway for the receiver's window. The client's leg alone shows only
    1.27 of the 3.43 s for which a receiver's window limits the transfer."""
    near = flow(1, 40001, 9, limits_ns={"receiver_window": 1270}, losses_by_cause={"tail_drop": 1}, losses_seen={})
    far = flow(4, 33001, 9, limits_ns={"receiver_window": 3000}, losses_by_cause={"tail_drop": 2}, losses_seen={})
    files = {
        "params": PROXY,
        "transfer": sent(40001),
        "summary": {"main_flow": 1, "flows": [near]},
    }
    alone = results.row(trial(tmp_path, **files))
    assert alone["limited_receiver_window"] is None and alone["lost_queue"] is None, "the other leg was not captured"
    (tmp_path / "server").mkdir()
    through = [
        {
            "flow": 1,
            "far_flow": 4,
            "limits_ns": {"gateway": 2580, "slow_start": 850},
            "verdict_ns": {"gateway": 2580, "slow_start": 850},
        }
    ]
    whole = trial(tmp_path, **files, **{"server/summary": {"flows": [far]}, "through": {"flows": through}})
    row = results.row(whole)
    assert row["limited_gateway"] == pytest.approx(2580 / 3430) and row["limited_receiver_window"] == 0.0
    assert (row["limits_cause"], row["limits_share"]) == ("gateway", pytest.approx(2580 / 3430))
    assert row["lost_queue"] == 3, "of both connections"


def test_through_gateways_the_responses_have_their_limits_and_losses_too(tmp_path: Path) -> None:
    """For responses the losses were once null, and the limits were the requests'. Responses pass the server's
    connection first."""
    back = {"sender": {"address": "10.0.0.2", "port": 5020}, "receiver": {"address": "10.0.3.1", "port": 33001}}
    first = {
        "flow": 0,
        "bytes": 9,
        **back,
        "limits_ns": {"receiver_window": 5},
        "losses_by_cause": {"tail_drop": 1},
        "losses_seen": {},
        "retransmitted": 2,
    }
    then = {
        "flow": 3,
        "bytes": 9,
        "sender": {"address": "10.0.0.2", "port": 5020},
        "receiver": {"address": "10.0.0.1", "port": 40001},
        "losses_by_cause": {"random": 4},
        "losses_seen": {},
        "retransmitted": 7,
    }
    end = sent(40001)
    end["receiver"] = {
        "local": "10.0.0.2:5020",
        "remote": "10.0.3.1:33001",
        "retransmits": 3,
        "tcp_info": {"bytes_retrans": 2896, "total_rto": 1},
    }
    end["summary"] = {"exchange": {"request_bytes": 1, "response_bytes": 9}}
    through = [{"flow": 0, "far_flow": 3, "limits_ns": {"gateway": 30, "slow_start": 10}}]
    folder = trial(
        tmp_path,
        params=PROXY | {"request_bytes": 100, "response_bytes": 900},
        transfer=end,
        summary={"flows": []},
        **{"reverse/summary": {"main_flow": 0, "flows": [first]}, "reverse/through": {"flows": through}},
    )
    row = results.row(folder)
    assert row["limits_direction"] == "responses" and row["limited_gateway"] == 0.75
    assert row["reverse_lost_queue"] is None, "the connection at the client was not captured"
    (tmp_path / "reverse" / "server").mkdir()
    (tmp_path / "reverse" / "server" / "summary.json").write_text(json.dumps({"main_flow": 3, "flows": [then]}))
    row = results.row(folder)
    assert (row["reverse_lost_queue"], row["reverse_lost_chance"], row["lost_queue"]) == (1, 4, None)
    assert (row["reverse_retransmits"], row["reverse_retransmits_syn_fin"]) == (2, 1), "of the server's own TCP"
    assert (row["reverse_retransmitted_bytes"], row["reverse_timeouts"]) == (2896, 1)


def test_flows_are_found_by_both_ends() -> None:
    six = {"flow": 3, "sender": {"address": "fd00::1", "port": 7}, "receiver": {"address": "fd00::2", "port": 8}}
    summary = {"flows": [flow(0, 40001, 5), flow(1, 40002, 6), six]}
    assert pktlogger.between(summary, [("[fd00::1]:7", "[fd00::2]:8")]) == [3]
    both = [(f"10.0.0.1:{port}", "10.0.0.2:5020") for port in (40001, 40002)]
    assert pktlogger.between(summary, both) == [1, 0], "the one with the most data first"
    assert pktlogger.between(summary, [("10.0.0.1:40001", "10.0.0.2:9")]) == []
    assert captured.numbers({"main_flow": 1} | summary, sent(40001)) == [0]


def test_legs_are_those_of_the_transfers_own_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def noted(analyses: list[Path], flow: int | None = None) -> dict[str, Any]:
        asked.append(flow)
        return {"legs": []}

    monkeypatch.setattr(pktlogger, "read_analysis", lambda folder: folder)
    monkeypatch.setattr(pktlogger, "legs", noted)
    summary = {"main_flow": 1, "flows": [flow(0, 40001, 5), flow(1, 40002, 6)]}
    folder = trial(tmp_path, transfer=sent(40001), summary=summary)
    (folder / "segments.parquet").touch()
    with pytest.raises(ValueError, match="zip"):
        legs.of_trial(folder)
    assert asked == [0]
