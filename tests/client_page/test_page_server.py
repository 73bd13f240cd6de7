"""Attacks on the page's socket: nothing gets through, others are served meanwhile, and the daemon does not notice."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

import live
from quire_client.page.owner import TOKEN

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]


class Site:
    """A page that serves, and its token."""

    def __init__(self, served: live.Live) -> None:
        self.served = served
        served.write("a.py", "one\n")
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
            subprocess.run(["git", *words], cwd=served.root, check=True)
        self.client = served.connect()
        self.client.since()
        where = ["-C", str(served.root), "--state-dir", str(served.state_dir)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quire_client", "page", "--json", *where], stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(url.split(":")[2].split("/")[0])
        self.token = (served.state_dir / TOKEN).read_text().strip()

    def asks(self) -> int:
        """The status of a question by who has the token: what others do must not keep it waiting."""
        with self.asked("status") as answer:
            return int(answer.status)

    def asked(self, query: str) -> http.client.HTTPResponse:
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/{query}")
        asked.add_header("Authorization", f"Bearer {self.token}")
        answer: http.client.HTTPResponse = urllib.request.urlopen(asked, timeout=20)
        return answer

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def head(self, *lines: str) -> bytes:
        told = [f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}", "X-Quire: 1", *lines]
        return "\r\n".join(["POST /api/undo HTTP/1.1", *told, "Content-Type: application/json", "", ""]).encode()


@pytest.fixture(scope="module")
def site(served: live.Live) -> Iterator[Site]:
    made = Site(served)
    before = made.client.status()["seq"]
    yield made
    made.process.terminate()
    made.process.wait(20)
    if made.process.stdout is not None:
        made.process.stdout.close()
    assert made.client.status()["seq"] == before


def ended(sock: socket.socket) -> bytes:
    """What came until the server ended it."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            data += piece
    return data


def test_a_point_may_be_gits(site: Site) -> None:
    """The page asked for what HEAD lacks, was refused, and showed all that agents had ever written."""
    with site.asked("review?since=HEAD") as answer:
        assert json.load(answer)["ok"]


@pytest.mark.wide  # it waits for the limits
def test_a_body_that_trickles_in_is_given_up(site: Site) -> None:
    with site.connect() as sock:
        begun = time.monotonic()
        sock.sendall(site.head("Content-Length: 60000", "Connection: close") + b'{"plan": tr')
        assert b"schema_invalid" in ended(sock)
        assert time.monotonic() - begun < 15
    assert site.asks() == 200


@pytest.mark.wide
def test_a_head_that_never_ends_and_garbage_are_given_up(site: Site) -> None:
    with site.connect() as slow, site.connect() as garbage, site.connect() as long:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        garbage.sendall(bytes(range(256)) * 64)
        assert b"400" in ended(garbage)
        with contextlib.suppress(ConnectionError):
            long.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * (1 << 20))
        assert b"200 OK" not in ended(long)
        assert site.asks() == 200
        assert ended(slow) == b""


def test_100_megabytes_are_not_read(site: Site) -> None:
    with site.connect() as sock:
        sock.sendall(site.head(f"Content-Length: {100 << 20}"))
        assert sock.recv(4096).startswith(b"HTTP/1.1 413")
    with site.connect() as sock:
        sock.sendall(site.head("Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            for _ in range(1600):
                sock.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        assert site.asks() == 200


def test_1000_connections_keep_nobody_waiting(site: Site) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held: list[socket.socket] = []
    try:
        for number in range(1000):
            held.append(site.connect())
            if number % 250 == 0:
                assert site.asks() == 200
        assert site.asks() == 200
    finally:
        for sock in held:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_guess_at_the_port_alone_learns_nothing(site: Site) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    for address in ("/", "/api/status", "/open?key=", "/app.js", "/nothing"):
        connection.request("GET", address)
        answer = connection.getresponse()
        told = answer.read()
        assert answer.status == 421
        assert str(site.served.root).encode() not in told
        assert answer.getheader("server") is None
    connection.close()


def test_live_feeds_have_a_limit(site: Site) -> None:
    feeds = []
    for _ in range(8):
        sock = site.connect()
        request = f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAuthorization: Bearer {site.token}\r\n\r\n"
        sock.sendall(request.encode())
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
        feeds.append(sock)
    with site.connect() as sock:
        sock.sendall(request.encode())
        assert sock.recv(4096).startswith(b"HTTP/1.1 429")
    for sock in feeds:
        sock.close()
    live.eventually("it is free again", lambda: site.asks() == 200)


def test_nothing_secret_stands_in_the_log_of_the_daemon(site: Site) -> None:
    assert site.token not in site.served.log_tail()
