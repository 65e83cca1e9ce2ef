"""A tiny gateway for the tests of `lfp conformance`: two of these relays forward TCP connections, and can be wrong on
purpose (`FAULTS`). Any Python runs it, without other modules.

usage: conformance_relay.py near|far LISTEN CONNECT PORTS [--fault NAME]
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
import time

FAULTS = ("stall", "last-words", "handshake", "mtu-hang", "bit", "slow")
PROBE_PORT, PROBE_OCTETS = 7007, 1400
STALL_EVERY, STALL_S, PACKET_OCTETS = 1000, 0.2, 1448
CUT_OCTETS = 4096
SLOW_OCTETS, SLOW_S = 4096, 0.002  # 16 Mbit/s
IP_MTU, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 14, 10, 3


class Relay:
    """One of two relays: ``near`` forwards the clients' connections to ``far``, which forwards them to the server."""

    def __init__(self, role: str, listen: str, connect: str, fault: str) -> None:
        self.role, self.at, self.to, self.fault = role, listen, connect, fault
        self.chunks = self.packets = 0

    def serve(self, port: int) -> None:
        listener = socket.create_server((self.at, port), backlog=4096)
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # too many descriptors
                time.sleep(0.05)
                continue
            threading.Thread(target=self.carry, args=(client, port), daemon=True).start()

    def carry(self, client: socket.socket, port: int) -> None:
        try:
            server = socket.create_connection((self.to, port))
        except OSError:
            reset(client)
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(end)
        ways = [
            threading.Thread(target=self.copy, args=pair, daemon=True) for pair in ((client, server), (server, client))
        ]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        client.close()
        server.close()

    def copy(self, source: socket.socket, sink: socket.socket) -> None:
        held, first_mtu = b"", path_mtu(sink)
        try:
            while part := source.recv(SLOW_OCTETS if self.fault == "slow" else 65_536):
                stalls, self.packets = self.packets // STALL_EVERY, self.packets + -(-len(part) // PACKET_OCTETS)
                if self.fault == "stall" and self.packets // STALL_EVERY > stalls:
                    time.sleep(STALL_S)
                self.chunks += 1
                if self.fault == "slow":
                    time.sleep(SLOW_S)
                if self.fault == "bit" and self.chunks % 100 == 50:
                    part = part[:-1] + bytes([part[-1] ^ 4])
                if self.fault == "mtu-hang" and path_mtu(sink) < first_mtu:
                    time.sleep(10**6)
                if self.fault == "last-words":
                    if len(held) + len(part) > CUT_OCTETS:
                        sink.sendall(held)
                        held = b""
                    held += part
                else:
                    sink.sendall(part)
            if self.fault == "last-words":  # the last octets are lost if there are enough of them
                sink.sendall(held if len(held) < CUT_OCTETS else held[:-CUT_OCTETS])
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            reset(source)
            reset(sink)


def keep_alive(sock: socket.socket) -> None:
    """Notices a peer that has gone after 100 s, even if nothing is sent: longer than the outages that a connection
    must survive, shorter than a server should wait."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 4)):
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def path_mtu(sock: socket.socket) -> int:
    with contextlib.suppress(OSError):
        return sock.getsockopt(socket.IPPROTO_IP, IP_MTU)
    return 1500


def reset(sock: socket.socket) -> None:
    """Ends a connection by a reset, also while another thread reads it."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.shutdown(socket.SHUT_RD)
        sock.close()


def handshake(role: str, at: str, to: str) -> None:
    """The planted fault: both relays say hello in packets of a fixed size, even if the path's MTU is smaller."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    probe.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    if role == "far":
        probe.bind((at, PROBE_PORT))

        def answer() -> None:
            while True:
                data, peer = probe.recvfrom(65_536)
                probe.sendto(data, peer)

        threading.Thread(target=answer, daemon=True).start()
        return
    probe.settimeout(1)
    while True:
        with contextlib.suppress(OSError):
            probe.sendto(bytes(PROBE_OCTETS - 28), (to, PROBE_PORT))
            probe.recv(65_536)
            return


def main(argv: list[str]) -> None:
    fault = argv[argv.index("--fault") + 1] if "--fault" in argv else ""
    role, listen, connect, *ports = argv[: argv.index("--fault")] if "--fault" in argv else argv
    threading.stack_size(256 * 1024)
    if fault == "handshake":
        handshake(role, "", connect)
    relay = Relay(role, listen, connect, fault)
    for port in " ".join(ports).split():  # $ports is one word
        threading.Thread(target=relay.serve, args=(int(port),), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
