"""A third gateway with the same key, as the operator sees it: in `show`, in the log and in the metrics. The times
are exact in tests/c/lft_ref/stranger.c; here the programs get enough time."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.ports import free_port
from support.waiting import wait_until

from lft_ref import Gateway, Settings, write_key
from netcommon.binaries import find

FAR, NEAR, STRANGER = "far", "near", "stranger"
RIVAL, OCCUPIED = "another gateway with the same key, at ", "and refuses this one"


class Three:
    """Up to three gateways on one host with one key: far listens, near and stranger initiate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = folder, dict[str, Gateway]()
        self.address = {name: f"127.0.0.1:{free_port()}" for name in (FAR, NEAR, STRANGER)}

    def settings(self, name: str) -> Settings:
        return Settings(
            psk=write_key(self.folder / "psk"),
            listen=self.address[name],
            control=self.folder / f"{name}.control",
            peer=None if name == FAR else self.address[FAR],
        )

    @contextmanager
    def started(self, name: str) -> Iterator[Gateway]:
        with Gateway(self.settings(name), name=name, stderr_path=self.folder / f"{name}.log") as gateway:
            gateway.wait_ready()
            self.running[name] = gateway
            yield gateway

    def contention(self, name: str) -> str:
        return self.running[name].show()["tunnel"]["contention"] or ""

    def logged(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")


def test_a_stranger_is_named_and_the_pair_works_on(tmp_path: Path) -> None:
    three = Three(tmp_path)
    with three.started(FAR) as far, three.started(NEAR) as near:
        wait_until(lambda: near.accelerating() and far.accelerating(), "the tunnel")
        before = far.show()["tunnel"]["associations"]
        assert three.contention(FAR) == three.contention(NEAR) == ""
        with three.started(STRANGER) as stranger:
            wait_until(lambda: RIVAL + three.address[STRANGER] in three.contention(FAR), "its address at the far end")
            wait_until(lambda: OCCUPIED in three.contention(STRANGER), "the reason at the stranger")
            state = stranger.show()
            assert state["tunnel"]["status"] == "connecting" and state["bypassed"], state["tunnel"]
            assert f"the gateway at {three.address[FAR]} " in three.contention(STRANGER)
            wait_until(lambda: RIVAL + three.address[STRANGER] in three.logged(FAR), "the line in the log")
            wait_until(lambda: OCCUPIED in three.logged(STRANGER), "the line in the stranger's log")
            metrics = subprocess.run(
                [find("lft-gateway"), "metrics", "--control", three.folder / "far.control"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            counted = next(line for line in metrics.splitlines() if line.startswith("lft_tunnel_handshake_rivals_to"))
            assert int(counted.split()[1]) >= 1
        wait_until(lambda: near.accelerating() and far.accelerating(), "the tunnel beside and after the stranger")
        if not far.show()["tunnel"]["outages"]:  # a busy machine may have silenced the peer for a second
            assert far.show()["tunnel"]["associations"] == before
        wait_until(lambda: three.contention(FAR) == "", "the end of what the far end says")


def test_whoever_finds_the_tunnel_taken_bypasses_and_gets_it_back(tmp_path: Path) -> None:
    three = Three(tmp_path)
    with three.started(FAR), ExitStack() as first:
        stranger = first.enter_context(three.started(STRANGER))
        wait_until(stranger.accelerating, "the stranger's tunnel")
        with three.started(NEAR) as near:
            wait_until(lambda: OCCUPIED in three.contention(NEAR), "the reason")
            assert near.show()["bypassed"] and near.show()["tunnel"]["status"] == "connecting"
            first.close()
            wait_until(near.accelerating, "the tunnel")
