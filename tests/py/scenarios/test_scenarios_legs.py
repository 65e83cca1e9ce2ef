"""`lfp legs`: what each leg and each gateway did to a transfer, of captures whose every delay and loss is known."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import synthetic_gateway
from support.pktlogger_conversation import MS
from support.relayed_capture import leg, relayed

import pktlogger
from lfp import cli
from lfp.commands.legs import _lines
from pktlogger.through import _passes
from scenarios.plan.path import PathTable
from scenarios.trial import analysis, legs

SIDES = ("near", "far")


def given(folder: Path) -> list[str]:
    return [f"--leg={folder / side / 's.pcapng'},{folder / side / 'r.pcapng'}" for side in SIDES]


def always(ms: int) -> dict[str, int]:
    return dict.fromkeys(("min", "p50", "p95", "max"), ms * MS)


def test_two_connections_and_the_relay_between_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each path takes 10 ms, and the relay holds data for 3 ms."""
    relayed(tmp_path, 3)
    assert cli.run(["legs", *given(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["delay_ns"] for one in found["legs"]] == [always(10), always(10)]
    assert [(one["from"], one["to"]) for one in found["legs"]] == [("s.pcapng", "r.pcapng")] * 2
    (relay,) = found["gateways"]
    assert relay == {"dwell_ns": always(3), "held_bytes_max": 0, "never_left_bytes": 0}
    assert found["elapsed_ns"] == 223 * MS and found["delay_ns"] == always(23)
    assert sum(found["limits_ns"].values()) == 213 * MS
    assert cli.run(["legs", *given(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "r.pcapng to s.pcapng, the gateway: 3 ms each" in said and "the whole way: 23 ms each" in said
    assert "is cut" not in said
    assert all(one["verdict"].startswith("The transfer went at") for one in found["legs"])
    assert said.count("  The transfer went at") == 2


def test_a_cut_capture_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relayed(tmp_path, 3)
    cut = tmp_path / "near" / "r.pcapng"
    cut.write_bytes(cut.read_bytes()[:-7])
    assert cli.run(["legs", *given(tmp_path)[:1]]) == 0
    assert "the capture at r.pcapng is cut; all before the cut was read" in capsys.readouterr().out


def test_a_gateway_that_no_segment_passed_has_no_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relayed(tmp_path, 3)
    module = sys.modules["pktlogger.through"]  # `pktlogger.through` itself is a function
    monkeypatch.setattr(module, "_passes", lambda *known: _passes(*known).slice(0, 0))
    found = legs.of_captures([(tmp_path / side / "s.pcapng", tmp_path / side / "r.pcapng", None) for side in SIDES])
    assert found["gateways"][0]["dwell_ns"] is None
    assert "r.pcapng to s.pcapng, the gateway: no packet arrived" in list(_lines(found))


def test_a_run_is_asked_by_name_and_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tunnel of which every hundredth packet is dropped, and a path whose record says where each was."""
    found: list[dict[str, Any]] = []
    for run in (synthetic_gateway.gateway(tmp_path), synthetic_gateway.boxed(tmp_path)):
        assert cli.run(["legs", str(run), "0", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    drops = synthetic_gateway.SEGMENTS // synthetic_gateway.DROP_EVERY
    tunnel = found[0]["tunnel"]
    assert (tunnel["packets"], tunnel["lost"]) == (synthetic_gateway.SEGMENTS, {"loss": drops})
    assert tunnel["dwell_ns"] == always(101) and found[0]["gateways"][0]["dwell_ns"] == always(101)
    assert [(one["from"], one["to"]) for one in found[0]["legs"]] == [("snd", "gw1-in"), ("gw2-out", "rcv")]
    assert found[1]["legs"][0]["box"]["before_ns"]["p50"] == 100_000 and found[1]["gateways"] == []
    assert cli.run(["legs", str(run)]) == 0
    assert "snd to rcv: " in capsys.readouterr().out


def test_one_connection_of_two_is_not_the_whole_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With SOCKS5 the two connections have different offsets in their streams. The limits of the client's connection
    were once printed as those of the whole transfer."""
    run = synthetic_gateway.gateway(tmp_path)
    trial = run / "trials" / "0000"
    params = json.loads((trial / "params.json").read_text()) | {"gateway_proxy": "socks5"}
    (trial / "params.json").write_text(json.dumps(params))
    assert cli.run(["legs", str(run)]) == 0
    assert "and not of the whole way" not in capsys.readouterr().out
    shutil.rmtree(trial / "server")
    assert cli.run(["legs", str(run)]) == 0
    why = "with gateway.proxy socks5 the server's connection has other places in its stream"
    assert f"of this connection alone, and not of the whole way: {why}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "impossible"),
    [
        (
            {"rate": "45Mbit", "queue": "110KB"},
            {"aqm", "random_before", "random_behind", "outage", "receiver", "policer"},
        ),
        ({"rate": "45Mbit", "loss": "0.1%"}, {"aqm", "random_behind", "receiver", "policer"}),
        ({"loss_after": "0.1%"}, {"tail_drop", "aqm", "random_before", "receiver", "policer"}),
        ({"rate": "45Mbit", "ab_aqm": "codel"}, {"random_before", "random_behind", "outage", "receiver", "policer"}),
        ({"rate": "45Mbit", "change": "2s loss=1%"}, {"aqm", "random_behind", "receiver", "policer"}),
        (
            {"ab_aqm": "policer:rate=5Mbit"},
            {"tail_drop", "aqm", "random_before", "random_behind", "outage", "receiver"},
        ),
    ],
)
def test_a_paths_parameters_rule_out_causes(path: dict[str, str], impossible: set[str]) -> None:
    assert set(analysis.ruled_out(PathTable.model_validate(path))) == impossible


def test_what_is_ruled_out_is_said(tmp_path: Path) -> None:
    relayed(tmp_path, 3)
    found = legs.of_captures([(tmp_path / "near" / "s.pcapng", tmp_path / "near" / "r.pcapng", None)])
    assert not any("rule out" in line for line in _lines(found)), "captures alone rule out nothing"
    found["legs"][0] |= {
        "losses": [{"cause": "tail_drop", "place": None, "packets": 3}],
        "ruled_out": ["aqm", "random_before"],
    }
    ruled_out = "active queue management; chance, before the bottleneck"
    assert f"    the path's parameters rule out: {ruled_out}" in list(_lines(found))


def test_a_loss_has_its_place_where_the_box_kept_a_record() -> None:
    """Of four parts one never came to the box, one was lost in it, and one behind it."""
    path = leg([(1 + 10 * part, 10, part, 9 if part == 3 else -1) for part in range(4)], [(0, 3, "path_rate")])
    segments = path.segments
    of_box = {"box_fate": [255, 1, 0, 0], "t_box_in_ns": [-1, 2, 3, 4], "t_box_out_ns": [-1, -1, 5, 7]}
    for name, values in of_box.items():
        segments = segments.append_column(name, pa.array(values, pa.int64()))
    lost = segments.slice(0, 3).select(["flow", "seq", "len", "t_sent_ns"]).append_column("cause", pa.array([0, 1, 1]))
    flow = path.summary["flows"][0] | {"retransmitted": 0, "lost": 3, "bytes": 40}
    told = path.summary | {
        "flows": [flow],
        "main_flow": 0,
        "loss_causes": ["random", "random_before"],
        "box": {"fates": ["sent", "loss"]},
    }
    (one,) = pktlogger.legs([path._replace(segments=segments, losses=lost, summary=told)])["legs"]
    assert sorted((loss["place"], loss["cause"], loss["packets"]) for loss in one["losses"]) == [
        ("before the box", "random", 1),
        ("behind the box", "random_before", 1),
        ("in the box", "random_before", 1),
    ]
    assert one["box"] == {
        name: dict.fromkeys(always(0), ns) for name, ns in (("before_ns", 1), ("dwell_ns", 3), ("behind_ns", 2))
    }


@pytest.mark.parametrize("shift_ms", [0, -50, 50])
def test_no_delay_is_negative(shift_ms: int) -> None:
    """The box dates one of ten arrivals back to before the packet was sent, or its record is by another clock."""
    sent_ns = np.arange(10) * MS + 100 * MS
    parts = [(1 + 10 * part, 10, int(t_ns), int(t_ns) + 9 * MS) for part, t_ns in enumerate(sent_ns)]
    path = leg(parts, [(0, 100, "path_rate")])
    came_ns = sent_ns + np.where(np.arange(10) == 0, -115, MS) + shift_ms * MS
    of_box = {"box_fate": [0] * 10, "t_box_in_ns": came_ns, "t_box_out_ns": sent_ns + (5 + shift_ms) * MS}
    segments = path.segments
    for name, values in of_box.items():
        segments = segments.append_column(name, pa.array(values, pa.int64()))
    flow = path.summary["flows"][0] | {"retransmitted": 0, "lost": 0, "bytes": 100}
    told = path.summary | {"flows": [flow], "main_flow": 0, "box": {"fates": ["sent", "loss"]}}
    box = pktlogger.legs([path._replace(segments=segments, summary=told)])["legs"][0]["box"]
    if shift_ms:
        assert (box["before_ns"], box["behind_ns"]) == (None, None) and box["dwell_ns"]["p50"] == 4 * MS
    else:
        assert box["before_ns"] == {"min": 0, "p50": MS, "p95": MS, "max": MS}
        assert box["dwell_ns"]["max"] == 5 * MS and box["behind_ns"] == always(4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "want RUN [TRIAL], or --leg"),
        (["--leg", "one.pcapng"], "want SENDER,RECEIVER or SENDER,RECEIVER,BOX"),
        (["--leg", "none,there"], "'none': cannot read it"),
    ],
)
def test_what_cannot_be_joined_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["legs", *arguments]) in (1, 2)
    errors = capsys.readouterr().err
    assert said in errors and errors.count("\n") == 1
