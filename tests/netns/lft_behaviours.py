"""The effects that a client and a server may notice of each other, one function per row of the conformance table.

A row runs in threads of its own at the same time as all others, on a port of its own, and returns one text with what
both ends saw.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import random
import select
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import lft_port_reuse
from lft_lab import NOWHERE, SERVER, Lab, in_netns

from netcommon.netns import call_in

BULK = 2_000_000
STALL_S = 10.0
# BEHIND: the server routes it and cannot reach it. NOWHERE: the far gateway has no route to it.
BEHIND = {4: "10.84.0.2", 6: "fd84::2"}
IP_RECVERR, IPV6_RECVERR = 11, 25
ICMP_KINDS = {
    4: (
        "net-unreachable",
        "host-unreachable",
        "prot-unreachable",
        "port-unreachable",
        "net-prohibited",
        "host-prohibited",
        "admin-prohibited",
    ),
    6: ("no-route", "admin-prohibited", "addr-unreachable", "port-unreachable"),
}
REJECT_PORTS, DROP_PORT, REFUSED_PORT = 9100, 9090, 9091


@dataclass(frozen=True)
class Row:
    """A row of the table: its name, its function of a port, whether that takes long, how many connects it has, and
    whether it needs a line without other traffic."""

    name: str
    act: Callable[[Lab, int, int], str]
    slow: bool = False
    connects: int = 1
    apart: bool = False


def prepare(lab: Lab) -> None:
    """Sets up the server's firewall, a network that the server cannot reach, and a client that gives up after 3 s."""
    rules = [f"tcp dport {DROP_PORT} drop"]
    for family, kinds in ICMP_KINDS.items():
        name = "icmp" if family == 4 else "icmpv6"
        protocol = "ipv4" if family == 4 else "ipv6"
        for i, kind in enumerate(kinds):
            rules.append(f"meta nfproto {protocol} tcp dport {REJECT_PORTS + i} reject with {name} type {kind}")
    behind = (
        "ip daddr 10.84.0.0/24 reject with icmp type host-unreachable",
        "ip6 daddr fd84::/64 reject with icmpv6 type no-route",
    )
    for hook, wanted in (("input", rules), ("forward", behind)):
        chain = f"chain {hook} {{ type filter hook {hook} priority 0; " + "; ".join(wanted) + ";}"
        in_netns(lab.server, "nft", "table inet conformance { " + chain + ";}")
    in_netns(lab.server, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    for router in (lab.server, lab.far, lab.near):  # Linux sends a host one ICMP error a second by default
        in_netns(router, "sysctl", "-qw", "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0")
    in_netns(lab.client, "sysctl", "-qw", "net.ipv4.tcp_syn_retries=1", "net.ipv4.tcp_syn_linear_timeouts=0")
    lft_port_reuse.prepare(lab)
    for version, net, via in (("-4", "10.84.0.0/24", SERVER[4]), ("-6", "fd84::/64", SERVER[6])):
        in_netns(lab.server, "ip", version, "route", "add", net, "dev", "eth0")
        in_netns(lab.far, "ip", version, "route", "add", net, "via", via)
        near_via = in_netns(
            lab.near, "ip", version, "route", "show", "10.82.0.0/24" if version == "-4" else "fd82::/64"
        )
        in_netns(lab.near, "ip", version, "route", "add", net, "via", near_via.split()[2])


def _kind(family: int) -> socket.AddressFamily:
    return socket.AF_INET6 if family == 6 else socket.AF_INET


def _told_by(sock: socket.socket, family: int) -> str:
    """Who sent the ICMP error that the socket has queued (ip(7), IP_RECVERR)."""
    sock.setblocking(False)  # with a timeout Python would wait for a message that may not exist
    try:
        _, ancillary, _, _ = sock.recvmsg(64, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
    except OSError:
        return "nobody"
    offender = ancillary[0][2][16:]
    at = offender[8:24] if family == 6 else offender[4:8]
    return socket.inet_ntop(_kind(family), at)


def attempt(lab: Lab, family: int, address: str, port: int) -> str:
    """The outcome of a connect: the error's name, and its sender.

    The connect blocks. With a timeout Python polls and reads SO_ERROR, and the kernel wakes it before it has set that
    error when IP_RECVERR is on: 22 of 242,196 refused connects counted as connected.
    """
    sock = call_in(lab.client, socket.socket, _kind(family), socket.SOCK_STREAM)
    with sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 60, 0))
        if family == 6:
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
        else:
            sock.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        try:
            sock.connect((address, port))
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, type(error).__name__)
            told = _told_by(sock, family)
            return name + (f", reported by {told}" if told != "nobody" else "")
    return "connected"


def pair(lab: Lab, family: int, port: int) -> tuple[socket.socket, socket.socket]:
    """A connection's two ends."""
    with lab.listen(family, port) as listener:
        client = lab.connect(SERVER[family], port)
        server, _ = listener.accept()
    for end in (client, server):
        end.settimeout(30)
    return client, server


