"""Makes namespaces, and runs Python code inside another network namespace, which is given by its name or by the id of a
process in it.

The code runs on a separate thread that ends afterwards. So the calling thread never changes its namespace, and a
failure cannot leave it in the wrong one. Programs are started through ``nsenter`` (process.py).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_CLONE_NEWNET, _CLONE_NEWNS = 0x40000000, 0x00020000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000


def namespace_path(netns: int | str) -> str:
    """Path of the network namespace of a process id, or of a name that ``ip netns`` gave."""
    return f"/proc/{netns}/ns/net" if isinstance(netns, int) else f"/run/netns/{netns}"


def call_in(netns: int | str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function(*args)`` inside a network namespace (process id or name). Returns its result, or raises its
    exception."""

    def enter_and_call() -> T:
        enter(namespace_path(netns))
        return function(*args, **kwargs)

    return _on_own_thread(f"netns-{netns}", enter_and_call)


def call_in_new(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function(*args)`` inside a new network namespace, which is removed afterwards. OSError when the
    kernel refuses."""

    def enter_and_call() -> T:
        enter_new()
        return function(*args, **kwargs)

    return _on_own_thread("netns-new", enter_and_call)


class Holder:
    """A process in new network and mount namespaces, with their /sys. It keeps them until `end`, or until this process
    ends. OSError when the kernel refuses."""

    def __init__(self) -> None:
        self._process = _on_own_thread("holder", _start_holder)
        self.pid = self._process.pid

    def end(self) -> None:
        self._process.communicate()


def _start_holder() -> subprocess.Popen[bytes]:
    """Makes the namespaces by system calls. Rejected: unshare(1), which would also need mount(1); each start of a
    program takes 10 ms in a guest."""
    _check(_libc().unshare(_CLONE_NEWNET | _CLONE_NEWNS), "(a new one)")
    _check(_libc().mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None), "/")
    _check(_libc().mount(b"sysfs", b"/sys", b"sysfs", 0, None), "/sys")
    # It ends with its input, which the kernel closes when this process ends.
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)


def _on_own_thread(name: str, function: Callable[[], T]) -> T:
    """Calls ``function`` on a new thread, whose namespaces end with the thread. Returns its result or raises its
    exception."""
    outcome: dict[str, Any] = {}

    def call() -> None:
        try:
            outcome["result"] = function()
        except BaseException as error:  # any exception is raised again on the caller's thread
            outcome["error"] = error

    thread = threading.Thread(target=call, name=name)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    result: T = outcome["result"]
    return result


def end_abandoned_connections(netns: int) -> None:
    """Ends the TCP connections in a process's network namespace, if the machine has orphans: connections that no
    program holds.

    Without this call the kernel retransmits a killed transfer's data for minutes. Meanwhile the namespace exists and
    uses the machine's TCP memory: a gigabyte at 10 Gbit/s and 498 ms, which is enough to starve the next transfer. Call
    this function only while no transfer runs there, because it ends running transfers too. It has no effect on a kernel
    that cannot destroy sockets (INET_DIAG_DESTROY).
    """
    if not _orphans():
        return
    ss = ["nsenter", f"--net={namespace_path(netns)}", "--", "ss", "--kill", "--tcp", "--no-header", "state", "all"]
    subprocess.run(ss, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def forget_destinations(netns: int) -> None:
    """Deletes what TCP in a process's network namespace remembers of earlier connections (tcp_metrics): round-trip
    times, slow start thresholds."""
    ip = ["nsenter", f"--net={namespace_path(netns)}", "--", "ip", "tcp_metrics", "flush", "all"]
    subprocess.run(ip, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _orphans() -> int:
    """The number of orphaned connections on the whole machine; the kernel has no count for each namespace."""
    fields = Path("/proc/net/sockstat").read_text(encoding="ascii").split()
    return int(fields[fields.index("orphan") + 1])


def enter(path: str) -> None:
    """Moves the calling thread into the network namespace at this path. OSError when the kernel refuses."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc().setns(descriptor, _CLONE_NEWNET), path)
    finally:
        os.close(descriptor)


def enter_new() -> None:
    """Moves the calling thread into a new, empty network namespace. OSError when the kernel refuses."""
    _check(_libc().unshare(_CLONE_NEWNET), "(a new one)")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, path: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
