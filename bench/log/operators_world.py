"""The programs of log.operators' world: clients, servers and a relay like an operator's, and plain ``tcpdump`` at both
ends. It needs Python's standard library alone, because it runs where nothing else is loaded: in a guest, or in
namespaces of this machine. The last argument is JSON (`operators_recipes.Recipe.world`).

    run       starts the captures and the server, runs the client, and ends all of them
    server    at the receiver; with ``relay``, also what the relay passes the data on to
    client    at the sender
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PORT, BACK_PORT, FAR_PORT, OTHER_PORT = 5001, 5002, 5003, 5004
BLOCK, ANSWER, SNAP = 65536, 200, 128
LATEST_S = 120  # a program that takes longer hangs
_NOTHING = bytes(BLOCK)
_SNDBUF, _RCVBUF = 32, 33  # SO_SNDBUFFORCE and SO_RCVBUFFORCE, which no machine-wide limit cuts


def run(world: Json) -> None:
    """The whole world. What has been captured is in the folder afterwards; what tcpdump says at its end is printed."""
    folder = Path(world["folder"])
    for node, lines in world.get("set", {}).items():
        for line in lines:
            subprocess.run([*world["enter"][node], *line], check=True, stdout=subprocess.DEVNULL)
    captures = [_capture(world["enter"][node], world["nic"][node], folder / f"{node}.pcap") for node in ("snd", "rcv")]
    servers = [_server(world, "server", "rcv")]
    if world["server"]["kind"] == "relay":
        servers.append(_server(world, "far", "far"))
    subprocess.run(_argv(world, "client", "snd"), check=True, timeout=LATEST_S)
    time.sleep(world["after_s"])
    for capture in captures:
        capture.send_signal(signal.SIGINT)
    for capture in captures:
        sys.stdout.write(capture.communicate(timeout=LATEST_S)[1].decode())
    for server in servers:
        server.kill()
        server.wait()


def _argv(world: Json, role: str, node: str) -> list[str]:
    return [*world["enter"][node], sys.executable, "-I", "-S", __file__, role, json.dumps(world)]


def _server(world: Json, role: str, node: str) -> subprocess.Popen[bytes]:
    """Starts a server and waits until it listens."""
    started = subprocess.Popen(_argv(world, role, node), stdout=subprocess.PIPE)
    assert started.stdout and started.stdout.readline(), f"the {role} did not start"
    return started


def _capture(enter: list[str], nic: str, file: Path) -> subprocess.Popen[bytes]:
    """Starts tcpdump, and waits until it captures."""
    argv = ["tcpdump", "-Z", "root", "-n", "-i", nic, "-s", str(SNAP), "-B", "8192", "-w", str(file), "tcp"]
    started = subprocess.Popen([*enter, *argv], stderr=subprocess.PIPE)
    assert started.stderr
    for line in started.stderr:
        if b"listening on" in line:
            return started
    raise AssertionError("tcpdump did not start")


def client(world: Json) -> None:
    """Runs the transfer and the traffic next to it."""
    mine, end_s = world["client"], time.monotonic() + world["client"]["seconds"]
    other = (world, mine | {"sndbuf": 0}, end_s, OTHER_PORT)
    threads = [threading.Thread(target=_bulk, args=other) for _ in range(world["others"])]
    threads += [threading.Thread(target=_take_back, args=(world, end_s)) for _ in range(world["backs"])]
    for thread in threads:
        thread.daemon = True
        thread.start()
    {"bulk": _bulk, "ask": _ask, "pieces": _pieces}[mine["kind"]](world, mine, end_s)
    for thread in threads:
        thread.join(LATEST_S)


def _socket(world: Json) -> socket.socket:
    """A socket with the recipe's congestion control. Rejected: the namespace's default, because the machine may not
    allow this control as one."""
    made = socket.socket()
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, world["control"].encode())
    return made


def _connected(world: Json, sndbuf: int, port: int = PORT) -> socket.socket:
    there = _socket(world)
    if sndbuf:
        there.setsockopt(socket.SOL_SOCKET, _SNDBUF, sndbuf)
    there.connect((world["address"]["rcv"], port))
    return there


def _bulk(world: Json, mine: Json, end_s: float, port: int = PORT) -> None:
    """Sends as much as it can, and waits until all of it has been read."""
    there = _connected(world, mine["sndbuf"], port)
    there.settimeout(0.5)
    if mine["hello"]:
        there.sendall(bytes(ANSWER))
        time.sleep(0.3)
    left = mine["bytes"] or sys.maxsize
    while left > 0 and time.monotonic() < end_s:
        try:
            left -= there.send(_NOTHING[: min(left, BLOCK)])
        except TimeoutError:
            continue
    there.settimeout(max(end_s + world["patience_s"] - time.monotonic(), 0.1))
    try:
        there.shutdown(socket.SHUT_WR)
        while there.recv(BLOCK):
            pass
    except OSError:
        pass


def _ask(world: Json, mine: Json, end_s: float) -> None:
    """Sends a message and waits for the answer, one after the other."""
    there = _connected(world, mine["sndbuf"])
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    message = bytes(mine["message"])
    while time.monotonic() < end_s:
        there.sendall(message)
        _take(there, ANSWER)


def _pieces(world: Json, mine: Json, end_s: float) -> None:
    """Writes a message in pieces, and waits for the answer."""
    there = _connected(world, mine["sndbuf"])
    while time.monotonic() < end_s:
        for size in mine["pieces"]:
            there.sendall(bytes(size))
        _take(there, ANSWER)


def _take_back(world: Json, end_s: float) -> None:
    """Fetches a response of any length."""
    time.sleep(world["back_s"])
    there, room = _connected(world, 0, BACK_PORT), bytearray(1 << 20)
    there.settimeout(0.5)
    while time.monotonic() < end_s:
        try:
            if not there.recv_into(room, len(room), socket.MSG_TRUNC):
                return
        except TimeoutError:
            continue


def _take(there: socket.socket, size: int) -> bool:
    """Reads this many bytes; False: the connection ended before."""
    while size > 0:
        got = len(there.recv(min(size, BLOCK)))
        if not got:
            return False
        size -= got
    return True


def server(world: Json, port: int = PORT) -> None:
    """Serves each connection by a thread. Cross traffic has a port of its own: connections to one port of a host look
    like the streams of one transfer."""
    mine = world["server"]
    listener = _listening(world, mine["rcvbuf"] if port == PORT else 0, port)
    if port == PORT and world["backs"]:
        threading.Thread(target=_give_back, args=(world,), daemon=True).start()
    how = {"sink": _sink, "slow": _slow, "answer": _answer, "relay": _relay}[mine["kind"] if port == PORT else "slow"]
    if port == PORT and world["others"]:
        others = _listening(world, mine["rcvbuf"], OTHER_PORT)
        threading.Thread(target=_serve, args=(how, world, others), daemon=True).start()
    print("listens", flush=True)
    _serve(how, world, listener)


def _listening(world: Json, rcvbuf: int, port: int) -> socket.socket:
    listener = _socket(world)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if rcvbuf:
        listener.setsockopt(socket.SOL_SOCKET, _RCVBUF, rcvbuf)
    listener.bind(("", port))
    listener.listen(64)
    return listener


def _serve(how: Any, world: Json, listener: socket.socket) -> None:
    while True:
        there, _ = listener.accept()
        threading.Thread(target=_served, args=(how, world, there), daemon=True).start()


def far(world: Json) -> None:
    """Serves what a relay passes on."""
    server(world, FAR_PORT)


def _served(how: Any, world: Json, there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        how(world, there)
    there.close()


def _sink(world: Json, there: socket.socket) -> None:
    room = bytearray(1 << 20)
    while there.recv_into(room, len(room), socket.MSG_TRUNC):
        pass


def _slow(world: Json, there: socket.socket) -> None:
    """Reads this many bytes at a time, at this interval."""
    mine, room = world["server"], bytearray(1 << 20)
    while True:
        left = mine["read"]
        while left > 0:
            got = there.recv_into(room, min(left, len(room)), socket.MSG_TRUNC)
            if not got:
                return
            left -= got
        time.sleep(mine["rest_s"])


def _answer(world: Json, there: socket.socket) -> None:
    mine = world["client"]
    size = mine.get("message") or sum(mine["pieces"])
    while _take(there, size):
        there.sendall(bytes(ANSWER))


def _relay(world: Json, there: socket.socket) -> None:
    on = _socket(world)
    on.setsockopt(socket.SOL_SOCKET, _SNDBUF, world["server"]["rcvbuf"] or BLOCK)
    on.connect((world["address"]["far"], FAR_PORT))
    while data := there.recv(BLOCK):
        on.sendall(data)
    on.close()


def _give_back(world: Json) -> None:
    listener = _listening(world, 0, BACK_PORT)
    while True:
        there, _ = listener.accept()
        threading.Thread(target=_given, args=(there,), daemon=True).start()


def _given(there: socket.socket) -> None:
    try:
        while True:
            there.sendall(_NOTHING)
    except OSError:
        there.close()


if __name__ == "__main__":
    _world = json.loads(sys.argv[2])
    {"run": run, "client": client, "server": server, "far": far}[sys.argv[1]](_world)
