"""A box between two namespaces, for tests: ``with two_hosts() as hosts, Box(hosts, delay="4.2ms") as box: …``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from comet_delay import Control
from netcommon.binaries import find

LEFT, RIGHT = "10.77.0.1", "10.77.0.2"
LEFT6, RIGHT6 = "fd77::1", "fd77::2"


def ip(*arguments: str) -> None:
    """`ip …`, which must succeed."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=10)


def in_netns(netns: str, *argv: str, timeout_s: float = 60) -> str:
    """Standard output of a command inside a namespace; it must succeed."""
    done = subprocess.run(["ip", "netns", "exec", netns, *argv], capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, f"{argv}: {done.stderr or done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Hosts:
    """Names of two namespaces of `ip netns`."""

    left: str
    right: str


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Two empty namespaces, gone afterwards."""
    mark = uuid.uuid4().hex[:8]
    hosts = Hosts(f"comet-l-{mark}", f"comet-r-{mark}")
    try:
        for name in (hosts.left, hosts.right):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        yield hosts
    finally:
        for name in (hosts.left, hosts.right):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=10)


class Box:
    """A running comet-delay with a TAP ``wan`` in either namespace, addressed; options by name (``delay="4.2ms"``)."""

    def __init__(self, hosts: Hosts, **options: str) -> None:
        self.hosts = hosts
        self._folder = tempfile.TemporaryDirectory(prefix="comet-test-")
        self.socket = Path(self._folder.name) / "control"
        argv = [str(find("comet-delay")), "run", "--json", "--control", str(self.socket)]
        argv += ["--a", f"tap:wan@{hosts.left}", "--b", f"tap:wan@{hosts.right}"]
        for name, value in options.items():
            argv += [f"--{name.replace('_', '-')}", value]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Box:
        assert self.process.stdout
        ready = json.loads(self.process.stdout.readline())
        assert ready["event"] == "ready", ready
        for netns, v4, v6 in ((self.hosts.left, LEFT, LEFT6), (self.hosts.right, RIGHT, RIGHT6)):
            ip("-n", netns, "addr", "add", f"{v4}/24", "dev", "wan")
            ip("-n", netns, "addr", "add", f"{v6}/64", "dev", "wan", "nodad")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=10)
        self._folder.cleanup()

    def show(self) -> dict[str, Any]:
        """State by the control socket."""
        with Control(self.socket) as control:
            return control.show()

    def stop(self) -> dict[str, Any]:
        """Ends the box in order; its `end` event."""
        os.kill(self.process.pid, signal.SIGINT)
        out, err = self.process.communicate(timeout=10)
        assert self.process.returncode == 0, err
        end: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        assert end["event"] == "end"
        return end
