"""A box between two namespaces, for tests: ``with two_hosts() as hosts, Box(hosts, delay="4.2ms") as box: …``."""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from comet_delay import Port
from comet_delay import options as known_options
from comet_delay.userspace import UserspaceBox

LEFT, RIGHT = "10.77.0.1", "10.77.0.2"
LEFT6, RIGHT6 = "fd77::1", "fd77::2"


def ip(*arguments: str) -> None:
    """`ip …`, which must succeed."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


def in_netns(netns: str, *argv: str, timeout_s: float = 60) -> str:
    """Standard output of a command inside a namespace; it must succeed."""
    done = subprocess.run(["ip", "netns", "exec", netns, *argv], capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, f"{argv}: {done.stderr or done.stdout}"
    return done.stdout


@contextmanager
def iperf3_server(netns: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A listening iperf3 server for one client; ended afterwards."""
    argv = ["ip", "netns", "exec", netns, "iperf3", "-s", "-1", *options]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 30
            while "5201" not in in_netns(netns, "ss", "-Hltn"):
                assert time.monotonic() < deadline, "iperf3 does not listen"
                time.sleep(0.02)
            yield server
        finally:
            server.kill()


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


def introduce(hosts: Hosts) -> None:
    """Gives each host a permanent ARP entry for the other, so no ARP packet is lost or counted."""
    for netns, other, address in ((hosts.left, hosts.right, RIGHT), (hosts.right, hosts.left, LEFT)):
        mac = in_netns(other, "cat", "/sys/class/net/wan/address").strip()
        ip("-n", netns, "neigh", "replace", address, "lladdr", mac, "dev", "wan", "nud", "permanent")


def daemon(a: Port, b: Port, folder: Path, options: dict[str, str]) -> UserspaceBox:
    """A box not yet started; options of ``comet-delay run`` by name (``ab_delay="4.2ms"``), its files in a folder."""
    known = known_options.installed()
    path: dict[str, dict[str, int | str]] = {"": {}, "ab": {}, "ba": {}}
    own: dict[str, int | str | None] = dict(options)
    for name, text in options.items():
        prefix, bare = (name[:2], name[3:]) if name[:3] in ("ab_", "ba_") else ("", name)
        if option := known.by_name(bare):
            path[prefix][option.parameter] = text
            del own[name]
    mtu, seed, record = int(own.pop("mtu", None) or 1500), int(own.pop("seed", None) or 1), own.pop("record", None)
    return UserspaceBox(
        a, b, both=path[""], ab=path["ab"], ba=path["ba"], mtu=mtu, seed=seed, box=own,
        record=Path(str(record)) if record else None, control=folder / "control", log=folder / "stderr",
    )  # fmt: skip


class Box:
    """A running comet-delay with a TAP ``wan`` in either namespace, addressed; options by name (``delay="4.2ms"``)."""

    def __init__(self, hosts: Hosts, a: Port | None = None, b: Port | None = None, /, **options: str) -> None:
        self.hosts = hosts
        self._folder = tempfile.TemporaryDirectory(prefix="comet-test-")
        folder = Path(self._folder.name)
        self.box = daemon(a or Port("wan", hosts.left), b or Port("wan", hosts.right), folder, options)
        self.socket, self.log = folder / "control", folder / "stderr"

    def __enter__(self) -> Box:
        self.box.start()
        for netns, v4, v6 in ((self.hosts.left, LEFT, LEFT6), (self.hosts.right, RIGHT, RIGHT6)):
            ip("-n", netns, "addr", "add", f"{v4}/24", "dev", "wan")
            ip("-n", netns, "addr", "add", f"{v6}/64", "dev", "wan", "nodad")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.box.__exit__(kind, error, tb)
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Process id of the daemon."""
        return self.box.pid

    def show(self) -> dict[str, Any]:
        """State by the control socket."""
        return self.box.show()

    def finish(self) -> dict[str, Any]:
        """The box's `end` event, once the box has ended by itself or by a signal."""
        return self.box.finish(30)

    def stop(self) -> dict[str, Any]:
        """Ends the box by SIGTERM; returns its `end` event."""
        return self.box.stop(30)
