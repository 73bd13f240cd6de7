"""One agent, many processes: its hooks, its MCP server and its shell commands are one writer on a real daemon."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import join
from typing import Any

import pytest

from live import Live, eventually, ok

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell who started whom"),
]

STAND_IN = Path(__file__).parents[1] / "stand_in_agent.py"
QUIRE = [sys.executable, "-m", "quire_client"]


class Agent:
    """Gemini CLI as the daemon sees it: a process below a launcher, with hooks, a server and a shell."""

    def __init__(self, at: Live, session: str) -> None:
        self._at, self._session, self._last_id = at, session, 0
        self.process = subprocess.Popen(
            [sys.executable, STAND_IN, "wrapped"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=at.root
        )
        self._tell({"serve": self._words("mcp", "--agent", "gemini")})
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self._message("initialize", hello)
        self._tell({"ask": {"jsonrpc": "2.0", "method": "notifications/initialized"}})

    def hook(self, event: str, **told: Any) -> dict[str, Any]:
        """What the agent's hook is answered."""
        given = {"hook_event_name": event, "session_id": self._session, "cwd": str(self._at.root), **told}
        ran = self._tell({"run": join(self._words("hook", "gemini")), "given": json.dumps(given)})
        assert not ran["err"]
        answer: dict[str, Any] = json.loads(ran["out"])
        return answer

    def by_mcp(self, tool: str, **args: Any) -> dict[str, Any]:
        """The reply to a call of the server."""
        reply: dict[str, Any] = self._message("tools/call", {"name": tool, "arguments": args})["structuredContent"]
        return reply

    def by_shell(self, *words: str) -> str:
        """What a command of the agent's shell prints."""
        ran = self._tell({"run": f"bash -c {join([join(self._words(*words))])}"})
        assert ran["status"] == 0, ran
        return str(ran["out"])

    def run(self, line: str) -> None:
        """The agent's shell runs a line."""
        ran = self._tell({"run": f"cd {self._at.root} && {line}"})
        assert ran["status"] == 0, ran

    def end(self) -> None:
        """The agent ends without a word."""
        self.process.communicate(timeout=20)

    def _words(self, *words: str) -> list[str]:
        return [*QUIRE, words[0], "-C", str(self._at.root), "--state-dir", str(self._at.state_dir), *words[1:]]

    def _message(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        told = self._tell({"ask": {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}})
        result: dict[str, Any] = told["result"]
        return result

    def _tell(self, what: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def at() -> Iterator[Live]:
    one = Live()
    (one.root / ".git").mkdir()
    for name in ("a.py", "b.py"):
        one.write(name, "one\ntwo\nthree\n")
    one.connect().status()  # hooks leave a folder without a journal alone
    yield one
    one.close()


def present(at: Live) -> list[str]:
    """The agent sessions of Gemini that are there."""
    told = ok(at.connect().call("who", {"present": True}))["writers"]
    return sorted(one["agent_session"] for one in told if one["agent"] == "gemini")


def test_an_agents_hooks_server_and_shell_are_one_writer_until_it_ends(at: Live) -> None:
    agent, other = Agent(at, "s1"), Agent(at, "s2")
    for one in (agent, other):
        one.hook("SessionStart", source="startup")
    assert agent.by_mcp("edit_replace", path="a.py", old_text="one", new_text="ONE")["ok"]
    agent.by_shell("call", "edit_replace", '{"path": "a.py", "old_text": "two", "new_text": "TWO"}')
    assert other.by_mcp("edit_replace", path="b.py", old_text="one", new_text="ONE")["ok"]
    records = ok(at.connect().call("log", {"kind": "file_written", "order": "oldest"}))["records"]
    assert [(record["path"], record["writer"]["agent"], record["writer"]["agent_session"]) for record in records] == [
        ("a.py", "gemini", "s1"),
        ("a.py", "gemini", "s1"),
        ("b.py", "gemini", "s2"),
    ]
    assert agent.by_mcp("undo")["ok"]
    assert at.read("a.py") == b"ONE\ntwo\nthree\n"
    assert at.read("b.py") == b"ONE\ntwo\nthree\n"
    assert present(at) == ["s1", "s2"]
    other.hook("SessionEnd", reason="exit")
    assert present(at) == ["s1"]
    agent.end()
    eventually("the agent has gone", lambda: present(at) == [])
    other.end()


def test_a_hook_that_claims_the_session_of_another_process_is_told_of_in_the_log(at: Live) -> None:
    agent, liar = Agent(at, "s3"), Agent(at, "s3")
    agent.hook("SessionStart", source="startup")
    liar.hook("SessionStart", source="startup")
    assert liar.by_mcp("edit_replace", path="b.py", old_text="two", new_text="TWO")["ok"]
    (record,) = ok(at.connect().call("log", {"path": "b.py", "limit": 1}))["records"]
    assert record["writer"]["agent_session"].startswith("mcp-")
    told = [json.loads(line) for line in (at.state_dir / "daemon.log").read_text().splitlines()]
    (line,) = [line for line in told if line["event"] == "hook_from_outside"]
    assert (line["agent"], line["agent_session"]) == ("gemini", "s3")
    for one in (agent, liar):
        one.end()


def test_a_command_is_the_agents_by_its_processes_and_a_save_meanwhile_is_not(at: Live) -> None:
    """Without the right to ask the kernel, the command line accounts for the file that it names."""
    ann = Agent(at, "shell")
    ann.hook("SessionStart", source="startup")
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "echo more >> b.py"}}
    boss = at.connect("boss")
    with contextlib.suppress(AssertionError):  # where it may not be asked, it stays off
        eventually("the kernel is asked", lambda: ok(boss.call("status", {}))["tracing"] == "fanotify", 5)
    traced = ok(boss.call("status", {}))["tracing"] == "fanotify"
    assert ann.hook("BeforeTool", **call) == {}
    ann.run("echo more >> b.py")
    at.write("a.py", "saved by a person\n")
    assert ann.hook("AfterTool", **call) == {}
    (b,) = ok(boss.call("log", {"path": "b.py", "limit": 1}))["records"]
    (a,) = ok(boss.call("log", {"path": "a.py", "limit": 1}))["records"]
    assert (b["evidence"], b["writer"]["agent_session"]) == ("traced" if traced else "during", "shell")
    assert (a["writer"]["id"], "call" in a) == ("outside", False)
    undone = ok(boss.call("undo", {"writer": "gemini/shell", "probable": not traced}))
    assert [file["path"] for file in undone["files"]] == ["b.py"]
    ann.end()
