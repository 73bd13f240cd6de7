"""`saved`: a save is the person's whose editor tells of its bytes, and of nobody else's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from memory_daemon import SECOND, MemoryDaemon, lines
from proc_folder import Kernel, told
from quire_daemon.core.traced_writer import Ancestor
from quire_journal.model.messages import Caller

OLD = lines("a = 1", "b = 2")
MADE = lines("a = 10", "b = 2")
MAX = Caller("", "max", guessed=True)
NVIM = Ancestor(60, 60, "nvim", "/usr/bin/nvim")
EDITOR = 61


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Scene:
    def __init__(self, proc: Path) -> None:
        told(proc, 1, 0, 1, "systemd", "/sbin/init")
        told(proc, 60, 1, 60, "nvim", "/usr/bin/nvim")
        told(proc, EDITOR, 60, EDITOR, "quire", "/usr/bin/python3")
        self.proc, self.kernel = proc, Kernel()
        self.daemon = MemoryDaemon({"f": OLD, "g": OLD}, proc=proc, tracer=self.kernel)
        self.daemon.watch("captured")

    def saved(self, data: bytes, *more: bytes, path: str = "f", caller: Caller = MAX) -> dict[str, Any]:
        return self.daemon.said("saved", {"path": path, "sha256": [sha(one) for one in (data, *more)]}, caller, EDITOR)

    def head(self, path: str = "f") -> tuple[str, str]:
        with self.daemon.history() as history:
            head = history.file(path)
            assert head is not None
            return history.named(head.writer), head.evidence


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_save_is_the_persons_also_where_the_watcher_has_not_told_of_it(scene: Scene) -> None:
    scene.daemon.files["f"] = MADE
    assert scene.saved(MADE)["version"] is not None
    assert scene.head() == ("user/max", "exact")


def test_one_of_several_hashes_is_enough(scene: Scene) -> None:
    scene.daemon.outside("f", b"\xef\xbb\xbf" + MADE)
    assert scene.saved(MADE, b"\xef\xbb\xbf" + MADE)["version"] is not None
    assert scene.head() == ("user/max", "exact")


def test_other_bytes_are_not_the_persons(scene: Scene) -> None:
    scene.daemon.outside("f", MADE)
    reply = scene.saved(OLD + b"more")
    assert (reply["version"], reply["message"]) == (None, "No recent version of f has these bytes.")
    assert scene.head() == ("outside", "watched")


def test_an_old_version_with_these_bytes_is_nobodys(scene: Scene) -> None:
    scene.daemon.outside("f", MADE)
    scene.daemon.clock.base_ns += 11 * SECOND
    assert scene.saved(MADE)["version"] is None


def test_what_a_tool_wrote_stays_its_callers(scene: Scene) -> None:
    wrote = scene.daemon.ask("write_file", {"path": "new", "content": "x\n"})
    reply = scene.saved(b"x\n", path="new")
    writer, _ = scene.head("new")
    assert writer.startswith("ann")
    message = f"{wrote['version']} of new has these bytes, and was written by {writer}; it stays that writer's."
    assert (reply["version"], reply["message"]) == (None, message)


def test_what_the_kernel_saw_an_editor_write_is_its_persons(scene: Scene) -> None:
    told(scene.proc, 100, 1, 100, "claude", "/usr/bin/claude")
    told(scene.proc, 101, 100, 101, "quire", "/usr/bin/python3")
    claude = Caller("claude-code", "s1", "t1", "c1")
    args = {"moment": "before", "tool": "Bash", "call": "c1", "command": "make"}
    assert scene.daemon.said("native", args, claude, 101)["ok"]
    scene.kernel.line = (NVIM,)
    scene.daemon.outside("f", MADE)
    assert scene.head() == ("outside", "traced")
    assert scene.saved(MADE)["version"] is not None
    assert scene.head() == ("user/max", "exact")


def test_an_editor_that_an_agent_drives_saves_for_the_agent(scene: Scene) -> None:
    told(scene.proc, 100, 1, 100, "claude", "/usr/bin/claude")
    told(scene.proc, 101, 100, 101, "quire", "/usr/bin/python3")
    told(scene.proc, 60, 100, 160, "nvim", "/usr/bin/nvim")
    told(scene.proc, EDITOR, 60, 161, "quire", "/usr/bin/python3")
    claude = Caller("claude-code", "s1", "t1")
    assert scene.daemon.said("native", {"moment": "start"}, claude, 101)["ok"]
    scene.daemon.outside("f", MADE)
    assert scene.saved(MADE)["version"] is not None
    assert scene.head() == ("claude-code/s1", "exact")


def test_a_save_is_told_once_and_answered_again(scene: Scene) -> None:
    scene.daemon.outside("f", MADE)
    first, head = scene.saved(MADE), scene.daemon.journal.head
    assert scene.saved(MADE)["version"] == first["version"]
    assert scene.daemon.journal.head == head


def test_undo_of_a_person_by_name_takes_their_saves_alone(scene: Scene) -> None:
    scene.daemon.outside("f", MADE)
    scene.saved(MADE)
    scene.daemon.outside("g", MADE)
    reply = scene.daemon.ask("undo", {"writer": "user/max"})
    assert [(file["path"], file["action"]) for file in reply["files"]] == [("f", "write")]
    assert scene.daemon.files["f"] == OLD


@pytest.mark.parametrize("digits", [[], ["xyz"], ["0" * 64] * 5])
def test_a_save_needs_hashes(scene: Scene, digits: list[str]) -> None:
    reply = scene.daemon.said("saved", {"path": "f", "sha256": digits}, MAX, EDITOR)
    assert reply["error"] == "schema_invalid"