def ends(action: Callable[[socket.socket, socket.socket], str]) -> Callable[[Lab, int, int], str]:
    """Makes a row's function from a function of two connected ends."""

    def act(lab: Lab, family: int, port: int) -> str:
        client, server = pair(lab, family, port)
        with client, server:
            return action(client, server)

    return act


def read_all(end: socket.socket) -> bytes:
    parts = []
    while part := end.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def outcome(action: Callable[[], object]) -> str:
    try:
        got = action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "end of data" if got == b"" else str(got)


def reset(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def addresses(client: socket.socket, server: socket.socket) -> str:
    same = client.getsockname()[:2] == server.getpeername()[:2] and client.getpeername()[:2] == server.getsockname()[:2]
    return "each other's" if same else f"{server.getpeername()} for {client.getsockname()}"


def half_close_by_client(client: socket.socket, server: socket.socket) -> str:
    return _half_close(client, server)


def half_close_by_server(client: socket.socket, server: socket.socket) -> str:
    return _half_close(server, client)


def send_and_close_half(end: socket.socket, data: bytes) -> None:
    end.sendall(data)
    end.shutdown(socket.SHUT_WR)


def _half_close(first: socket.socket, second: socket.socket) -> str:
    """The first sends and closes its half; the second answers with what it got."""
    data = random.Random(1).randbytes(BULK)
    sender = threading.Thread(target=send_and_close_half, args=(first, data))
    sender.start()
    digest = hashlib.sha256(read_all(second)).digest()
    sender.join()
    second.sendall(digest)
    second.shutdown(socket.SHUT_WR)
    return "all octets, then the answer" if read_all(first) == hashlib.sha256(data).digest() else "wrong data"


def end_without_data(client: socket.socket, server: socket.socket) -> str:
    client.shutdown(socket.SHUT_WR)
    seen = outcome(lambda: server.recv(1))
    server.close()
    return f"{seen}; {outcome(lambda: client.recv(1))}"


def reset_by_server(client: socket.socket, server: socket.socket) -> str:
    reset(server)
    return outcome(lambda: client.recv(1))


def reset_by_client(client: socket.socket, server: socket.socket) -> str:
    reset(client)
    return outcome(lambda: server.recv(1))


def reset_behind_data(client: socket.socket, server: socket.socket) -> str:
    """Data read before a reset are not lost."""
    server.sendall(b"last words")
    got = client.recv(10, socket.MSG_WAITALL)
    reset(server)
    return f"{got.decode()}, {outcome(lambda: client.recv(1))}"


def answer_before_the_end(client: socket.socket, server: socket.socket) -> str:
    """A server that answers early and closes with octets unread: its system sends the answer, and a reset at once."""
    _upload_is_under_way(client, server)
    server.sendall(b"last words")
    server.close()
    return f"{client.recv(10, socket.MSG_WAITALL).decode()}, {outcome(lambda: client.recv(1))}"


def answer_and_end_before_the_end(client: socket.socket, server: socket.socket) -> str:
    """The same with an end of data after the answer. The client learns of the reset when it writes."""
    _upload_is_under_way(client, server)
    server.sendall(b"last words")
    server.shutdown(socket.SHUT_WR)
    server.close()
    said = f"{client.recv(10, socket.MSG_WAITALL).decode()}, {outcome(lambda: client.recv(1))}"
    return f"{said}, {_error_of_writes(client)}"


def _upload_is_under_way(client: socket.socket, server: socket.socket) -> None:
    """Makes the client send; returns when the server has unread octets."""
    client.sendall(bytes(100_000))
    server.recv(1, socket.MSG_WAITALL)


def words_then_reset_by_client(client: socket.socket, server: socket.socket) -> str:
    """The client resets after sending octets, which the server reads later."""
    client.sendall(b"last words")
    _until_acknowledged(client)
    reset(client)
    poll = select.poll()
    poll.register(server, 0)  # errors alone
    poll.poll(10_000)
    return f"{server.recv(10, socket.MSG_WAITALL).decode()}, {outcome(lambda: server.recv(1))}"


def _until_acknowledged(end: socket.socket) -> None:
    deadline = time.monotonic() + 30
    while struct.unpack("i", fcntl.ioctl(end, termios.TIOCOUTQ, bytes(4)))[0]:
        assert time.monotonic() < deadline, "the octets are not acknowledged"
        time.sleep(0.001)


def reset_behind_end(client: socket.socket, server: socket.socket) -> str:
    """A reset after the end of data; the other end sends nothing in between."""
    client.shutdown(socket.SHUT_WR)
    seen = outcome(lambda: server.recv(1))
    reset(client)
    poll = select.poll()
    poll.register(server, 0)  # errors alone
    if not poll.poll(10_000):
        return f"{seen}, then nothing"
    return f"{seen}, {errno.errorcode[server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]}"


def write_to_closed(client: socket.socket, server: socket.socket) -> str:
    """The server closes for good; the client learns of it when it writes on."""
    server.close()
    if client.recv(1) != b"":
        return "data from nowhere"
    return _error_of_writes(client)


def _error_of_writes(client: socket.socket) -> str:
    deadline = time.monotonic() + 10
    try:
        while time.monotonic() < deadline:
            client.sendall(b"x")
            time.sleep(0.05)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "never"


def single_octets(client: socket.socket, server: socket.socket) -> str:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = os.urandom(500)
    for octet in data:
        client.sendall(bytes([octet]))
    client.shutdown(socket.SHUT_WR)
    return "all octets" if read_all(server) == data else "wrong data"


def zero_window(client: socket.socket, server: socket.socket) -> str:
    """The server reads nothing until the client can write no more: windows closed all the way."""
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    return _fill_then_drain(client, server, 0.0)


def stall(client: socket.socket, server: socket.socket) -> str:
    """The same, and the reader stops for ten more seconds."""
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    return _fill_then_drain(client, server, STALL_S)


def _fill_then_drain(client: socket.socket, server: socket.socket, wait_s: float) -> str:
    part = random.Random(2).randbytes(1 << 18)
    hashed, sent = hashlib.sha256(), 0
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    client.settimeout(0.7)
    try:
        while sent < 1 << 28:
            at = sent % len(part)
            n = client.send(part[at:])
            hashed.update(part[at : at + n])
            sent += n
    except TimeoutError:
        pass
    client.settimeout(30)
    if sent >= 1 << 28:
        return "the writer is never stopped"
    threading.Event().wait(wait_s)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # or the rest takes long
    got = hashlib.sha256()
    finish = threading.Thread(target=lambda: client.shutdown(socket.SHUT_WR))
    finish.start()
    while data := server.recv(1 << 16):
        got.update(data)
    finish.join()
    return "the writer stops, then all octets" if got.digest() == hashed.digest() else "wrong data"


def slow_reader(client: socket.socket, server: socket.socket) -> str:
    """Reads 4 KB every 10 ms."""
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    data = random.Random(3).randbytes(400_000)
    sender = threading.Thread(target=send_and_close_half, args=(client, data))
    sender.start()
    got = bytearray()
    while part := server.recv(4096):
        got += part
        time.sleep(0.01)
    sender.join()
    return "all octets" if bytes(got) == data else "wrong data"


def urgent_is_not_lost(client: socket.socket, server: socket.socket) -> str:
    """The connection is idle for a second, then both ends send at once."""
    time.sleep(1)
    client.sendall(b"ping")
    server.sendall(b"pong")
    return f"{server.recv(4, socket.MSG_WAITALL).decode()} {client.recv(4, socket.MSG_WAITALL).decode()}"


def to_server(port: int) -> Callable[[Lab, int, int], str]:
    """A connection to the server's ``port`` that fails."""
    return lambda lab, family, _: attempt(lab, family, SERVER[family], port)


def rows(family: int) -> list[Row]:
    """The rows of one address family, in the table's order."""
    found = [
        Row("connect: nobody listens", to_server(REFUSED_PORT)),
        Row("connect: no answer", to_server(DROP_PORT)),
        Row("connect: no route at the far gateway", lambda lab, family, _: attempt(lab, family, NOWHERE[family], 80)),
        Row("connect: no route behind the server", lambda lab, family, _: attempt(lab, family, BEHIND[family], 80)),
    ]
    for i, kind in enumerate(ICMP_KINDS[family]):
        found.append(Row(f"connect: ICMP {kind}", to_server(REJECT_PORTS + i)))
    actions = {
        "addresses": addresses,
        "half-close by the client": half_close_by_client,
        "half-close by the server": half_close_by_server,
        "end without data": end_without_data,
        "RST by the server": reset_by_server,
        "RST by the client": reset_by_client,
        "RST behind data": reset_behind_data,
        "early answer, octets unread": answer_before_the_end,
        "early answer and end of data, octets unread": answer_and_end_before_the_end,
        "last words of a client that resets": words_then_reset_by_client,
        "RST behind the end of data": reset_behind_end,
        "write to a closed end": write_to_closed,
        "1-octet writes": single_octets,
        "slow reader": slow_reader,
        "idle, then both at once": urgent_is_not_lost,
        "zero window": zero_window,
        "reader stalls 10 s": stall,
    }
    times = lft_port_reuse.TIMES
    for name, closing in lft_port_reuse.CLOSINGS.items():
        act = lft_port_reuse.reuse(closing)
        found.append(Row(f"one port {times} times, {name}", act, connects=times, apart=True))
    found.append(Row("client forgets, then the same port again", lft_port_reuse.forgotten, connects=2, apart=True))
    found.append(Row("client's port is taken at the far gateway", lft_port_reuse.taken_at_the_far_gateway))
    return found + [Row(name, ends(action), slow=action is stall) for name, action in actions.items()]
