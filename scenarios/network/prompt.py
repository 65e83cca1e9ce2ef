"""Mininet's prompt on the network of a trial. Loading this module loads Mininet, which takes 0.2 s and is an extra."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mininet.cli import CLI
from mininet.link import Intf, Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Node

_DESCRIPTORS = 256  # limit of open files of a node's shell


class _Interface(Intf):  # type: ignore[misc]
    """An interface that other code brings up."""

    def config(self, **_: Any) -> dict[str, Any]:
        return {}


class _Veth(Link):  # type: ignore[misc]
    """A veth pair that other code has made."""

    @classmethod
    def makeIntfPair(cls, *_: object, **__: object) -> None:
        pass


class _Shell(Node):  # type: ignore[misc]
    """A node with a shell."""

    def end(self) -> None:
        self.terminate()


class Prompt:
    """Mininet's view of a network whose links and addresses are ours."""

    def __init__(self) -> None:
        setLogLevel("error")
        Mininet.inited = True  # init() would change machine-wide limits (fixLimits); ours are per namespace
        self._net: Any = Mininet(topo=None, build=False, controller=None, link=_Veth, intf=_Interface)

    def node(self, name: str) -> _Shell:
        """A node whose shell holds its namespaces."""
        with _few_descriptors():
            shell: _Shell = self._net.addHost(name, cls=_Shell, ip=None)
        return shell

    def connect(self, left: str, left_nic: str, right: str, right_nic: str) -> None:
        """Makes a link between two nodes known."""
        self._net.addLink(left, right, intfName1=left_nic, intfName2=right_nic)

    def open(self) -> None:
        """Until the user leaves it."""
        setLogLevel("output")  # shows what the nodes' commands print
        CLI(self._net)


@contextmanager
def _few_descriptors() -> Iterator[None]:
    """mnexec closes as many descriptors as the limit allows, each by a system call. Some machines allow a million."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
