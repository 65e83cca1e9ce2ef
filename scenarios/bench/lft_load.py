"""The load of lft.sessions, a program of its own in either namespace: one thread, epoll, JSON lines.

serve N WARM_UP SECONDS   accepts N, counts what each gives in the seconds after the warm-up, says so and ends
send ADDRESS N            keeps N connections full until they break
accept                    answers each connection's octet and closes after it
connect ADDRESS COUNT     COUNT connections, an octet there and back each, IN_FLIGHT at a time
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
    """A line for the bench."""
    print(json.dumps({"event": event, **values}), flush=True)


def listening() -> socket.socket:
    """A listener with room for everybody."""
    listener = socket.create_server(("", PORT), backlog=4096)
    listener.setblocking(False)
    say("ready")
    return listener


def serve(sessions: int, warm_up_s: float, seconds: float) -> None:
    """Counts from the warm-up after the last connect on."""
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
    """Until the other end is gone."""
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
    """Until it is ended."""
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
    """Says how many failed."""
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
    """By the first argument."""
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
