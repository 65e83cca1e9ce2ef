"""The cases' actions. Each function returns a line about what it saw, raises `Failure` with the evidence, or raises
`NotApplicable` with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Literal

from netcommon import readable
from scenarios.conformance.lab import Lab
from scenarios.conformance.streams import (
    QUIET_S,
    Failure,
    Late,
    name_of,
    outcome,
    pattern,
    receive,
    reset,
    send,
    span,
    within,
)

Act = Callable[[Lab], Coroutine[Any, Any, str]]
Way = Literal["up", "down"]
Which = Literal["near", "far"]
MB = 1 << 20
SMALL_OBJECTS, AT_A_TIME = 10_000, 100
SLACK_S = 0.1  # a delay that a person notices; an exchange may take this long in addition to its round trip
OVER_S = 120.0  # a connection that cannot go on must end within this time
GOES_ON_S = 10.0  # a connection that works moves octets within this time
BACK_S = 30.0  # after an event new connections must work within this time
OBJECT_S = 5.0
LINE_SHARE = 0.5


async def _moved(lab: Lab, size: int, way: Way, during: Awaitable[object] | None = None) -> float:
    """Moves ``size`` octets on a new connection and checks them, while something happens. Returns the seconds from the
    first write to the end of the stream."""
    client, server = await lab.connected()
    source, sink = (client, server) if way == "up" else (server, client)
    with client, server:
        return await _streamed(source, sink, lab.data(size), during)


async def _streamed(
    source: socket.socket, sink: socket.socket, data: bytes, during: Awaitable[object] | None = None
) -> float:
    began = time.monotonic()

    async def write() -> None:
        try:
            await send(source, data)
        except OSError as error:
            raise Failure(f"the writer's connection broke: {name_of(error)}") from None
        source.shutdown(socket.SHUT_WR)

    await _all(write(), receive(sink, data), *([_awaited(during)] if during else []))
    return time.monotonic() - began


async def _awaited(during: Awaitable[object]) -> None:
    await during


async def _all(*acts: Coroutine[Any, Any, Any]) -> None:
    """Waits for all tasks; the first failure cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for act in acts:
                group.create_task(act)
    except* Exception as failed:
        raise _first(failed) from None


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    one = group.exceptions[0]
    return _first(one) if isinstance(one, BaseExceptionGroup) else one


def transfer(way: Way, size: int = 8 * MB) -> Act:
    """Moves octets one way."""

    async def act(lab: Lab) -> str:
        took = await _moved(lab, size, way)
        return f"{readable.size(size)} in {span(took)}"

    return act


async def both_ways(lab: Lab) -> str:
    """Moves octets both ways at once on one connection."""
    client, server = await lab.connected()
    there, back = lab.data(4 * MB), lab.data(4 * MB)
    with client, server:
        await _all(_streamed(client, server, there), _streamed(server, client, back))
    return f"{readable.size(4 * MB)} each way"


async def goodput(lab: Lab) -> str:
    """Moves 20 MB, and compares the time with the time that the line needs."""
    size = 20 * MB
    took = await _moved(lab, size, "up")
    share = size * 8 / took / lab.rate_bps
    said = f"{readable.rate(size * 8 / took)} of {readable.rate(lab.rate_bps)}"
    if share < LINE_SHARE:
        raise Failure(f"{said}: {readable.share(share)}, less than {readable.share(LINE_SHARE)}")
    return said


async def exchanges(lab: Lab) -> str:
    """2,500 messages of 1,000 octets to and fro, one after the other."""
    count, size = 2500, 1000
    client, server = await lab.connected()
    there, back = lab.data(size), lab.data(size)
    late: list[tuple[int, float]] = []
    longest = 0.0
    with client, server:
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(1, count + 1):
            began = time.monotonic()
            await send(client, there)
            await receive(server, there, ends=False, what=f"request {number}")
            await send(server, back)
            await receive(client, back, ends=False, what=f"response {number}")
            took = time.monotonic() - began
            longest = max(longest, took)
            if took > lab.rtt_s + SLACK_S:
                late.append((number, took))
    if late:
        number, took = late[0]
        raise Failure(
            f"{len(late)} of {count} exchanges took longer than {span(lab.rtt_s + SLACK_S)}, the first of "
            f"them number {number} with {span(took)}"
        )
    return f"the longest of {count} took {span(longest)}"


async def single_octets(lab: Lab) -> str:
    """500 writes of one octet."""
    client, server = await lab.connected()
    data = lab.data(500)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def write() -> None:
        for at in range(len(data)):
            await send(client, data[at : at + 1])
            await asyncio.sleep(0.001)
        client.shutdown(socket.SHUT_WR)

    with client, server:
        await _all(write(), receive(server, data))
    return "all octets"


