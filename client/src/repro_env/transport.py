"""The network: one exchange with the service, bounded as a whole. The only module of the client that opens sockets.

Whatever the other side does (no answer, one byte a second, a page without end, HTML, a redirect), the caller gets an
answer or a ``TransportError`` within ``timeout_s``. What to do with either is left to ``delivery`` and the commands.
"""

from __future__ import annotations

import os
import sys
import time

from .errors import TransportError, UsageError
from .variables import looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from http.client import HTTPConnection, HTTPResponse
    from typing import Any

ANSWER_LIMIT = 8 << 20
#: statuses that say the document itself is refused, so that sending it again cannot help.
REFUSING = (400, 409, 413, 422)
_ADVICE = {
    401: "the service wants a token: set REPRO_ENV_TOKEN", 403: "the token has no right to do this",
    404: "check the server's address", 405: "check the server's address", 407: "the proxy wants credentials",
    421: "address the service by the name it knows", 429: "the service has too much to do; try again later",
    503: "the service is not ready; try again later",
}


class Address:
    """The service's address, taken apart and checked."""

    __slots__ = ("host", "path", "port", "secure", "text")

    def __init__(self, server: str) -> None:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(server.strip())
            port = parts.port
        except ValueError as error:
            raise UsageError("server: expected an address like http://127.0.0.1:8765, got one that cannot be read"
                             ) from error
        if "@" in parts.netloc:
            raise UsageError("server: expected an address without credentials; set REPRO_ENV_TOKEN for a token")
        if parts.query or parts.fragment:
            raise UsageError("server: expected an address like http://127.0.0.1:8765, got one with a query or fragment")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            got = "a text with the shape of a secret" if looks_secret(server) else repr(server[:80])
            raise UsageError(f"server: expected an address like http://127.0.0.1:8765, got {got}")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = port or (443 if self.secure else 80)
        self.path = parts.path.rstrip("/")
        self.text = f"{parts.scheme}://{parts.netloc}{self.path}"

    @property
    def loopback(self) -> bool:
        """Whether the service runs on this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def submit(server: str, document: bytes, observation_id: str, *, timeout_s: float, token: str | None = None
           ) -> dict[str, Any]:
    """Hand over one document and return the service's receipt; sending the same one again changes nothing.

    Raise ``UsageError`` for an address that is none, ``TransportError`` for everything else; ``retry`` tells whether
    the same document may be taken later.
    """
    receipt = _exchange(Address(server), "PUT", f"/v1/observations/{_quoted(observation_id)}", document, timeout_s,
                        token)
    if receipt.get("observation_id") != observation_id:
        raise TransportError(f"{server} answered without a receipt for the document; check that it is the address of a "
                             "repro-env service", retry=True)
    return receipt


def get(server: str, path: str, query: Mapping[str, str] | None = None, *, timeout_s: float, token: str | None = None
        ) -> dict[str, Any]:
    """Return the JSON object at ``path`` (beginning with a slash); errors as for ``submit``."""
    from urllib.parse import urlencode

    target = f"{path}?{urlencode(query)}" if query else path
    return _exchange(Address(server), "GET", target, None, timeout_s, token)


def post(server: str, path: str, value: Mapping[str, Any], *, timeout_s: float, token: str | None = None
         ) -> dict[str, Any]:
    """Ask with a JSON object at ``path`` and return the answer; errors as for ``submit``."""
    import json

    return _exchange(Address(server), "POST", path, json.dumps(value).encode(), timeout_s, token)


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _exchange(address: Address, method: str, target: str, body: bytes | None, timeout_s: float, token: str | None
              ) -> dict[str, Any]:
    if token and not (address.secure or address.loopback):
        raise UsageError(f"{address.text}: a token is sent over https only, or on this machine")
    exchange = _Exchange(address, method, target, body, token, time.monotonic() + timeout_s)
    try:
        status, headers, answer = _bounded(exchange.run, timeout_s)
    except TimeoutError as error:
        raise TransportError(f"{address.text} did not answer within {timeout_s:.1f} s", retry=True) from error
    except OSError as error:
        raise TransportError(f"{address.text}: {_failure(error)}", retry=True) from error
    finally:
        exchange.abandon()
    return _judged(address, status, headers, answer)


def _bounded(work: Callable[[], Any], timeout_s: float) -> Any:
    """Return what ``work`` returns or raise what it raises; raise ``TimeoutError`` when it takes longer.

    A thread, because a name look-up takes no timeout and one byte a second defeats those of sockets.
    """
    import _thread

    outcome: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()

    def attempt() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            outcome.append((None, error))
        finally:
            done.release()

    _thread.start_new_thread(attempt, ())
    if not done.acquire(timeout=max(0.0, timeout_s)):
        raise TimeoutError
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


class _Exchange:
    """One request and its answer."""

    def __init__(self, address: Address, method: str, target: str, body: bytes | None, token: str | None,
                 deadline: float) -> None:
        self.address = address
        self.method = method
        self.target = address.path + target
        self.body = body
        self.headers = self._headers(token)
        self.deadline = deadline
        self.socket: Any = None
        self.abandoned = False

    def _headers(self, token: str | None) -> dict[str, str]:
        from .version import VERSION

        headers = {"Accept": "application/json, application/problem+json", "User-Agent": f"repro-env/{VERSION}",
                   "Connection": "close"}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def run(self) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers with lower-case names, and body; raise ``OSError``."""
        from http.client import HTTPException, IncompleteRead, RemoteDisconnected

        connection, target = self._connection()
        try:
            connection.connect()
            self.socket = connection.sock
            connection.request(self.method, target, self.body, self.headers)
            with connection.getresponse() as answer:
                headers = {name.lower(): value for name, value in answer.getheaders()}
                return answer.status, headers, self._read(answer)
        except (IncompleteRead, RemoteDisconnected) as error:
            raise ConnectionResetError from error
        except HTTPException as error:
            raise ConnectionError(f"the answer is not HTTP ({type(error).__name__})") from error
        finally:
            connection.close()

    def _connection(self) -> tuple[HTTPConnection, str]:
        """Return a connection, directly or by the proxy that the environment names, and the target to ask it for."""
        from http.client import HTTPConnection, HTTPSConnection

        timeout_s = max(0.01, self.deadline - time.monotonic())
        proxy = None if self.address.loopback else _proxy(self.address)
        via = proxy or self.address
        if not self.address.secure:
            target = f"http://{self.address.host}:{self.address.port}{self.target}" if proxy else self.target
            return HTTPConnection(via.host, via.port, timeout=timeout_s), target
        import ssl

        secure = HTTPSConnection(via.host, via.port, timeout=timeout_s, context=ssl.create_default_context())
        if proxy:
            secure.set_tunnel(self.address.host, self.address.port)
        return secure, self.target

    def _read(self, answer: HTTPResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        while not self.abandoned:
            part = answer.read1(65536)
            if not part:
                if answer.length:
                    raise ConnectionResetError
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > ANSWER_LIMIT:
                raise ConnectionError(f"the answer is longer than {ANSWER_LIMIT} bytes")
        raise TimeoutError

    def abandon(self) -> None:
        """End the exchange from outside: a thread that still waits for the socket ends too."""
        self.abandoned = True
        if self.socket is not None:
            _shut(self.socket)


def _shut(connected: Any) -> None:
    """Shut a socket down so that whoever waits on it wakes up."""
    import socket

    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed by the other side already


def _proxy(address: Address) -> Address | None:
    """Return the proxy that the environment names for this address, ``None`` for a direct connection."""
    scheme = "https" if address.secure else "http"
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    if not any(os.environ.get(name) for name in names):
        return None
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    proxies: dict[str, str] = getproxies_environment()
    named = proxies.get(scheme) or proxies.get("all")
    if not named or proxy_bypass_environment(address.host, proxies):
        return None
    return Address(named if "://" in named else f"http://{named}")


def _judged(address: Address, status: int, headers: dict[str, str], answer: bytes) -> dict[str, Any]:
    """Return the answer as a JSON object, or raise what it means."""
    value = _object(headers, answer)
    if 200 <= status < 300:
        if value is None:
            kind = headers.get("content-type", "no type")
            raise TransportError(f"{address.text} answered {kind} where JSON was expected; check that it is the "
                                 "address of a repro-env service", retry=True, status=status)
        return value
    if 300 <= status < 400:
        place = headers.get("location", "nowhere")[:200]
        raise TransportError(f"{address.text} redirects to {place}; redirects are not followed, set the server to its "
                             "final address", retry=True, status=status)
    if value is not None and ("title" in value or "detail" in value):
        told = ": ".join(str(value[name])[:500] for name in ("title", "detail", "remedy")
                         if value.get(name))
        raise TransportError(told, retry=status not in REFUSING, status=status)
    advice = f"; {_ADVICE[status]}" if status in _ADVICE else ""
    raise TransportError(f"{address.text} answered {status}{advice}", retry=True, status=status)


def _object(headers: dict[str, str], answer: bytes) -> dict[str, Any] | None:
    if "json" not in headers.get("content-type", ""):
        return None
    import json

    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _failure(error: OSError) -> str:
    """Say what failed in words a person can act on."""
    socket, ssl = sys.modules.get("socket"), sys.modules.get("ssl")
    if ssl is not None and isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error}); check that the server speaks https with a known certificate"
    if socket is not None and isinstance(error, socket.gaierror):
        return "the host name is not known"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; is the service running?"
    if isinstance(error, ConnectionResetError):
        return "the connection was closed before the answer was complete"
    return error.strerror or str(error) or type(error).__name__
