"""File names and values may have any octets, JSON only UTF-8. Other octets are shown as ? and never left out."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.pktlogger_conversation import Conversation
from support.pktlogger_frames import write_pcapng

from netcommon.binaries import find

NO_TEXT = "\udcff"  # the octet 255, as Python writes it in an argument


def asked(tool: str, folder: Path, *values: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    """Runs ``tool set`` against a daemon that accepts everything; returns the request that the daemon got."""
    path, heard = folder / "control", list[bytes]()

    def agree(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            heard.append(client.makefile("rb").readline())
            client.sendall(b'{"v":1,"ok":true,"changed":{"ab":{},"ba":{}}}\n')

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        Thread(target=agree, args=(listener,), daemon=True).start()
        argv: list[str | Path] = [find(tool), "set", "--control", path, *values]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=10, check=False)
    return done, json.loads(heard[0]) if heard and heard[0] else None


@pytest.mark.parametrize("tool", ["comet-delay", "lft-gateway"])
def test_a_value_that_is_no_text_is_for_the_daemon_to_refuse(tool: str, tmp_path: Path) -> None:
    _, request = asked(tool, tmp_path, "rate=8Mbit", f"delay=1{NO_TEXT}s")
    assert request is not None and request["values"] == {"rate": "8Mbit", "delay": "1?s"}


@pytest.mark.parametrize("tool", ["comet-delay", "lft-gateway"])
def test_a_name_that_is_no_text_is_refused(tool: str, tmp_path: Path) -> None:
    done, request = asked(tool, tmp_path, "rate=8Mbit", f"{NO_TEXT}=1s")
    assert done.returncode == 2 and request is None
    assert "no setting has this name" in done.stderr and done.stderr.count("\n") == 1


def test_the_folder_of_an_analysis_is_named(tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1)
    path.ack(40, 1001)
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    ends = ("--sender", tmp_path / "s.pcapng", "--receiver", tmp_path / "r.pcapng")
    done = subprocess.run(
        [find("pktlogger"), "analyse", *ends, "-o", tmp_path / NO_TEXT], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout)
    assert (end["event"], end["output"], end["flows"]) == ("end", f"{tmp_path}/?", 1)
