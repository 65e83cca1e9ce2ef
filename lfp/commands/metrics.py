"""``lfp metrics``: the metrics of a running gateway and delay box over HTTP, for Prometheus.

Each request asks the tools once, by their verb ``metrics``. A client that accepts OpenMetrics gets it, others get
Prometheus' own text. Requests are served one after the other, with a time limit, so slow clients cost no memory.
Every request needs the token, because all users of a machine reach loopback. Rejected: an HTTP server in the tools,
which would parse a stranger's octets with the tools' privileges.
"""

from __future__ import annotations

import hmac
import re
import secrets
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import click

from netcommon import binaries
from netcommon.errors import UsageError
from netcommon.printable import printable

TOOLS = {"gateway": "lft-gateway", "box": "comet-delay"}
OPEN, PLAIN = "application/openmetrics-text", "text/plain; version=0.0.4; charset=utf-8"
ASK_S, CLIENT_S = 5.0, 5.0  # limits for a tool's answer and for a client
_COUNTER = re.compile(r"^# (HELP|TYPE) (\S+)_total ", re.MULTILINE)


@click.command("metrics")
@click.option("--gateway", type=click.Path(path_type=Path), metavar="SOCKET", help="Control socket of an lft-gateway.")
@click.option("--box", type=click.Path(path_type=Path), metavar="SOCKET", help="Control socket of a comet-delay.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=9817, show_default=True, type=click.IntRange(0, 65535), help="TCP port; 0: any free.")
@click.option("--token", help="Token that requests must send in 'Authorization: Bearer'.  [default: a random one]")
def command(gateway: Path | None, box: Path | None, host: str, port: int, token: str | None) -> None:
    """Serve the metrics of running tools at /metrics, for Prometheus. Ctrl-C ends it."""
    sockets = {tool: path for tool, path in (("gateway", gateway), ("box", box)) if path}
    if not sockets:
        raise UsageError("lfp metrics: name a tool's control socket with --gateway SOCKET or --box SOCKET")
    if token is not None and len(token) < 8:
        raise UsageError("--token: too short; give at least 8 characters, or leave it out to get a random one")
    with server(sockets, host, port, token or secrets.token_urlsafe(16)) as listening:
        address = f"http://{host}:{listening.server_port}/metrics"
        click.echo(f"{address}  (Authorization: Bearer {printable(listening.token)})")
        listening.serve_forever()


class Server(HTTPServer):
    """The listener. `token`: what requests must send."""

    def __init__(self, sockets: dict[str, Path], address: tuple[str, int], token: str) -> None:
        self.sockets, self.token = sockets, token
        super().__init__(address, _Handler)


def server(sockets: dict[str, Path], host: str, port: int, token: str) -> Server:
    """A listener for the tools' control sockets. Raises UsageError where it cannot listen."""
    try:
        return Server(sockets, (host, port), token)
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; name another") from error


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = CLIENT_S

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "").encode(errors="replace")
        if not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            self._answer(401, PLAIN, "the token is missing or wrong: Authorization: Bearer TOKEN\n")
        elif self.path.partition("?")[0] != "/metrics":
            self._answer(404, PLAIN, "metrics are at /metrics\n")
        else:
            is_open = OPEN in self.headers.get("Accept", "")
            found = text(self.server.sockets)
            kind = f"{OPEN}; version=1.0.0; charset=utf-8" if is_open else PLAIN
            self._answer(200, kind, openmetrics(found) if is_open else found)

    def _answer(self, status: int, kind: str, content: str) -> None:
        octets = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing: a scraper comes every few seconds."""


def text(sockets: dict[str, Path]) -> str:
    """The metrics of all tools as Prometheus text. `lfp_tool_up` says for each whether it answered."""
    answers = {tool: _asked(TOOLS[tool], path) for tool, path in sockets.items()}
    up = "".join(f'lfp_tool_up{{tool="{tool}"}} {int(answer is not None)}\n' for tool, answer in answers.items())
    head = "# HELP lfp_tool_up Whether the tool's control socket answered.\n# TYPE lfp_tool_up gauge\n"
    return head + up + "".join(answer or "" for answer in answers.values())


def openmetrics(found: str) -> str:
    """Prometheus text as OpenMetrics 1.0: metadata names a counter without `_total`, and an end mark follows."""
    return _COUNTER.sub(r"# \1 \2 ", found) + "# EOF\n"


def _asked(tool: str, path: Path) -> str | None:
    """A tool's metrics; None where it does not answer."""
    argv = [str(binaries.find(tool)), "metrics", "--control", str(path)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=ASK_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
