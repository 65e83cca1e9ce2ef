"""Each daemon, started by root, gives up what the section SECURITY of its manual page promises, and reports it when it
cannot.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.ports import free_port

from lft_ref import Settings, write_key
from netcommon.binaries import CHECKOUT, find
from netcommon.process import START_TIMEOUT_S, Event, Tool

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
NUMBERS = {"net_bind_service": 10, "net_admin": 12, "net_raw": 13, "sys_nice": 23}


def rttcp(folder: Path) -> list[str | Path]:
    return [find("rttcp"), "-r", "--json", "--port", str(free_port())]


def gateway(folder: Path) -> list[str | Path]:
    """A gateway of the host model, which sets packet rules, in a network of its own."""
    apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    settings = Settings(psk=write_key(folder / "psk"), listen="127.0.0.1:2004", control=folder / "control", host=True)
    return [*apart, *settings.argv()]


def box(folder: Path) -> list[str | Path]:
    apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    own = [str(find("comet-delay")), "run", "--json", "--a", "tap:a", "--b", "tap:b"]
    return [*apart, *own, "--control", folder / "control"]


DAEMONS: dict[str, tuple[str, Callable[[Path], list[str | Path]]]] = {
    "rttcp -r": ("rttcp/rttcp.1", rttcp),
    "comet-delay run": ("comet_delay/comet-delay.1", box),
    "lft-gateway run": ("lft_ref/lft-gateway.1", gateway),
}


def promise(page: str) -> dict[str, str]:
    """The tagged list of the section SECURITY: the tag, and the words in bold behind it."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    section = re.search(r"^\.SH SECURITY\n(.*?)^\.SH ", text, re.MULTILINE | re.DOTALL)
    assert section, f"{page} has a section SECURITY"
    rows = re.findall(r"^\.TP\n\.B ([^\n]+)\n([^\n]*)", section[1], re.MULTILINE)
    return {tag: " ".join(re.findall(r"\\fB(.*?)\\fR", words)) for tag, words in rows}


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def started(argv: Sequence[str | Path], folder: Path) -> tuple[Event, dict[str, str], str]:
    log = folder / "stderr"
    with Tool(argv, stderr_path=log) as tool:
        ready = tool.wait_event("ready", START_TIMEOUT_S)
        return ready["sandbox"], status(tool.pid), log.read_text(encoding="utf-8")


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_daemon_of_roots_has_what_its_page_promises(daemon: str, tmp_path: Path) -> None:
    page, command = DAEMONS[daemon]
    said, now, errors = started(command(tmp_path), tmp_path)
    promised = promise(page)
    capabilities = promised["capabilities"].split()
    bits = sum(1 << NUMBERS[name] for name in capabilities)
    nobody = pwd.getpwnam(promised["user"])
    assert now["Uid"].split() == [str(nobody.pw_uid)] * 4 and now["Gid"].split() == [str(nobody.pw_gid)] * 4
    assert now["Groups"] == ""
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(now[name], 16) == bits, (name, now[name])
    assert int(now["CapInh"], 16) == int(now["CapAmb"], 16) == 0
    assert now["NoNewPrivs"] == promised["no_new_privs"] and now["Seccomp"] == promised["seccomp"]
    assert set(capabilities) == set(said["capabilities"]) and said["user"] == promised["user"]
    assert said["seccomp"] and said["landlock"] and said["missing"] == [] and errors == ""


def proxy(folder: Path) -> list[str | Path]:
    """A gateway of the proxy model."""
    words = ("--socks5", f"127.0.0.1:{free_port()}")
    return [
        *Settings(
            psk=write_key(folder / "psk"), listen="127.0.0.1:2004", control=folder / "control", options=words
        ).argv()
    ]


def low_port(folder: Path) -> list[str | Path]:
    """A receiver whose data port only root may open."""
    apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    return [*apart, *map(str, rttcp(folder)), "--data-port", "700"]


@pytest.mark.parametrize(
    ("command", "page", "kept", "words"),
    [
        (proxy, "lft_ref/lft-gateway.1", set(), "None in the proxy model"),
        (low_port, "rttcp/rttcp.1", {"net_admin", "net_bind_service"}, r"below 1024 also net_bind_service"),
    ],
    ids=["gateway as a proxy", "receiver with a low port"],
)
def test_what_a_daemon_keeps_depends_on_what_it_does(
    command: Callable[[Path], list[str | Path]], page: str, kept: set[str], words: str, tmp_path: Path
) -> None:
    assert words in (CHECKOUT / page).read_text(encoding="utf-8")
    said, now, _ = started(command(tmp_path), tmp_path)
    assert set(said["capabilities"]) == kept and said["user"] == "nobody"
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(now[name], 16) == sum(1 << NUMBERS[one] for one in kept), (name, now[name])
    assert now["Seccomp"] == "2" and now["NoNewPrivs"] == "1"


@pytest.mark.parametrize(
    ("command", "page", "kept", "words"),
    [
        (gateway, "lft_ref/lft-gateway.1", {"net_admin"}, r"\fBkeeper\fR, keeps the user and net_admin."),
        (box, "comet_delay/comet-delay.1", set(), r"\fBkeeper\fR, stays root without capabilities."),
    ],
    ids=["gateway", "box"],
)
def test_a_keeper_has_what_its_page_promises(
    command: Callable[[Path], list[str | Path]], page: str, kept: set[str], words: str, tmp_path: Path
) -> None:
    assert words in (CHECKOUT / page).read_text(encoding="utf-8")
    with Tool(command(tmp_path), stderr_path=tmp_path / "stderr") as tool:
        tool.wait_event("ready", START_TIMEOUT_S)
        children = Path(f"/proc/{tool.pid}/task/{tool.pid}/children").read_text(encoding="ascii").split()
        (keeper,) = [now for now in map(status, map(int, children)) if now["Name"] == "keeper"]
    assert keeper["Uid"].split() == ["0"] * 4
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(keeper[name], 16) == sum(1 << NUMBERS[one] for one in kept), (name, keeper[name])


@pytest.mark.parametrize("daemon", DAEMONS)
def test_who_keeps_root_is_named_in_one_line(daemon: str, tmp_path: Path) -> None:
    _, command = DAEMONS[daemon]
    said, now, errors = started([*command(tmp_path), "--user", "root"], tmp_path)
    assert said["user"] == "root" and now["Uid"].split()[0] == "0" and now["Seccomp"] == "2"
    assert errors.count("\n") == 1 and "stays root" in errors
    said, now, errors = started([*command(tmp_path), "--no-sandbox"], tmp_path)
    assert not said["seccomp"] and now["Seccomp"] == "0" and now["NoNewPrivs"] == "0"
    assert errors.count("\n") == 1 and "--no-sandbox" in errors


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_namespace_with_one_user_is_named_in_one_line(daemon: str, tmp_path: Path) -> None:
    _, command = DAEMONS[daemon]
    unshare = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    said, now, errors = started([*unshare, *command(tmp_path)], tmp_path)
    assert said["user"] == "root" and said["seccomp"] and now["Seccomp"] == "2"
    (line,) = [line for line in errors.splitlines() if "sandbox" in line]
    assert "has one" in line and len(said["missing"]) == 1 and said["missing"][0] in line
