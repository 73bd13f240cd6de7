"""`review` and `accept`: what nobody has accepted yet."""

from __future__ import annotations

import random
from typing import Any

import pytest

import live
from memory_daemon import MemoryDaemon, lines
from quire_journal.model import OutsideWritten, WorkAccepted, WorkspaceScanned, blob_id

OLD = [f"line {n}" for n in range(12)]


class Scene:
    def __init__(self) -> None:
        self.daemon = MemoryDaemon({"f": lines(*OLD)})
        self.daemon.watch("captured")
        self.daemon.note(WorkspaceScanned("start", 1, 1))
        self.committed(OLD)

    def committed(self, rows: list[str]) -> None:
        self.commit = f"{len(self.daemon.git_answers.trees):040x}"
        self.daemon.git_answers.trees[self.commit] = {"f": ("100644", lines(*rows))}

    def writes(self, rows: list[str], by: str = "ann") -> int:
        return self.daemon.write("f", lines(*rows), self.daemon.who(by))

    def asked(self, tool: str = "review", **args: Any) -> dict[str, Any]:
        reply = self.daemon.ask(tool, {"since": f"commit:{self.commit}", **args}, "max")
        assert reply["ok"], reply
        return reply

    def pending(self, **args: Any) -> list[str]:
        """The rows to review, of all files."""
        rows = (row for file in self.asked(**args)["files"] for hunk in file["hunks"] for row in hunk["rows"])
        return [row for row in rows if row[0] in "+-"]


def changed(rows: list[str], **new: str) -> list[str]:
    return [new.get(f"at{number}", row) for number, row in enumerate(rows)]


def test_agents_work_is_to_be_reviewed_by_writer_and_place() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.writes(changed(OLD, at1="ann 1", at9="ben 9"), by="ben")
    reply = scene.asked()
    (file,) = reply["files"]
    places = [(hunk["start"], hunk["end"], hunk["writers"][0]["agent"], hunk["rows"]) for hunk in file["hunks"]]
    assert places == [(2, 2, "ann", ["-line 1", "+ann 1"]), (10, 10, "ben", ["-line 9", "+ben 9"])]
    assert {one["writer"]["agent"]: one["lines"] for one in reply["by"]} == {"ann": 1, "ben": 1}


def test_what_is_accepted_is_not_asked_about_again_and_the_rest_is() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1", at9="ann 9"))
    assert scene.asked("accept", path="f", lines="2")["lines"] == 1
    assert scene.pending() == ["-line 9", "+ann 9"]
    assert scene.asked("accept")["message"] == "1 place accepted in 1 file."
    assert scene.pending() == []
    assert scene.asked("accept")["message"] == "Nothing to review there."
    assert len(scene.daemon.events(WorkAccepted)) == 2


def test_the_work_of_one_writer_or_turn_is_accepted_alone() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.writes(changed(OLD, at1="ann 1", at2="ben 2"), by="ben")
    scene.asked("accept", writer="ann")
    assert scene.pending() == ["-line 1", "-line 2", "+ben 2"]
    assert scene.pending(writer="ann") == []


def test_nothing_is_accepted_that_came_after_what_was_shown() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    seen = scene.asked()["seq"]
    scene.writes(changed(OLD, at1="ann 1", at9="ann 9"))
    scene.asked("accept", upto=seen)
    assert scene.pending() == ["-line 9", "+ann 9"]


def test_a_line_that_is_changed_again_is_to_be_reviewed_again() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("accept")
    scene.writes(changed(OLD, at1="ann 1, again"))
    assert scene.pending() == ["-line 1", "+ann 1, again"]


def test_a_removal_is_accepted_until_it_becomes_another() -> None:
    scene = Scene()
    scene.writes([row for row in OLD if row != "line 5"])
    assert scene.pending() == ["-line 5"]
    scene.asked("accept")
    assert scene.pending() == []
    scene.writes([row for row in OLD if row not in ("line 5", "line 6")])
    assert scene.pending() == ["-line 5", "-line 6"]


def test_a_commit_is_no_longer_to_be_reviewed() -> None:
    scene = Scene()
    scene.writes(new := changed(OLD, at1="ann 1"))
    scene.committed(new)
    assert scene.pending() == []


def test_a_persons_work_is_shown_where_it_is_asked_for() -> None:
    scene = Scene()
    scene.daemon.outside("f", lines(*changed(OLD, at1="mine")))
    assert scene.pending() == []
    assert scene.pending(all=True) == ["-line 1", "+mine"]


def test_what_quire_setup_wrote_is_no_agents_work() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="hooks"), by="quire")
    assert scene.pending() == []
    assert scene.pending(all=True) == ["-line 1", "+hooks"]


def test_marks_follow_a_rename() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("accept")
    scene.daemon.move("f", "g", scene.daemon.ben)
    assert "+ann 1" not in scene.pending(path="g")


