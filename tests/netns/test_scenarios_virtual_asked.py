"""TCP ran with the requested settings, in virtual time: DCTCP at both ends with either tool, a fallback that is found,
and no difference reported where there is none, whatever the topology."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.drawn import TIMEOUT_S, complaints, drawn

from bench.invariants import draws
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

DCTCP = """
[scenario]
name = "dctcp"
[path]
delay = "20ms"
rate = "100Mbit"
queue = "2 BDP"
ab_aqm = "codel:ecn=on,target=1ms,interval=20ms"
[transfer]
duration = "2s"
congestion = "dctcp"
tool = "iperf3"
[sweep]
"transfer.tool" = ["iperf3", "rttcp"]
"profile.sysctl" = ["net.ipv4.tcp_ecn=1", "none"]
[capture]
points = ["box"]
"""

# One setting of each kind that the comparison looks at, and each topology in which it may go wrong.
KINDS = """
[scenario]
name = "kinds"
[path]
delay = "5ms"
rate = "50Mbit"
queue = "200KB"
[transfer]
duration = "1s"
[case.parallel]
transfer = { parallel = 3, bidir = true, pace = "20Mbit" }
[case.bursts]
transfer = { pace = "20Mbit", pace_burst = "64KB", family = "ipv6" }
[case.exchanges]
transfer = { request = "1KB", response = "10KB" }
[case.old]
profile = { name = "bsd-1995", sysctl = "net.ipv4.tcp_window_scaling=0" }
[case.jumbo]
path = { mtu = 9000 }
transfer = { second = "bbr", family = "ipv6", window = "64KB" }
[case.flows]
profile = { sysctl = "net.ipv4.tcp_ecn=3" }
[case.flows.flow.other]
pair = 2
congestion = "reno"
[case.router]
gateway = { kind = "lft" }
transfer = { plain = true, short = "10KB" }
profile = { sysctl = "net.ipv4.tcp_sack=0" }
[case.proxy]
gateway = { kind = "lft", model = "proxy" }
transfer = { congestion = "bbr" }
[case.host]
gateway = { kind = "lft", model = "host" }
[case.iperf3]
transfer = { tool = "iperf3", family = "ipv6", congestion = "bbr" }
[sweep]
"scenario.case" = [
    "parallel", "bursts", "exchanges", "old", "jumbo", "flows", "router", "proxy", "host", "iperf3",
]
"""


def run(folder: Path, text: str) -> list[tuple[dict[str, Any], dict[str, Any], Path]]:
    """Parameters, status and folder of each trial."""
    file = folder / "scenario.toml"
    file.write_text(text)
    argv = [sys.executable, "-m", "lfp", "run", str(file), "--time", "virtual", "--seed", "1",
            "--runs-dir", str(folder / "runs")]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=500)
    (run_dir,) = (folder / "runs").iterdir()
    trials = sorted((run_dir / "trials").iterdir())
    assert trials, done.stderr

    def read(trial: Path, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((trial / name).read_text())
        return found

    return [(read(trial, "params.json"), read(trial, "status.json"), trial) for trial in trials]


def marks(trial: Path) -> int:
    found: int = json.loads((trial / "delay.json").read_text())["statistics"]["ab"]["marked"]
    return found


def test_dctcp_runs_at_both_ends_or_the_trial_is_not_valid(tmp_path: Path) -> None:
    """iperf3 sets the control when the connection is there, so ECN has to come from the profile."""
    trials = run(tmp_path, DCTCP)
    assert len(trials) == 4
    for asked, status, folder in trials:
        transfer = json.loads((folder / "transfer.json").read_text())
        ran = {transfer[end]["congestion"] for end in ("sender", "receiver")}
        if asked["tool"] == "iperf3" and asked["sysctl"] == "none":
            (cause,) = status["verdict"]["causes"]
            assert ran == {"dctcp-reno"} and cause == {"kind": "asked", "short": "dctcp-reno, not dctcp"}
            assert marks(folder) == 0
            continue
        assert status["verdict"]["valid"], status["verdict"]
        assert ran == {"dctcp"} and marks(folder) > 0
        told = {(row["end"], row["ran"]) for row in status["asked"] if row["setting"] == "ECN"}
        assert told == {("sender", "RFC 3168"), ("receiver", "RFC 3168"), ("SYN", "RFC 3168")}


def test_what_was_asked_for_is_known_and_equal_in_every_topology(tmp_path: Path) -> None:
    trials = run(tmp_path, KINDS)
    assert len(trials) == 10
    for asked, status, _ in trials:
        assert status["state"] == "done", (asked["case"], status["error"])
        assert status["verdict"]["valid"], (asked["case"], status["verdict"]["reasons"])
        rows = status["asked"]
        assert rows and all(row["asked"] == row["ran"] for row in rows), (asked["case"], rows)
        both = {"congestion control", "ECN", "MSS", "path MTU", "window scale", "SACK", "time stamps", "pacing"}
        wanted = {"congestion control", "pacing"} if asked["case"] in ("proxy", "host") else both
        assert {row["setting"] for row in rows} == wanted, asked["case"]
    shorts = {row["end"] for asked, status, _ in trials if asked["case"] == "router" for row in status["asked"]}
    assert {"short: sender", "short: receiver", "plain TCP: sender"} <= shorts
    by_case = {asked["case"]: status["asked"] for asked, status, _ in trials}
    assert {row["end"] for row in by_case["flows"]} == {
        "sender",
        "receiver",
        "flow other: sender",
        "flow other: receiver",
    }
    assert [row["ran"] for row in by_case["parallel"] if row["setting"] == "pacing"] == ["6.666664 Mbit/s"] * 2


DSCP = """
[scenario]
name = "dscp"
[path]
delay = "5ms"
rate = "50Mbit"
[transfer]
bytes = "100KB"
dscp = 46
[sweep]
"transfer.family" = ["ipv4", "ipv6"]
[capture]
points = ["rcv"]
"""


def test_every_packet_of_the_data_connection_carries_the_code_point(tmp_path: Path) -> None:
    for asked, status, folder in run(tmp_path, DSCP):
        assert status["verdict"]["valid"] and asked["dscp"] == 46, status["verdict"]
        field = {"ipv4": "ip.dsfield.dscp", "ipv6": "ipv6.tclass.dscp"}[asked["family"]]
        argv = ["tshark", "-r", str(folder / "capture/rcv.pcapng"), "-T", "fields", "-e", field]
        argv += ["tcp && !(tcp.port == 5010)"]  # all but the control connection
        told = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        seen = told.stdout.split()
        assert len(seen) > 1 and set(seen) == {"46"}, (asked["family"], set(seen))


# Settings that the comparison does not check are simple, so that trials are quick and there can be more of them.
PLAIN = ("box", "path.granularity", "path.ab_aqm", "path.ab_loss", "path.ba_loss", "change", "beside")
SPACE = {name: draws.SPACE[name][:1] for name in PLAIN}


@pytest.mark.timeout(TIMEOUT_S)
def test_whatever_is_asked_for_is_what_ran_or_the_trial_says_so(tmp_path: Path) -> None:
    found = drawn(tmp_path, 8, SPACE)
    assert not complaints(found, "trials end", "what was asked is what ran")
    assert all(trial.status["asked"] for trial in found)
