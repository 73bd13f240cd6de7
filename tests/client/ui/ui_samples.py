"""Replies as a daemon gives them to the screen, and a daemon that gives these."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 1, 31, 12, 0, 1, tzinfo=UTC)

EVIL = "\x1b]0;owned\x07\u202eevil\u200b"
"""A name that would act on a terminal, and that hides a part of itself."""


def at(minutes: int) -> str:
    """So many minutes before `NOW`."""
    hours, minute = divmod(12 * 60 - minutes, 60)
    return f"2026-01-31T{hours:02}:{minute:02}:00.5Z"


def writer(agent: str = "", session: str = "", **given: Any) -> dict[str, Any]:
    return {"id": "w3", "type": "edit", "agent": agent, "agent_session": session, "turn": "", "uid": None, **given}


def file(path: str, status: str = "changed", version: str = "v12", **given: Any) -> dict[str, Any]:
    before = {} if status == "added" else {"before": "v4"}
    return {"path": path, "status": status, "version": version, **before, "added": 2, "removed": 1, **given}


def story(seq: int, form: str = "turn", files: Any = ("src/app.py",), **given: Any) -> dict[str, Any]:
    listed = [one if isinstance(one, dict) else file(one) for one in files]
    told: dict[str, Any] = {"form": form, "seq": seq, "first": seq - 2, "at": at(5), "ended_at": at(4), "whole": True}
    whose = writer("alice", "s1") if form == "turn" else writer()
    return {**told, "writer": whose, "writes": 1, "files": listed, "files_count": len(listed), **given}


TURN = story(
    40,
    prompt="Rename it\nand say why",
    files=("src/app.py", "src/b.py"),
    calls=[{"at": at(5), "label": "Edit", "burst": 3, "writes": 2, "paths": ["src/app.py"]}],
    calls_count=1,
)
SAVE = story(30, "saves", unclaimed=True)
GIT = story(20, "git", (), files_count=9, commands=["checkout topic"], head_before="main a1", head_after="topic b2")
CODEX = story(10, writer=writer("codex", "t-1"))
STORIES = [TURN, SAVE, GIT, CODEX]

HUNKS = [
    {"old_start": 1, "old_lines": 2, "new_start": 1, "new_lines": 2, "lines": [" one", "-two", "+TWO"]},
    {"old_start": 9, "old_lines": 1, "new_start": 9, "new_lines": 2, "heading": "f", "lines": [" nine", "+ten\t|"]},
]
DIFF = {
    "ok": True,
    "from": "v4",
    "to": "v12",
    "files": [{"path": "src/app.py", "status": "changed", "from": "v4", "to": "v12", "hunks": HUNKS}],
}
BLAME = {
    "ok": True,
    "version": "v12",
    "lines": [
        {"line": 1, "version": "v3", "writer": writer(), "at": at(90), "evidence": "captured", "text": "one"},
        {"line": 2, "version": "v12", "writer": writer("alice", "s1"), "at": at(4), "text": "TWO"},
        {"line": 3, "version": "v12", "writer": writer("alice", "s1"), "at": at(4), "text": "three"},
        {"line": 4, "version": "v8", "writer": writer("codex", "t-1"), "at": at(9), "text": "four"},
    ],
}
PLAN = {
    "ok": True,
    "message": "Plan: 1 file to change.",
    "token": "t0ken",
    "valid": True,
    "batches": [38],
    "files": [
        {
            "path": "src/app.py",
            "action": "write",
            "kept": [{"version": "v8", "writer": writer("codex", "t-1")}],
            "changed": [{"start": 2, "end": 2, "was_start": 2, "was_end": 3}],
        }
    ],
    "writers": [{"writer": writer("alice", "s1"), "batches": 1}],
}
WHO = {
    "ok": True,
    "writers": [
        {
            **writer("alice", "s1"),
            "present": True,
            "last_seen": at(0),
            "on": {"writing": [{"path": "src/app.py", "at": at(1)}]},
        },
        {**writer("codex", "t-1"), "present": True, "last_seen": at(2), "on": {}},
        {**writer(uid=0), "present": True, "you": True, "last_seen": at(0), "on": {}},
    ],
    "collisions": [
        {
            "path": "src/app.py",
            "symbols": ["dispatch"],
            "writers": [{"writer": writer("alice", "s1")}, {"writer": writer("codex", "t-1")}],
        }
    ],
}
STATUS = {"ok": True, "message": "Serving /site, full, 40 records.", "coverage": {"state": "full"}}
CLAIMS = {
    "ok": True,
    "leases": [
        {"lease": 13, "kind": "exclusive", "path": "src/app.py", "holder": writer("alice", "s1"), "reason": "p"}
    ],
    "waiting": [],
}
REVIEW = {
    "ok": True,
    "message": "2 places to review in 1 file.",
    "seq": 41,
    "more": 0,
    "by": [{"writer": writer("alice", "s1"), "turn": "t1", "lines": 1, "prompt": "Rename it"}],
    "files": [
        {
            "path": "src/app.py",
            "status": "changed",
            "version": "v12",
            "hunks": [
                {"start": 2, "end": 2, "writers": [writer("alice", "s1")], "rows": ["-two", "+TWO"], "whole": False},
                {"start": 9, "end": 8, "writers": [writer("codex", "t-1")], "rows": ["-nine"], "whole": False},
            ],
        }
    ],
}
GONE = {"ok": False, "error": "no_daemon", "message": "No daemon runs for /site; start one with `quire up`."}


class FakeDaemon:
    """Answers as a daemon that has these stories, and remembers what it was asked."""

    def __init__(self, stories: list[dict[str, Any]]) -> None:
        self.stories = stories
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.runs = True
        self.wholes: dict[str, dict[str, Any]] = {}  # writer → its story that a list cuts
        self.replies: dict[str, Mapping[str, Any]] = {
            "diff": DIFF,
            "log": {"ok": True, "records": [{"path": "src/app.py", "diff": DIFF["files"][0]}]},
            "blame": BLAME,
            "show": {"ok": True, "path": "src/app.py", "version": "v12", "diff": DIFF["files"][0]},
            "who": WHO,
            "review": REVIEW,
            "accept": {"ok": True, "message": "1 place accepted in 1 file."},
            "reject": {"ok": True, "message": "1 place rejected in 1 file: taken back."},
            "status": STATUS,
            "claims": CLAIMS,
        }

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reply to a call."""
        self.asked.append((tool, dict(arguments)))
        if not self.runs:
            return GONE
        if tool == "stories":
            return self._stories(arguments)
        if tool in ("undo", "redo") and tool not in self.replies:
            done = {"ok": True, "message": "Undone in 1 file.", "batch": 77}
            return PLAN if arguments.get("plan") else done
        return self.replies[tool]

    def called(self, tool: str) -> list[dict[str, Any]]:
        """The arguments of the calls of a tool."""
        return [arguments for name, arguments in self.asked if name == tool]

    def _stories(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if arguments.get("writer") == "nobody":
            return {"ok": False, "error": "not_found", "message": "Nobody is called nobody."}
        if arguments.get("writer") in self.wholes:
            return {"ok": True, "stories": [self.wholes[arguments["writer"]]], "next": None}
        at = int(arguments.get("cursor") or 0)
        found = [one for one in self.stories if not arguments.get("agents") or one["form"] == "turn"]
        if arguments.get("writer"):
            found = [one for one in found if one["writer"]["agent"] == arguments["writer"]]
        end = at + arguments["limit"]
        return {"ok": True, "stories": found[at:end], "next": str(end) if end < len(found) else None}
