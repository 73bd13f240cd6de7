"""What the kernel says of who wrote comes before what calls say that they will write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from proc_folder import Kernel, told
from quire_daemon.core.traced_writer import Ancestor
from quire_journal.model.messages import Caller

OLD = lines("a = 1", "b = 2")
MADE = lines("a = 10", "b = 2")
AGENT = Ancestor(100, 100, "claude", "/usr/bin/claude")
PERSON = Ancestor(30, 30, "bash", "/bin/bash")
EDIT = {
    "tool": "Edit",
    "paths": ["f"],
    "payloads": [{"kind": "replace", "path": "f", "edits": [{"old": "a = 1", "new": "a = 10"}]}],
}


class Scene:
    """One agent, and a kernel that says who writes."""

    def __init__(self, proc: Path) -> None:
        told(proc, 1, 0, 1, "systemd", "/sbin/init")
        told(proc, 100, 1, 100, "claude", "/usr/bin/claude")
        told(proc, 101, 100, 101, "quire", "/usr/bin/python3")
        self.kernel = Kernel()
        self.daemon = MemoryDaemon({"f": OLD}, proc=proc, tracer=self.kernel)
        self.daemon.watch("captured")

    def hook(self, moment: str, session: str = "s1", call: str = "c1", **args: Any) -> None:
        parent = "" if session == "s1" else "s1"
        caller = Caller("claude-code", session, "t1", call, "", parent)
        assert self.daemon.said("native", {"moment": moment, "call": call, **args}, caller, 101)["ok"]

    def written(self, data: bytes, *line: Ancestor) -> tuple[str, str]:
        """(who is said to have made this of the file, by which evidence), written by this process."""
        self.kernel.line = line
        self.daemon.outside("f", data)
        self.kernel.line = ()
        return self.head()

    def head(self) -> tuple[str, str]:
        with self.daemon.history() as history:
            head = history.file("f")
            assert head is not None
            return history.named(head.writer), head.evidence


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_edit_that_a_person_declined_and_then_typed_is_the_persons(scene: Scene) -> None:
    scene.hook("before", **EDIT)
    vim = Ancestor(200, 99, "vim", "/usr/bin/vim")
    assert scene.written(MADE, vim, PERSON) == ("outside", "traced")


def test_an_edit_that_its_agent_wrote_is_the_agents(scene: Scene) -> None:
    scene.hook("before", **EDIT)
    assert scene.written(MADE, AGENT) == ("claude-code/s1", "exact")


def test_what_the_kernel_did_not_see_is_told_by_the_payload(scene: Scene) -> None:
    scene.hook("before", **EDIT)
    assert scene.written(MADE) == ("claude-code/s1", "exact")


def test_what_an_ended_command_left_in_the_background_is_not_of_the_next(scene: Scene) -> None:
    scene.hook("before", tool="Bash", command="./serve &")
    scene.hook("after", tool="Bash", command="./serve &")
    scene.daemon.clock.at_s += 10
    scene.hook("before", call="c2", tool="Bash", command="pytest")
    child = Ancestor(300, int(scene.daemon.clock.at_s * 100) - 500, "serve", "/bin/serve")
    assert scene.written(MADE, child, AGENT) == ("outside", "watched")


def test_a_command_that_has_not_ended_is_traced_by_what_it_left_in_the_background(scene: Scene) -> None:
    scene.hook("before", tool="Bash", command="./serve &")
    child = Ancestor(300, int(scene.daemon.clock.at_s * 100) + 100, "serve", "/bin/serve")
    scene.daemon.clock.at_s += 10
    scene.hook("before", call="c2", tool="Bash", command="pytest")
    assert scene.written(MADE, child, AGENT) == ("claude-code/s1", "traced")


def test_what_a_subagents_command_left_in_the_background_is_not_of_its_parent(scene: Scene) -> None:
    scene.hook("before", tool="Bash", command="pytest")
    scene.hook("before", "s1.sub", "c2", tool="Bash", command="./serve &")
    child = Ancestor(300, int(scene.daemon.clock.at_s * 100) + 100, "serve", "/bin/serve")
    scene.daemon.clock.at_s += 10
    scene.hook("after", "s1.sub", "c2", tool="Bash", command="./serve &")
    assert scene.written(MADE, child, AGENT) == ("outside", "watched")
