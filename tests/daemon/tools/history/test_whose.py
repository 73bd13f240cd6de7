"""Whose a write is, by every tool alike: `me` is the person with its commands, and, as probable, what nobody made."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.decision import Who
from quire_journal.model.events import BurstBegun, OutsideWritten, WorkspaceScanned, WriteAttributed
from quire_journal.model.ids import OUTSIDE, blob_id

HEAD = "1" * 40
START = lines("a", "b", "c", "d", "e", "f", "g", "h", "i")


class Scene:
    """A file, its commit, and a person whose commands and saves change it."""

    def __init__(self) -> None:
        self.daemon = MemoryDaemon({"f": START})
        self.daemon.watch("captured")
        self.daemon.note(WorkspaceScanned("start", 1, 1))
        self.daemon.git_answers.trees[HEAD] = {"f": ("100644", START)}
        self.person = self.daemon.introduce("", "")
        self.text = START

    def change(self, old: str, new: str, path: str = "f") -> int:
        """Another program changes a line."""
        self.text = self.text.replace(f"{old}\n".encode(), f"{new}\n".encode())
        return self.daemon.outside(path, self.text)

    def runs(self, old: str, new: str, who: Who, evidence: str = "traced") -> int:
        """A command of somebody changes a line."""
        burst = self.daemon.note(BurstBegun("sed", "run", self.daemon.now_ns, command="sed"), who=who)
        seq = self.change(old, new)
        self.daemon.note(WriteAttributed((seq,), who.writer, evidence, burst))
        return seq

    def ask(self, tool: str, **args: Any) -> dict[str, Any]:
        reply = self.daemon.ask(tool, args, self.person)
        assert reply["ok"], reply
        return reply

    def rows(self, tool: str = "diff", **args: Any) -> list[str]:
        """The lines of a difference by writer, or to review."""
        point = {"from": f"commit:{HEAD}"} if tool == "diff" else {"since": f"commit:{HEAD}"}
        files = self.ask(tool, **point, **args)["files"]
        found = (hunk["lines"] if tool == "diff" else hunk["rows"] for file in files for hunk in file["hunks"])
        return [row for rows in found for row in rows if row[:1] in "+-"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_command_of_the_person_is_the_persons_for_every_tool(scene: Scene) -> None:
    seq = scene.runs("b", "by my command", scene.person)
    mine = ["-b", "+by my command"]
    for alone in ("", "apart", "needed"):
        assert scene.rows(writer="me", alone=alone) == scene.rows(writer="user", alone=alone) == mine
        assert scene.rows(writer="outside", alone=alone) == []
    assert scene.rows("review", writer="me") == mine
    assert [one["seq"] for one in scene.ask("log", writer="me", path="f")["records"]] == [seq]
    assert [one["line"] for one in scene.ask("blame", path="f", writer="me")["lines"]] == [2]
    assert len(scene.ask("stories", writer="me")["stories"]) == 1
    assert scene.ask("undo", writer="me")["batches"] == [seq]
    assert scene.daemon.text("f") == START


def test_what_nobody_is_known_to_have_saved_is_shown_as_mine_and_taken_only_where_that_is_asked_for(
    scene: Scene,
) -> None:
    seq = scene.change("b", "saved")
    scene.daemon.write("f", scene.text.replace(b"h\n", b"ann's\n"), scene.daemon.ann)
    mine = ["-b", "+saved"]
    assert scene.rows(writer="me") == scene.rows("review", writer="me") == mine
    reply = scene.ask("diff", **{"from": f"commit:{HEAD}"}, writer="me", alone="apart")
    assert (reply["files"], reply["left_out"]) == ([], [{"path": "f"}])
    assert scene.rows(writer="me", alone="apart", probable=True) == mine
    (file,) = scene.ask("diff", **{"from": f"commit:{HEAD}"}, writer="me")["files"]
    assert file["probable"] is True
    refused = scene.daemon.ask("undo", {"writer": "me"}, scene.person)
    assert (refused["error"], refused["left_out"]) == ("not_found", [seq])
    refused = scene.daemon.ask("undo", {"writer": "me", "path": "f", "lines": "2"}, scene.person)
    assert refused["error"] == "not_found"
    assert "`--probable`" in refused["message"]
    assert scene.ask("undo", writer="me", path="f", lines="2", probable=True)["ok"]


def test_what_was_committed_since_is_not_told_as_left_out(scene: Scene) -> None:
    scene.change("b", "saved")
    scene.daemon.git_answers.trees[HEAD] = {"f": ("100644", scene.text)}
    scene.daemon.write("f", scene.text.replace(b"h\n", b"ann's\n"), scene.daemon.ann)
    assert "left_out" not in scene.ask("diff", **{"from": f"commit:{HEAD}"}, writer="me", alone="apart")


def test_an_agents_line_upon_what_only_probably_is_its_own_rests_on_it(scene: Scene) -> None:
    scene.runs("b", "probable", scene.daemon.ann, "during")
    scene.daemon.write("f", scene.text.replace(b"probable\n", b"sure\n").replace(b"h\n", b"H\n"), scene.daemon.ann)
    reply = scene.ask("diff", **{"from": f"commit:{HEAD}"}, writer="ann", alone="apart")
    (file,) = reply["files"]
    assert (file["resting"], file["others"]) == ([{"start": 2, "end": 2}], ["~ann"])
    assert scene.rows(writer="ann", alone="apart") == ["-h", "+H"]
    assert scene.rows(writer="ann", alone="apart", probable=True) == ["-b", "+sure", "-h", "+H"]


def test_what_is_only_probable_is_told_as_such_by_why_and_review(scene: Scene) -> None:
    scene.runs("b", "probable", scene.daemon.ann, "during")
    reply = scene.ask("why", path="f", line=2)
    assert "was probably written by ann/s1" in reply["message"]
    scene.daemon.write("f", scene.text.replace(b"probable\n", b"sure\n"), scene.daemon.ben)
    (by,) = scene.ask("why", path="f", line=2)["replaced"]["by"]
    assert by["evidence"] == "during"
    scene.runs("h", "probable", scene.daemon.ann, "during")
    reply = scene.ask("review", since=f"commit:{HEAD}")
    assert [(one["writer"]["agent"], one["writer"].get("probable")) for one in reply["by"]] == [("ann", True)]
    assert reply["files"][0]["hunks"][0]["writers"][0]["probable"] is True


def test_a_save_during_the_persons_own_command_may_be_the_persons_and_during_an_agents_not(scene: Scene) -> None:
    forever = scene.daemon.now_ns * 2
    scene.daemon.note(BurstBegun("serve", "run", forever, outside=True), who=scene.person)
    seq = scene.change("b", "saved")
    scene.daemon.note(BurstBegun("make", "call", forever, outside=True), who=scene.daemon.ann)
    scene.change("c", "by ann or me")
    assert [one["seq"] for one in scene.ask("log", writer="me", path="f")["records"]] == [seq]


def test_what_the_kernel_saw_another_process_write_may_be_the_persons(scene: Scene) -> None:
    scene.daemon.note(BurstBegun("make", "call", scene.daemon.now_ns * 2, outside=True), who=scene.daemon.ann)
    seq = scene.change("b", "saved")
    assert scene.ask("log", writer="me", path="f")["records"] == []
    scene.daemon.note(WriteAttributed((seq,), OUTSIDE, "traced"))
    assert [one["seq"] for one in scene.ask("log", writer="me", path="f")["records"]] == [seq]


def test_what_git_wrote_is_not_the_persons(scene: Scene) -> None:
    text = START.replace(b"b\n", b"pulled\n")
    scene.daemon.note(OutsideWritten("f", blob_id(text), len(text), 0o644, "watched", hint="git pull"), blobs=(text,))
    scene.daemon.save("f", text)
    assert scene.rows(writer="me") == scene.rows("review", writer="me") == []
    refused = scene.daemon.ask("undo", {"writer": "me", "path": "f", "lines": "2", "probable": True}, scene.person)
    assert refused["error"] == "not_found"


def test_an_undo_of_the_last_call_counts_what_would_be_one_call(scene: Scene) -> None:
    scene.change("b", "saved first")
    scene.change("c", "saved next")
    last = scene.change("d", "saved last")
    refused = scene.daemon.ask("undo", {"writer": "me", "last": 1}, scene.person)
    assert refused["left_out"] == [last]
    assert "1 write is only probably meant" in refused["message"]
    assert "`--probable` takes it back, too." in refused["message"]
