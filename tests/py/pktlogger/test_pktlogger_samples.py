"""`pktlogger analyse` distinguishes an idle application from a full send buffer if it gets samples of the socket,
too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pktlogger_conversation import MSS, Conversation, at, join
from support.pktlogger_frames import write_pcapng

HEAD = "t_ns,local_port,remote_port,notsent_bytes"
PORTS = "40000,5010"
SNDBUF = 90_000
SILENCES, LATE_MS = 8, 12


def late_writer() -> tuple[Conversation, float]:
    """A sender on a busy machine, and when it ends (ms). Half of 60 packets in flight is acknowledged, and its program
    runs 12 to 14 ms later, after a different time in each round. So no acknowledgement causes its sending, and the
    amount in flight differs each time."""
    path = Conversation()
    now, sent, acked = 30.0, 1, 1
    for number in range(6):
        path.send(now + number / 10, sent, 10)
        sent += 10 * MSS
    for number in range(SILENCES):
        now += 21
        acked += (30 + number % 3) * MSS
        path.ack(now - 10, acked)
        now += LATE_MS + number % 3
        path.send(now, sent, 15)
        path.send(now + 0.1, sent + 15 * MSS, 15)
        sent += 30 * MSS
    return path, now


def limits(folder: Path, *more: str | Path) -> dict[str, Any]:
    path, _ = late_writer()
    _, flow = path.analyse(folder, *more)
    total = sum(flow["limits_ns"].values())
    return {"samples": flow["samples"]} | {name: ns / total for name, ns in flow["limits_ns"].items()}


def samples(folder: Path, row: str, head: str = HEAD) -> Path:
    """A sample each millisecond, all alike."""
    _, end_ms = late_writer()
    file = folder / "queued.csv"
    lines = [head, *(f"{at(ms)},{PORTS},{row}" for ms in range(int(end_ms)))]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_captures_alone_call_a_late_program_the_application(tmp_path: Path) -> None:
    found = limits(tmp_path)
    assert found["application"] > 0.3
    assert found["samples"] == 0


def test_a_program_that_always_has_data_is_never_the_limit(tmp_path: Path) -> None:
    found = limits(tmp_path, "--always-data")
    assert "application" not in found
    assert found["send_buffer"] > 0.3


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (f"0,{SNDBUF},{SNDBUF}", "send_buffer"),
        (f"0,{SNDBUF * 2 // 3 + 1},{SNDBUF}", "application"),
        (f"0,{SNDBUF // 2},{SNDBUF}", "application"),
    ],
)
def test_a_full_buffer_is_the_send_buffer_and_one_with_room_is_the_application(
    tmp_path: Path, row: str, cause: str
) -> None:
    found = limits(tmp_path, "--samples", samples(tmp_path, row, f"{HEAD},queued_bytes,sndbuf_bytes"))
    assert found[cause] > 0.3
    assert not {"application", "send_buffer"} - {cause} & set(found)
    assert found["samples"] > 100


def test_silence_with_data_unsent_is_not_the_application(tmp_path: Path) -> None:
    assert "application" not in limits(tmp_path, "--samples", samples(tmp_path, str(20 * MSS)))


def test_silence_with_nothing_unsent_is_the_application(tmp_path: Path) -> None:
    assert limits(tmp_path, "--samples", samples(tmp_path, "0"))["application"] > 0.3


def test_samples_of_other_connections_say_nothing_of_this_one(tmp_path: Path) -> None:
    file = samples(tmp_path, "20000")
    file.write_text(file.read_text().replace(PORTS, "40001,5010"))
    found = limits(tmp_path, "--samples", file)
    assert found["application"] > 0.3
    assert found["samples"] == 0


@pytest.mark.parametrize(("text", "says"), [("t_ns,port\n", "line 1: want 't_ns,"), (HEAD + "\n1,2,x,4\n", "line 2")])
def test_a_wrong_file_is_an_error_of_one_line(tmp_path: Path, text: str, says: str) -> None:
    path, _ = late_writer()
    for name, packets in (("s", path.sender), ("r", path.receiver)):
        write_pcapng(tmp_path / f"{name}.pcapng", sorted(packets, key=lambda p: p.t_ns), "<")
    (tmp_path / "queued.csv").write_text(text)
    done = join(tmp_path, "analyse", "--samples", tmp_path / "queued.csv")
    assert done.returncode == 2
    assert says in done.stderr + done.stdout
    assert not (tmp_path / "out").exists()
