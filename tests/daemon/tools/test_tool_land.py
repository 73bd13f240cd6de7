"""`land`: what an isolated run changed comes in, and loses nothing that others wrote meanwhile."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given, settings, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.isolated_changes import MOST_FILES
from quire_journal.model.events import WorkspaceScanned

OLD = lines(*(f"line {number}" for number in range(1, 9)))
MINE = OLD.replace(b"line 2\n", b"mine\n")
THEIRS = OLD.replace(b"line 7\n", b"theirs\n")
BOTH = MINE.replace(b"line 7\n", b"theirs\n")


class Scene:
    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.daemon = MemoryDaemon(files or {"a": OLD, "b": OLD})
        self.daemon.watch("captured")
        self.daemon.note(WorkspaceScanned("start", 2, 2))
        self.burst = self.daemon.ask("run", {"action": "begin", "command": ["fmt"], "isolated": True})["burst"]

    def land(self, *files: dict[str, Any], by: str = "ann", **more: Any) -> dict[str, Any]:
        return self.daemon.ask("land", {"burst": self.burst, "files": [*files], **more}, by)

    def outcomes(self, *files: dict[str, Any]) -> dict[str, str]:
        reply = self.land(*files)
        assert reply["ok"], reply
        return {file["path"]: file["outcome"] for file in reply["files"]}


def made(path: str, data: bytes, mode: int = 0o644) -> dict[str, Any]:
    return {"path": path, "kind": "file", "mode": mode, "data": data}


def gone(path: str) -> dict[str, Any]:
    return {"path": path, "kind": "gone"}


def test_what_nobody_else_touched_lands_as_one_batch_of_the_caller() -> None:
    scene = Scene()
    files = [made("a", MINE), made("new/c", b"c\n"), gone("b")]
    assert scene.outcomes(*files) == {"a": "written", "new/c": "written", "b": "removed"}
    assert scene.daemon.files == {"a": MINE, "new/c": b"c\n"}
    records = scene.daemon.ask("log", {"limit": 3})["records"]
    assert {record["writer"]["agent"] for record in records} == {"ann"}
    assert len({record["batch"] for record in records}) == 1
    back = scene.daemon.ask("undo", {"burst": scene.burst})
    assert back["ok"]
    assert scene.daemon.files == {"a": OLD, "b": OLD}


def test_a_run_on_a_copy_begins_only_when_the_files_are_in_the_journal() -> None:
    """The changes are compared with the files of the begin, and a file not recorded yet looks as if others wrote it."""
    daemon = MemoryDaemon({"a": OLD})
    begin = {"action": "begin", "command": ["fmt"]}
    refused = daemon.ask("run", {**begin, "isolated": True})
    assert (refused["error"], refused["suggested_action"]) == ("busy", "retry")
    assert (refused["retry_after_ms"] > 0, refused["capturing"]) == (True, True)
    assert daemon.ask("run", begin)["ok"]
    daemon.watch("captured")
    daemon.note(WorkspaceScanned("start", 1, 1))
    assert daemon.ask("run", {**begin, "isolated": True})["ok"]


def test_what_landed_is_told_as_its_command_also_where_only_its_file_is_asked_about() -> None:
    scene = Scene()
    assert scene.outcomes(made("a", MINE), gone("b"))
    for path in ("a", "b", ""):
        story = scene.daemon.ask("stories", {"path": path})["stories"][0]
        assert (story["form"], story["commands"]) == ("run", ["fmt"]), path


def test_what_landed_within_a_turn_is_told_as_its_command() -> None:
    scene = Scene()
    who = scene.daemon.introduce("ann", "s1", "turn 1")
    burst = scene.daemon.ask("run", {"action": "begin", "command": ["ruff", "."], "isolated": True}, who)["burst"]
    assert scene.daemon.ask("land", {"burst": burst, "files": [made("a", MINE), gone("b")]}, who)["ok"]
    for path in ("a", "b"):
        (call,) = scene.daemon.ask("stories", {"path": path, "all": True})["stories"][0]["calls"]
        assert (call["command"], call["burst"], call["writes"]) == ("ruff .", burst, 1)


def test_what_others_wrote_elsewhere_in_the_file_is_merged() -> None:
    scene = Scene()
    scene.daemon.outside("a", THEIRS)
    assert scene.outcomes(made("a", MINE)) == {"a": "merged"}
    assert scene.daemon.files["a"] == BOTH


def test_the_same_lines_stay_as_others_wrote_them_and_the_commands_are_beside() -> None:
    scene = Scene()
    theirs = OLD.replace(b"line 2\n", b"theirs\n")
    scene.daemon.outside("a", theirs)
    reply = scene.land(made("a", MINE))
    assert scene.daemon.files == {"a": theirs, "b": OLD, f"a.run-{scene.burst}": MINE}
    (told,) = reply["files"]
    assert (told["outcome"], told["beside"]) == ("beside", f"a.run-{scene.burst}")
    assert told["why"] == "others changed the same lines meanwhile"


def test_a_file_that_others_changed_is_not_removed_and_one_that_they_removed_is_not_brought_back() -> None:
    scene = Scene()
    scene.daemon.outside("a", THEIRS)
    scene.daemon.outside_deletes("b")
    assert scene.outcomes(gone("a"), made("b", MINE)) == {"a": "stays", "b": "beside"}
    assert scene.daemon.files == {"a": THEIRS, f"b.run-{scene.burst}": MINE}


def test_bytes_that_the_journal_lacks_are_not_overwritten() -> None:
    scene = Scene({"a": OLD, ".env": b"KEY=1\n"})
    assert scene.outcomes(made(".env", b"KEY=2\n")) in ({".env": "beside"}, {".env": "stays"})
    assert scene.daemon.files[".env"] == b"KEY=1\n"


def test_an_exclusive_lease_keeps_the_commands_version_beside() -> None:
    scene = Scene()
    assert scene.daemon.ask("claim", {"path": "a", "kind": "exclusive"}, "ben")["ok"]
    reply = scene.land(made("a", MINE))
    (told,) = reply["files"]
    assert "has an exclusive lease on it" in told["why"]
    assert scene.daemon.files == {"a": OLD, "b": OLD, f"a.run-{scene.burst}": MINE}


def test_what_is_as_before_and_what_both_wrote_changes_nothing() -> None:
    scene = Scene()
    scene.daemon.outside("b", MINE)
    head = scene.daemon.journal.head
    assert scene.outcomes(made("a", OLD), made("b", MINE), gone("never")) == {"a": "same", "b": "same", "never": "same"}
    assert scene.daemon.journal.head == head


def test_a_mode_alone_lands() -> None:
    scene = Scene()
    assert scene.outcomes(made("a", OLD, 0o755)) == {"a": "written"}
    with scene.daemon.history() as history:
        head = history.file("a")
    assert head is not None
    assert (head.mode, scene.daemon.files["a"]) == (0o755, OLD)


def test_a_link_is_made_where_nothing_is() -> None:
    scene = Scene()
    link = {"path": "to-a", "kind": "link", "data": b"a"}
    assert scene.outcomes(link) == {"to-a": "written"}
    with scene.daemon.history() as history:
        head = history.file("to-a")
    assert head is not None
    assert head.entry == 1


def linked(to: str, path: str = "link") -> dict[str, Any]:
    return {"path": path, "kind": "link", "data": to.encode()}


def with_link() -> Scene:
    scene = Scene()
    scene.daemon.files.link("link", "a")
    scene.daemon.look_at("link")
    scene.burst = scene.daemon.ask("run", {"action": "begin", "command": ["mv"]})["burst"]
    return scene


def test_a_link_goes_leads_elsewhere_or_becomes_a_file() -> None:
    scene = with_link()
    at = scene.daemon.files.at
    assert scene.outcomes(linked("b")) == {"link": "written"}
    assert os.readlink(at("link")) == "b"
    scene = with_link()
    assert scene.outcomes(gone("link")) == {"link": "removed"}
    assert not os.path.lexists(scene.daemon.files.at("link"))
    assert scene.daemon.ask("undo", {"burst": scene.burst})["ok"]
    assert os.readlink(scene.daemon.files.at("link")) == "a"
    scene = with_link()
    assert scene.outcomes(made("link", MINE)) == {"link": "written"}
    assert (os.path.islink(scene.daemon.files.at("link")), scene.daemon.files["link"]) == (False, MINE)
    assert scene.daemon.files["a"] == OLD


def test_a_file_becomes_a_link_if_nobody_changed_it() -> None:
    scene = Scene()
    assert scene.outcomes(linked("b", "a")) == {"a": "written"}
    assert os.readlink(scene.daemon.files.at("a")) == "b"
    scene = Scene()
    scene.daemon.outside("a", THEIRS)
    assert scene.outcomes(linked("b", "a")) == {"a": "stays"}
    assert scene.daemon.files["a"] == THEIRS


def test_a_link_that_others_changed_stays() -> None:
    scene = with_link()
    os.unlink(scene.daemon.files.at("link"))
    os.symlink("b", scene.daemon.files.at("link"))
    assert scene.outcomes(gone("link")) == {"link": "stays"}


def test_what_is_ignored_is_named_and_not_journaled() -> None:
    scene = Scene({"a": OLD, ".gitignore": b"build/\n"})
    reply = scene.land(made("build/x.o", b"x"), made("a", MINE))
    assert reply["ignored"] == ["build/x.o"]
    assert [file["path"] for file in reply["files"]] == ["a"]
    with scene.daemon.history() as history:
        assert history.file("build/x.o") is None


def test_whether_a_path_is_ignored_is_told_without_its_bytes() -> None:
    scene = Scene({"a": OLD, ".gitignore": b"build/\n"})
    head = scene.daemon.journal.head
    reply = scene.land(asked=["build/big", "a", "new"])
    assert (reply["ignored"], reply["files"]) == (["build/big"], [])
    assert (scene.daemon.files["a"], scene.daemon.journal.head) == (OLD, head)
    assert scene.land(asked=["a"] * (MOST_FILES + 1))["error"] == "busy"


def test_nobody_lands_for_another_and_nothing_lands_without_a_run() -> None:
    scene = Scene()
    assert scene.land(made("a", MINE), by="ben")["error"] == "not_found"
    assert scene.daemon.ask("land", {"burst": 1, "files": []})["error"] == "not_found"
    many = [gone(str(number)) for number in range(MOST_FILES + 1)]
    assert scene.land(*many)["error"] == "busy"
    assert scene.daemon.files == {"a": OLD, "b": OLD}


SIDES = st.lists(st.integers(0, 7), max_size=4, unique=True)


@settings(max_examples=40, deadline=None)
@given(mine=SIDES, theirs=SIDES, removes=st.booleans())
def test_no_line_of_others_is_ever_lost(mine: list[int], theirs: list[int], removes: bool) -> None:
    def changed(numbers: list[int], word: str) -> bytes:
        rows = OLD.decode().splitlines(keepends=True)
        for number in numbers:
            rows[number] = f"{word} {number}\n"
        return "".join(rows).encode()

    scene = Scene({"a": OLD})
    if theirs:
        scene.daemon.outside("a", changed(theirs, "theirs"))
    scene.outcomes(gone("a") if removes and theirs else made("a", changed(mine, "mine")))
    there = scene.daemon.files["a"].decode()
    assert all(f"theirs {number}\n" in there for number in theirs)
    everywhere = b"".join(scene.daemon.files.values()).decode()
    assert removes or all(f"mine {number}\n" in everywhere for number in mine)
