"""The gateway's handshake against an implementation that is not ours (lft_noise_peer): both roles, the vectors of
FORMAT.md, cookies, old timestamps, and a gateway that runs."""

from __future__ import annotations

import re
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.lft_noise_peer import DATA, PROBE, PROBE_REPLY, Hello, Peer, stretched
from support.lft_vectors import vector
from support.ports import free_port

from lft_ref import Gateway, Settings
from lft_ref.gateway import write_key
from netcommon.binaries import find

NAMES = ("oslo", "tokyo")
PSK = bytes(range(32))


class Program:
    """``lft-handshake``: one end of the C code, driven by lines of text."""

    def __init__(self, *, initiator: bool, psk: bytes = PSK, names: tuple[str, str] = NAMES) -> None:
        path = find("lft-gateway").resolve().parent / "test" / "lft-handshake"
        assert path.exists(), f"{path}: not there; want a build with -DLFP_TESTS=ON"
        own, peer = names if initiator else names[::-1]
        argv = [path, "initiator" if initiator else "responder", psk.hex(), own, peer]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        assert self._process.wait(30) == 0
        self._process.stdout.close()

    def said(self, what: str) -> bytes:
        """The octets of the next line, which must be of this kind."""
        assert self._process.stdout
        kind, _, octets = self._process.stdout.readline().strip().partition(" ")
        assert kind == what, f"{kind}, want {what}"
        return bytes.fromhex(octets)

    def tell(self, datagram: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(datagram.hex() + "\n")
        self._process.stdin.flush()


@contextmanager
def program(*, initiator: bool, names: tuple[str, str] = NAMES) -> Iterator[Program]:
    made = Program(initiator=initiator, names=names)
    try:
        yield made
    finally:
        made.close()


def frames_pass(peer: Peer, end: Program, greeting: bytes) -> None:
    """Sends a frame each way under the new keys."""
    assert peer.open(end.said("frame")) == (DATA, greeting)
    end.tell(peer.seal(DATA, 3, 1, b"from noiseprotocol"))
    assert end.said("payload") == b"from noiseprotocol"


def test_noiseprotocol_as_initiator() -> None:
    peer = Peer(initiator=True, psk=PSK, names=NAMES)
    with program(initiator=False) as responder:
        responder.tell(peer.init(timestamp=1))
        said = peer.take_response(responder.said("message"))
        assert (said.payload_max, said.recovery, said.rekey_ms) == (1438, 2, 3_600_000)
        frames_pass(peer, responder, b"from the responder")


def test_noiseprotocol_as_responder() -> None:
    peer = Peer(initiator=False, psk=PSK, names=NAMES)
    with program(initiator=True) as initiator:
        response, said = peer.respond(initiator.said("message"))
        assert (said.payload_max, said.recovery) == (1438, 2)
        initiator.tell(response)
        frames_pass(peer, initiator, b"from the initiator")


def test_a_cookie_is_shown_and_its_timestamp_is_passed() -> None:
    peer = Peer(initiator=False, psk=PSK, names=NAMES)
    ahead, cookie = 2**62, secrets.token_bytes(16)
    with program(initiator=True) as initiator:
        first = initiator.said("message")
        initiator.tell(peer.give_cookie(first, cookie, ahead))
        assert initiator.said("nothing") == b""
        second = initiator.said("message")
        peer.cookie = cookie
        response, _ = peer.respond(second)
        assert peer.timestamp == ahead + 1
        assert second[12:44] != first[12:44], "an ephemeral key was used twice"
        initiator.tell(response)
        frames_pass(peer, initiator, b"from the initiator")


def test_an_old_timestamp_gets_a_cookie_that_lets_the_initiator_in() -> None:
    with program(initiator=False) as responder:
        early = Peer(initiator=True, psk=PSK, names=NAMES)
        responder.tell(early.init(timestamp=5000))
        early.take_response(responder.said("message"))
        responder.said("frame")
        late = Peer(initiator=True, psk=PSK, names=NAMES)
        responder.tell(late.init(timestamp=5000))
        late.take_cookie(responder.said("message"))
        assert late.largest == 5000
        responder.tell(late.init(timestamp=late.largest + 1))
        late.take_response(responder.said("message"))
        frames_pass(late, responder, b"from the responder")


@pytest.mark.parametrize("names", [("oslo", "rome"), ("rome", "tokyo"), ("tokyo", "oslo"), ("", "")])
def test_other_names_get_no_answer(names: tuple[str, str]) -> None:
    with program(initiator=False) as responder:
        responder.tell(Peer(initiator=True, psk=PSK, names=names).init(timestamp=1))
        responder.said("nothing")


@pytest.mark.filterwarnings("ignore:One of ephemeral keypairs")  # it is fixed on purpose
def test_the_vectors_of_the_specification() -> None:
    initiator = Peer(initiator=True, psk=PSK, names=NAMES, ephemeral=b"\x11" * 32)
    responder = Peer(initiator=False, psk=PSK, names=NAMES, ephemeral=b"\x22" * 32)
    initiator.hello = Hello(bytes.fromhex("a1a2a3a4a5a6a7a8"), 0x01020304)
    responder.hello = Hello(bytes.fromhex("b1b2b3b4b5b6b7b8"), 0x05060708)
    assert initiator.init(0x18FAE27693B40000) == vector("INIT")
    response, _ = responder.respond(initiator.message)
    assert response == vector("RESPONSE")
    initiator.take_cookie(vector("COOKIE"))
    assert (initiator.cookie, initiator.largest) == (b"\x44" * 16, 0x18FAE27693B40000)
    initiator.take_response(response)
    assert initiator.keys == responder.keys[::-1] == [vector("key 0"), vector("key 1")]
    again = Peer(initiator=True, psk=PSK, names=NAMES, ephemeral=b"\x11" * 32)
    again.hello, again.cookie = initiator.hello, initiator.cookie
    assert again.init(0x18FAE27693B40000) == vector("INIT with mac2")
    initiator.peer.spi = 0x01020304
    assert initiator.seal(DATA, 0xABCDEF, 7, b"hello") == vector("aes-128-gcm")
    assert stretched(b"correct horse battery staple", NAMES) == vector("psk of a text")


def test_a_gateway_that_runs(tmp_path: Path) -> None:
    """Over UDP: the handshake, and a probe, which a gateway answers only to its peer. The log names version 1."""
    key, port = write_key(tmp_path / "psk"), free_port()
    options = ("--gateway-name", "tokyo", "--peer-name", "oslo")
    settings = Settings(psk=key, listen=f"127.0.0.1:{port}", control=tmp_path / "control", options=options)
    peer = Peer(initiator=True, psk=bytes.fromhex(key.read_text()), names=NAMES)
    log = tmp_path / "log"
    with Gateway(settings, stderr_path=log) as gateway, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        gateway.wait_ready()
        udp.settimeout(30)
        udp.connect(("127.0.0.1", port))
        udp.send(b"\0\0\0\0LFT\1" + bytes(88))
        udp.send(peer.init(time.time_ns()))
        peer.take_response(udp.recv(2048))
        udp.send(peer.seal(PROBE, 77, 1, bytes(500)))
        opened = (peer.open(udp.recv(2048)) for _ in range(100))
        reply = next(found[1] for found in opened if found and found[0] == PROBE_REPLY)
        tunnel = gateway.show()["tunnel"]
        deadline = time.monotonic() + 30
        while "another version of the protocol" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
    assert "this gateway speaks version 2 only" in log.read_text()
    assert int.from_bytes(reply[:2], "big") == 500
    assert tunnel["associations"] == 1
    assert tunnel["handshake"]["wrong_version"] == 1
    assert tunnel["peer"] == "127.0.0.1:" + str(tunnel["peer"].rpartition(":")[2])


def test_genkey_makes_keys() -> None:
    made = {
        subprocess.run([find("lft-gateway"), "genkey"], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(made) == 3
    assert all(re.fullmatch(r"[0-9a-f]{64}\n", key) for key in made)