def test_files_without_lines_are_accepted_as_a_whole() -> None:
    scene = Scene()
    scene.daemon.write("b", b"\0\1", scene.daemon.ann)
    (file,) = scene.asked()["files"]
    assert [hunk["whole"] for hunk in file["hunks"]] == [True]
    scene.asked("accept")
    assert scene.asked()["files"] == []
    scene.daemon.write("b", b"\0\2", scene.daemon.ann)
    assert len(scene.asked()["files"]) == 1


def test_a_new_and_a_removed_file_are_reviewed() -> None:
    scene = Scene()
    scene.daemon.write("new", lines("1", "2"), scene.daemon.ann)
    scene.daemon.delete("f", scene.daemon.ben)
    assert {file["path"]: file["status"] for file in scene.asked()["files"]} == {"new": "added", "f": "removed"}
    scene.asked("accept")
    assert scene.asked()["files"] == []


def test_without_a_point_what_was_captured_first_needs_no_review() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.daemon.write("new/a", lines("1"), scene.daemon.ann)
    scene.daemon.move("new/a", "new/b", scene.daemon.ben)
    assert scene.pending(since="") == ["-line 1", "+ann 1", "+1"]
    scene.asked("accept", since="")
    assert scene.pending(since="") == []


@pytest.mark.parametrize("wrong", [{"lines": "x"}, {"lines": "5-2"}])
def test_lines_that_are_none_are_told(wrong: dict[str, Any]) -> None:
    scene = Scene()
    assert scene.daemon.ask("accept", wrong, "max")["error"] == "schema_invalid"


class Game:
    """Random edits, undos and rebases around marks, against a model: each line is a word that comes once."""

    def __init__(self, seed: int) -> None:
        self.rng, self.scene, self.count = random.Random(seed), Scene(), 0
        self.rows, self.base = [*OLD], [*OLD]
        self.accepted: set[str] = set()
        self.batches: list[int] = []

    def word(self) -> str:
        self.count += 1
        return f"word {self.count}"

    def step(self) -> None:
        what = self.rng.choice(["edit"] * 5 + ["add"] * 3 + ["remove", "accept", "accept", "back", "commit"])
        at = self.rng.randrange(len(self.rows))
        before = [*self.rows]
        if what == "edit":
            self.rows[at] = self.word()
        elif what == "add":
            self.rows[at:at] = [self.word() for _ in range(self.rng.randint(1, 3))]
        elif what == "remove" and len(self.rows) > 6:
            del self.rows[at]
        elif what == "back" and self.batches:
            self.scene.daemon.ask("undo", {"batch": self.rng.choice(self.batches[-4:])}, "max")
            self.rows = self.scene.daemon.files["f"].decode().splitlines()
            return
        elif what == "commit":
            self.base = [*self.rows]
            self.scene.committed(self.base)
        elif what == "accept":
            self.accept(at)
        if self.rows != before:
            self.batches.append(self.scene.writes(self.rows, self.rng.choice(["ann", "ben"])))

    def accept(self, at: int) -> None:
        stop = min(at + self.rng.randint(1, 4), len(self.rows))
        shown = {row[1:] for row in self.scene.pending(path="f", lines=f"{at + 1}-{stop}") if row[0] == "+"}
        self.scene.asked("accept", path="f", lines=f"{at + 1}-{stop}")
        assert shown <= {*self.rows[at:stop]}
        self.accepted |= shown

    def check(self) -> None:
        pending = {row[1:] for row in self.scene.pending() if row[0] == "+"}
        assert not pending & self.accepted, "an accepted line is asked about again"
        agents = {row for row in self.rows if row.startswith("word") and row not in self.base}
        assert pending == agents - self.accepted


@pytest.mark.parametrize("seed", range(live.length(2, 20)))
def test_marks_survive_random_edits_undos_and_rebases_around_them(seed: int) -> None:
    game = Game(seed)
    for _ in range(50):
        game.step()
        game.check()


def undone(scene: Scene, tool: str = "undo", **args: Any) -> None:
    reply = scene.daemon.ask(tool, args, "max")
    assert reply["ok"], reply


def test_work_that_was_undone_and_redone_is_to_be_reviewed() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    undone(scene, writer="ann")
    assert scene.pending() == []
    undone(scene, "redo")
    assert scene.pending() == ["-line 1", "+ann 1"]


def test_a_mark_holds_through_an_undo_and_a_redo() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("accept")
    undone(scene, writer="ann")
    undone(scene, "redo")
    assert scene.pending() == []


@pytest.mark.parametrize("again", [False, True])
def test_a_removal_is_its_makers_whoever_wrote_last(again: bool) -> None:
    scene = Scene()
    scene.writes([*OLD[:1], *OLD[2:]])
    if again:
        undone(scene, writer="ann")
        undone(scene, "redo")
    scene.daemon.outside("f", lines(*OLD[:1], *OLD[2:-1], "a person's"))
    (file,) = scene.asked()["files"]
    assert [(hunk["rows"], hunk["writers"][0]["agent"]) for hunk in file["hunks"]] == [(["-line 1"], "ann")]


