"""`quire review` as a person types it, and as a script waits for it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import quire_client
from live import Live, eventually, ok, quire

pytestmark = pytest.mark.real


@pytest.fixture
def site() -> Iterator[Live]:
    at = Live()
    at.state_dir = Path()
    at.write("f.py", "a = 1\n\n\n\nb = 2\n")
    for words in ("init -q .", "add -A", "-c user.name=A -c user.email=a@b commit -qm base"):
        subprocess.run(["git", *words.split()], cwd=at.root, check=True)
    with quire_client.connect(at.root, agent="tester") as client:
        eventually("the first capture", lambda: client.status()["capture"]["finished"])
    for agent, text in (("codex", "a = 10\n\n\n\nb = 2\n"), ("claude-code", "a = 10\n\n\n\nb = 20\n")):
        with quire_client.connect(at.root, agent=agent, session="s1") as client:
            base = client.call("read_file", {"path": "f.py"})["version"]
            ok(client.call("write_file", {"path": "f.py", "content": text, "base": base}))
    with quire_client.connect(at.root, agent="codex", session="s1") as client:
        ok(client.call("write_file", {"path": "new.py", "content": "n = 1\n"}))
    yield at
    at.close()


def said(at: Live, *words: str, status: int = 0) -> str:
    ran = quire("review", *words, cwd=at.root)
    assert ran.returncode == status, ran
    return ran.stdout.decode()


def places(at: Live, *words: str) -> list[str]:
    files = json.loads(said(at, *words, "--json"))["files"]
    return [f"{file['path']}:{hunk['start']}" for file in files for hunk in file["hunks"]]


def test_places_are_accepted_by_lines_and_by_writer(site: Live) -> None:
    assert places(site) == ["f.py:1", "f.py:5", "new.py:1"]
    said(site, "accept", "f.py:1")
    assert places(site) == ["f.py:5", "new.py:1"]
    said(site, "accept", "--writer", "codex")
    assert places(site) == ["f.py:5"]
    assert "claude-code/s1" in said(site)


def test_a_reject_takes_these_lines_back_and_keeps_the_others(site: Live) -> None:
    assert said(site, "reject", "f.py:5", "--yes").startswith("1 place taken back.")
    assert site.read("f.py").decode() == "a = 10\n\n\n\nb = 2\n"
    said(site, "reject", "--writer", "codex", "--yes")
    assert site.read("f.py").decode() == "a = 1\n\n\n\nb = 2\n"
    assert not (site.root / "new.py").exists()
    assert places(site) == []


def test_a_script_waits_until_everything_is_accepted(site: Live) -> None:
    said(site, "--wait", "--timeout", "0.2", status=1)
    waiting = threading.Timer(0.5, lambda: said(site, "accept"))
    waiting.start()
    assert "Nothing to review." in said(site, "--wait", "--timeout", "20")
    waiting.join()


def test_what_is_committed_needs_no_review(site: Live) -> None:
    for words in ("add -A", "-c user.name=A -c user.email=a@b commit -qm both"):
        subprocess.run(["git", *words.split()], cwd=site.root, check=True)
    assert places(site) == []
    assert places(site, "--since", "HEAD~1") == ["f.py:1", "f.py:5", "new.py:1"]


def test_a_reject_waits_for_the_call_of_the_writer(site: Live) -> None:
    with quire_client.connect(site.root, agent="claude-code", session="s1") as client:
        burst = ok(client.call("burst", {"action": "begin", "label": "work"}))["burst"]
        told = said(site, "reject", "f.py:5", "--yes")
        assert told == "1 place rejected in 1 file: taken back, when the turn of claude-code/s1 has ended.\n"
        assert "rejected: taken back when its turn has ended" in said(site)
        assert site.read("f.py").decode() == "a = 10\n\n\n\nb = 20\n"
        client.call("burst", {"action": "end", "burst": burst})
    eventually("it is taken back", lambda: site.read("f.py").decode() == "a = 10\n\n\n\nb = 2\n")
    assert places(site) == ["f.py:1", "new.py:1"]


def test_a_reject_at_once_does_not_wait(site: Live) -> None:
    with quire_client.connect(site.root, agent="claude-code", session="s1") as client:
        ok(client.call("burst", {"action": "begin", "label": "work"}))
        said(site, "reject", "f.py:5", "--yes", "--now")
        assert site.read("f.py").decode() == "a = 10\n\n\n\nb = 2\n"
    with quire_client.connect(site.root) as client:
        ok(client.call("redo"))
    assert site.read("f.py").decode() == "a = 10\n\n\n\nb = 20\n"
