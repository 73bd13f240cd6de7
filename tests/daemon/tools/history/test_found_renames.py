"""A file that git moved, a program while nobody watched, or one that wrote it anew, is the same in blame and undo."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_journal.history.authorship import LOCK_HELD
from quire_journal.model.events import OutsideDeleted, OutsideWritten, WriteAttributed
from quire_journal.model.ids import blob_id

START = lines(*(f"line number {n}" for n in range(12)))
ANN = START.replace(b"number 2\n", b"of ann\n")
THEIRS = START.replace(b"number 9\n", b"of theirs\n")
BOTH = THEIRS.replace(b"number 2\n", b"of ann\n")
MERGE = "git: merge x: Merge made by the 'ort' strategy. (HEAD main 1111111111 -> main 2222222222)"


def moved(daemon: MemoryDaemon, old: str, new: str, data: bytes, hint: str = MERGE, evidence: str = "watched") -> None:
    """A program writes the new name, then removes the old one."""
    base = daemon.head_of(old)
    daemon.files[new] = data
    written = OutsideWritten(new, blob_id(data), len(data), 0o644, evidence, hint=hint)
    daemon.note(written, blobs=(data,))
    del daemon.files[old]
    daemon.note(OutsideDeleted(old, evidence, base, hint=hint))


HEAD = "1" * 40


@pytest.fixture
def daemon() -> MemoryDaemon:
    """Ann has changed a line of m."""
    daemon = MemoryDaemon({"m": START})
    daemon.watch("captured")
    daemon.after(60)
    daemon.write("m", ANN, daemon.ann)
    daemon.after(60)
    return daemon


def author(daemon: MemoryDaemon, path: str, line: int) -> str:
    told = daemon.ask("blame", {"path": path}, "max")
    return str(told["lines"][line]["writer"]["agent"] or "outside")


def undone(daemon: MemoryDaemon, **args: Any) -> dict[str, bytes]:
    planned = daemon.ask("undo", {**args, "plan": True}, "max")
    assert planned["ok"], planned
    assert not planned.get("conflicts"), planned
    reply = daemon.ask("undo", {"token": planned["token"]}, "max")
    assert reply["ok"], reply
    return dict(daemon.files)


@pytest.mark.parametrize("data", [ANN, BOTH], ids=["renamed", "renamed and changed"])
def test_a_merge_that_renames_leaves_a_line_to_its_author(daemon: MemoryDaemon, data: bytes) -> None:
    moved(daemon, "m", "r", data)
    assert author(daemon, "r", 2) == "ann"
    assert author(daemon, "r", 9) == "outside"


@pytest.mark.parametrize("data", [ANN, BOTH], ids=["renamed", "renamed and changed"])
def test_an_undo_follows_a_file_that_a_merge_renamed(daemon: MemoryDaemon, data: bytes) -> None:
    moved(daemon, "m", "r", data)
    assert undone(daemon, writer="ann") == {"r": data.replace(b"of ann\n", b"number 2\n")}
    assert daemon.ask("redo", {"writer": "ann"}, "max")["ok"]
    assert dict(daemon.files) == {"r": data}


def test_an_undo_follows_a_file_through_a_rebase_upon_a_rename(daemon: MemoryDaemon) -> None:
    daemon.by_git("git: checkout: moving from feat to main", m=START)
    daemon.after(60)
    daemon.outside_moves("m", "r", "git: index.lock was held")
    daemon.outside("r", THEIRS)
    daemon.after(60)
    moved(daemon, "r", "m", ANN, "git: checkout: moving from main to feat")
    moved(daemon, "m", "r", THEIRS, "git: index.lock was held")
    daemon.by_git("git", r=BOTH)
    assert author(daemon, "r", 2) == "ann"
    assert undone(daemon, writer="ann") == {"r": THEIRS}


def test_a_rename_within_a_command_is_found_though_the_new_file_changes_again(daemon: MemoryDaemon) -> None:
    base = daemon.head_of("m")
    daemon.by_git("git: index.lock was taken at that moment", r=THEIRS)
    daemon.by_git("git: cherry-pick: 7b318f3", r=BOTH)
    del daemon.files["m"]
    daemon.note(OutsideDeleted("m", "watched", base, hint="git"))
    assert author(daemon, "r", 2) == "ann"
    assert undone(daemon, writer="ann") == {"r": THEIRS}


def test_a_checkout_there_and_back_under_other_names_is_one_file(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", THEIRS, "git: checkout: moving from main to x")
    daemon.after(60)
    moved(daemon, "r", "m", ANN, "git: checkout: moving from x to main")
    assert author(daemon, "m", 2) == "ann"
    assert undone(daemon, writer="ann") == {"m": START}


def test_a_file_of_other_contents_is_another(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", lines("quite", "another", "file"))
    assert not daemon.ask("undo", {"writer": "ann"}, "max")["ok"]


def test_a_file_that_came_long_after_is_another(daemon: MemoryDaemon) -> None:
    daemon.by_git(MERGE, m=None)
    daemon.after(60)
    daemon.by_git(MERGE, r=ANN)
    assert not daemon.ask("undo", {"writer": "ann"}, "max")["ok"]


def test_one_side_alone_of_a_move_by_git_can_be_undone(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", BOTH)
    with daemon.history() as history:
        left = history.file("m")
    assert left is not None
    assert undone(daemon, batch=left.batch) == {"m": ANN, "r": BOTH}


def test_a_move_by_git_is_undone_and_redone_as_one(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", BOTH)
    with daemon.history() as history:
        heads = history.file("m"), history.file("r")
    assert undone(daemon, batch=[head.batch for head in heads if head is not None]) == {"m": ANN}
    assert author(daemon, "m", 2) == "ann"
    assert daemon.ask("redo", {}, "max")["ok"]
    assert dict(daemon.files) == {"r": BOTH}
    assert author(daemon, "r", 2) == "ann"


def test_two_files_that_git_moved_at_once_are_told_apart_by_their_contents() -> None:
    one, two = lines(*(f"one {n}" for n in range(12))), lines(*(f"two {n}" for n in range(12)))
    daemon = MemoryDaemon({"a": one, "b": two})
    daemon.watch("captured")
    daemon.after(60)
    daemon.write("a", one.replace(b"one 2\n", b"of ann\n"), daemon.ann)
    daemon.write("b", two.replace(b"two 2\n", b"of ben\n"), daemon.ben)
    moved_a, moved_b = (daemon.files[path] + b"more\n" for path in "ab")
    daemon.after(60)
    daemon.by_git(MERGE, d=moved_a, c=moved_b, b=None, a=None)
    assert (author(daemon, "d", 2), author(daemon, "c", 2)) == ("ann", "ben")
    assert undone(daemon, writer="ann") == {"d": one + b"more\n", "c": moved_b}


def test_files_of_a_large_folder_that_git_moved_are_told_apart_by_their_base_names() -> None:
    daemon = MemoryDaemon({f"a/{n}": START for n in range(60)})
    daemon.watch("captured")
    daemon.after(60)
    daemon.write("a/7", ANN, daemon.ann)
    daemon.after(60)
    for n in range(60):
        moved(daemon, f"a/{n}", f"b/{n}", daemon.files[f"a/{n}"] + b"%d\n" % n)
    assert author(daemon, "b/7", 2) == "ann"
    assert undone(daemon, writer="ann")["b/7"] == START + b"7\n"


def test_a_rename_and_a_change_while_nobody_watched_leave_lines_to_their_authors(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "w", ANN + b"z\n", hint="", evidence="scanned")
    assert author(daemon, "w", 2) == "ann"
    assert author(daemon, "w", 12) == "outside"
    assert undone(daemon, writer="ann") == {"w": START + b"z\n"}


@pytest.mark.parametrize("data", [ANN, BOTH], ids=["renamed", "renamed and changed"])
def test_a_file_that_a_program_writes_under_a_new_name_as_it_removes_the_old_is_one(
    daemon: MemoryDaemon, data: bytes
) -> None:
    """After `sed … m >r && rm m` all lines of `r` were the program's."""
    moved(daemon, "m", "r", data, hint="")
    daemon.after(60)
    assert author(daemon, "r", 2) == "ann"
    assert author(daemon, "r", 9) == "outside"
    assert undone(daemon, writer="ann") == {"r": data.replace(b"of ann\n", b"number 2\n")}


