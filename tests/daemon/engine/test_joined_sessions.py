"""Joined sessions: an agent's hooks, its MCP server and its commands are one caller, whatever each says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import Said

from memory_daemon import MemoryDaemon
from proc_folder import told
from quire_daemon.ops.daemon_log import Log
from quire_journal.model.messages import Caller

GEMINI, HOOK, SERVER, COMMAND, ELSEWHERE = 40, 51, 52, 61, 71
"""Processes: the agent's own, and those that call the daemon."""


@pytest.fixture
def log() -> Said:
    """What the daemon's own log is told."""
    return Said()


@pytest.fixture
def daemon(tmp_path: Path, log: Said) -> MemoryDaemon:
    """A terminal, an agent below it that has started a hook, a server and a command, and another program."""
    told(tmp_path, 1, 0, 1, "systemd", "/sbin/init")
    told(tmp_path, 30, 1, 300, "bash", "/bin/bash", leads=34816, words="-bash")
    told(tmp_path, GEMINI, 30, 400, "node", "/usr/bin/node")
    told(tmp_path, HOOK, GEMINI, 510, "quire", "/usr/bin/python3")
    told(tmp_path, SERVER, GEMINI, 520, "quire", "/usr/bin/python3")
    told(tmp_path, 60, GEMINI, 600, "bash", "/bin/bash", words="bash -c x")
    told(tmp_path, COMMAND, 60, 610, "quire", "/usr/bin/python3")
    told(tmp_path, 70, 30, 700, "python3", "/usr/bin/python3")
    told(tmp_path, ELSEWHERE, 70, 710, "quire", "/usr/bin/python3")
    return MemoryDaemon({"a.py": "one\ntwo\nthree\n"}, proc=tmp_path, log=Log(log))


def hook(daemon: MemoryDaemon, moment: str, pid: int = HOOK, session: str = "s1", **more: Any) -> dict[str, Any]:
    turn = more.pop("turn", "t1")
    return daemon.said("native", {"moment": moment, **more}, Caller("gemini", session, turn), pid)


def by_server(daemon: MemoryDaemon, tool: str, **args: Any) -> dict[str, Any]:
    return daemon.said(tool, args, Caller("gemini", "mcp-1234", guessed=True), SERVER)


def by_command(daemon: MemoryDaemon, tool: str, pid: int = COMMAND, **args: Any) -> dict[str, Any]:
    return daemon.said(tool, args, Caller(), pid)


def writers(daemon: MemoryDaemon) -> list[tuple[str, str, str]]:
    """(agent, agent session, turn) of each write by a tool, oldest first."""
    records = daemon.ask("log", {"kind": "file_written", "order": "oldest"})["records"]
    return [(r["writer"]["agent"], r["writer"]["agent_session"], r["writer"]["turn"]) for r in records]


