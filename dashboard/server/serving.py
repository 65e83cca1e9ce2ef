"""The dashboard's server as a process (`python -m dashboard.server.serving`), confined before it reads anything that a
stranger made.

It may read the runs directory, Python and its libraries, write two folders of its cache, and answer whoever connects.
It makes no connection and starts no program. Links among the runs are followed if they were there at the start.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from dashboard.server.kept import Channel, KeptBox, KeptChanges, KeptGateway
from dashboard.server.launch import Opened, Shown
from dashboard.timeline import apart, kept_files
from netcommon import sandbox
from netcommon.errors import LfpError
from netcommon.ledger import cache_directory
from netcommon.printable import printable
from scenarios.run.interrupt import Interrupted, orderly


def main(given: int) -> int:
    """Serves until it is interrupted. `given`: the descriptor of what dashboard/server/launch.py has written."""
    with os.fdopen(given) as file:
        shown, opened, choice = json.load(file)
    try:
        with orderly():
            _serve(Shown(**shown), Opened(**opened), sandbox.Choice(**choice))
    except LfpError as error:
        print(f"lfp: {error}", file=sys.stderr)
        return error.status
    except Interrupted as interrupted:
        print(f"lfp: {interrupted}", file=sys.stderr)
        return interrupted.status
    return 0


def _serve(shown: Shown, opened: Opened, choice: sandbox.Choice) -> None:
    os.environ[kept_files.OWN] = opened.timelines
    tempfile.tempdir = opened.temporary
    runs_dir = Path(shown.runs_dir)
    sandbox.enter(
        [runs_dir, *_linked(runs_dir)],
        [Path(opened.timelines), Path(opened.temporary)],
        choice,
        needed=runs_dir.glob("*/manifest.json"),
        optional=[cache_directory() / "timelines"],
        private=_private(),
    )
    if not choice.off:
        apart.begin()
    channels = {name: Channel(number) for name, number in opened.channels.items()}
    try:
        _serve_confined(shown, socket.socket(fileno=opened.listener), channels)
    finally:
        for channel in channels.values():
            channel.close()
        if opened.keeper:  # it exits once the channels are closed and its demonstration has ended
            with suppress(ChildProcessError):
                os.waitpid(opened.keeper, 0)


def _serve_confined(shown: Shown, listener: socket.socket, channels: dict[str, Channel]) -> None:
    """Serves once this process is confined. The imports are here because they load numpy and Arrow."""
    from dashboard.core.runs import load_run
    from dashboard.live.live import watch
    from dashboard.server.server import serve
    from scenarios.run import history

    runs_dir, changes = Path(shown.runs_dir), KeptChanges(channels["runs"]) if "runs" in channels else None
    if shown.run:
        load_run(Path(shown.run))  # a damaged run then is an error here rather than on a page
    for why in history.left_out(runs_dir):
        print(f"lfp: left out: {why}", file=sys.stderr)
    sockets = {name: Path(path) for name, path in shown.sockets.items()}
    live = watch(
        sockets.get("gateway"),
        sockets.get("box"),
        lambda: KeptGateway(channels["gateway"]),
        lambda: KeptBox(channels["box"]),
    )
    try:
        serve(
            listener,
            runs_dir,
            shown.first,
            shown.host,
            shown.token,
            _announce,
            live=live,
            read_only=shown.read_only,
            changes=changes,
        )
    finally:
        live.close()


def _announce(url: str) -> None:
    print(printable(f"Dashboard: {url}   (Ctrl-C ends it)"), flush=True)


def _linked(runs_dir: Path) -> list[Path]:
    """The targets of links in the folder of runs. The server may read them, because the folder is the user's own, and
    so are its links."""
    entries = sorted(runs_dir.iterdir()) if runs_dir.is_dir() else []
    return [entry.resolve() for entry in entries if entry.is_symlink() and entry.is_dir()]


def _private() -> bool:
    """Whether new runs will be unreadable for other users."""
    os.umask(mask := os.umask(0o077))
    return bool(mask & 0o005)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
