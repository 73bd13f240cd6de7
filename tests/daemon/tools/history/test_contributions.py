"""`contributions`: who made the difference between two states."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon, lines
from quire_daemon.config.settings import CaptureSettings, Settings
from quire_journal.history import CommitFileLines, CommitLine
from quire_journal.model import GitRan

COMMIT = "1a" * 20
OLD = lines("a", "b", "c", "d")


class Scene:
    def __init__(self, **files: bytes) -> None:
        self.daemon = MemoryDaemon({"f": OLD, **files})
        self.daemon.watch("captured")
        self.daemon.git_answers.trees[COMMIT] = {"f": ("100644", OLD)}

    def asked(self, *paths: str, commit: str = COMMIT) -> dict[str, Any]:
        asked = {"paths": [*paths], "from": f"commit:{commit}" if commit else "nothing"}
        return {file["path"]: file for file in self.daemon.ask("contributions", asked, self.daemon.ann)["files"]}

    def shares(self, path: str = "f", commit: str = COMMIT) -> dict[str, int | None]:
        file = self.asked(path, commit=commit)[path]
        return {share["writer"]["agent"] or share["writer"]["id"]: share["lines"] for share in file["writers"]}


def test_lines_are_counted_for_who_wrote_them() -> None:
    scene = Scene()
    scene.daemon.write("f", lines("a", "B", "B2", "c", "d"), scene.daemon.ben)
    scene.daemon.write("f", lines("A", "B", "B2", "c", "d"), scene.daemon.ann)
    assert scene.shares() == {"ben": 2, "ann": 1}
    assert [share["you"] for share in scene.asked("f")["f"]["writers"]] == [False, True]


def test_a_removed_line_counts_for_who_removed_it() -> None:
    scene = Scene()
    scene.daemon.write("f", lines("a", "d"), scene.daemon.ben)
    assert scene.shares() == {"ben": 2}


def test_a_line_removed_beside_one_that_another_replaced_counts_for_who_removed_it() -> None:
    scene = Scene()
    scene.daemon.write("f", lines("a", "b", "d"), scene.daemon.ben)
    scene.daemon.write("f", lines("a", "B", "d"), scene.daemon.ann)
    assert scene.shares() == {"ben": 1, "ann": 1}


def test_lines_that_fewer_lines_of_the_same_writer_replace_count_once() -> None:
    scene = Scene()
    scene.daemon.write("f", lines("a", "B", "d"), scene.daemon.ben)
    assert scene.shares() == {"ben": 1}


def test_work_that_was_taken_back_or_replaced_is_not_there_to_be_lost() -> None:
    scene = Scene()
    scene.daemon.write("f", lines("a", "B", "c", "d"), scene.daemon.ben)
    scene.daemon.write("f", OLD, scene.daemon.ann)
    assert scene.asked("f") == {}
    scene.daemon.write("f", lines("a", "x", "c", "d"), scene.daemon.ben)
    scene.daemon.write("f", lines("a", "y", "c", "d"), scene.daemon.ann)
    assert scene.shares() == {"ann": 1}


def test_what_another_program_wrote_is_told_as_outside() -> None:
    scene = Scene()
    scene.daemon.outside("f", lines("a", "b", "c", "d", "e"))
    assert scene.shares() == {"outside": 1}


def test_without_a_commit_all_lines_are_uncommitted() -> None:
    scene = Scene()
    scene.daemon.write("new", lines("1", "2"), scene.daemon.ben)
    assert scene.shares("new", commit="") == {"ben": 2}
    assert scene.asked("new")["new"]["status"] == "added"


def test_a_removed_file_has_its_remover() -> None:
    scene = Scene()
    scene.daemon.delete("f", scene.daemon.ben)
    assert (scene.shares(), scene.asked("f")["f"]["status"]) == ({"ben": 4}, "removed")


def test_a_binary_file_has_writers_without_lines() -> None:
    scene = Scene()
    scene.daemon.write("f", b"\0\1", scene.daemon.ben)
    assert scene.shares() == {"ben": None}


def test_a_file_that_the_journal_never_saw_is_unknown_and_not_held() -> None:
    scene = Scene()
    told = scene.asked("data/x.db")["data/x.db"]
    assert (told["status"], told["held"], told["writers"]) == ("unknown", False, [])


def test_a_file_too_large_to_be_kept_is_not_held() -> None:
    daemon = MemoryDaemon({"big": b"12345"}, Settings(capture=CaptureSettings(max_bytes=3)))
    daemon.watch("captured")
    (file,) = daemon.ask("contributions", {"from": "nothing", "paths": ["big"]}, daemon.ann)["files"]
    assert (file["path"], file["held"]) == ("big", False)


def test_lines_of_a_commit_have_their_versions_also_where_several_commits_became_one() -> None:
    scene = Scene()
    daemon, later = scene.daemon, "2b" * 20
    first = daemon.write("f", lines("a", "B", "c", "d"), daemon.ben)
    second = daemon.write("f", made := lines("a", "B", "c", "d", "e", "f"), daemon.ann)
    daemon.write("f", lines("else"), daemon.ben)
    daemon.git_answers.trees[later] = {"f": ("100644", made)}
    asked = {"from": f"commit:{COMMIT}", "to": f"commit:{later}", "lines": True}
    (file,) = daemon.ask("contributions", asked)["files"]
    assert [(run["start"], run["end"], run["version"]) for run in file["runs"]] == [
        (2, 2, f"v{first}"),
        (5, 6, f"v{second}"),
    ]
    assert [(share["writer"]["agent"], share["lines"]) for share in file["writers"]] == [("ben", 1), ("ann", 2)]


def test_a_file_that_the_journal_never_had_as_in_the_commit_has_no_writers() -> None:
    scene = Scene()
    scene.daemon.git_answers.trees["2b" * 20] = {"f": ("100644", b"elsewhere\n")}
    (file,) = scene.daemon.ask("contributions", {"from": f"commit:{COMMIT}", "to": "commit:" + "2b" * 20})["files"]
    assert (file["status"], file["writers"]) == ("changed", [])


def test_of_a_file_without_lines_whoever_only_took_back_made_nothing() -> None:
    scene = Scene()
    scene.daemon.write("b", b"\0\1", scene.daemon.ben)
    assert scene.daemon.ask("undo", {"writer": "ben"}, "max")["ok"]
    assert scene.daemon.ask("redo", {}, "max")["ok"]
    assert scene.shares("b") == {"ben": None}


def test_the_work_of_a_subagent_is_its_sessions() -> None:
    scene = Scene()
    child = scene.daemon.introduce("ann", "s1.sub", parent="s1")
    scene.daemon.write("f", lines("a", "child's", "c", "d"), child)
    assert [share["you"] for share in scene.asked("f")["f"]["writers"]] == [True]


LATER = "2b" * 20


class Staged(Scene):
    """A file of which ann and ben wrote lines, and commits of them that are no version of it."""

    def committed(self, commit: str, *texts: str, since: str = COMMIT) -> tuple[list[tuple[int, int, str]], Any]:
        """(start, end, agent) of the runs, and the file, of a commit with these lines."""
        self.daemon.git_answers.trees[commit] = {"f": ("100644", lines(*texts))}
        asked = {"from": f"commit:{since}", "to": f"commit:{commit}", "lines": True}
        (file,) = self.daemon.ask("contributions", asked)["files"]
        return [(run["start"], run["end"], run["writer"]["agent"]) for run in file["runs"]], file


def test_lines_of_a_commit_that_was_staged_in_parts_have_who_wrote_them() -> None:
    scene = Staged()
    scene.daemon.write("f", lines("A by ann", "b", "c", "d"), scene.daemon.ann)
    scene.daemon.write("f", lines("A by ann", "B by ben", "c", "d"), scene.daemon.ben)
    scene.daemon.write("f", lines("A by ann", "B by ben", "c", "D by ann"), scene.daemon.ann)
    scene.daemon.write("f", lines("A by ann", "B by ben", "C by ben", "D by ann"), scene.daemon.ben)
    runs, file = scene.committed(LATER, "A by ann", "b", "c", "D by ann")
    assert runs == [(1, 1, "ann"), (4, 4, "ann")]
    assert [(share["writer"]["agent"], share["lines"]) for share in file["writers"]] == [("ann", 2)]
    runs, file = scene.committed("3c" * 20, "A by ann", "B by ben", "C by ben", "D by ann", since=LATER)
    assert runs == [(2, 2, "ben"), (3, 3, "ben")]
    assert [(share["writer"]["agent"], share["lines"]) for share in file["writers"]] == [("ben", 2)]


def test_a_staged_line_that_was_changed_again_before_the_commit_has_its_writer() -> None:
    scene = Staged()
    scene.daemon.write("f", lines("a", "B by ben", "c", "d"), scene.daemon.ben)
    scene.daemon.write("f", lines("A, written by ann", "B by ben", "c", "d"), scene.daemon.ann)
    scene.daemon.write("f", lines("again by ben", "B by ben", "c", "d"), scene.daemon.ben)
    assert scene.committed(LATER, "A, written by ann", "b", "c", "d")[0] == [(1, 1, "ann")]


def test_lines_of_a_commit_that_no_version_has_are_nobodys() -> None:
    scene = Staged()
    scene.daemon.write("f", lines("A by ann", "b", "c", "d"), scene.daemon.ann)
    assert scene.committed(LATER, "A by ann", "b", "from elsewhere", "d")[0] == [(1, 1, "ann")]


def test_a_line_that_a_staged_commit_removes_counts_for_who_removed_it() -> None:
    scene = Staged()
    scene.daemon.write("f", lines("a", "c", "d"), scene.daemon.ann)
    scene.daemon.write("f", lines("a", "c", "D"), scene.daemon.ben)
    runs, file = scene.committed(LATER, "a", "c", "d", "")
    assert (runs, [share["writer"]["agent"] for share in file["writers"]]) == ([], ["ann"])


def test_a_file_that_a_commit_removes_has_its_remover_and_its_version() -> None:
    scene = Scene()
    gone = scene.daemon.delete("f", scene.daemon.ben)
    scene.daemon.note(GitRan("commit -am gone", head_before=f"main {COMMIT[:12]}", head_after=f"main {LATER[:12]}"))
    scene.daemon.write("f", lines("another"), scene.daemon.ann)
    scene.daemon.git_answers.trees[LATER] = {}
    (file,) = scene.daemon.ask("contributions", {"from": f"commit:{COMMIT}", "to": f"commit:{LATER}"})["files"]
    told = [
        (share["writer"]["agent"], share["lines"], share["version"], share["evidence"]) for share in file["writers"]
    ]
    assert (file["status"], told) == ("removed", [("ben", 4, f"v{gone}", None)])


def test_of_a_commit_from_elsewhere_that_removes_a_file_nobody_is_the_remover() -> None:
    scene = Scene()
    scene.daemon.delete("f", scene.daemon.ben)
    scene.daemon.write("f", lines("another"), scene.daemon.ann)
    trees = scene.daemon.git_answers.trees
    trees[LATER], trees["3c" * 20] = {"f": ("100644", lines("another"))}, {}
    (file,) = scene.daemon.ask("contributions", {"from": f"commit:{LATER}", "to": "commit:" + "3c" * 20})["files"]
    assert (file["status"], file["writers"]) == ("removed", [])


def test_an_empty_file_has_who_made_it_and_who_removed_it() -> None:
    scene = Scene()
    scene.daemon.write("new", b"", scene.daemon.ben)
    trees = scene.daemon.git_answers.trees
    trees[LATER] = {**trees[COMMIT], "new": ("100644", b"")}

    def told(start: str, end: str) -> tuple[str, list[tuple[str, int | None]]]:
        (file,) = scene.daemon.ask("contributions", {"from": f"commit:{start}", "to": f"commit:{end}"})["files"]
        return file["status"], [(share["writer"]["agent"], share["lines"]) for share in file["writers"]]

    assert told(COMMIT, LATER) == ("added", [("ben", None)])
    scene.daemon.delete("new", scene.daemon.ann)
    assert told(LATER, COMMIT) == ("removed", [("ann", None)])


def test_an_empty_file_that_was_renamed_is_only_renamed() -> None:
    scene = Scene(empty=b"")
    scene.daemon.git_answers.trees[LATER] = {"f": ("100644", OLD), "empty": ("100644", b"")}
    scene.daemon.move("empty", "named", scene.daemon.ann)
    assert scene.shares("named", LATER) == {"ann": 0}


def test_lines_that_git_brought_unseen_have_their_commit() -> None:
    scene = Scene()
    scene.daemon.by_git("git: pull: Fast-forward (HEAD main 1 -> main 2222222)", f=OLD + lines("theirs", "unsaid"))
    max_ = CommitLine("2" * 40, "Max", "2025-03-01T10:00:00+01:00")
    scene.daemon.git_answers.of["f"] = CommitFileLines(OLD + b"theirs\n", (max_,), (0,) * 5)
    asked = {"paths": ["f"], "from": f"commit:{COMMIT}", "lines": True}
    (file,) = scene.daemon.ask("contributions", asked, scene.daemon.ann)["files"]
    told = [(run["start"], run.get("commit", {}).get("author")) for run in file["runs"]]
    assert told == [(5, "Max"), (6, None)]
