"""`lfp` as its user starts it, marked in its environment so that whatever it leaves can be found without guessing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUR_INTERFACES = ("snd-", "rcv-", "r1-", "r2-", "port0")


class Lfp:
    """One `lfp` in the background. Its process and every descendant carry ``LFP_TEST_MARK`` in their environment."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.mark = uuid.uuid4().hex
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = os.environ | {"LFP_TEST_MARK": self.mark, "PYTHONPATH": path} | environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lfp", *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.out = self.err = ""

    def finish(self, timeout_s: float = 120) -> int:
        """Waits for the end of `lfp`; returns its exit status. Its output is in ``out`` and ``err``."""
        try:
            self.out, self.err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.out, self.err = self.process.communicate(timeout=30)
            raise
        return self.process.returncode

    def left(self) -> list[str]:
        """Command lines of marked processes that still run, `lfp` itself included."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"LFP_TEST_MARK={self.mark}".encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return [line for line in found if line]

    def runs(self, name: str) -> bool:
        """True when a marked process's command line holds ``name``."""
        return any(name in line for line in self.left())


def strays() -> set[str]:
    """What `lfp` may leave besides processes: interfaces of this namespace, named namespaces, state files."""
    interfaces = {f"interface {p.name}" for p in Path("/sys/class/net").iterdir() if p.name.startswith(OUR_INTERFACES)}
    named = {
        f"netns {p.name}" for p in Path("/run/netns").glob("*") if p.name.startswith(("snd", "rcv", "r1", "r2", "mn"))
    }
    return interfaces | named


def state_files() -> set[str]:
    """Records and scratch directories of runs."""
    return {str(path) for path in Path("/run/lfp").glob("*")}
