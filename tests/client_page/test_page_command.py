"""The command line of `quire page`: what it asks for, and a page that a real browser's socket reaches."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import live
from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, which is the current folder, with all its state below the test's own."""
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    root = tmp_path / "site"
    root.mkdir()
    settle(place_of(root))
    monkeypatch.chdir(root)
    return root


def test_without_a_server_it_says_what_to_install(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["page"]) == 2
    assert "(uvicorn is missing): run" in capsys.readouterr().err


def test_a_port_has_to_be_free_and_a_host_has_no_star(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--port", "70000"]) == 2
    assert main(["page", "--host", "*"]) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["page", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr()
    assert "--port wants a port" in said.err
    assert "--host wants the name and port" in said.err
    assert "cannot be listened on" in said.err


def test_where_no_page_serves_revoking_makes_the_token_void(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--revoke", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["browsers"] == 0


@pytest.mark.real
@pytest.mark.parametrize("revoked", [[], ["--all"]], ids=["of the workspace", "of all"])
def test_a_revocation_reaches_every_process_that_serves_the_workspace(
    site: Path, capsys: pytest.CaptureFixture[str], revoked: list[str]
) -> None:
    """`quire page --revoke` said that nobody may look any more, while who came by `quire page --all` might write on."""
    (site.parent / "xdg_runtime_dir").mkdir(mode=0o700, exist_ok=True)
    (site / "a.txt").write_text("one\n")
    pages = list[subprocess.Popen[str]]()

    def serve(*options: str) -> str:
        command = [sys.executable, "-m", "quire_client", "page", "--json", *options]
        pages.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert pages[-1].stdout is not None
        return str(json.loads(pages[-1].stdout.readline())["url"])

    try:
        own, every = serve(), serve("--all")
        one, other = Visitor(), Visitor()
        assert (one.get(own)[0], other.get(every)[0]) == (303, 303)
        listed = other.get(every.partition("open?")[0])[2]
        assert "1 of 1 recorded now" in listed
        led = other.get(every.partition("/open?")[0] + re.findall(r'href="(/go/\w+)"', listed)[0])[1]
        assert other.get(led)[0] == 303
        asked = [(one, own.partition("/open?")[0]), (other, led.partition("/open?")[0])]
        assert [visitor.get(f"{top}/api/status")[0] for visitor, top in asked] == [200, 200]
        assert main(["page", "--revoke", "--json", *revoked]) == 0
        assert json.loads(capsys.readouterr().out)["browsers"] == 2 + bool(revoked)
        assert [visitor.get(f"{top}/api/status")[0] for visitor, top in asked] == [401, 401]
        assert one.get(serve())[0] == 303, "another link is to be had still"
    finally:
        for page in pages:
            page.terminate()
            page.communicate(timeout=20)
        main(["down"])


class Visitor:
    """A browser that follows no redirection by itself."""

    def __init__(self) -> None:
        self._cookies: dict[str, str] = {}  # by host

    def get(self, url: str) -> tuple[int, str, str]:
        """(status, Location, text)."""
        found = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", found.port or 80, timeout=20)
        headers = {"Host": found.netloc, "Cookie": self._cookies.get(found.netloc, "")}
        connection.request("GET", f"{found.path or '/'}?{found.query}", headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if said := answer.getheader("Set-Cookie"):
            self._cookies[found.netloc] = said.partition(";")[0]
        return answer.status, answer.getheader("Location", ""), text


@pytest.mark.real
def test_a_page_serves_a_workspace_once_and_prints_another_link_when_asked_again(served: live.Live) -> None:
    served.write("a.py", "one\n")
    served.connect().since()
    where = ["-C", str(served.root), "--state-dir", str(served.state_dir)]
    page = subprocess.Popen(
        [sys.executable, "-m", "quire_client", "page", "--json", *where], stdout=subprocess.PIPE, text=True
    )
    try:
        assert page.stdout is not None
        first = json.loads(page.stdout.readline())
        assert first["pid"] == page.pid
        told = subprocess.run(
            [sys.executable, "-m", "quire_client", "page", "--read-only", *where], capture_output=True, text=True
        )
        second = told.stdout.strip()
        assert "It may look only." in told.stderr
        assert (second.split("?")[0], told.returncode) == (first["url"].split("?")[0], 0)
        assert second != first["url"]

        found = urlsplit(second)
        assert re.fullmatch(r"quire-[0-9a-f]{12}\.localhost", found.hostname or "")
        top, host = f"http://127.0.0.1:{found.port}", {"Host": found.netloc}

        def asked(address: str) -> urllib.request.Request:
            return urllib.request.Request(f"{top}{address}", headers=host)

        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert b"<!doctype html>" in browser.open(asked(f"/open?{found.query}"), timeout=20).read()
        stories = json.load(browser.open(asked("/api/stories"), timeout=20))["stories"]
        assert [story["form"] for story in stories][-1] == "capture"
        with browser.open(asked("/api/live"), timeout=20) as feed:
            lines = [feed.readline() for _ in range(4)]
            assert lines[2].startswith(b"event: records")

        revoked = subprocess.run(
            [sys.executable, "-m", "quire_client", "page", "--revoke", *where], capture_output=True, text=True
        )
        assert "1 browser may not look any more" in revoked.stdout
        with pytest.raises(urllib.error.HTTPError, match="401"):
            browser.open(asked("/api/stories"), timeout=20)
    finally:
        page.terminate()
        assert page.wait(20) in (0, -15, 130, 143)
        if page.stdout is not None:
            page.stdout.close()