def test_a_file_that_is_removed_a_moment_after_its_copy_is_another(daemon: MemoryDaemon) -> None:
    daemon.outside("r", ANN)
    daemon.after(2)
    daemon.outside_deletes("m")
    daemon.after(60)
    assert author(daemon, "r", 9) == "outside"
    assert undone(daemon, writer="outside", last=1) == {"r": ANN, "m": ANN}


def test_a_file_that_somebody_else_removes_at_the_same_time_is_another(daemon: MemoryDaemon) -> None:
    base = daemon.head_of("m")
    came = daemon.outside("r", ANN.replace(b"of ann", b"of bob"))
    del daemon.files["m"]
    left = daemon.note(OutsideDeleted("m", "watched", base))
    bob = daemon.introduce("bob", "s2")
    daemon.note(WriteAttributed((came,), bob.writer, "traced"))
    daemon.after(60)
    assert left
    assert author(daemon, "r", 9) == "bob"


@pytest.mark.parametrize("path", ["m", "r"])
def test_an_undo_knows_a_file_that_git_moved_by_either_name(daemon: MemoryDaemon, path: str) -> None:
    moved(daemon, "m", "r", BOTH)
    assert undone(daemon, path=path, writer="ann") == {"r": THEIRS}


def test_a_review_shows_a_line_in_the_file_to_which_git_moved_it(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", BOTH)
    assert [one["path"] for one in daemon.ask("review", {"writer": "ann"}, "max")["files"]] == ["r"]


@pytest.mark.parametrize("data", [ANN, BOTH], ids=["renamed", "renamed and changed"])
@pytest.mark.parametrize("alone", ["", "apart"])
def test_a_writers_lines_are_told_apart_in_a_file_that_git_alone_renamed(
    daemon: MemoryDaemon, data: bytes, alone: str
) -> None:
    """They were told as the whole of a new file."""
    daemon.git_answers.trees[HEAD] = {"m": ("100644", START)}
    moved(daemon, "m", "r", data)
    reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": "ann", "alone": alone}, "max")
    (file,) = reply["files"]
    rows = [row for hunk in file["hunks"] for row in hunk["lines"] if row[0] in "+-"]
    old, new = ({*text.decode().splitlines()} for text in (START, ANN))
    assert sorted(rows) == sorted([*(f"-{line}" for line in old - new), *(f"+{line}" for line in new - old)])
    assert file["status"] == "changed"


def test_a_file_renamed_while_nobody_watched_stays_the_work_of_its_writer(daemon: MemoryDaemon) -> None:
    daemon.write("new", START, daemon.ann)
    daemon.after(60)
    moved(daemon, "new", "newer", START, hint="", evidence="scanned")
    told = daemon.ask("diff", {"from": "seq:1", "writer": "ann", "paths": ["newer"]}, "max")
    assert [(file["path"], file["status"]) for file in told["files"]] == [("newer", "added")]


def test_a_story_tells_the_two_names_of_a_file_as_one_rename(daemon: MemoryDaemon) -> None:
    moved(daemon, "m", "r", BOTH, hint="", evidence="scanned")
    files = daemon.ask("stories", {}, "max")["stories"][0]["files"]
    assert [(file["status"], file.get("moved_from"), file["path"]) for file in files] == [("moved", "m", "r")]
    assert (files[0]["added"], files[0]["removed"]) == (1, 1)


@pytest.mark.parametrize("of_git", ["the new name", "the old name", "both"])
def test_a_file_that_an_agents_git_moved_is_the_same_also_if_git_is_seen_at_one_end_only(
    daemon: MemoryDaemon, of_git: str
) -> None:
    """`git mv m r && sed -i 1d r`: the one name was written under git's lock, the other after it."""
    bob, base, data = daemon.introduce("bob", "s9"), daemon.head_of("m"), ANN.replace(b"number 9\n", b"of bob\n")
    hints = ["" if of_git == "the old name" else LOCK_HELD, "" if of_git == "the new name" else LOCK_HELD]
    daemon.files["r"] = data
    daemon.note(OutsideWritten("r", blob_id(data), len(data), 0o644, "watched", hint=hints[0]), blobs=(data,))
    came = daemon.head_of("r")
    del daemon.files["m"]
    left = daemon.note(OutsideDeleted("m", "watched", base, hint=hints[1]))
    daemon.note(WriteAttributed((came, left), bob.writer, "traced"))
    assert [author(daemon, "r", line) for line in (2, 4, 9)] == ["ann", "outside", "bob"]
    assert undone(daemon, writer="ann") == {"r": data.replace(b"of ann\n", b"number 2\n")}
