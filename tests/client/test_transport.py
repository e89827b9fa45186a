"""One exchange with the service: bounded whatever the other side does, and never a half-understood success."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import loopback
import pytest
from loopback import Answer, Request, problem, says, serving

from repro_env.errors import TransportError, UsageError
from repro_env.transport import Address, get, submit

DOCUMENT = json.dumps({"capture": {"run_id": "run-a"}, "digests": {}}).encode()
TIMEOUT_S = 0.6


def send(url: str, timeout_s: float = 5.0, **options: Any) -> dict[str, Any]:
    return submit(url, DOCUMENT, "obs-1", timeout_s=timeout_s, **options)


def test_a_document_is_put_under_its_id_as_json() -> None:
    with serving(loopback.takes) as server:
        receipt = send(server.url)
    (request,) = server.requests
    assert (request.method, request.target) == ("PUT", "/v1/observations/obs-1")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["content-length"] == str(len(DOCUMENT))
    assert request.body == DOCUMENT
    assert receipt["observation_id"] == "obs-1"


def test_a_path_in_front_of_the_routes_is_kept() -> None:
    with serving(loopback.takes) as server:
        send(server.url + "/behind/proxy/")
    assert server.requests[0].target == "/behind/proxy/v1/observations/obs-1"


def test_an_id_is_quoted_in_the_address() -> None:
    with serving(says("200 OK", {"observation_id": "a/b c"})) as server:
        submit(server.url, DOCUMENT, "a/b c", timeout_s=5)
    assert server.requests[0].target == "/v1/observations/a%2Fb%20c"


def test_a_token_goes_into_the_authorization_header() -> None:
    with serving(loopback.takes) as server:
        send(server.url, token="t0k3n")
    assert server.requests[0].headers["authorization"] == "Bearer t0k3n"


def test_without_a_token_no_authorization_is_sent() -> None:
    with serving(loopback.takes) as server:
        send(server.url)
    assert "authorization" not in server.requests[0].headers


def test_a_token_is_never_sent_in_clear_to_another_machine() -> None:
    with pytest.raises(UsageError, match="https only"):
        send("http://service.example.org", token="t0k3n")


@pytest.mark.parametrize("answer", [loopback.silent, loopback.dripping_head, loopback.dripping_body],
                         ids=["silent", "dripping-head", "dripping-body"])
def test_the_whole_exchange_is_bounded(answer: Answer) -> None:
    with serving(answer) as server:
        started = time.monotonic()
        with pytest.raises(TransportError, match=r"did not answer within 0\.6 s") as caught:
            send(server.url, timeout_s=TIMEOUT_S)
        took = time.monotonic() - started
    assert server.requests, "the fault did not happen"
    assert caught.value.retry
    assert TIMEOUT_S <= took < TIMEOUT_S + 10


def test_a_server_that_never_accepts_is_bounded() -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(3)]  # the queue is full: further connections are not answered
        for other in waiting:
            other.setblocking(False)
            other.connect_ex(address)
        started = time.monotonic()
        with pytest.raises(TransportError) as caught:
            send(f"http://127.0.0.1:{address[1]}", timeout_s=TIMEOUT_S)
        for other in waiting:
            other.close()
    assert caught.value.retry
    assert time.monotonic() - started < TIMEOUT_S + 10


def test_an_endless_answer_is_cut_by_size() -> None:
    with serving(loopback.endless_body) as server, pytest.raises(TransportError, match="longer than") as caught:
        send(server.url, timeout_s=30)
    assert caught.value.retry


def test_nobody_listening_is_said_so() -> None:
    with pytest.raises(TransportError, match="connection refused; is the service running") as caught:
        send(f"http://127.0.0.1:{loopback.free_port()}")
    assert caught.value.retry


@pytest.mark.parametrize(("answer", "words"), [
    (loopback.garbage, "not HTTP"), (loopback.closed, "closed before"), (loopback.cut_off, "closed before"),
    (says("200 OK", "<html>welcome</html>", "text/html"), "text/html where JSON was expected"),
    (says("200 OK", "{not json"), "where JSON was expected"),
    (says("200 OK", "[1]"), "where JSON was expected"),
    (says("200 OK", {"ok": "yes"}), "without a receipt"),
    (says("200 OK", {"observation_id": "another"}), "without a receipt"),
    (says("302 Found", "", "text/html", Location="http://127.0.0.1:1/login"), "redirects to http://127.0.0.1:1/login"),
    (says("301 Moved", "", "text/html"), "redirects to nowhere"),
    (says("500 Error", "oops", "text/plain"), "answered 500"),
    (says("404 Not Found", "<h1>nginx</h1>", "text/html"), "check the server's address"),
    (says("400 Bad Request", "<h1>proxy</h1>", "text/html"), "answered 400"),
    (says("401 Unauthorized", "", "text/html"), "REPRO_ENV_TOKEN"),
    (problem("503 Service Unavailable", "Not now", "the database is busy", Retry_After="5"), "Not now: the database"),
    (problem("429 Too Many Requests", "Slow down", "too many"), "Slow down"),
    (problem("404 Not Found", "No such resource", "nothing here"), "No such resource"),
], ids=["garbage", "closed", "cut-off", "html", "broken-json", "list", "other-service", "other-id", "redirect",
        "redirect-nowhere", "500", "404-html", "400-html", "401", "503", "429", "404-problem"])
def test_what_is_no_receipt_leaves_the_document_to_be_sent_again(answer: Answer, words: str) -> None:
    with serving(answer) as server, pytest.raises(TransportError) as caught:
        send(server.url)
    assert words in str(caught.value)
    assert caught.value.retry
    assert server.connections == 1, "a redirect was followed, or a request repeated"


@pytest.mark.parametrize("status", ["400 Bad Request", "409 Conflict", "413 Too Large", "422 Unprocessable"])
def test_a_refused_document_is_not_sent_again(status: str) -> None:
    with serving(problem(status, "Refused", "stack.cpu.cores: expected an integer")) as server, \
            pytest.raises(TransportError, match=r"Refused: stack\.cpu\.cores: expected an integer") as caught:
        send(server.url)
    assert not caught.value.retry
    assert caught.value.status == int(status[:3])


def test_a_server_without_tls_is_said_so() -> None:
    with serving(loopback.takes) as server, pytest.raises(TransportError, match="TLS failed") as caught:
        send(server.url.replace("http:", "https:"))
    assert caught.value.retry


def test_an_unknown_certificate_is_refused(tmp_path: Any) -> None:
    import ssl

    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                           "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                           certificate], capture_output=True, check=False)
    assert made.returncode == 0, made.stderr
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = TlsServer(context)
    try:
        url = server.url.replace("http:", "https:")
        with pytest.raises(TransportError, match="TLS failed"):
            send(url)
        environment = {**os.environ, "SSL_CERT_FILE": str(certificate)}
        code = ("from repro_env.transport import submit; import sys; "
                "print(submit(sys.argv[1], sys.argv[2].encode(), 'obs-1', timeout_s=5)['observation_id'])")
        done = subprocess.run([sys.executable, "-c", code, url, DOCUMENT.decode()], env=environment, check=False,
                              capture_output=True, text=True, timeout=30)
    finally:
        server.close()
    assert done.stdout == "obs-1\n", done.stderr


class TlsServer(loopback.Server):
    """A server that speaks TLS."""

    def __init__(self, context: Any) -> None:
        self.context = context
        super().__init__(loopback.takes)

    def _one(self, connection: Any) -> None:
        try:
            secure = self.context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            return
        super()._one(secure)


@pytest.mark.parametrize("server", ["ftp://host", "host:8765", "http://", "http://h?x=1", "http://h#a", "", "http://h:x",
                                    "http://[::1"])
def test_an_address_that_is_none_is_a_usage_error(server: str) -> None:
    with pytest.raises(UsageError, match="expected an address like http"):
        Address(server)


@pytest.mark.parametrize("server", ["http://user:secret@host", "https://secret@host/"])
def test_credentials_in_the_address_are_refused_and_not_repeated(server: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address(server)
    assert "without credentials" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("server", "host", "port"), [
    ("http://h", "h", 80), ("https://h/", "h", 443), ("http://127.0.0.1:8765", "127.0.0.1", 8765),
    ("http://[::1]:9/x/", "::1", 9)])
def test_an_address_is_taken_apart(server: str, host: str, port: int) -> None:
    address = Address(server)
    assert (address.host, address.port) == (host, port)


def test_proxies_are_ignored_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{loopback.free_port()}")
    with serving(loopback.takes) as server:
        assert send(server.url)["observation_id"] == "obs-1"


def test_a_proxy_is_asked_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(loopback.takes) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        send("http://service.example.org/base")
    assert proxy.requests[0].target == "http://service.example.org:80/base/v1/observations/obs-1"


def test_no_proxy_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    from repro_env.transport import _proxy

    monkeypatch.setenv("https_proxy", "proxy.example.org:3128")
    monkeypatch.setenv("no_proxy", "internal.example.org")
    assert _proxy(Address("https://internal.example.org")) is None
    via = _proxy(Address("https://other.example.org"))
    assert via is not None
    assert (via.host, via.port) == ("proxy.example.org", 3128)


def test_a_question_is_asked_with_its_query() -> None:
    with serving(says("200 OK", {"answer": "yes"})) as server:
        assert get(server.url, "/v1/comparisons", {"left": "a+b", "right": "c"}, timeout_s=5) == {"answer": "yes"}
    assert server.requests[0].target == "/v1/comparisons?left=a%2Bb&right=c"
    assert server.requests[0].method == "GET"


def test_an_unknown_run_is_told_in_the_words_of_the_service() -> None:
    with serving(problem("404 Not Found", "No run with this id", "no observation of run 'x' has arrived")) as server, \
            pytest.raises(TransportError, match="No run with this id: no observation of run 'x'"):
        get(server.url, "/v1/runs/x", timeout_s=5)


def test_an_exchange_given_up_leaves_no_connection_behind() -> None:
    ended: list[bytes] = []

    def waits(connection: Any, request: Request) -> None:
        ended.append(connection.recv(1))  # returns nothing once the client has shut its side

    with serving(waits) as server:
        with pytest.raises(TransportError):
            send(server.url, timeout_s=0.3)
        _until(lambda: ended == [b""])
    assert ended == [b""]


def _until(happened: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.01)
