"""A thread that lives in a network namespace, and what it keeps there: one netlink socket.

A new namespace made so has no name and no file: it goes, with every interface in it, when the thread ends or the
process dies in whatever way. Rejected: a namespace of ``ip netns``, which outlives a killed process.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from pyroute2 import IPRoute

from netcommon.errors import MissingError
from netcommon.netns import namespace_path

P = ParamSpec("P")
T = TypeVar("T")
_CLONE_NEWNET = 0x40000000


class Namespace:
    """Use as a context manager. ``Namespace()`` is new and empty, ``Namespace.of(netns)`` an existing one.

    Raises MissingError without the privilege, OSError when `path` cannot be entered.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="netns")
        try:
            self.path: str = self._thread.submit(self._enter).result()
            self._netlink: IPRoute = self._thread.submit(IPRoute).result()
        except BaseException:
            self._thread.shutdown()
            raise

    @classmethod
    def of(cls, netns: str | int | None) -> Namespace:
        """The namespace of a process id, a path, a name of ``ip netns``, or (None) of the calling process."""
        if netns is None:
            return cls(f"/proc/{os.getpid()}/ns/net")
        return cls(netns if isinstance(netns, str) and "/" in netns else namespace_path(netns))

    def __enter__(self) -> Namespace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the namespace; ends it if it was new."""
        self._thread.submit(self._netlink.close).result()
        self._thread.shutdown()

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """``function(*args)`` in the namespace; its result, or its exception raised here."""
        return self._thread.submit(function, *args, **kwargs).result()

    def netlink(self, function: Callable[Concatenate[IPRoute, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """``function(ipr, *args)`` in the namespace, with its netlink socket."""
        return self._thread.submit(function, self._netlink, *args, **kwargs).result()

    def _enter(self) -> str:
        libc = ctypes.CDLL(None, use_errno=True)
        if self._path is None:
            failed = libc.unshare(_CLONE_NEWNET)
        else:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            failed = libc.setns(descriptor, _CLONE_NEWNET)
            os.close(descriptor)
        if failed:
            code = ctypes.get_errno()
            where = self._path or "(a new one)"
            raise MissingError(f"cannot enter network namespace {where}: {os.strerror(code)}; run as root")
        return f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"
