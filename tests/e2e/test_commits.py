"""Commits of git and the journal: whose lines a commit has, also after it was rewritten; git itself stays as it was."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quire_client
from live import Live, eventually, ok, quire

pytestmark = pytest.mark.real


def git(at: Live, *words: str) -> str:
    own = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    ran = subprocess.run(["git", *own, *words], cwd=at.root, check=True, capture_output=True)
    return ran.stdout.decode()


def said(at: Live, *words: str, status: int = 0, given: bytes = b"") -> str:
    ran = quire(*words, cwd=at.root, given=given)
    assert ran.returncode == status, ran
    return ran.stdout.decode()


def wrote(at: Live, agent: str, path: str, text: str) -> None:
    with quire_client.connect(at.root, agent=agent, session="s1") as client:
        known = client.call("read_file", {"path": path})
        base = {"base": known["version"]} if known["ok"] else {}
        ok(client.call("write_file", {"path": path, "content": text, **base}))


@pytest.fixture(scope="module")
def site() -> Iterator[Live]:
    at = Live()
    at.state_dir = Path()
    git(at, "init", "-q", "-b", "main", ".")
    at.write("f.py", "a = 1\nb = 2\nc = 3\n")
    git(at, "add", "-A")
    git(at, "commit", "-qm", "base")
    with quire_client.connect(at.root, agent="tester") as client:
        eventually("the first capture", lambda: client.status()["capture"]["finished"])
    wrote(at, "codex", "f.py", "a = 1\nb = 20\nc = 3\n")
    git(at, "commit", "-qam", "Change b")
    wrote(at, "claude-code", "f.py", "a = 1\nb = 20\nc = 30\nd = 40\n")
    wrote(at, "claude-code", "n w.py", "new = 1\n")
    git(at, "add", "-A")
    git(at, "commit", "-qm", "Change c")
    yield at
    at.close()


def test_a_commit_tells_whose_lines_it_has(site: Live) -> None:
    told = json.loads(said(site, "why", "HEAD", "--json"))
    shares = {f["path"]: [(w["writer"]["agent"], w["lines"]) for w in f["writers"]] for f in told["files"]}
    assert shares == {"f.py": [("claude-code", 2)], "n w.py": [("claude-code", 1)]}
    assert told["commit"]["subject"] == "Change c"
    assert "codex/s1 1 line" in said(site, "why", "HEAD~1")


def test_the_log_of_a_commit_has_only_the_stories_of_its_lines(site: Live) -> None:
    stories = json.loads(said(site, "log", "--commit", "HEAD~1", "--json"))["stories"]
    assert [story["writer"]["agent"] for story in stories] == ["codex"]
    both = json.loads(said(site, "log", "--commit", "HEAD~2..HEAD", "--json"))["stories"]
    assert {story["writer"]["agent"] for story in both} == {"codex", "claude-code"}


def test_a_squash_loses_no_line(site: Live) -> None:
    squashed = git(site, "commit-tree", "HEAD^{tree}", "-p", "HEAD~2", "-m", "both").strip()
    note = said(site, "export", "git-ai", squashed)
    assert [line.rpartition(" ")[2] for line in note.partition("---")[0].splitlines() if "::" in line] == [
        "2",
        "3-4",
        "1",
    ]
    assert '"n w.py"' in note
    statement = json.loads(said(site, "export", "in-toto", "HEAD~2..HEAD"))
    lines = [one for file in statement["predicate"]["files"] for one in file["lines"]]
    assert [(one["agent"], one["start"], one["end"]) for one in lines] == [
        ("codex", 2, 2),
        ("claude-code", 3, 4),
        ("claude-code", 1, 1),
    ]


def test_a_commit_or_range_is_a_record_of_agent_trace(site: Live) -> None:
    record = json.loads(said(site, "export", "agent-trace", "HEAD~2..HEAD"))
    assert record["vcs"] == {"type": "git", "revision": git(site, "rev-parse", "HEAD").strip()}
    told = {file["path"]: [one["ranges"] for one in file["conversations"]] for file in record["files"]}
    assert told == {
        "f.py": [[{"start_line": 2, "end_line": 2}], [{"start_line": 3, "end_line": 4}]],
        "n w.py": [[{"start_line": 1, "end_line": 1}]],
    }
    assert {one["contributor"]["type"] for file in record["files"] for one in file["conversations"]} == {"ai"}
    assert record["metadata"]["quire"]["not_proven"]
    assert len(said(site, "export", "agent-trace").splitlines()) > 1, "of the whole history"


def test_a_note_can_be_put_on_its_commit_by_git(site: Live) -> None:
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", "notes", "--ref=ai", "add", "-F", "-", "HEAD"],
        cwd=site.root,
        input=said(site, "export", "git-ai").encode(),
        check=True,
    )
    assert "s_" in git(site, "notes", "--ref=ai", "show", "HEAD")


def test_names_that_are_no_text_are_told_of_as_well(site: Live) -> None:
    (site.root / os.fsdecode(b"odd \xff\n")).write_text("1\n")
    git(site, "add", "-A")
    git(site, "commit", "-qm", "odd")
    told = json.loads(said(site, "why", "HEAD", "--json"))
    assert [(file["path_encoding"], file["status"]) for file in told["files"]] == [("percent", "added")]
    assert "outside 1 line" in said(site, "why", "HEAD")
    said(site, "log", "--commit", "HEAD")
    said(site, "export", "git-ai")
    git(site, "reset", "-q", "--hard", "HEAD~1")


def test_commits_of_one_writers_part_of_a_file_and_of_its_removal_name_the_writer(site: Live) -> None:
    start = git(site, "rev-parse", "HEAD").strip()
    texts = [f"line {n}\n" for n in range(30)]
    site.write("parts.txt", "".join(texts))
    git(site, "add", "-A")
    git(site, "commit", "-qm", "lines")
    for n, agent in ((6, "codex"), (8, "claude-code"), (20, "codex"), (25, "claude-code")):
        texts[n] = f"{n} by {agent}\n"
        wrote(site, agent, "parts.txt", "".join(texts))
    for agent in ("codex", "claude-code"):
        patch = said(site, "patch", "--writer", agent)
        subprocess.run(["git", "apply", "--cached"], cwd=site.root, input=patch.encode(), check=True)
        git(site, "commit", "-qm", agent)
        assert f"  parts.txt  {agent}/s1 2 lines\n" in said(site, "why", "HEAD")
        stories = json.loads(said(site, "log", "--commit", "HEAD", "--json"))["stories"]
        assert {story["writer"]["agent"] for story in stories} == {agent}
    with quire_client.connect(site.root, agent="codex", session="s1") as client:
        base = client.call("read_file", {"path": "parts.txt"})["version"]
        ok(client.call("delete_file", {"path": "parts.txt", "base": base}))
    git(site, "commit", "-qam", "gone")
    assert "  parts.txt  deleted by codex/s1" in said(site, "why", "HEAD")
    git(site, "reset", "-q", "--hard", start)


def test_a_word_that_is_no_commit_is_told(site: Live) -> None:
    said(site, "log", "--commit", "nowhere", status=2)
    said(site, "export", "git-ai", "nowhere", status=2)
    said(site, "export", "git-ai", "--since", "1h", status=2)


def test_who_ran_a_command_of_git_is_told_with_the_programs_above_it(site: Live) -> None:
    lines = said(site, "env").splitlines()
    told = dict(line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))
    environ = {**os.environ, **{name: value.strip("'") for name, value in told.items()}}
    environ |= {"QUIRE_AGENT": "codex", "QUIRE_SESSION": "s9"}
    site.write("f.py", "to be stashed\n")
    for words in ("stash", "stash drop"):
        subprocess.run(["sh", "-c", f"git {words}; true"], cwd=site.root, check=True, env=environ, capture_output=True)

    def known() -> list[dict[str, Any]]:
        return list(json.loads(said(site, "why", "--git", "stash", "--json"))["commands"])

    eventually("git's report", lambda: any(one["command"] == "stash" for one in known()))
    (stash,) = [one for one in known() if one["command"] == "stash"]
    assert (stash["writer"]["agent"], stash["writer"]["agent_session"], stash["parents"][0]) == ("codex", "s9", "sh")
    assert "codex/s9" in said(site, "why", "--git", "stash")
    assert "No command of git with" in said(site, "why", "--git", "nothing-like-it")


def test_every_git_of_the_user_tells_where_it_was_set_up(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    config = site.top / "gitconfig"
    config.write_text("[user]\n\tname = Ann\n\temail = ann@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    before = config.read_bytes()
    assert quire("setup", "git", cwd=site.root).returncode == 0
    site.write("f.py", "to be reset\n")
    subprocess.run(["sh", "-c", "git reset --hard; true"], cwd=site.root, check=True, capture_output=True)

    def known() -> list[dict[str, Any]]:
        return list(json.loads(said(site, "why", "--git", "reset --hard", "--json"))["commands"])

    eventually("git's report", lambda: any(one["evidence"] == "trace2" for one in known()))
    assert known()[0]["parents"][0] == "sh"
    assert quire("unsetup", "git", cwd=site.root).returncode == 0
    assert config.read_bytes() == before


def of_git(at: Live) -> dict[str, bytes]:
    files = (Path(where) / name for where, _, names in os.walk(at.root / ".git") for name in names)
    return {str(file): file.read_bytes() for file in files}


def test_git_is_byte_for_byte_as_before(site: Live) -> None:
    wrote(site, "codex", "f.py", "a = 1\nb = 20\nc = 31\nd = 40\n")
    git(site, "add", "f.py")
    git(site, "stash", "list")
    before = of_git(site)
    for words in (
        ("patch", "--writer", "codex"),
        ("check-staged", "--writer", "codex"),
        ("commit-message",),
        ("why", "HEAD"),
        ("log", "--commit", "HEAD"),
        ("export", "git-ai"),
        ("export", "in-toto"),
        ("export", "agent-trace", "HEAD"),
        ("export", "jsonl", "--out", os.fspath(site.top / "out.jsonl")),
        ("review",),
        ("review", "accept", "f.py:1"),
        ("review", "reject", "--yes"),
        ("redo",),
        ("why", "--git"),
        ("run", "true"),
        ("run", "--at", "HEAD", "--", "true"),
        ("undo", "--git", "last", "--plan"),
        ("bisect", "--since", "HEAD~1", "--without", "codex", "run", "true"),
        ("setup", "git-hooks", "--dry-run"),
        ("checkpoint", "create", "here"),
        ("rollback", "here", "--plan"),
        ("restore", "f.py@HEAD"),
        ("undo", "--yes"),
        ("diff", "HEAD"),
        ("blame", "f.py"),
        ("report", "codex"),
        ("bisect", "--since", "HEAD~1", "run", "true"),
        ("undo", "--writer", "codex", "--plan"),
        ("undo", "--writer", "codex", "--last", "1", "--yes"),
    ):
        ran = quire(*words, cwd=site.root)
        assert ran.returncode in (0, 1, 3), ran
    assert of_git(site) == before
