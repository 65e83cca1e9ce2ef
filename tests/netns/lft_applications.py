"""Programs that know nothing of gateways, each as a function of a laboratory, of the address that its client names, and
of an empty folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lft_lab import GATEWAY, ROUTER, SERVER, Lab, inside, lft_lab, until

from netcommon.netns import call_in

SSH, WEB, IPERF, NGINX, RSYNC = 2222, 8080, 5201, 8081, 8730
# The address to which the client connects: with the router model the server's, with a proxy the near gateway's.
HOSTS = {"router": SERVER[4], "proxy": GATEWAY[4]}
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
Application = Callable[[Lab, str, Path], None]


@contextmanager
def gateways(spin: str = "20us") -> Iterator[Lab]:
    """A laboratory whose near gateway also forwards the programs' ports. ``spin`` is the delay box's, which in virtual
    time is "0"."""
    forwards = [
        part
        for port in (SSH, WEB, IPERF, NGINX, RSYNC)
        for part in ("--forward", f"{GATEWAY[4]}:{port}={SERVER[4]}:{port}")
    ]
    with lft_lab(delay="2ms", spin=spin) as lab, lab.stopping():
        lab.start("far", *ROUTER)
        lab.start("near", *ROUTER, *forwards)
        lab.wait_accelerating()
        yield lab


def through(lab: Lab, application: Application, by: str, folder: Path) -> None:
    """Runs an application; it must have gone through the tunnel."""
    before = lab.show()["relay"]["near_accepted"]
    application(lab, HOSTS[by], folder)
    assert lab.show()["relay"]["near_accepted"] > before, "it went around the gateways"


def program(name: str) -> str:
    """The program's path; empty if the program is not installed."""
    return shutil.which(name, path=PATH) or ""


@contextmanager
def serving(lab: Lab, argv: list[str], port: int, folder: Path) -> Iterator[None]:
    """A server program in the server's namespace; entered when it listens."""
    process = subprocess.Popen(inside(lab.server, *argv), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:

        def listens() -> bool:
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            return call_in(lab.server, lambda: f":{port:04X} " in _listeners())

        until(listens, 60, f"{argv[0]} listens")
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


def python_http_server_and_curl(lab: Lab, host: str, folder: Path) -> None:
    curl, body = program("curl"), os.urandom(2_000_000)
    (folder / "page").write_bytes(body)
    with serving(lab, [sys.executable, "-m", "http.server", str(WEB), "--bind", SERVER[4]], WEB, folder):
        done = client(lab, curl, "-sS", "--parallel", f"http://{host}:{WEB}/page")
    assert done.stdout == body


def iperf3_both_ways(lab: Lab, host: str, folder: Path) -> None:
    """Each direction gets a server of its own: one that has just ended a test may still refuse the next as "busy"."""
    iperf3 = program("iperf3")
    for options in (("-P", "3"), ("-R",)):
        with serving(lab, [iperf3, "-s", "-p", str(IPERF)], IPERF, folder):
            client(lab, iperf3, "-c", host, "-p", str(IPERF), "-n", "5M", *options)


def nginx(lab: Lab, host: str, folder: Path) -> None:
    binary, curl, body = program("nginx"), program("curl"), os.urandom(1_000_000)
    (folder / "page").write_bytes(body)
    folder.chmod(0o755)
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; user root; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen {SERVER[4]}:{NGINX}; root {folder}; }} }}\n"
    )
    with serving(lab, [binary, "-c", str(folder / "nginx.conf")], NGINX, folder):
        done = client(lab, curl, "-sS", f"http://{host}:{NGINX}/page", f"http://{host}:{NGINX}/page")  # keep-alive
    assert done.stdout == 2 * body


def rsync_daemon(lab: Lab, host: str, folder: Path) -> None:
    rsync, wanted = program("rsync"), files(folder)
    (folder / "rsyncd.conf").write_text(f"use chroot = no\nuid = root\ngid = root\n[tree]\npath = {folder}/tree\n")
    argv = [rsync, "--daemon", "--no-detach", "--port", str(RSYNC), "--config", str(folder / "rsyncd.conf")]
    with serving(lab, argv, RSYNC, folder):
        client(lab, rsync, "-a", f"rsync://{host}:{RSYNC}/tree/", str(folder / "copy"))
    assert digest(folder / "copy") == wanted


def ssh_and_rsync_over_it(lab: Lab, host: str, folder: Path) -> None:
    ssh, sshd, keygen = program("ssh"), program("sshd"), program("ssh-keygen")
    for key in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True, timeout=60)
    Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "StrictModes": "no",
        "PermitRootLogin": "yes",
        "UsePAM": "no",
        "PidFile": "none",
        "ListenAddress": f"{SERVER[4]}:{SSH}",
    }
    set_options = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    trust = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    shell = f"{ssh} -p {SSH} -i {folder}/user {trust}"
    with serving(lab, [sshd, "-D", "-e", "-f", "/dev/null", *set_options], SSH, folder):
        done = client(lab, *shell.split(), f"root@{host}", "head -c 1000000 /dev/zero | sha256sum")
        assert done.stdout.split()[0].decode() == hashlib.sha256(bytes(1_000_000)).hexdigest()
        if shutil.which("rsync"):
            wanted = files(folder)
            client(lab, "rsync", "-a", "-e", shell, f"root@{host}:{folder}/tree/", str(folder / "copy"))
            assert digest(folder / "copy") == wanted


# The applications, and the programs that each of them needs.
APPLICATIONS: dict[str, tuple[Application, tuple[str, ...]]] = {
    "python http.server and curl": (python_http_server_and_curl, ("curl",)),
    "iperf3 both ways": (iperf3_both_ways, ("iperf3",)),
    "nginx": (nginx, ("nginx", "curl")),
    "rsync daemon": (rsync_daemon, ("rsync",)),
    "ssh, and rsync over it": (ssh_and_rsync_over_it, ("ssh", "sshd", "ssh-keygen")),
}


def missing(name: str) -> str:
    """The programs of an application that are not installed, as a text."""
    return ", ".join(needed for needed in APPLICATIONS[name][1] if not program(needed))


def every_application(spin: str) -> list[str]:
    """Runs all installed applications through the router and through the proxy. Returns their names."""
    ran = [name for name in APPLICATIONS if not missing(name)]
    with gateways(spin) as lab:
        for name in ran:
            for by in HOSTS:
                with tempfile.TemporaryDirectory() as folder:
                    through(lab, APPLICATIONS[name][0], by, Path(folder))
    return ran
