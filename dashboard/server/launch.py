"""From the command line to the server: opens what needs rights, starts the keeper, and becomes the server.

The server is a new interpreter in the same process. So nothing of this one is in its memory, its modules have started
no thread, and whoever waits for `lfp dashboard` waits for the server. Its settings go through a file in memory, because
everybody can read the command line of a process, and the token must stay secret.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from netcommon.errors import LfpError
from netcommon.ledger import cache_directory
from netcommon.sandbox import Choice

ROOTS_CACHE = Path("/var/cache/lfp-dashboard")  # for a dashboard that root started: its user cannot reach root's cache


@dataclass(frozen=True)
class Shown:
    """What is served. `run`: the run that must be readable; `first`: the address that is printed; `sockets`: those of
    watched tools, by the name of the page."""

    runs_dir: str
    run: str | None
    first: str
    host: str
    token: str | None
    read_only: bool
    sockets: dict[str, str]


@dataclass(frozen=True)
class Opened:
    """What was opened for the server: descriptors, folders that it may write, the keeper's process id."""

    listener: int
    channels: dict[str, int]
    keeper: int | None
    timelines: str
    temporary: str


def launch(shown: Shown, port: int, choice: Choice) -> NoReturn:
    """Becomes the server. Raises LfpError when the address cannot be bound (status 2), or a folder cannot be made."""
    listener = bound(shown.host, port)
    timelines, temporary = _folders(choice)
    channels, keeper = _keeper(shown)
    opened = Opened(listener.detach(), channels, keeper, str(timelines), str(temporary))
    given = os.memfd_create("lfp-dashboard", 0)  # inherited
    os.write(given, json.dumps([asdict(shown), asdict(opened), asdict(choice)]).encode())
    os.lseek(given, 0, os.SEEK_SET)
    for inherited in (opened.listener, *channels.values()):
        os.set_inheritable(inherited, True)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "dashboard.server.serving", str(given)])


def _keeper(shown: Shown) -> tuple[dict[str, int], int | None]:
    """Starts the keeper. Returns our ends of the channels to it, and its process id. It has a process group of its own,
    so Ctrl-C reaches only the server, and a running demonstration is ended once, by the keeper. No channels and no
    keeper where nothing may be asked for."""
    names = [*([] if shown.read_only else ["runs"]), *shown.sockets]
    if not names:
        return {}, None
    pairs = {name: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for name in names}
    theirs = {name: pair[1].fileno() for name, pair in pairs.items()}
    given = {"runs_dir": shown.runs_dir, "read_only": shown.read_only, "sockets": shown.sockets, "channels": theirs}
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "dashboard.server.keeper", json.dumps(given)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=tuple(theirs.values()),
        process_group=0,
    )
    ours = {name: pair[0].detach() for name, pair in pairs.items()}
    for _, end in pairs.values():
        end.close()
    return ours, keeper.pid


def _folders(choice: Choice) -> tuple[Path, Path]:
    """The folders that the server may write: timelines of long transfers, and answers that do not fit into memory. The
    rest of the user's cache has programs in it, which the server must not reach."""
    cache = cache_directory()
    if choice.other:
        cache = cache / "dashboard" if "XDG_CACHE_HOME" in os.environ else ROOTS_CACHE
    folders = cache / "timelines", cache / "dashboard-temporary"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            folder.mkdir(mode=0o700, exist_ok=True)
            if choice.other:
                os.chown(folder, choice.other.pw_uid, choice.other.pw_gid, follow_symlinks=False)
    except OSError as error:
        raise LfpError(
            f"{cache}: no folder for the dashboard's cache: {error.strerror}; set XDG_CACHE_HOME", 2
        ) from error
    return folders


def bound(host: str, port: int) -> socket.socket:
    """A listening socket. Its failure is one line of ours, with status 2."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(64)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LfpError(f"--port {port}: in use on {host}; choose another, or 0 for any free one", 2) from error
        raise LfpError(f"--host {host} --port {port}: {error.strerror or error}", 2) from error
    return listener