def half_close(first: Literal["client", "server"]) -> Act:
    """One end sends and closes its half; the other one answers afterwards."""

    async def act(lab: Lab) -> str:
        client, server = await lab.connected()
        one, other = (client, server) if first == "client" else (server, client)
        with client, server:
            await _streamed(one, other, lab.data(MB))
            await asyncio.sleep(1)
            answer = lab.data(MB)
            await _all(send(other, answer), receive(one, answer, ends=False, what="the answer"))
            other.shutdown(socket.SHUT_WR)
            await receive(one, b"", what="the answer")
        return "all octets, then the answer"

    return act


async def end_without_data(lab: Lab) -> str:
    """A connection that ends without a single octet, by either end."""
    for first in ("client", "server"):
        client, server = await lab.connected()
        one, other = (client, server) if first == "client" else (server, client)
        with client, server:
            one.shutdown(socket.SHUT_WR)
            for end, what in ((other, "the other end"), (one, f"the {first} itself")):
                if (seen := await outcome(end, OVER_S)) != "end of data":
                    raise Failure(f"the {first} ends without data: {what} sees {seen}")
                end.close() if end is other else None
    return "end of data at both ends"


async def last_words(lab: Lab) -> str:
    """An end writes and closes at once, at 24 sizes each way."""
    sizes = [1, 100, 1460, 4095, 4096, 4097, 8192, 16_384, 65_535, 65_537, 300_000, MB]
    for way in ("up", "down"):
        for size in sizes:
            client, server = await lab.connected()
            source, sink = (client, server) if way == "up" else (server, client)
            data = lab.data(size)
            with client, server:
                await _all(_write_and_close(source, data), receive(sink, data, what=f"{size} octets {way}"))
    return f"{2 * len(sizes)} streams whole"


async def _write_and_close(sock: socket.socket, data: bytes) -> None:
    await send(sock, data)
    sock.close()


def reset_by(who: Literal["client", "server"]) -> Act:
    """An end resets a connection that is in use."""

    async def act(lab: Lab) -> str:
        client, server = await lab.connected()
        one, other = (client, server) if who == "client" else (server, client)
        with client, server:
            await _all(send(one, b"before"), receive(other, b"before", ends=False))
            reset(one)
            seen = await outcome(other, OVER_S)
        if seen == "end of data":
            raise Failure("the reset arrives as an ordinary end of data: a stream that was cut passes for a whole one")
        if seen == "nothing":
            raise Failure(f"the other end learns nothing within {span(OVER_S)}")
        return f"the other end sees {seen}"

    return act


async def refused(lab: Lab) -> str:
    """Connects to a server where nobody listens."""
    lab.refuse()
    return await _comes_to_nothing(lab, 10.0)


async def silent(lab: Lab) -> str:
    """Connects to a server that answers nothing."""
    lab.silent(True)
    try:
        return await _comes_to_nothing(lab, 300.0)
    finally:
        lab.silent(False)


async def _comes_to_nothing(lab: Lab, within_s: float) -> str:
    """The client must learn that there is no connection. A proxy may accept it first."""
    began = time.monotonic()
    try:
        client = await lab.client(within_s=within_s)
    except Late:
        raise Failure(f"the client learns nothing within {span(within_s)}") from None
    except OSError as error:
        return f"{name_of(error)} after {span(time.monotonic() - began)}"
    with client:
        seen = await outcome(client, within_s)
    if seen in ("nothing", "data"):
        raise Failure(f"the client is accepted and then sees {seen} for {span(within_s)}")
    return f"accepted, then {seen} after {span(time.monotonic() - began)}"


async def early_data(lab: Lab) -> str:
    """A client writes and closes its half as soon as it is connected; the server is slow to accept."""
    data = lab.data(16_384)
    client = await lab.client()
    with client:
        await send(client, data)
        client.shutdown(socket.SHUT_WR)
        await asyncio.sleep(2)
        with await lab.server() as server:
            await receive(server, data)
            await _all(send(server, data), receive(client, data, ends=False, what="the answer"))
    return "all octets, then the answer"


