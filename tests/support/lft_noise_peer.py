"""An LFT handshake of version 2 that is independent of lft_ref's C code: it follows FORMAT.md and uses the packages
noiseprotocol and cryptography."""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from noise.connection import Keypair, NoiseConnection

PATTERN = b"Noise_NNpsk0_25519_ChaChaPoly_SHA256"
INIT, COOKIE, RESPONSE = 1, 2, 3
AES_128_GCM, DATA, PROBE, PROBE_REPLY = 1, 1, 6, 7
NEXT_HEADER = 253


def hkdf_expand(prk: bytes, info: bytes, size: int) -> bytes:
    """RFC 5869, section 2.3."""
    out, block = b"", b""
    while len(out) < size:
        block = hmac.digest(prk, block + info + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:size]


def mac(key: bytes, octets: bytes) -> bytes:
    return hmac.digest(key, octets, "sha256")[:16]


def header(kind: int, recovery: int = 2, cipher: int = AES_128_GCM, version: int = 2) -> bytes:
    return bytes(4) + b"LFT" + bytes([version, kind, cipher, recovery, 0])


@dataclass
class Hello:
    """What an end says about itself inside the Noise messages."""

    epoch: bytes = field(default_factory=lambda: os.urandom(8))
    spi: int = 0x0A0B0C0D
    rekey_ms: int = 3_600_000
    payload_max: int = 1438
    recovery: int = 2

    def packed(self) -> bytes:
        return self.epoch + struct.pack(">IIHBB", self.spi, self.rekey_ms, self.payload_max, self.recovery, 0)

    @staticmethod
    def unpacked(octets: bytes) -> Hello:
        spi, rekey_ms, payload_max, recovery, zero = struct.unpack(">IIHBB", octets[8:])
        assert zero == 0
        return Hello(octets[:8], spi, rekey_ms, payload_max, recovery)


class Peer:
    """One end of the handshake. ``names``: the initiator's, the responder's."""

    def __init__(
        self, *, initiator: bool, psk: bytes, names: tuple[str, str] = ("", ""), ephemeral: bytes | None = None
    ) -> None:
        self.initiator, self.psk, self.ephemeral = initiator, psk, ephemeral
        self.names = b"".join(bytes([len(name)]) + name.encode() for name in names)
        prk = hmac.digest(b"LFT 2", psk, "sha256")
        self.mac1_key = hkdf_expand(prk, b"mac1" + self.names, 32)
        self.cookie_key = hkdf_expand(prk, b"cookie" + self.names, 32)
        self.hello, self.cookie = Hello(), b""
        self.timestamp = self.largest = 0
        self.message = b""  # the INIT sent or answered last

    def _noise(self, init: bytes) -> NoiseConnection:
        noise = NoiseConnection.from_name(PATTERN)
        if self.initiator:
            noise.set_as_initiator()
        else:
            noise.set_as_responder()
        noise.set_psks(psk=self.psk)
        noise.set_prologue(init[4:12] + self.names)
        if self.ephemeral:
            noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, self.ephemeral)
        noise.start_handshake()
        return noise

    def init(self, timestamp: int) -> bytes:
        start = header(INIT)
        self.noise = self._noise(start)
        message = start + bytes(self.noise.write_message(struct.pack(">Q", timestamp) + self.hello.packed()))
        message += mac(self.mac1_key, message)
        self.message = message + (mac(self.cookie, message) if self.cookie else bytes(16))
        return self.message

    def take_cookie(self, message: bytes) -> None:
        assert message[:12] == header(COOKIE) and message[12:28] == self.message[88:104] and len(message) == 84
        key = hmac.digest(self.cookie_key, message[:44], "sha256")
        plain = ChaCha20Poly1305(key).decrypt(bytes(12), message[44:], message[:44])
        self.cookie, self.largest = plain[:16], int.from_bytes(plain[16:], "big")

    def take_response(self, message: bytes) -> Hello:
        assert message[:12] == header(RESPONSE) and message[12:28] == self.message[88:104] and len(message) == 112
        assert message[96:] == mac(self.mac1_key, message[:96])
        return self._finish(bytes(self.noise.read_message(message[28:96])))

    def respond(self, init: bytes) -> tuple[bytes, Hello]:
        """The RESPONSE to an INIT, and what the INIT said."""
        assert init[:12] == header(INIT) and len(init) == 120
        assert init[88:104] == mac(self.mac1_key, init[:88])
        self.noise, self.message = self._noise(init), init
        payload = bytes(self.noise.read_message(init[12:88]))
        self.timestamp = int.from_bytes(payload[:8], "big")
        message = header(RESPONSE) + init[88:104] + bytes(self.noise.write_message(self.hello.packed()))
        return message + mac(self.mac1_key, message), self._finish(payload[8:])

    def give_cookie(self, init: bytes, cookie: bytes, largest: int) -> bytes:
        start = header(COOKIE) + init[88:104] + os.urandom(16)
        key = hmac.digest(self.cookie_key, start, "sha256")
        return start + ChaCha20Poly1305(key).encrypt(bytes(12), cookie + struct.pack(">Q", largest), start)

    def _finish(self, payload: bytes) -> Hello:
        assert self.noise.handshake_finished
        protocol = self.noise.noise_protocol
        self.keys = [bytes(state.k) for state in (protocol.cipher_state_encrypt, protocol.cipher_state_decrypt)]
        self.peer = Hello.unpacked(payload)
        return self.peer

    def seal(self, command: int, number: int, counter: int, payload: bytes) -> bytes:
        """A frame to the other end."""
        block = hkdf_expand(self.keys[0], b"LFT 2 frames" + bytes([AES_128_GCM]), 68)
        pad = -(len(payload) + 2) % 4
        plain = payload + bytes(range(1, pad + 1)) + bytes([pad, NEXT_HEADER])
        start = struct.pack(">IIQ", self.peer.spi, command << 24 | number, counter)
        return start + AESGCM(block[:16]).encrypt(block[32:36] + start[8:], plain, start[:8])

    def open(self, frame: bytes) -> tuple[int, bytes] | None:
        """Command and payload of a frame from the other end; None when it is not authentic."""
        block = hkdf_expand(self.keys[1], b"LFT 2 frames" + bytes([AES_128_GCM]), 68)
        if int.from_bytes(frame[:4], "big") != self.hello.spi:
            return None
        try:
            plain = AESGCM(block[:16]).decrypt(block[32:36] + frame[8:16], frame[16:], frame[:8])
        except InvalidTag:
            return None
        assert plain[-1] == NEXT_HEADER
        return frame[4], plain[: len(plain) - 2 - plain[-2]]


def stretched(text: bytes, names: tuple[str, str]) -> bytes:
    """The pre-shared key that is derived from a text."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    salt = b"LFT 2 text" + b"".join(bytes([len(name)]) + name.encode() for name in names)
    return Scrypt(salt=salt, length=32, n=2**15, r=8, p=3).derive(text)


__all__ = ["COOKIE", "DATA", "INIT", "PROBE", "PROBE_REPLY", "RESPONSE", "Hello", "Peer", "stretched"]