def test_what_an_agent_writes_by_mcp_and_by_its_shell_is_its_sessions(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn")
    assert by_server(daemon, "edit_replace", path="a.py", old_text="one", new_text="ONE")["ok"]
    assert by_command(daemon, "edit_replace", path="a.py", old_text="two", new_text="TWO")["ok"]
    hook(daemon, "turn", turn="t2")
    assert by_server(daemon, "edit_replace", path="a.py", old_text="three", new_text="THREE")["ok"]
    assert writers(daemon) == [("gemini", "s1", "t1"), ("gemini", "s1", "t1"), ("gemini", "s1", "t2")]


def native_edit(daemon: MemoryDaemon, call: str, old: str, new: str) -> None:
    payload = {"kind": "replace", "path": "a.py", "edits": [{"old": old, "new": new, "all": False}]}
    more: dict[str, Any] = {"tool": "replace", "call": call, "paths": ["a.py"], "payloads": [payload], "turn": ""}
    assert hook(daemon, "before", **more)["ok"]
    daemon.save("a.py", (daemon.read("a.py") or "").replace(old, new))
    assert hook(daemon, "after", **more)["ok"]


def turns_told(daemon: MemoryDaemon) -> list[tuple[str, int]]:
    """(prompt, number of files) of each story of an agent's turn, oldest first."""
    told = daemon.ask("stories", {})["stories"]
    return [(s["prompt"], len(s["files"])) for s in reversed(told) if s["form"] == "turn"]


def test_each_prompt_begins_a_turn_of_an_agent_that_names_no_turns(daemon: MemoryDaemon) -> None:
    for number, (old, new) in enumerate([("one", "ONE"), ("two", "TWO"), ("three", "THREE")]):
        hook(daemon, "turn", turn="", prompt=f"prompt {number}")
        native_edit(daemon, f"c{number}", old, new)
        hook(daemon, "end", turn="")
    assert turns_told(daemon) == [("prompt 0", 1), ("prompt 1", 1), ("prompt 2", 1)]


def test_an_undo_takes_back_one_turn_of_an_agent_that_names_no_turns(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn", turn="", prompt="first")
    native_edit(daemon, "c1", "one", "ONE")
    hook(daemon, "turn", turn="", prompt="second")
    native_edit(daemon, "c2", "three", "THREE")
    told = daemon.ask("stories", {})["stories"]
    (first,) = [s["writer"]["turn"] for s in told if s.get("prompt") == "first"]
    assert daemon.ask("undo", {"turn": first, "writer": "gemini"})["ok"]
    assert daemon.read("a.py") == "one\ntwo\nTHREE\n"


def test_a_turn_without_a_name_goes_on_after_a_restart_of_the_daemon(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn", turn="", prompt="first")
    native_edit(daemon, "c1", "one", "ONE")
    daemon.kill()
    native_edit(daemon, "c2", "three", "THREE")
    assert turns_told(daemon) == [("first", 1)]


def test_an_agent_is_not_refused_for_what_it_wrote_another_way(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn")
    daemon.said("read_file", {"path": "a.py"}, Caller("gemini", "s1"), HOOK)
    by_command(daemon, "edit_replace", path="a.py", old_text="two", new_text="TWO")
    by_server(daemon, "read_file", path="a.py")
    assert "changed_since_your_read" not in by_server(daemon, "read_file", path="a.py")
    edited = by_server(daemon, "replace_lines", path="a.py", start_line=1, end_line=1, new_text="ONE")
    assert edited["ok"]
    assert "changed_since_your_read" not in edited
    assert hook(daemon, "before", tool="replace", paths=["a.py"], replaces=["TWO"])["ok"]
    assert hook(daemon, "turn")["news"] == []


def test_undo_takes_back_what_the_session_did_last_whichever_way(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn")
    by_command(daemon, "edit_replace", path="a.py", old_text="two", new_text="TWO")
    assert by_server(daemon, "undo")["ok"]
    assert daemon.read("a.py") == "one\ntwo\nthree\n"


def test_a_lease_of_the_session_is_in_nobodys_way_there(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn")
    assert by_server(daemon, "claim", path="a.py", kind="exclusive")["ok"]
    assert hook(daemon, "before", tool="replace", paths=["a.py"], replaces=["two"])["ok"]
    assert by_command(daemon, "edit_replace", path="a.py", old_text="two", new_text="TWO")["ok"]


def test_who_lists_a_session_once(daemon: MemoryDaemon) -> None:
    hook(daemon, "before", tool="replace", paths=["a.py"], replaces=["two"])
    by_server(daemon, "edit_replace", path="a.py", old_text="one", new_text="ONE")
    by_command(daemon, "edit_replace", path="a.py", old_text="two", new_text="TWO")
    told = by_server(daemon, "who")["writers"]
    assert [(one["agent"], one["agent_session"], one["you"]) for one in told] == [("gemini", "s1", True)]


def test_a_server_without_hooks_has_the_session_that_it_made_up(daemon: MemoryDaemon) -> None:
    assert by_server(daemon, "edit_replace", path="a.py", old_text="one", new_text="ONE")["ok"]
    assert writers(daemon) == [("gemini", "mcp-1234", "")]


def test_other_programs_stay_nobodys(daemon: MemoryDaemon) -> None:
    hook(daemon, "turn")
    assert by_command(daemon, "edit_replace", ELSEWHERE, path="a.py", old_text="one", new_text="ONE")["ok"]
    assert writers(daemon) == [("", "", "")]


def test_a_hook_from_elsewhere_is_not_the_session_that_it_claims(daemon: MemoryDaemon, log: Said) -> None:
    hook(daemon, "before", tool="replace", call="c1", paths=["a.py"], replaces=["two"])
    for _ in range(2):
        assert hook(daemon, "end", ELSEWHERE)["message"] == "0 open calls ended."
    assert [line for line in log.lines if line[0] == "hook_from_outside"] == [
        (
            "hook_from_outside",
            {"agent": "gemini", "agent_session": "s1", "pid": ELSEWHERE, "at_work_in": GEMINI},
        )
    ]
    assert hook(daemon, "end")["message"] == "1 open call ended.", "that of the session itself"


def test_who_is_present_ends_with_the_session_and_with_its_process(daemon: MemoryDaemon, tmp_path: Path) -> None:
    def present() -> list[tuple[str, bool | None]]:
        told = daemon.ask("who", {"present": True})["writers"]
        return [(one["agent_session"], one["alive"]) for one in told if one["agent"] == "gemini"]

    hook(daemon, "before", tool="replace", paths=["a.py"], replaces=["two"])
    assert present() == [("s1", True)]
    hook(daemon, "session_end")
    assert present() == []
    hook(daemon, "before", tool="replace", paths=["a.py"], replaces=["two"])
    assert present() == [("s1", True)]
    (tmp_path / str(GEMINI) / "stat").unlink()
    assert present() == []


def test_setup_is_nobody_who_works_here_whatever_it_wrote(daemon: MemoryDaemon) -> None:
    payload = {"kind": "content", "path": "set.json", "text": "{}\n"}
    told = {"tool": "quire setup gemini", "call": "c1", "paths": ["set.json"]}
    assert daemon.said("native", {"moment": "before", "payloads": [payload], **told}, Caller("quire"), HOOK)["ok"]
    daemon.save("set.json", "{}\n")
    assert daemon.said("native", {"moment": "after", **told}, Caller("quire"), HOOK)["ok"]
    who = {one["agent"]: one["present"] for one in daemon.ask("who", {})["writers"]}
    assert who["quire"] is False


# ── own work is no news ──────────────────────────────────────────────────────

LINES = "".join(f"value_{number} = {number}\n" for number in range(12))


def by_its_own_tool(daemon: MemoryDaemon, old: str, new: str) -> None:
    """The agent edits with the tool that it was built with."""
    payload = {"kind": "replace", "path": "b.py", "edits": [{"old": old, "new": new, "all": False}]}
    told = {"tool": "replace", "paths": ["b.py"], "replaces": [old], "payloads": [payload]}
    assert hook(daemon, "before", **told)["ok"]
    daemon.save("b.py", (daemon.read("b.py") or "").replace(old, new))
    assert hook(daemon, "after", **told)["ok"]


def by_its_own_command(daemon: MemoryDaemon, old: str, new: str) -> None:
    """The agent runs a shell command."""
    told = {"tool": "run_shell_command", "command": f'sed -i "s/{old}/{new}/" b.py'}
    assert hook(daemon, "before", **told)["ok"]
    daemon.save("b.py", (daemon.read("b.py") or "").replace(old, new))
    daemon.watch()
    assert hook(daemon, "after", **told)["ok"]


EDITS: dict[str, dict[str, Any]] = {
    "edit": {"operations": [{"op": "replace_line", "hash": "{anchor 2}", "content": "value_1 = 'new'"}]},
    "hashline_edit": {"edits": [{"target": "{id 2}", "new_content": ["value_1 = 'new'"]}]},
    "edit_replace": {"old_text": "value_1 = 1\n", "new_text": "value_1 = 'new'\n"},
    "multi_edit": {"edits": [{"old_text": "value_1 = 1\n", "new_text": "value_1 = 'new'\n"}]},
    "replace_lines": {"start_line": 2, "end_line": 2, "new_text": "value_1 = 'new'"},
    "insert_lines": {"line_number": 2, "text": "value_1 = 'new'"},
    "regex_replace": {"pattern": "value_1 = 1$", "replacement": "value_1 = 'new'"},
    "text_editor": {"command": "str_replace", "old_str": "value_1 = 1\n", "new_str": "value_1 = 'new'\n"},
    "apply_patch": {
        "patch": "*** Begin Patch\n*** Update File: b.py\n@@\n-value_1 = 1\n+value_1 = 'new'\n*** End Patch\n"
    },
    "delete_file": {},
    "move_file": {"to": "c.py"},
}


@pytest.mark.parametrize("tool", EDITS)
@pytest.mark.parametrize("own", [by_its_own_tool, by_its_own_command])
def test_no_tool_holds_an_agents_own_work_against_it(daemon: MemoryDaemon, tool: str, own: Any) -> None:
    daemon.save("b.py", LINES)
    hook(daemon, "turn")
    shown = by_server(daemon, "read_file", path="b.py", hashes=True)["lines"]
    ids = by_server(daemon, "read_file", path="b.py", format="hashline")["lines"]
    own(daemon, "value_7 = 7", "value_7 = 'own'")
    anchors = {"{anchor 2}": shown[1].split(" ")[0], "{id 2}": ids[1].split("|")[0]}
    args = json.loads(_filled(json.dumps(EDITS[tool]), anchors))
    where = {} if tool == "apply_patch" else {"path": "b.py"}
    reply = by_server(daemon, tool, **where, **args)
    assert reply["ok"], reply
    assert "changed_since_your_read" not in reply
    if tool not in ("delete_file", "move_file"):
        assert "value_7 = 'own'" in (daemon.read("b.py") or "")
        assert "value_1 = 'new'" in (daemon.read("b.py") or "")
    assert hook(daemon, "turn", turn="t2")["news"] == []
    assert "changed_since_your_read" not in by_server(daemon, "log", path="b.py")


def _filled(text: str, anchors: dict[str, str]) -> str:
    for name, anchor in anchors.items():
        text = text.replace(name, anchor)
    return text
