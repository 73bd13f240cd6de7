"""Agents with their own tools, played against a real daemon: their hooks run as their own processes, and they write to
the disk themselves. One daemon for all of this module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quire_client
from live import Live, eventually, ok, quire

pytestmark = pytest.mark.real

OLD = "def greet(name):\n    return name\n\n\ndef leave(name):\n    return name\n"
NEW = OLD.replace("def greet(name):\n    return name", "def greet(name):\n    return name.title()")


@pytest.fixture(scope="module")
def site() -> Iterator[Live]:
    """A checkout with a journal, where a `quire` lies as if installed; the state folder is where hooks look for it."""
    at = Live()
    at.state_dir = Path()  # the default one: agents' configuration names none
    (at.root / ".git").mkdir()
    with quire_client.connect(at.root, agent="tester") as client:
        eventually("the first capture", lambda: client.status()["capture"]["finished"])
    yield at
    at.close()


def asked(at: Live, tool: str, **args: Any) -> dict[str, Any]:
    """A tool's reply."""
    with quire_client.connect(at.root, agent="tester") as client:
        return ok(client.call(tool, args))


def burst_of(at: Live, path: str) -> dict[str, Any]:
    """The one burst that named this file."""
    (burst,) = [burst for burst in asked(at, "burst")["bursts"] if burst.get("paths") == [path]]
    return dict(burst)


def command(at: Live, *words: str, status: int = 0) -> str:
    """What the command line says, in the checkout."""
    ran = quire(*words, cwd=at.root)
    assert ran.returncode == status, ran
    return ran.stdout.decode()


def hook(at: Live, agent: str, event: dict[str, Any]) -> dict[str, Any]:
    """What the agent's hook is answered. It is started somewhere else: the event says where."""
    ran = quire("hook", agent, cwd="/", given=json.dumps(event).encode())
    assert ran.returncode == 0, ran
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


