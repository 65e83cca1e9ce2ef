"""The dashboard's HTTP server. It serves on a socket that listens (launch.py), until it is interrupted.
Browsers keep their connections (waitress).

Rejected: werkzeug's server, which closes each connection and starts a thread for each request. On a busy machine its
answers took twice as long.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import waitress
from flask.testing import FlaskClient

from dashboard.core.runs import load_run
from dashboard.live.live import Live
from dashboard.server import connections
from dashboard.server.app import make_app
from dashboard.server.auth import refuse_other_sites, require_token
from dashboard.server.changes import Offered
from dashboard.server.document import Application

THREADS = 16  # answers under way at a time
_PATIENCE_S = 5  # how long preparations may still run when the server ends


def serve(
    listener: socket.socket,
    runs_dir: Path,
    first: str,
    host: str,
    token: str | None,
    announce: Callable[[str], None],
    *,
    live: Live,
    read_only: bool = False,
    changes: Offered | None = None,
) -> None:
    """Serves all runs of `runs_dir` and the running tools of `live`; returns on SIGINT. `announce` is called with the
    URL of the page `first` (`/gateway`) once the URL works. `read_only`: nothing can be deleted, started or changed.
    `changes`: who does that; this process by default.

    A token is always required, `token` or a random one: every user of this machine reaches loopback.
    """
    token = token or secrets.token_urlsafe(24)
    with listener:
        actual = int(listener.getsockname()[1])
        cookie = f"lfp-token-{actual}"
        app = make_app(runs_dir, read_only=read_only, live=live, changes=changes)
        refuse_other_sites(app.server, host)
        require_token(app.server, token, cookie)
        logging.getLogger("waitress").setLevel(logging.ERROR)
        client = _client(app, cookie, token)
        client.get("/_dash-dependencies")  # Dash sets itself up in the first request, and others must not overtake it
        ended = threading.Event()
        preparing = threading.Thread(target=_prepare, args=(runs_dir, client, first, ended), daemon=True)
        preparing.start()
        http = waitress.create_server(
            app.server, sockets=[listener], threads=THREADS, ident=None, **connections.SETTINGS
        )
        http.channel_class = connections.Channel
        shown = f"[{host}]" if ":" in host else host
        announce(f"http://{shown}:{actual}{first}?token={token}")
        with contextlib.suppress(KeyboardInterrupt):
            http.run()
        ended.set()
        preparing.join(_PATIENCE_S)  # at exit Python aborts the process if a thread is still loading Arrow


def _client(app: Application, cookie: str, token: str) -> FlaskClient:
    client: FlaskClient = app.server.test_client()
    client.set_cookie(cookie, token)
    return client


def _prepare(runs_dir: Path, client: FlaskClient, first: str, ended: threading.Event) -> None:
    """Makes the same requests as the first page, and requests the timeline that its reader will most probably open, so
    that programs and columns are loaded while the browser starts. Nobody waits for an answer, so failures are ignored.
    Asks for nothing more once the server has ended."""
    with contextlib.suppress(Exception):
        for address in ("/", "/_dash-layout"):
            if not ended.is_set():
                client.get(address)
        captured = load_run(runs_dir / first.split("/")[-1]).captured if first.startswith("/run/") else ()
        if captured and not ended.is_set():
            client.get(f"{first}/trial/{min(captured)}/view")
