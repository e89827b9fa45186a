"""The outermost layer of the service: hosts it answers to, headers of every answer, and the last catch of an error."""

from __future__ import annotations

import logging

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import INTERNAL, WRONG_HOST, problem

log = logging.getLogger(__name__)

#: nothing is ever loaded by an answer; the start page allows its own style by hash.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
                               "form-action 'none'",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI layer around the whole application.

    A Host header of another name is refused, so that a web page cannot reach a service on loopback through a name of
    its own (DNS rebinding). An unexpected error is logged with its traceback and answered without one.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass HTTP requests on; other kinds (lifespan) go through untouched."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        host = Headers(scope=scope).get("host", "")
        if host_name(host) not in self.hosts:
            refusal = problem(WRONG_HOST, f"this service answers to {', '.join(sorted(self.hosts))}",
                              instance=scope["path"])
            await refusal(scope, receive, send_guarded)
            return
        try:
            await self.app(scope, receive, send_guarded)
        except Exception:
            log.exception("unexpected error on %s %s", scope["method"], ascii(scope["path"]))
            if started:
                raise
            await problem(INTERNAL, "an unexpected error; nothing was stored",
                          instance=scope["path"])(scope, receive, send_guarded)


def host_name(host: str) -> str:
    """Return the name in a Host header without its port; brackets of an IPv6 address are dropped."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
