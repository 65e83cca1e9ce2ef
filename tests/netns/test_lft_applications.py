"""Programs that know nothing of gateways, through the router model and through the proxies."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lft_lab import GATEWAY, SERVER, Lab, inside, lft_lab, until

from netcommon.netns import call_in

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

SSH, WEB, IPERF, NGINX, RSYNC = 2222, 8080, 5201, 8081, 8730
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    forwards = [
        part for port in (SSH, WEB, IPERF, NGINX, RSYNC)
        for part in ("--forward", f"{GATEWAY[4]}:{port}={SERVER[4]}:{port}")
    ]  # fmt: skip
    with lft_lab(delay="2ms") as made:
        try:
            made.start("far", "--router", "--lan", "lan0")
            made.start("near", "--router", "--lan", "lan0", *forwards)
            made.wait_accelerating()
            yield made
        finally:
            for which in list(made.running):
                made.stop(which)


def program(name: str) -> str:
    """Its path; empty when it is not there."""
    return shutil.which(name, path=PATH) or ""


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips a test without these programs."""
    missing = [name for name in names if not program(name)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@contextmanager
def serving(lab: Lab, argv: list[str], port: int, folder: Path) -> Iterator[None]:
    """A server program in its namespace, once it listens."""
    process = subprocess.Popen(inside(lab.server, *argv), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:

        def listens() -> bool:
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            return call_in(lab.server, lambda: f":{port:04X} " in _listeners())

        until(listens, 10, f"{argv[0]} listens")
        yield
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=60)


def _listeners() -> str:
    lines = (
        Path("/proc/thread-self/net/tcp").read_text().splitlines()
        + Path("/proc/thread-self/net/tcp6").read_text().splitlines()
    )
    return "\n".join(line for line in lines if " 0A " in line)


def client(lab: Lab, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """A client program, which must succeed."""
    done = subprocess.run(inside(lab.client, *argv), capture_output=True, timeout=30)
    assert done.returncode == 0, f"{argv}: {done.stderr.decode()} {done.stdout.decode()[-500:]}"
    return done


@pytest.fixture(params=["router", "proxy"])
def host(lab: Lab, request: pytest.FixtureRequest) -> Iterator[str]:
    """Whom the client names; and that what it did went through the tunnel."""
    before = lab.show()["relay"]["near_accepted"]
    yield SERVER[4] if request.param == "router" else GATEWAY[4]
    assert lab.show()["relay"]["near_accepted"] > before, "it went around the gateways"


def files(folder: Path) -> str:
    """A tree with some files; its digest."""
    (folder / "tree" / "deep").mkdir(parents=True)
    for number in range(20):
        (folder / "tree" / ("deep" if number % 2 else ".") / f"{number}.bin").write_bytes(os.urandom(50_000))
    return digest(folder / "tree")


def digest(folder: Path) -> str:
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*.bin")):
        content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()


@needs("curl")
def test_python_http_server_and_curl(lab: Lab, host: str, tmp_path: Path) -> None:
    curl, body = program("curl"), os.urandom(2_000_000)
    (tmp_path / "page").write_bytes(body)
    with serving(lab, [sys.executable, "-m", "http.server", str(WEB), "--bind", SERVER[4]], WEB, tmp_path):
        done = client(lab, curl, "-sS", "--parallel", f"http://{host}:{WEB}/page")
    assert done.stdout == body


@needs("iperf3")
def test_iperf3_both_ways(lab: Lab, host: str, tmp_path: Path) -> None:
    """Each way has a server of its own: one that has just ended a test may still refuse the next as "busy"."""
    iperf3 = program("iperf3")
    for options in (("-P", "3"), ("-R",)):
        with serving(lab, [iperf3, "-s", "-p", str(IPERF)], IPERF, tmp_path):
            client(lab, iperf3, "-c", host, "-p", str(IPERF), "-n", "5M", *options)


@needs("nginx", "curl")
def test_nginx(lab: Lab, host: str, tmp_path: Path) -> None:
    nginx, curl, body = program("nginx"), program("curl"), os.urandom(1_000_000)
    (tmp_path / "page").write_bytes(body)
    tmp_path.chmod(0o755)
    temporary = " ".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; user root; pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen {SERVER[4]}:{NGINX}; root {tmp_path}; }} }}\n"
    )
    with serving(lab, [nginx, "-c", str(tmp_path / "nginx.conf")], NGINX, tmp_path):
        done = client(lab, curl, "-sS", f"http://{host}:{NGINX}/page", f"http://{host}:{NGINX}/page")  # keep-alive
    assert done.stdout == 2 * body


@needs("rsync")
def test_rsync_daemon(lab: Lab, host: str, tmp_path: Path) -> None:
    rsync, wanted = program("rsync"), files(tmp_path)
    (tmp_path / "rsyncd.conf").write_text(f"use chroot = no\nuid = root\ngid = root\n[tree]\npath = {tmp_path}/tree\n")
    argv = [rsync, "--daemon", "--no-detach", "--port", str(RSYNC), "--config", str(tmp_path / "rsyncd.conf")]
    with serving(lab, argv, RSYNC, tmp_path):
        client(lab, rsync, "-a", f"rsync://{host}:{RSYNC}/tree/", str(tmp_path / "copy"))
    assert digest(tmp_path / "copy") == wanted


@needs("ssh", "sshd", "ssh-keygen")
def test_ssh_and_rsync_over_it(lab: Lab, host: str, tmp_path: Path) -> None:
    ssh, sshd, keygen = program("ssh"), program("sshd"), program("ssh-keygen")
    for key in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / key)], check=True, timeout=60)
    Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "HostKey": tmp_path / "host", "AuthorizedKeysFile": tmp_path / "user.pub", "StrictModes": "no",
        "PermitRootLogin": "yes", "UsePAM": "no", "PidFile": "none", "ListenAddress": f"{SERVER[4]}:{SSH}",
    }  # fmt: skip
    set_options = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    trust = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    shell = f"{ssh} -p {SSH} -i {tmp_path}/user {trust}"
    with serving(lab, [sshd, "-D", "-e", "-f", "/dev/null", *set_options], SSH, tmp_path):
        done = client(lab, *shell.split(), f"root@{host}", "head -c 1000000 /dev/zero | sha256sum")
        assert done.stdout.split()[0].decode() == hashlib.sha256(bytes(1_000_000)).hexdigest()
        if shutil.which("rsync"):
            wanted = files(tmp_path)
            client(lab, "rsync", "-a", "-e", shell, f"root@{host}:{tmp_path}/tree/", str(tmp_path / "copy"))
            assert digest(tmp_path / "copy") == wanted
