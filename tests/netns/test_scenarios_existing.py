"""Hosts that exist already: one over SSH, one a named namespace, joined by a delay box on interfaces of this machine.

The "other machine" is a namespace with an sshd of its own, which has a management address besides the data address.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from lfp_process import Lfp
from support.waiting import wait_until

import lfp
from netcommon.binaries import find
from netcommon.process import Tool

SSHD = Path("/usr/sbin/sshd")
pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd: apt-get install openssh-server"),
]
SENDER, RECEIVER, MANAGED, OURS = "10.78.1.1", "10.78.1.2", "10.78.2.2", "10.78.2.1"


@dataclass(frozen=True)
class Lab:
    """Names of the namespaces and of this machine's interfaces towards them."""

    sender: str
    receiver: str
    left: str
    right: str


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def lab() -> Iterator[Lab]:
    own = f"{os.getpid() % 10**5}"
    lab = Lab(f"lfpt-s{own}", f"lfpt-r{own}", f"lfpl{own}", f"lfpr{own}")
    with ExitStack() as stack:
        for name in (lab.sender, lab.receiver):
            ip("netns", "add", name)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        for name, here, address in ((lab.sender, lab.left, SENDER), (lab.receiver, lab.right, RECEIVER)):
            ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", here, "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            for interface in ("lo", "eth0"):
                ip("-n", name, "link", "set", interface, "up")
        ip("link", "add", f"lfpm{own}", "type", "veth", "peer", "name", "mgmt", "netns", lab.sender)
        ip("address", "add", f"{OURS}/30", "dev", f"lfpm{own}")
        ip("link", "set", f"lfpm{own}", "up")
        ip("-n", lab.sender, "address", "add", f"{MANAGED}/30", "dev", "mgmt")
        ip("-n", lab.sender, "link", "set", "mgmt", "up")
        yield lab


@pytest.fixture
def sshd(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    """A folder whose `ssh` reaches an sshd in the sender's namespace."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    config = tmp_path / "sshd_config"
    config.write_text(
        f"Port 2222\nListenAddress {MANAGED}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\n"
        "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPidFile none\n"
    )
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    ssh.write_text(
        f"#!/bin/sh\nexec /usr/bin/ssh -F none -i {tmp_path}/user -o IdentitiesOnly=yes "
        f'-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new "$@"\n'
    )
    ssh.chmod(0o755)
    with Tool([SSHD, "-D", "-e", "-f", config], netns_pid=lab.sender, name="sshd", json_lines=False):

        def answers() -> bool:
            done = subprocess.run(
                [ssh, "-o", "BatchMode=yes", f"ssh://root@{MANAGED}:2222", "true"],
                check=False,
                capture_output=True,
                timeout=30,
            )
            return done.returncode == 0

        wait_until(answers, "sshd to answer", 60)
        yield tmp_path / "bin"


def scenario(lab: Lab, more: str = "") -> str:
    return f"""\
[scenario]
name = "existing"
[topology]
kind = "existing"
left = "{lab.left}"
right = "{lab.right}"
[pair.1.sender]
ssh = "ssh://root@{MANAGED}:2222"
address = "{SENDER}"
rttcp = "{find("rttcp")}"
[pair.1.receiver]
netns = "{lab.receiver}"
address = "{RECEIVER}"
[profile]
name = "as-it-is"
[path]
delay = "10ms"
[transfer]
bytes = "200KB"
{more}
"""


def test_a_transfer_between_hosts_that_exist(lab: Lab, sshd: Path, tmp_path: Path) -> None:
    (tmp_path / "existing.toml").write_text(scenario(lab))
    path = f"{sshd}:{os.environ['PATH']}"
    process = Lfp("run", str(tmp_path / "existing.toml"), "--runs-dir", str(tmp_path / "runs"), PATH=path)
    assert process.finish() == 0, process.err
    run = lfp.load("last", runs_dir=tmp_path / "runs")
    (row,) = run.results().to_pylist()
    assert row["state"] == "done" and row["rtt_min_ns"] >= 20_000_000, "through the box, sampled on the other machine"
    (trial,) = run.trials
    assert trial.transfer["sender"]["local"].startswith(SENDER) and trial.transfer["summary"]["bytes"] == 200 * 1024
    left = subprocess.run(["ip", "netns", "pids", lab.sender], capture_output=True, text=True, check=True).stdout
    names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in left.split() if Path(f"/proc/{pid}").exists()]
    assert "rttcp" not in names, "nothing outlives a run on the other machine"


def test_a_host_that_cannot_be_reached_is_one_line(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "existing.toml").write_text(scenario(lab))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\necho 'ssh: no route to host' >&2\nexit 255\n")
    (tmp_path / "bin" / "ssh").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    process = Lfp("run", str(tmp_path / "existing.toml"), "--runs-dir", str(tmp_path / "runs"), PATH=path)
    assert process.finish() == 3
    (line,) = process.err.splitlines()
    assert line.startswith(f"lfp: ssh ssh://root@{MANAGED}:2222: ssh: no route to host; want 'ssh ssh://root@")