async def _served(lab: Lab, content: bytes, request: bytes) -> None:
    """A server of one object: each connection gets it for its request."""

    async def serve(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError, Failure):
            await receive(sock, request, ends=False)
            await send(sock, content)

    tasks: set[asyncio.Task[None]] = set()
    try:
        while True:
            task = asyncio.create_task(serve(await lab.server(within_s=10**6)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    finally:
        for task in tasks:
            task.cancel()


async def _fetch(lab: Lab, number: int, content: bytes, request: bytes) -> float:
    """Gets the object on a connection of its own; returns the seconds that this took."""
    began = time.monotonic()
    try:
        with await lab.client() as client:
            await send(client, request)
            await receive(client, content, what=f"object {number}")
    except Late:
        raise Failure(f"object {number}: no connection within 30 s") from None
    except OSError as error:
        raise Failure(f"object {number}: {name_of(error)}") from None
    return time.monotonic() - began


async def small_objects(lab: Lab) -> str:
    """10,000 objects of 1,000 octets, each on its own connection, 100 at a time."""
    content, request = lab.data(1000), lab.data(100)
    serving = asyncio.create_task(_served(lab, content, request))
    numbers, took = iter(range(1, SMALL_OBJECTS + 1)), list[float]()

    async def work() -> None:
        for number in numbers:
            took.append(await _fetch(lab, number, content, request))

    try:
        await _all(*(work() for _ in range(AT_A_TIME)))
    finally:
        serving.cancel()
    return f"{len(took)} objects whole, the slowest took {span(max(took))}"


async def beside_bulk(lab: Lab) -> str:
    """500 connections get 2,000 octets each while a bulk transfer fills the path."""
    count, content, request = 500, lab.data(2000), lab.data(100)
    client, server = await lab.connected()
    stop = asyncio.Event()
    serving = asyncio.create_task(_served(lab, content, request))
    moved = lab.data(MB)
    rounds = 0

    async def write() -> None:
        nonlocal rounds
        while not stop.is_set():
            await send(server, moved)
            rounds += 1
        server.shutdown(socket.SHUT_WR)

    async def read() -> None:
        done = 0
        while not (stop.is_set() and done == rounds):
            await receive(client, moved, ends=False, what=f"megabyte {done + 1} of the bulk transfer")
            done += 1

    async def objects() -> list[float]:
        await asyncio.sleep(2)  # the bulk transfer fills the path
        took: list[float] = []

        async def one(number: int) -> None:
            await asyncio.sleep(number * 0.01)
            took.append(await _fetch(lab, number, content, request))

        try:
            await _all(*(one(number) for number in range(1, count + 1)))
        finally:
            stop.set()
        return took

    with client, server:
        try:
            task = asyncio.create_task(objects())
            await _all(write(), read(), _awaited(task))
        finally:
            serving.cancel()
    took = sorted(task.result())
    late = sum(one > OBJECT_S for one in took)
    said = f"median {span(took[count // 2])}, slowest {span(took[-1])}"
    if late:
        raise Failure(f"{late} of {count} objects of 2,000 octets took longer than {span(OBJECT_S)}: {said}")
    return said


def mtu_before(way: Way) -> Act:
    """Connects and moves 4 MB where the path has had its MTU from the beginning."""
    return transfer(way, 4 * MB)


def mtu_shrinks(octets: int) -> Act:
    """The path's MTU falls in the middle of a transfer each way, and new connections work afterwards, too."""

    async def act(lab: Lab) -> str:
        for way in ("up", "down"):
            lab.mtu(lab.setting.path.mtu)

            async def fall() -> None:
                await asyncio.sleep(0.4)
                lab.mtu(octets)

            await _moved(lab, 12 * MB, way, fall())
        took = await _moved(lab, MB, "up")
        return f"{readable.size(12 * MB)} each way; then {readable.size(MB)} in {span(took)}"

    return act


def path_of(size: int = 6 * MB) -> Act:
    """Moves octets both ways, one after the other, over a path that treats its packets as the case says."""

    async def act(lab: Lab) -> str:
        up, down = await _moved(lab, size, "up"), await _moved(lab, size, "down")
        return f"{readable.size(size)} each way, in {span(up)} and {span(down)}"

    return act


def outage(seconds: float) -> Act:
    """The path is silent for a while in mid-transfer. A sender's time-out doubles, so it may notice up to as long again
    after the end."""

    async def act(lab: Lab) -> str:
        over = 0.0

        async def fail() -> None:
            nonlocal over
            await asyncio.sleep(0.4)
            await lab.outage(seconds)
            over = time.monotonic()

        client, server = await lab.connected()
        with client, server:
            size = 12 * MB
            data = lab.data(size)
            async with within(4 * seconds + 120):
                await _all(_patient(client, data), _patiently(server, data, seconds), fail())
        return f"whole {span(time.monotonic() - over)} after the outage"

    return act


async def _patient(sock: socket.socket, data: bytes) -> None:
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(sock, data)
    except OSError as error:
        raise Failure(f"the writer's connection broke: {name_of(error)}") from None
    sock.shutdown(socket.SHUT_WR)


async def _patiently(sock: socket.socket, data: bytes, seconds: float) -> None:
    """Reads a stream that may pause for twice the outage plus `QUIET_S`."""
    loop, got = asyncio.get_running_loop(), 0
    while got < len(data):
        try:
            async with within(2 * seconds + QUIET_S):
                part = await loop.sock_recv(sock, 1 << 18)
        except Late:
            raise Failure(f"hangs at octet {got} of {len(data)} after an outage of {span(seconds)}") from None
        except OSError as error:
            raise Failure(f"broke at octet {got} of {len(data)}: {name_of(error)}") from None
        if not part or part != data[got : got + len(part)]:
            raise Failure(f"ended or differs at octet {got} of {len(data)}")
        got += len(part)


def gateway_ends(which: Which, *, kill: bool) -> Act:
    """A gateway is stopped, or killed, in mid-transfer, and started again. The connection under way goes on or ends at
    both ends; new ones work."""

    async def act(lab: Lab) -> str:
        lab.gateway(which)

        async def again() -> None:
            await asyncio.to_thread(lab.end, which, kill=kill)
            await asyncio.sleep(1)
            await asyncio.to_thread(lab.start, which)

        return await _in_mid_transfer(lab, again)

    return act


async def _in_mid_transfer(lab: Lab, event: Callable[[], Awaitable[None]], within_s: float = BACK_S) -> str:
    """Whether new connections work after an event, and how the connection in use during the event ends."""
    client, server = await lab.connected()
    with client, server:
        got = [0]
        writing = asyncio.create_task(_until_broken(client))
        reading = asyncio.create_task(_drained(server, got))
        await asyncio.sleep(0.4)
        await event()
        said = await _works_again(lab, within_s)
        ends = await _ends_of(writing, reading, got)
    return f"{said}; {ends}"


async def _until_broken(sock: socket.socket) -> str:
    """Writes with pauses until the connection breaks, and returns how it broke."""
    data = pattern(1, 1 << 14)
    try:
        while True:
            await asyncio.get_running_loop().sock_sendall(sock, data)
            await asyncio.sleep(0.05)
    except OSError as error:
        return name_of(error)


async def _drained(sock: socket.socket, got: list[int]) -> str:
    """Reads until the connection ends, and returns how it ended. ``got`` receives the octets so far."""
    loop = asyncio.get_running_loop()
    try:
        while part := await loop.sock_recv(sock, 1 << 18):
            got[0] += len(part)
        return "end of data"
    except OSError as error:
        return name_of(error)


async def _ends_of(writing: asyncio.Task[str], reading: asyncio.Task[str], got: list[int]) -> str:
    """What happened to both ends of a connection after an event at a gateway. Failure when one of them hangs."""
    before = got[0]
    done, _ = await asyncio.wait({writing, reading}, timeout=GOES_ON_S)
    if not done and got[0] > before:
        for task in (writing, reading):
            task.cancel()
        return "the connection under way went on"
    await asyncio.wait({writing, reading}, timeout=OVER_S)
    for task, end in ((writing, "client"), (reading, "server")):
        if not task.done():
            task.cancel()
            raise Failure(f"the {end} of the connection under way learns nothing of its end within {span(OVER_S)}")
    return f"the connection under way ended ({writing.result()}, {reading.result()})"


async def _works_again(lab: Lab, within_s: float = BACK_S) -> str:
    """New connections work within `BACK_S`."""
    began, last = time.monotonic(), ""
    while time.monotonic() - began < within_s:
        try:
            async with within(within_s):
                await _moved_if_accepted(lab)
            return f"new connections work after {span(time.monotonic() - began)}"
        except (Failure, Late, OSError) as error:
            last = str(error)
            await asyncio.sleep(0.5)
    raise Failure(f"no new connection works within {span(within_s)}: {last}")


async def _moved_if_accepted(lab: Lab) -> None:
    """One small transfer on a new connection; other connections that reach the server meanwhile are closed."""
    data = lab.data(50_000)
    client = await lab.client(within_s=10)
    with client:
        sending = asyncio.create_task(send(client, data))
        try:
            while True:
                server = await lab.server(within_s=10)
                with server:
                    try:
                        await receive(server, data, ends=False)
                    except Failure:
                        continue
                    await sending
                    return
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def rebinding(lab: Lab) -> str:
    """An address translator gives the near gateway another address in mid-transfer."""

    async def translated() -> None:
        lab.translate()

    return await _in_mid_transfer(lab, translated, 4 * BACK_S)


def clock(seconds: float) -> Act:
    """The time of day jumps in mid-transfer."""

    async def act(lab: Lab) -> str:
        async def jump() -> None:
            await asyncio.sleep(0.3)
            lab.clock(seconds)

        took = await _moved(lab, 8 * MB, "up", jump())
        return f"{readable.size(8 * MB)} in {span(took)}; {await _works_again(lab)}"

    return act


async def descriptors(lab: Lab) -> str:
    """A gateway may open 30 files more, and 100 clients come at once."""
    worked = 0
    for which in _both():
        lab.gateway(which)
        lab.limit_descriptors(which, 30)
    content, request = lab.data(2000), lab.data(100)
    serving = asyncio.create_task(_served(lab, content, request))
    clients: list[socket.socket] = []

    async def one() -> None:
        nonlocal worked
        with contextlib.suppress(OSError, Late, Failure):
            client = await lab.client(within_s=10)
            clients.append(client)
            await send(client, request)
            async with within(10):
                await receive(client, content, ends=False)
            worked += 1

    try:
        await _all(*(one() for _ in range(100)))
    finally:
        for client in clients:
            client.close()
        serving.cancel()
    return f"{worked} of 100 were served; {await _works_again(lab)}"


async def memory(lab: Lab) -> str:
    """A gateway may map 32 MB more, and 64 clients send 1 MB each to servers that do not read."""
    for which in _both():
        lab.gateway(which)
        lab.limit_memory(which, 32 * MB)
    ends = []
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            try:
                client, server = await lab.connected()
            except Failure:
                break
            ends += [(stack.enter_context(client), stack.enter_context(server))]
        data = lab.data(MB)

        async def write(client: socket.socket) -> None:
            with contextlib.suppress(OSError, Late):
                async with within(10):
                    await asyncio.get_running_loop().sock_sendall(client, data)

        await _all(*(write(client) for client, _ in ends))
    return f"{len(ends)} of 64 connected; {await _works_again(lab)}"


def _both() -> Iterator[Which]:
    yield "near"
    yield "far"


async def slow_readers(lab: Lab) -> str:
    """20 servers do not read what their clients write, while another transfer runs."""
    with contextlib.ExitStack() as stack:
        filling = []
        sinks = []
        data = lab.data(64 * MB)
        for _ in range(20):
            client, server = await lab.connected()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            stack.enter_context(client)
            sinks.append(stack.enter_context(server))
            filling.append(asyncio.create_task(asyncio.get_running_loop().sock_sendall(client, data)))
        try:
            await asyncio.sleep(10)
            size = 8 * MB
            took = await _moved(lab, size, "up")
        finally:
            for task in filling:
                task.cancel()
            await asyncio.gather(*filling, return_exceptions=True)
    said = f"{readable.rate(size * 8 / took)} of {readable.rate(lab.rate_bps)}, while 20 servers did not read"
    if size * 8 / took < lab.rate_bps * LINE_SHARE / 2:
        raise Failure(f"the transfer got {said}: less than a quarter")
    return said


async def stalled_reader(lab: Lab) -> str:
    """A reader stops until the writer blocks, waits 10 s more, and then reads."""
    client, server = await lab.connected()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
    data, sent = lab.data(64 * MB), 0
    with client, server:
        loop = asyncio.get_running_loop()
        while sent < len(data):
            try:
                sent += client.send(data[sent : sent + (1 << 17)])
            except BlockingIOError:
                try:
                    async with within(5):
                        await _writable(client)
                except Late:
                    break
        if sent == len(data):
            raise Failure(f"the writer is never stopped: {readable.size(sent)} taken and nothing read")
        await asyncio.sleep(10)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MB)
        reading = asyncio.create_task(receive(server, data[:sent]))
        await asyncio.sleep(0)
        client.shutdown(socket.SHUT_WR)
        await reading
        assert loop
    return f"the writer stops after {readable.size(sent)}, then all octets"


async def _writable(sock: socket.socket) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(sock)


async def idle(lab: Lab) -> str:
    """A connection is idle for 10 minutes and is used again."""
    client, server = await lab.connected()
    data = lab.data(10_000)
    with client, server:
        await _all(send(client, data), receive(server, data, ends=False))
        await asyncio.sleep(600)
        await _all(send(client, data), receive(server, data, ends=False, what="the stream after 10 min"))
        await _all(send(server, data), receive(client, data, ends=False, what="the answer after 10 min"))
    return "both ways after 10 min"
