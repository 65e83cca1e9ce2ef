"""A gateway that cannot start, and one whose control socket may not be used: one line names the option and the value,
and says what to do."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.ports import free_port

from lft_ref import Gateway, Settings, write_key
from netcommon.binaries import find

pytestmark = pytest.mark.netns
NOBODY = 65534
MISSING, FAILED = 3, 1


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter, with the gateway, a key that root owns and a key that nobody owns."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        shutil.copy(find("lft-gateway"), path / "lft-gateway")
        write_key(path / "psk")
        shutil.chown(write_key(path / "nobody.psk"), NOBODY)
        yield path


@contextmanager
def namespace() -> Iterator[list[str]]:
    """The words that run a program in a network namespace of its own."""
    argv = ["unshare", "--net", "sh", "-c", "echo made; exec sleep 600"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout and holder.stdout.readline() == "made\n"
            yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        finally:
            holder.kill()


def said(argv: list[str | Path], status: int, *, nobody: bool = False) -> str:
    """Runs a program that must end with this status. Returns the last line that it prints."""
    ended = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        user=NOBODY if nobody else None,
        group=NOBODY if nobody else None,
        extra_groups=[] if nobody else None,
    )
    assert ended.returncode == status, ended.stderr
    return ended.stderr.splitlines()[-1]


def run(folder: Path, *options: str, key: str = "psk") -> list[str | Path]:
    words = ["run", "--parent-death", "--psk-file", str(folder / key), "--listen", f"127.0.0.1:{free_port()}"]
    return [folder / "lft-gateway", *words, *options]


def test_an_interface_that_does_not_exist_is_named(folder: Path) -> None:
    line = said(run(folder, "--router", "--lan", "lo", "--lan", "nosuch7"), MISSING)
    assert "--lan 'nosuch7': no such interface; 'ip link' lists them" in line


def test_a_name_that_is_taken_is_named(folder: Path) -> None:
    with namespace() as enter:
        subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
        subprocess.run([*enter, "ip", "link", "add", "mine", "type", "veth", "peer", "name", "other"], check=True)
        line = said([*enter, *run(folder, "--host", "--name", "mine")], MISSING)
        assert "--name 'mine'" in line and "another interface has this name: choose another --name" in line
        with subprocess.Popen([*enter, *run(folder, "--host")], stdout=subprocess.PIPE, text=True) as first:
            try:
                assert first.stdout and '"ready"' in first.stdout.readline()
                line = said([*enter, *run(folder, "--host")], MISSING)
                assert "--name 'lft'" in line and "another gateway here has this name: choose another --name" in line
            finally:
                first.terminate()


def test_without_privileges_the_line_says_which_are_needed(folder: Path) -> None:
    """The kernel's error depends on who may open /dev/net/tun."""
    line = said(run(folder, "--host", key="nobody.psk"), MISSING, nobody=True)
    assert "Operation not permitted; " in line or "Permission denied; " in line
    assert line.endswith("; --router and --host want root or CAP_NET_ADMIN")


def test_a_port_that_is_in_use_is_named(folder: Path) -> None:
    port, free = free_port(), free_port()
    settings = Settings(
        psk=folder / "psk",
        listen=f"127.0.0.1:{port}",
        control=folder / "control",
        forwards=(f"127.0.0.1:{free}=192.0.2.1:80",),
    )
    with Gateway(settings) as gateway:
        gateway.wait_ready()
        for option, value, shown in (
            ("--listen", f"127.0.0.1:{port}", f"--listen '127.0.0.1:{port}' (udp)"),
            ("--socks5", f"127.0.0.1:{free}", f"--socks5 '127.0.0.1:{free}'"),
        ):
            line = said(run(folder, option, value), MISSING)
            assert f"{shown}: Address already in use; choose another port, or end the program" in line, line


def test_a_socket_of_another_user_is_not_taken_for_a_missing_gateway(folder: Path) -> None:
    control = folder / "control"
    settings = Settings(psk=folder / "psk", listen=f"127.0.0.1:{free_port()}", control=control)
    show: list[str | Path] = [folder / "lft-gateway", "show", "--control", control]
    with Gateway(settings) as gateway:
        gateway.wait_ready()
        line = said(show, FAILED, nobody=True)
        assert f"'{control}': Permission denied; want root, or the user who started lft-gateway" in line
    assert "is lft-gateway running there?" in said(show, FAILED, nobody=True)
