"""Real servers on loopback that misbehave on purpose, and one that takes documents as the service does.

Each is a socket and a thread; a test says how the server answers and reads afterwards what it was asked, which also
proves that the fault happened.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Answer = Callable[[socket.socket, "Request"], None]


class Request:
    """What one connection asked."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *rest = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = (first + "  ").split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        self.body = body

    def document(self) -> Any:
        return json.loads(self.body)


class Server:
    """Answers every connection with ``answer``, which a test may exchange at any time."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.connections = 0
        self.ended = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                request = read_request(connection)
                if request is not None:
                    self.requests.append(request)
                    self.answer(connection, request)
            except OSError:
                return

    def close(self) -> None:
        self.ended.set()
        # shutdown wakes the thread in accept; closing alone would leave it there
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def read_request(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
        if data[:2] == b"\x16\x03":  # TLS where plain HTTP is spoken: servers answer that in plain HTTP
            connection.sendall(reply("400 Bad Request", "plain HTTP here", "text/plain"))
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(
        b"content-length")), 0)
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return Request(head, body)


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    server = Server(answer)
    try:
        yield server
    finally:
        server.close()


def reply(status: str, body: bytes | str | dict[str, Any], kind: str = "application/json", **headers: str) -> bytes:
    content = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def says(status: str, body: bytes | str | dict[str, Any], kind: str = "application/json", **headers: str) -> Answer:
    """Answer every request alike."""
    return lambda connection, request: connection.sendall(reply(status, body, kind, **headers))


def problem(status: str, title: str, detail: str, **headers: str) -> Answer:
    return says(status, {"type": "/problems/x", "title": title, "detail": detail}, "application/problem+json",
                **headers)


def receipt_of(request: Request, **more: Any) -> dict[str, Any]:
    document = request.document()
    return {"observation_id": request.target.rsplit("/", 1)[1], "run_id": document["capture"]["run_id"],
            "digests": document["digests"], "created": True, "warnings": [], "notes": [], **more}


def takes(connection: socket.socket, request: Request) -> None:
    """Take every document, as the service does."""
    connection.sendall(reply("201 Created", receipt_of(request)))


def silent(connection: socket.socket, request: Request) -> None:
    """Read the request and say nothing until the other side gives up."""
    connection.recv(1)


def dripping_head(connection: socket.socket, request: Request) -> None:
    """One byte of the head every 50 ms: each is in time, the whole never is."""
    _drip(connection, reply("200 OK", {"observation_id": "x" * 4000}))


def dripping_body(connection: socket.socket, request: Request) -> None:
    """A proper head, then one byte of the body every 50 ms."""
    head, _, body = reply("200 OK", {"observation_id": "x" * 4000}).partition(b"\r\n\r\n")
    connection.sendall(head + b"\r\n\r\n")
    _drip(connection, body)


def _drip(connection: socket.socket, data: bytes) -> None:
    for index in range(len(data)):
        connection.sendall(data[index:index + 1])
        time.sleep(0.05)


def endless_body(connection: socket.socket, request: Request) -> None:
    """A body without end, as fast as the other side reads."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


def garbage(connection: socket.socket, request: Request) -> None:
    connection.sendall(b"220 mail.example.org ESMTP\r\n")


def cut_off(connection: socket.socket, request: Request) -> None:
    """Promise more than is sent, then close."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"obser')


def closed(connection: socket.socket, request: Request) -> None:
    """Close without an answer."""


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