class Claude:
    """An agent session of Claude Code that uses Edit, Write, Read and Bash as they were built."""

    def __init__(self, at: Live, session: str) -> None:
        self.at, self.session, self.calls = at, session, 0

    def tells(self, event: str, **fields: Any) -> dict[str, Any]:
        common = {"session_id": self.session, "cwd": str(self.at.root), "hook_event_name": event}
        return hook(self.at, "claude-code", {**common, **fields})

    def uses(self, tool: str, write: Any = None, **told: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Before, the tool itself unless it was denied, and after: the two answers."""
        self.calls += 1
        call = {"tool_name": tool, "tool_use_id": f"{self.session}-{self.calls}", "tool_input": told}
        before = self.tells("PreToolUse", **call)
        if "permissionDecision" in before.get("hookSpecificOutput", {}):
            return before, {}
        if write is not None:
            write()
        return before, self.tells("PostToolUse", **call, tool_response={"success": True})

    def reads(self, path: str) -> None:
        assert self.uses("Read", file_path=str(self.at.root / path)) == ({}, {})

    def edits(self, path: str, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """An edit of the whole text: what it replaces is what the file holds."""
        old = self.at.read(path).decode()
        told = {"file_path": str(self.at.root / path), "old_string": old, "new_string": text}
        return self.uses("Edit", lambda: self.at.write(path, text), **told)


def denied(answer: dict[str, Any]) -> str:
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny", answer
    return str(answer["hookSpecificOutput"]["permissionDecisionReason"])


def test_a_native_edit_is_in_the_log_as_a_burst_with_the_agents_name_and_is_undone_as_one(site: Live) -> None:
    site.write("one.py", OLD)
    ada = Claude(site, "ada")
    ada.reads("one.py")
    assert ada.edits("one.py", NEW) == ({}, {})
    newest = asked(site, "log", path="one.py")["records"][0]
    assert (newest["evidence"], newest["writer"]["agent_session"]) == ("exact", "ada")
    assert newest["call"]["label"] == "Edit one.py"
    assert "claude-code/ada" in command(site, "log", "one.py")
    burst = burst_of(site, "one.py")
    assert (burst["state"], burst["batches"], burst["owner"]["agent"]) == ("ended", 1, "claude-code")
    assert (burst["owner"]["agent_session"], burst["owner"]["tool_call"]) == ("ada", "ada-2")
    assert newest["seq"] in [record["seq"] for record in asked(site, "log", burst=burst["burst"])["records"]]
    assert "one.py" in command(site, "log", "one.py", "--writer", "claude-code")
    listed = next(row for row in command(site, "burst", "list").splitlines() if row.endswith("  Edit one.py"))
    assert (listed.split()[0], "claude-code/ada" in listed) == (str(burst["burst"]), True)
    assert "one.py" in command(site, "log", "--burst", str(burst["burst"]))
    command(site, "undo", "--burst", str(burst["burst"]))
    assert site.read("one.py").decode() == OLD


def test_a_second_agents_edit_of_a_stale_file_is_denied_until_it_reads_again(site: Live) -> None:
    site.write("two.py", OLD)
    bob, cid = Claude(site, "bob"), Claude(site, "cid")
    bob.reads("two.py")
    cid.reads("two.py")
    bob.edits("two.py", NEW)
    before, _ = cid.edits("two.py", OLD.upper())
    reason = denied(before)
    assert 'line 2 changed by "claude-code/bob"' in reason
    assert "return name.title()" in reason
    assert site.read("two.py").decode() == NEW
    denied(cid.edits("two.py", OLD.upper())[0])
    cid.reads("two.py")
    assert cid.edits("two.py", NEW.replace("leave", "go")) == ({}, {})
    assert bob.tells("UserPromptSubmit")["hookSpecificOutput"]["additionalContext"].count("two.py") >= 1


def test_a_whole_file_is_not_written_over_what_another_agent_wrote(site: Live) -> None:
    site.write("three.py", OLD)
    dan = Claude(site, "dan")
    dan.reads("three.py")
    patch = "*** Begin Patch\n*** Update File: three.py\n@@\n-    return name\n+    return name.title()\n*** End Patch"
    event = {"session_id": "e1", "turn_id": "t7", "cwd": str(site.root), "model": "gpt-6", "tool_name": "apply_patch"}
    event |= {"tool_use_id": "p1", "tool_input": {"command": patch}}
    assert hook(site, "codex", {**event, "hook_event_name": "PreToolUse"}) == {}
    site.write("three.py", NEW)
    assert hook(site, "codex", {**event, "hook_event_name": "PostToolUse"}) == {}
    before, _ = dan.uses("Write", file_path=str(site.root / "three.py"), content="x = 1\n")
    assert 'changed by "codex/e1"' in denied(before)
    owner = burst_of(site, "three.py")["owner"]
    assert (owner["turn"], owner["model"]) == ("t7", "gpt-6")


def test_what_a_command_writes_is_its_agents_and_makes_nothing_of_its_own_stale(site: Live) -> None:
    site.write("four.py", OLD)
    eve = Claude(site, "eve")
    eve.reads("four.py")

    def formats() -> None:
        for name in ("four.py", "made.py"):
            site.write(name, NEW)

    before, after = eve.uses("Bash", formats, command="./fix.sh four.py made.py")
    told = after["hookSpecificOutput"]["additionalContext"]
    assert (before, "changed while your command ran" in told, "four.py" in told) == ({}, True, True)
    hints = {record["path"]: record["hint"] for record in asked(site, "log", limit=20)["records"] if record.get("hint")}
    assert {hints["four.py"], hints["made.py"]} == {"Bash (claude-code/eve)"}
    assert eve.edits("four.py", OLD) == ({}, {})


def test_a_session_is_told_who_else_is_there_and_news_comes_once(site: Live) -> None:
    site.write("five.py", OLD)
    fay, gus = Claude(site, "fay"), Claude(site, "gus")
    welcome = fay.tells("SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert "works here too" in welcome
    fay.reads("five.py")
    gus.edits("five.py", NEW)
    _, after = fay.uses("Bash", command="true")
    assert "five.py" in after["hookSpecificOutput"]["additionalContext"]
    assert fay.uses("Bash", command="true") == ({}, {})
    assert fay.tells("Stop") == {}


def test_a_file_outside_and_a_folder_without_a_journal_are_none_of_ours(site: Live, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    event = {"session_id": "h1", "cwd": str(tmp_path), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    assert hook(site, "claude-code", {**event, "tool_use_id": "x", "tool_input": {"command": "true"}}) == {}
    outside = {"file_path": str(tmp_path / "plan.md"), "content": "x"}
    told = {**event, "cwd": str(site.root), "tool_name": "Write", "tool_use_id": "y", "tool_input": outside}
    assert hook(site, "claude-code", told) == {}


def test_doctor_goes_through_each_hook_that_is_set_up_and_fails_when_one_does_not_answer(site: Live) -> None:
    here = Path(sys.executable).with_name("quire")
    if not os.access(here, os.X_OK):
        pytest.skip("the command is not installed beside this Python")
    for agent in ("claude-code", "codex"):
        command(site, "setup", agent)
    hook(site, "claude-code", {"session_id": "eve", "cwd": str(site.root), "hook_event_name": "SessionStart"})
    told = {check["name"]: check for check in json.loads(command(site, "doctor", "--json"))["checks"]}
    assert {"quick line", "hook claude-code", "hook codex"} <= {name for name, check in told.items() if check["ok"]}
    assert [name for name in told if name.startswith("MCP")]
    there = asked(site, "who", present=False)["writers"]
    assert "doctor" not in {who.get("agent_session") for who in there}, "the doctor's trial is no agent session"
    assert [who["hooks"] for who in there if not who.get("agent")] == [False], "nor is the person one"
    assert any(who["hooks"] and who["alive"] is not False for who in there), "who called by a hook above"
    command(site, "unsetup", "codex")
    for path in (site.root / ".claude" / "settings.local.json", site.root / ".mcp.json"):
        path.write_text(path.read_text().replace(str(here), "/gone/quire"))
    told = json.loads(command(site, "doctor", "--json", status=1))
    bad = [check for check in told["checks"] if not check["ok"]]
    assert [check["name"] for check in bad if "is not there" in check["detail"]] == ["hook claude-code"]
    assert [check["name"].split()[0] for check in bad] == ["hook", "MCP"]
    command(site, "unsetup", "claude-code")
    left = [path.name for path in site.root.rglob("*") if path.is_file() and path.suffix in (".json", ".toml")]
    assert left == []
    written = {record.get("path") or "" for record in asked(site, "log", limit=200)["records"]}
    assert ".mcp.json" in written
    assert not [path for path in written if ".tmp." in path], "the files from which they were made"
    setups = [one for one in asked(site, "burst", action="list")["bursts"] if "setup" in one["label"]]
    assert {one["state"] for one in setups} == {"ended"}


def test_a_hook_starts_the_daemon_where_there_is_a_journal_and_none_runs(site: Live) -> None:
    with quire_client.connect(site.root) as client:
        ok(client.shutdown_daemon())
    event = {"session_id": "ida", "cwd": str(site.root), "hook_event_name": "SessionStart"}
    process = [sys.executable, "-m", "quire_client", "hook", "claude-code"]
    ran = subprocess.run(process, cwd="/", input=json.dumps(event), capture_output=True, text=True, check=True)
    assert "Quire keeps every version" in ran.stdout
    helpers = [pid for pid in site.pids() if b"fanotify" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len({*site.pids()} - {*helpers}) == 1


def test_the_journal_is_sound_after_all_this(site: Live) -> None:
    assert asked(site, "verify")["findings"] == []
