"""The facts about sending programs that a trial passes to `pktlogger analyse`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scenarios.plan.model import Scenario
from scenarios.plan.plan import load_plan
from scenarios.trial import senders


def setting(folder: Path, transfer: str) -> Scenario:
    file = folder / "one.toml"
    file.write_text(f'[scenario]\nname = "one"\n[path]\ndelay = "1ms"\n{transfer}')
    return load_plan(str(file), seed=1).trials[0].setting


@pytest.mark.parametrize(
    ("transfer", "always"),
    [
        ('[transfer]\nduration = "1s"', True),
        ('[transfer]\nduration = "1s"\ntool = "iperf3"', True),
        ('[transfer]\nbytes = "1MB"', True),
        ('[transfer]\nduration = "1s"\npace = "1Mbit"', False),
        ('[transfer]\nduration = "1s"\nrequest = "100B"\nresponse = "1KB"', False),
        ('[transfer]\nduration = "1s"\n[flow.slow]\npace = "1Mbit"', False),
        ('[transfer]\nduration = "1s"\n[cpu]\nof = "hosts"\ncall = "1us"', True),
        ('[transfer]\nduration = "1s"\ntool = "iperf3"\n[cpu]\nof = "hosts"\ncall = "1us"', False),
    ],
)
def test_bulk_transfers_always_have_data(tmp_path: Path, transfer: str, always: bool) -> None:
    with senders.analysis_options(setting(tmp_path, transfer), tmp_path) as options:
        assert options == (["--always-data"] if always else [])


def test_the_opening_of_a_window_is_the_longest_stream_of_any_flow(tmp_path: Path) -> None:
    """Streams of one transfer share the sum that rttcp reports, so the longest opening per stream of any flow
    counts."""
    ends = {
        "sender": {"opening_bytes": 180_000, "streams": [{}, {}]},
        "flows": {"late": {"sender": {"opening_bytes": 70_000, "streams": [{}]}}},
    }
    (tmp_path / "transfer.json").write_text(json.dumps(ends))
    both = setting(tmp_path, '[transfer]\nduration = "1s"\nwindow = "64KB"\n[flow.late]\nstart = "1s"')
    with senders.analysis_options(both, tmp_path) as options:
        assert options == ["--always-data", "--opening", "90000B"]
    paced = setting(tmp_path, '[transfer]\nduration = "1s"\nwindow = "64KB"\npace = "1Mbit"')
    with senders.analysis_options(paced, tmp_path) as options:
        assert options == []


def test_samples_of_each_stream_get_its_ports_and_the_captures_clock(tmp_path: Path) -> None:
    """Clocks that differ by 900 ns, two streams, and a third one that the results do not know. `last_byte_ns`, when a
    stream's program had given all its data, counts from the sender's beginning."""
    sender: dict[str, Any] = {
        "t0_monotonic_ns": 100, "t0_realtime_ns": 1000,
        "streams": [{"stream": 0, "local": "10.0.0.1:40000", "remote": "10.0.0.2:5010", "congestion": "dctcp-reno",
                     "last_byte_ns": 700},
                    {"stream": 1, "local": "[fd00::1]:40001", "remote": "[fd00::2]:5010"}],
    }  # fmt: skip
    (tmp_path / "transfer.json").write_text(json.dumps({"sender": sender, "receiver": {"window_granted_bytes": 65536}}))
    table = pa.table({"t_ns": [110, 120, 130], "stream": [0, 1, 2], "notsent_bytes": [0, 1448, 7]})
    parquet.write_table(table, tmp_path / "tcp_info.parquet")
    with senders.analysis_options(setting(tmp_path, '[transfer]\nduration = "1s"'), tmp_path) as options:
        assert options[:2] == ["--always-data", "--samples"]
        text = Path(options[2]).read_text()
    head, *rows = text.splitlines()
    more = "written_ns,congestion,notsent_bytes,always_data,transfer,window_fixed_bytes"
    assert head == f"t_ns,local_port,remote_port,{more}"
    assert rows == ["1010,40000,5010,1700,dctcp-reno,0,1,1,65536", "1020,40001,5010,0,,1448,1,1,65536"]
    assert not Path(options[2]).exists()


def test_what_newer_kernels_and_tools_sample_is_passed_on_of_both_ends(tmp_path: Path) -> None:
    """The samples of each end have the ports of that end's socket, and its clock."""
    clocks = {"t0_monotonic_ns": 0, "t0_realtime_ns": 0}
    ends = ("10.0.0.1:40000", "10.0.0.2:5010")
    transfer: dict[str, Any] = {
        "summary": {"exchange": {"exchanges": 3}},
        "sender": clocks | {"streams": [{"stream": 0, "local": ends[0], "remote": ends[1]}]},
        "receiver": {
            "t0_monotonic_ns": 0,
            "t0_realtime_ns": 5,
            "streams": [{"stream": 0, "local": ends[1], "remote": ends[0]}],
        },
    }
    (tmp_path / "transfer.json").write_text(json.dumps(transfer))
    more = {"queued_bytes": [7000], "sndbuf_bytes": [9000], "total_rto": [1], "max_pacing_rate_bytes_per_s": [1250],
            "pacing_rate_bytes_per_s": [1300], "snd_ssthresh": [2**31 - 1], "snd_cwnd": [10], "ca_state": [2],
            "rwnd_limited_us": [3000], "sndbuf_limited_us": [4000], "waiting_bytes": [500], "unacked": [4],
            "snd_wnd": [65535], "bytes_sent": [9000], "bytes_retrans": [100]}  # fmt: skip
    table = pa.table({"t_ns": [110], "stream": [0], "notsent_bytes": [3], **more})
    parquet.write_table(table, tmp_path / "tcp_info.parquet")
    (tmp_path / "reverse").mkdir()
    back = pa.table({"t_ns": [120], "stream": [0], "notsent_bytes": [1448], **{name: [2] for name in more}})
    parquet.write_table(back, tmp_path / "reverse" / "tcp_info.parquet")
    exchange = '[transfer]\nrequest = "100B"\nresponse = "1KB"\nduration = "1s"'
    with senders.analysis_options(setting(tmp_path, exchange), tmp_path) as options:
        text = Path(options[1]).read_text()
    assert text.splitlines() == [
        "t_ns,local_port,remote_port,written_ns,congestion,notsent_bytes,queued_bytes,sndbuf_bytes,total_rto,"
        "max_pacing_rate_bytes_per_s,pacing_rate_bytes_per_s,snd_ssthresh,snd_cwnd,ca_state,rwnd_limited_us,"
        "sndbuf_limited_us,waiting_bytes,unacked,snd_wnd,bytes_sent,bytes_retrans,always_data,transfer,window_fixed_bytes",
        "110,40000,5010,0,,3,7000,9000,1,1250,1300,2147483647,10,2,3000,4000,500,4,65535,9000,100,0,1,0",
        "125,5010,40000,0,,1448,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,0,1,0",
    ]


def test_a_flow_that_is_paced_leaves_another_its_data(tmp_path: Path) -> None:
    """Each flow has its own value of whether its program always has data."""
    ports = iter(range(40000, 40002))
    ends = [
        {
            "sender": {
                "t0_monotonic_ns": 0,
                "t0_realtime_ns": 0,
                "streams": [{"stream": 0, "local": f"10.0.0.1:{port}", "remote": "10.0.0.2:5010"}],
            }
        }
        for port in ports
    ]
    (tmp_path / "transfer.json").write_text(json.dumps(ends[0] | {"flows": {"slow": ends[1]}}))
    (tmp_path / "flows" / "slow").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "flows" / "slow"):
        table = pa.table({"t_ns": [10], "stream": [0], "notsent_bytes": [0]})
        parquet.write_table(table, folder / "tcp_info.parquet")
    both = setting(tmp_path, '[transfer]\nduration = "1s"\n[flow.slow]\npace = "1Mbit"')
    with senders.analysis_options(both, tmp_path) as options:
        assert options[0] == "--samples"
        _, *rows = Path(options[1]).read_text().splitlines()
    assert rows == ["10,40000,5010,0,,0,1,1,0", "10,40001,5010,0,,0,0,2,0"]
