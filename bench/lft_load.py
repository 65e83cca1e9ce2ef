"""The load of lft.sessions: a program that runs in either namespace, with one thread, epoll and JSON lines.

serve N WARM_UP SECONDS   accepts N connections, counts the octets of each in the seconds after the warm-up, prints them
send ADDRESS N            keeps N connections full until they break
accept                    answers the octet of each connection, then closes the connection
connect ADDRESS COUNT     opens COUNT connections, IN_FLIGHT at a time; each sends an octet and waits for its answer
"""

from __future__ import annotations

import json
import resource
import selectors
import socket
import sys
import time
from typing import Any

PORT, IN_FLIGHT = 5320, 200
CHUNK = bytes(1 << 16)


def say(event: str, **values: Any) -> None:
    """Prints a line for the bench."""
    print(json.dumps({"event": event, **values}), flush=True)


def listening() -> socket.socket:
    """A listener whose backlog holds all connections."""
    listener = socket.create_server(("", PORT), backlog=4096)
    listener.setblocking(False)
    say("ready")
    return listener


def serve(sessions: int, warm_up_s: float, seconds: float) -> None:
    """Counts octets; counting begins when the warm-up after the last connect is over."""
    poll = selectors.DefaultSelector()
    listener = listening()
    poll.register(listener, selectors.EVENT_READ)
    octets: dict[int, int] = {}
    buffer = bytearray(1 << 18)
    begin = end = float("inf")
    while (now := time.monotonic()) < end:
        for key, _ in poll.select(0.1):
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            if peer is listener:
                taken, _ = listener.accept()
                taken.setblocking(False)
                octets[taken.fileno()] = 0
                poll.register(taken, selectors.EVENT_READ)
                if len(octets) == sessions:
                    begin = now + warm_up_s
                    end = begin + seconds
            elif not (got := peer.recv_into(buffer)):
                poll.unregister(peer)
            elif now >= begin:
                octets[peer.fileno()] += got
    say("end", octets=list(octets.values()))


def send(address: str, sessions: int) -> None:
    """Sends on all connections until the other end is gone."""
    poll = selectors.DefaultSelector()
    for _ in range(sessions):
        out = socket.socket()
        out.setblocking(False)
        out.connect_ex((address, PORT))
        poll.register(out, selectors.EVENT_WRITE)
    while poll.get_map():
        for key, _ in poll.select():
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            try:
                peer.send(CHUNK)
            except BlockingIOError:
                pass
            except OSError:
                poll.unregister(peer)
                peer.close()


def accept() -> None:
    """Answers connections until it is ended."""
    poll = selectors.DefaultSelector()
    listener = listening()
    poll.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in poll.select():
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            if peer is listener:
                taken, _ = listener.accept()
                taken.setblocking(False)
                poll.register(taken, selectors.EVENT_READ)
                continue
            octet = peer.recv(1)
            if octet:
                peer.send(octet)
                continue
            poll.unregister(peer)
            peer.close()


def connect(address: str, count: int) -> None:
    """Opens the connections; prints how many failed."""
    poll = selectors.DefaultSelector()
    started = done = failed = 0

    def end(peer: socket.socket, well: bool) -> None:
        nonlocal done, failed
        poll.unregister(peer)
        peer.close()
        done += 1
        failed += not well

    while done < count:
        while started < count and started - done < IN_FLIGHT:
            out = socket.socket()
            out.setblocking(False)
            out.connect_ex((address, PORT))
            poll.register(out, selectors.EVENT_WRITE)
            started += 1
        for key, _ in poll.select():
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            try:
                if key.events == selectors.EVENT_WRITE:
                    peer.send(b"x")
                    poll.modify(peer, selectors.EVENT_READ)
                else:
                    end(peer, peer.recv(1) == b"x")
            except OSError:
                end(peer, False)
    say("end", failed=failed)


def main(argv: list[str]) -> None:
    """Runs the verb that the first argument names."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    match argv:
        case ["serve", sessions, warm_up, seconds]:
            serve(int(sessions), float(warm_up), float(seconds))
        case ["send", address, sessions]:
            send(address, int(sessions))
        case ["accept"]:
            accept()
        case ["connect", address, count]:
            connect(address, int(count))


if __name__ == "__main__":
    main(sys.argv[1:])
