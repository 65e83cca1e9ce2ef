"""A thread that stays in a network namespace and keeps one netlink socket there.

A new namespace that such a thread makes has no name and no file. The kernel removes it, with every interface in it,
when the thread ends, however the process ends. Rejected: a namespace of ``ip netns``, which outlives a killed process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from pyroute2 import IPRoute

from netcommon.errors import MissingError
from netcommon.netns import enter, enter_new, namespace_path

P = ParamSpec("P")
T = TypeVar("T")


class Namespace:
    """A thread in a network namespace. Use it as a context manager. ``Namespace()`` is new and empty;
    ``Namespace.of(netns)`` is an existing one.

    Raises MissingError when the kernel does not let this user enter the namespace, OSError when there is no `path`.
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
        """The namespace of a process id, a path, or a name of ``ip netns``. None: the calling process's own."""
        if netns is None:
            return cls(f"/proc/{os.getpid()}/ns/net")
        return cls(netns if isinstance(netns, str) and "/" in netns else namespace_path(netns))

    def __enter__(self) -> Namespace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the namespace. A new one ends with this."""
        self._thread.submit(self._netlink.close).result()
        self._thread.shutdown()

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls ``function(*args)`` in the namespace. Returns its result, or raises its exception."""
        return self._thread.submit(function, *args, **kwargs).result()

    def netlink(self, function: Callable[Concatenate[IPRoute, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `run`, with the namespace's netlink socket as the first argument."""
        return self._thread.submit(function, self._netlink, *args, **kwargs).result()

    def _enter(self) -> str:
        try:
            enter(self._path) if self._path else enter_new()
        except FileNotFoundError:
            raise
        except OSError as error:
            why = f"cannot enter network namespace {error.filename}: {error.strerror}; run as root"
            raise MissingError(why) from error
        return f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"
