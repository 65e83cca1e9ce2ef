"""Which requests are answered. Every request must bring the token, on loopback too, because all users of a machine
reach it; after the first request a cookie brings it. Requests that another site's page makes the reader's browser send
are refused.

The token comes once in the URL (`?token=…`). It is moved to a cookie, and the address is reloaded without it, so that
it does not stay in the address bar on a projector.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlencode, urlsplit

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
            return Response(
                "This dashboard needs its token: open the URL that `lfp dashboard` printed.\n",
                401,
                mimetype="text/plain",
            )
        rest = urlencode([(key, value) for key, value in request.args.items(multi=True) if key != "token"])
        answer = make_response(redirect(request.path + (f"?{rest}" if rest else "")))
        answer.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return answer

    server.before_request(check)


def refuse_other_sites(server: Flask, host: str) -> None:
    """Refuses (status 403) a POST that a page of another site sends. On loopback it also refuses a request under a host
    name that is not loopback's, because a browser would treat a foreign name that resolves to loopback as the same
    site.

    A browser names the page's site in `Origin` with every POST. Programs send none.
    """

    def check() -> AnyResponse | None:
        if is_loopback(host) and not is_loopback(_host_of(request.host)):
            return _refused(f"This dashboard is on loopback and has no name {request.host}.")
        origin = request.headers.get("Origin")
        if request.method == "POST" and origin is not None and urlsplit(origin).netloc != request.host:
            return _refused(f"A page of {origin} may not change anything here.")
        return None

    server.before_request(check)


def _host_of(text: str) -> str:
    """The name of `name:port`, of `[::1]:8050` without brackets."""
    return urlsplit(f"//{text}").hostname or ""


def _refused(why: str) -> Response:
    return Response(f"{why}\n", 403, mimetype="text/plain")


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), token.encode())
