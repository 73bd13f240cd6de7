"""The command line of `quire page`: what it asks for, and a page that a real browser's socket reaches."""

from __future__ import annotations

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
