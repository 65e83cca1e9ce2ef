"""A token for listeners beyond loopback. Every request must bring it; after the first request a cookie does.

The token comes once in the URL (`?token=…`). It is moved to a cookie, and the address is reloaded without it, so that
it does not stay in the address bar on a projector.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlencode

from flask import Flask, Response, make_response, redirect, request
from werkzeug.wrappers import Response as AnyResponse


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to a listener on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(server: Flask, token: str, cookie: str) -> None:
    """Refuses every request (status 401) that brings `token` neither in the cookie named `cookie` nor as `?token=`."""

    def check() -> AnyResponse | None:
        if _same(request.cookies.get(cookie), token):
            return None
        if not _same(request.args.get("token"), token):
            return Response("This dashboard wants its token: open the URL that `lfp dashboard` printed.\n", 401,
                            mimetype="text/plain")  # fmt: skip
        rest = urlencode([(key, value) for key, value in request.args.items(multi=True) if key != "token"])
        answer = make_response(redirect(request.path + (f"?{rest}" if rest else "")))
        answer.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return answer

    server.before_request(check)


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), token.encode())
