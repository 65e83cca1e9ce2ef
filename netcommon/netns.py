"""Doing things inside another network namespace, given as the id of a process that lives in it or by name.

Python code enters on a thread of its own that ends afterwards, so the calling thread never changes namespace and a
failure cannot leave it in the wrong one. Programs are started through ``nsenter`` (see process.py).
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
_CLONE_NEWNET = 0x40000000


def namespace_path(netns: int | str) -> str:
    """Path of a network namespace: of a process id, or of a name of ``ip netns``."""
    return f"/proc/{netns}/ns/net" if isinstance(netns, int) else f"/run/netns/{netns}"


def call_in(netns: int | str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``function(*args)`` inside a network namespace (process id or name); its result, or its exception raised here."""
    outcome: dict[str, Any] = {}

    def enter_and_call() -> None:
        try:
            _enter(netns)
            outcome["result"] = function(*args, **kwargs)
        except BaseException as error:  # handed to the caller's thread, whatever it is
            outcome["error"] = error

    thread = threading.Thread(target=enter_and_call, name=f"netns-{netns}")
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    result: T = outcome["result"]
    return result


def end_abandoned_connections(netns: int) -> None:
    """Ends the TCP connections of a process's network namespace that no program holds any more, if there are any.

    What a killed transfer had in flight is sent again for minutes otherwise, and keeps the namespace and its share of
    the machine's TCP memory: a gigabyte at 10 Gbit/s and 498 ms, enough to starve the next transfer. Call it when no
    transfer runs there: it ends those too. Without effect on a kernel that cannot destroy sockets (INET_DIAG_DESTROY).
    """
    if not _orphans():
        return
    ss = ["nsenter", f"--net={namespace_path(netns)}", "--", "ss", "--kill", "--tcp", "--no-header", "state", "all"]
    subprocess.run(ss, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _orphans() -> int:
    """On the whole machine: the kernel counts them so."""
    fields = Path("/proc/net/sockstat").read_text(encoding="ascii").split()
    return int(fields[fields.index("orphan") + 1])


def _enter(netns: int | str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(namespace_path(netns), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), namespace_path(netns))
    finally:
        os.close(descriptor)
