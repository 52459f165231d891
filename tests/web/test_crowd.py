"""Many clients, slow ones and ones that go away, at a real server on this machine."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from starlette.testclient import TestClient

from solvable.web import connection, guarding, server, work
from solvable.web.guarding import HEADERS
from solvable.web.presets import PRESETS
from solvable.web.server import make_app

STATE: dict[str, Any] = PRESETS[0]["state"]
HEAVY: dict[str, Any] = {
    "teacher": {"width": 8, "activation": "relu"}, "student": {"width": 16, "activation": "relu"}, "inputs": {"dim": 1000},
    "training": {"learning_rate": 0.1}, "start": {"seed": 0}, "run": {"until": 200.0},
}  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    words = [sys.executable, "-m", "solvable.cli.main", "explore", "--port", "0", "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found
    try:
        while True:  # until what computes is loaded
            with socket.create_connection(("127.0.0.1", int(found[1])), timeout=60) as client:
                client.sendall(request("api/curve", STATE))
                if b" 200 " in client.recv(1000):
                    break
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def request(path: str, body: Any) -> bytes:
    text = json.dumps(body).encode()
    head = f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


def answer(port: int, sent: bytes, wait: float = 60.0) -> bytes:
    """All that the server says until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as client:
        client.sendall(sent)
        parts = []
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_curves_of_clients_that_are_gone_are_not_computed(port: int) -> None:
    """Twelve of more than a second each, left at once: an honest request does not wait for them."""
    gone = [socket.create_connection(("127.0.0.1", port)) for _ in range(12)]
    for client in gone:
        client.sendall(request("api/curve", HEAVY))
    time.sleep(0.3)
    for client in gone:
        client.close()
    began = time.monotonic()
    assert answer(port, request("api/curve", STATE)).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 6 * work.SECONDS  # twelve take 18 s of work, on however many cores


def test_what_does_not_come_is_not_waited_for(port: int) -> None:
    """Neither a head, nor the rest of one, nor a body; others are answered meanwhile."""
    whole = request("api/curve", STATE)
    sent = [b"", b"GET / HTTP/1.1\r\nHost: local", whole[:-10]]
    began = time.monotonic()
    clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in sent]
    for client, part in zip(clients, sent, strict=True):
        client.sendall(part)
    assert answer(port, whole).startswith(b"HTTP/1.1 200")
    said = []
    for client in clients:
        with client, suppress(ConnectionResetError):
            said.append(client.recv(100))
    assert any(one.startswith(b"HTTP/1.1 408") for one in said)
    assert not any(said[:-1])
    assert connection.HEAD - 1 < time.monotonic() - began < guarding.CLIENT_SECONDS + 20


def test_what_is_no_request_is_refused_with_the_headers(port: int) -> None:
    said = answer(port, b"nonsense\r\n\r\n").decode()
    assert said.startswith("HTTP/1.1 400")
    for name, value in HEADERS.items():
        assert f"{name.lower()}: {value}" in said


def test_more_than_the_queue_holds_are_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words, a time to come again, and the headers; when the others are done there is room."""
    monkeypatch.setattr(server, "CURVES", 2)
    release, begun = threading.Event(), threading.Semaphore(0)

    def slow(state: Any) -> bytes:
        begun.release()
        assert release.wait(60)
        return b""

    monkeypatch.setattr(server, "_curve", slow)
    with TestClient(make_app(["localhost"]), base_url="http://localhost") as client:
        others = [threading.Thread(target=client.post, args=["/api/curve"], kwargs={"json": STATE}) for _ in range(2)]
        for one in others:
            one.start()
        assert begun.acquire(timeout=60)
        assert begun.acquire(timeout=60)
        refused = client.post("/api/curve", json=STATE)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) == guarding.RETRY
        assert "try again in" in refused.json()["problems"][0]
        assert HEADERS.items() <= {name.title(): value for name, value in refused.headers.items()}.items()
        release.set()
        for one in others:
            one.join(60)
        assert client.post("/api/curve", json=STATE).status_code == 200


def test_every_answer_has_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    client = TestClient(make_app(["localhost"]), base_url="http://localhost", raise_server_exceptions=False)
    answers = {
        404: client.get("/nothing"), 405: client.get("/api/curve"), 400: client.get("/", headers={"Host": "evil.example"}),
        403: client.get("/", headers={"Origin": "http://evil.example"}), 422: client.post("/api/curve", json={}),
        413: client.post("/api/curve", content=b" " * 30_000), 200: client.get("/"),
    }  # fmt: skip
    monkeypatch.setattr(server, "_curve", lambda state: 1 / 0)
    answers[500] = client.post("/api/curve", json=STATE)
    for status, found in answers.items():
        assert found.status_code == status
        assert {name: found.headers.get(name) for name in HEADERS} == HEADERS, status
    assert answers[404].json() == {"problems": ["/nothing: there is no such page"]}
    assert answers[405].json() == {"problems": ["/api/curve: GET is not for it"]}
    assert answers[405].headers["Allow"] == "POST"
