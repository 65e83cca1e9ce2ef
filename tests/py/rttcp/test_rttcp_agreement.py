"""rttcp's behaviour, --help, manual page, PROTOCOL.md and schema have the same options, parameters and keys."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.rttcp_tool import BINARY, DEADLINE_S, REPOSITORY, Receiver, send

pytestmark = pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built (make, or set LFP_RTTCP)")

EXCHANGES = {"bytes": 5 * 64, "request_bytes": 64, "response_bytes": 32, "nodelay": True}
# Options of a session: the words of the command line, and the parameters that both ends then agree on.
SESSION: dict[str, tuple[list[str], dict[str, Any]]] = {
    "bytes": (["3KB"], {"bytes": 3072}),
    "buffers": (["2"], {"bytes": 2 * 131072}),
    "duration": (["50ms"], {"bytes": 0, "duration_ns": 50_000_000}),
    "request": (["64", "--response", "32", "--exchanges", "5"], EXCHANGES),
    "response": (["32", "--request", "64", "--exchanges", "5"], EXCHANGES),
    "exchanges": (["5", "--request", "64", "--response", "32"], EXCHANGES),
    "omit": (["10ms"], {"omit_ns": 10_000_000}),
    "parallel": (["2"], {"streams": [{"direction": "send"}] * 2}),
    "reverse": ([], {"streams": [{"direction": "receive"}]}),
    "bidir": ([], {"streams": [{"direction": "send"}, {"direction": "receive"}]}),
    "verify": ([], {"verify": True}),
    "seed": (["7"], {"seed": 7}),
    "zerocopy": ([], {"zerocopy": True}),
    "skip-rx-copy": ([], {"skip_rx_copy": True}),
    "pace": (["800Mbit"], {"pacing_bps": 800_000_000}),
    "pace-packets": (["100000"], {"pacing_pps": 100_000}),
    "pace-burst": (["1MB", "--pace", "800Mbit"], {"pacing_bps": 800_000_000, "pace_burst_bytes": 2**20}),
    "dscp": (["46"], {"dscp": 46}),
    "mptcp": ([], {"mptcp": True}),
    "peer-cpu": (["0"], {"peer_cpu": "0"}),
    "align": (["64KB"], {"align_bytes": 65536}),
    "offset": (["3"], {"offset_bytes": 3}),
    "length": (["8KB"], {"length_bytes": 8192}),
    "window": (["64KB"], {"window_bytes": 65536, "nodelay": True}),
    "mss": (["1000"], {"mss_bytes": 1000}),
    "congestion": (["reno"], {"congestion": "reno"}),
    "nodelay": ([], {"nodelay": True}),
    "nagle": ([], {}),
    "interval": (["20ms"], {"interval_ns": 20_000_000}),
    "timeout": (["5s"], {"timeout_ns": 5 * 10**9}),
}
# Options that concern one end alone.
OWN = {"receive", "transmit", "port", "bind", "ipv4", "ipv6", "key", "cpu", "once", "sessions", "memory", "data-port",
       "max-idle", "max-duration", "repeat", "samples", "sample", "format", "json", "human", "classic",
       "parent-death", "user", "no-sandbox", "proxy", "latencies"}  # fmt: skip


def _table() -> list[dict[str, Any]]:
    done = subprocess.run([BINARY, "--options-json"], capture_output=True, timeout=DEADLINE_S, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["options"]
    return rows


def _schema(name: str) -> set[str]:
    schema = json.loads((REPOSITORY / "rttcp" / "schema" / "end.schema.json").read_text())
    keys: dict[str, Any] = schema["$defs"][name]["properties"]
    return set(keys)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


def test_every_option_is_known_here() -> None:
    assert {row["name"] for row in _table()} == SESSION.keys() | OWN


def _end(receiver: Receiver, *options: str) -> dict[str, Any]:
    size = () if {"--bytes", "--buffers", "--duration", "--exchanges"} & set(options) else ("--bytes", "100KB")
    seed = () if "--seed" in options else ("--seed", "1")
    status, events, errors = send(receiver.port, "127.0.0.1", *size, *seed, *options)
    assert status == 0, errors
    theirs = receiver.event()
    assert theirs["params"] == events[-1]["params"], "both ends say the same"
    return events[-1]


@pytest.mark.parametrize("name", SESSION)
def test_an_option_changes_its_own_parameters_and_no_others(receiver: Receiver, name: str) -> None:
    if name == "mptcp" and not Path("/proc/sys/net/mptcp/enabled").exists():
        pytest.skip("the kernel has no MPTCP")
    values, expected = SESSION[name]
    before = _end(receiver)["params"]
    after = _end(receiver, f"--{name}", *values)["params"]
    assert after == before | expected


def test_protocol_page_schema_and_tool_have_the_same_keys(receiver: Receiver) -> None:
    page = (REPOSITORY / "rttcp" / "PROTOCOL.md").read_text(encoding="utf-8")
    table = page[page.index("| key | bounds | meaning |") :].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    told = {key for row in rows for key in re.findall(r"\w+", row)}
    end = _end(receiver, "--verify", "--parallel", "2")
    assert told == _schema("params") == end["params"].keys()
    for side in ("sender", "receiver"):
        assert end[side].keys() == _schema("side") - {"exchange"}
        assert end[side]["streams"][0].keys() == _schema("stream")
    assert end["summary"].keys() == _schema("summary") - {"exchange"}
    exchanges = _end(receiver, "--request", "10", "--response", "20", "--exchanges", "3")
    for side in ("sender", "receiver"):
        assert exchanges[side]["exchange"].keys() == _schema("exchange")
    assert exchanges["summary"]["exchange"].keys() == _schema("exchange_summary")
    keys = {key for name in ("side", "stream", "summary", "exchange", "exchange_summary") for key in _schema(name)}
    assert not {key for key in keys if key not in page}, "PROTOCOL.md tells of every key"


def test_the_protocol_pages_version_is_the_tools(receiver: Receiver) -> None:
    page = (REPOSITORY / "rttcp" / "PROTOCOL.md").read_text(encoding="utf-8")
    header = (REPOSITORY / "rttcp" / "src" / "wire" / "message.h").read_text(encoding="utf-8")
    version = re.search(r"RTTCP_PROTOCOL_VERSION (\d+)", header)
    assert version and page.startswith(f"# The rttcp protocol, version {version[1]}\n")
    assert f'"magic":"rttcp","version":{version[1]},' in page and f"\n| {version[1]} | " in page