def test_a_removal_by_a_person_needs_no_review() -> None:
    scene = Scene()
    scene.daemon.outside("f", lines(*OLD[:1], *OLD[2:]))
    scene.writes([*OLD[:1], *OLD[2:-1], "ann's"])
    assert scene.pending() == ["-line 11", "+ann's"]


def test_a_line_that_a_person_removed_beside_an_agents_line_is_no_part_of_its_place() -> None:
    scene = Scene()
    scene.daemon.outside("f", lines(*[row for row in OLD if row != "line 6"]))
    scene.writes([row if row != "line 7" else "ann 7" for row in OLD if row != "line 6"])
    assert scene.pending() == ["-line 7", "+ann 7"]
    assert scene.pending(writer="ann") == ["-line 7", "+ann 7"]
    assert scene.pending(all=True) == ["-line 6", "-line 7", "+ann 7"]


@pytest.mark.parametrize("hint", ["", "git mv"])
def test_of_a_renamed_file_only_what_differs_is_to_be_reviewed(hint: str) -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.daemon.outside_moves("f", "g", hint)
    assert scene.pending() == ["-line 1", "+ann 1"]
    (file,) = scene.asked()["files"]
    assert (file["path"], file["moved_from"], file["status"]) == ("g", "f", "changed")
    assert scene.pending(path="g") == scene.pending(path="f") == scene.pending()
    scene.asked("accept", path="g")
    assert scene.pending() == []


def test_a_rename_by_an_agent_is_a_place_of_its_own() -> None:
    scene = Scene()
    scene.daemon.move("f", "g", scene.daemon.ann)
    (file,) = scene.asked()["files"]
    (hunk,) = file["hunks"]
    assert (file["path"], file["moved_from"], hunk["whole"], hunk["rows"]) == ("g", "f", True, [])
    scene.asked("accept", path="g")
    assert scene.asked()["files"] == []


def test_a_plain_rename_by_another_program_is_no_work_of_an_agent() -> None:
    scene = Scene()
    scene.daemon.outside_moves("f", "g")
    assert scene.asked()["files"] == []


def test_a_file_that_was_renamed_and_then_removed_is_a_removal() -> None:
    scene = Scene()
    scene.daemon.outside_moves("f", "g")
    scene.daemon.delete("g", scene.daemon.ann)
    (file,) = scene.asked()["files"]
    assert (file["path"], file["status"]) == ("g", "removed")


def by(reply: dict[str, Any]) -> dict[str, int]:
    return {one["writer"]["agent"]: one["lines"] for one in reply["by"]}


def test_lines_that_several_removed_side_by_side_are_told_by_their_remover() -> None:
    scene = Scene()
    scene.writes([row for row in OLD if row not in ("line 3", "line 4", "line 5")])
    scene.writes([row for row in OLD if row not in ("line 3", "line 4", "line 5", "line 6")], by="ben")
    assert by(scene.asked()) == {"ann": 3, "ben": 1}
    assert scene.pending(writer="ann") == ["-line 3", "-line 4", "-line 5"]
    assert scene.pending(writer="ben") == ["-line 6"]
    scene.asked("accept", writer="ann")
    assert scene.pending() == ["-line 6"]


@pytest.mark.parametrize("how", ["undo", "git"])
def test_a_removal_by_another_after_one_was_taken_back_is_the_others(how: str) -> None:
    scene = Scene()
    rows = [row for row in OLD if row != "line 5"]
    scene.writes(changed(rows, at0="ann 0"))
    scene.writes(changed(rows, at0="ann, again"))
    if how == "undo":
        undone(scene, writer="ann", last=2)
        scene.writes(changed(OLD, at9="ben 9"), by="ben")
    else:
        text = lines(*changed(OLD, at0="ann, again"))
        event = OutsideWritten("f", blob_id(text), len(text), 0o644, "watched", hint="git checkout")
        scene.daemon.note(event, blobs=(text,))
        scene.daemon.save("f", text)
    now = scene.daemon.files["f"].decode().splitlines()
    scene.writes([row for row in now if row != "line 5"], by="ben")
    assert scene.pending(writer="ben")[-1 if how == "git" else 0] == "-line 5"
    assert "-line 5" not in scene.pending(writer="ann")


def test_what_git_removes_again_was_removed_by_who_did_so_first() -> None:
    scene = Scene()
    rows = [row for row in OLD if row not in ("line 5", "line 6")]
    scene.writes([row for row in OLD if row != "line 5"])
    scene.writes(rows, by="ben")
    for hint, text in (("git stash", lines(*OLD)), ("git stash pop", lines(*rows))):
        event = OutsideWritten("f", blob_id(text), len(text), 0o644, "watched", hint=hint)
        scene.daemon.note(event, blobs=(text,))
        scene.daemon.save("f", text)
    assert by(scene.asked()) == {"ann": 1, "ben": 1}
    assert scene.pending(writer="ben") == ["-line 6"]
