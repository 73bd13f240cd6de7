"""Files that were renamed between two states: the file before is the one under its name then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines

HEAD = "1" * 40
START = lines(*(f"line {n}" for n in range(8)))


def daemon_at(**files: bytes) -> MemoryDaemon:
    """A daemon that found these files, as a commit has them."""
    daemon = MemoryDaemon(files)
    daemon.watch("captured")
    daemon.git_answers.trees[HEAD] = {path: ("100644", data) for path, data in files.items()}
    return daemon


def patch(daemon: MemoryDaemon, writer: str = "ann", **more: Any) -> list[tuple[str, str, list[str]]]:
    """(path, old path, changed lines) of the files in the patch of a writer alone."""
    reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": writer, "alone": "apart", **more})
    assert reply["ok"], reply
    return [
        (
            one["path"],
            one.get("moved_from", one["path"]),
            [row for hunk in one.get("hunks", ()) for row in hunk["lines"] if row[:1] != " "],
        )
        for one in reply["files"]
    ]


def changed(text: bytes, n: int, new: str) -> bytes:
    return text.replace(b"line %d\n" % n, f"{new}\n".encode())


Rename = Callable[[MemoryDaemon, str, str], object]

RENAMES: dict[str, Rename] = {
    "mv": lambda daemon, path, to: daemon.outside_moves(path, to),
    "git mv": lambda daemon, path, to: daemon.outside_moves(path, to, "git mv"),
    "another's tool": lambda daemon, path, to: daemon.move(path, to, daemon.ben),
    "the writer's tool": lambda daemon, path, to: daemon.move(path, to, daemon.ann),
}


@pytest.fixture(params=RENAMES)
def rename(request: pytest.FixtureRequest) -> Rename:
    return RENAMES[request.param]


# ── a patch ──


def test_a_new_file_that_was_renamed_is_still_its_writers(rename: Rename) -> None:
    daemon = daemon_at(other=START)
    daemon.write("new", lines("one", "two"), daemon.ann)
    rename(daemon, "new", "moved")
    assert patch(daemon) == [("moved", "moved", ["+one", "+two"])]
    daemon.write("moved", lines("one", "two", "ben's"), daemon.ben)
    assert patch(daemon) == [("moved", "moved", ["+one", "+two"])]


@pytest.mark.parametrize("how", ["mv", "git mv", "another's tool"])
def test_lines_in_a_file_that_others_renamed_are_upon_the_old_name(how: str) -> None:
    daemon = daemon_at(old=START)
    daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    RENAMES[how](daemon, "old", "moved")
    daemon.write("moved", changed(changed(START, 2, "ann's"), 6, "ben's"), daemon.ben)
    assert patch(daemon) == [("old", "old", ["-line 2", "+ann's"])]
    (ben,) = patch(daemon, "ben")
    assert ben[0] == ("moved" if how == "another's tool" else "old")
    assert ben[1:] == ("old", ["-line 6", "+ben's"])


def test_a_patch_of_a_file_by_either_name_is_the_same(rename: Rename) -> None:
    daemon = daemon_at(old=START)
    daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    rename(daemon, "old", "moved")
    assert patch(daemon) == patch(daemon, path="moved") == patch(daemon, path="old") != []


@pytest.mark.parametrize("how", ["mv", "git mv"])
def test_after_a_stash_of_a_renamed_file_and_its_return_the_lines_are_still_the_writers(how: str) -> None:
    daemon = daemon_at(old=START)
    own = changed(START, 2, "ann's")
    daemon.write("old", own, daemon.ann)
    RENAMES[how](daemon, "old", "moved")
    daemon.by_git("git stash", moved=None, old=START)
    assert patch(daemon) == []
    daemon.by_git("git stash pop", old=None, moved=own)
    assert patch(daemon) == [("old", "old", ["-line 2", "+ann's"])]


def test_after_a_stash_a_new_file_that_was_renamed_is_still_its_writers(rename: Rename) -> None:
    daemon = daemon_at(other=START)
    daemon.write("new", START, daemon.ann)
    rename(daemon, "new", "moved")
    daemon.by_git("git stash -u", moved=None)
    assert patch(daemon) == []
    daemon.by_git("git stash pop", moved=START)
    assert [path for path, _, _ in patch(daemon)] == ["moved"]


def test_a_file_that_another_removed_is_no_removal_by_who_had_edited_it() -> None:
    daemon = daemon_at(f=START)
    daemon.write("f", changed(START, 2, "ann's"), daemon.ann)
    daemon.delete("f", daemon.ben)
    assert patch(daemon) == []
    (removed,) = patch(daemon, "ben")
    assert removed[2] == [f"-line {n}" for n in range(8)]


def test_a_file_that_was_renamed_and_then_removed_is_removed_by_the_remover(rename: Rename) -> None:
    daemon = daemon_at(old=START)
    daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    rename(daemon, "old", "moved")
    daemon.delete("moved", daemon.ben)
    assert [(path, old) for path, old, _ in patch(daemon, "ben")] == [("old", "old")]


# ── who made the difference ──


def shares(daemon: MemoryDaemon, *paths: str, **more: Any) -> dict[str, tuple[str, str, dict[str, int]]]:
    """path → (status, old path, lines by writer) of what differs from the commit, or between two."""
    asked = {"from": f"commit:{HEAD}", "paths": [*paths], "lines": True, **more}
    reply = daemon.ask("contributions", asked)
    assert reply["ok"], reply
    return {
        one["path"]: (
            one["status"],
            one.get("moved_from", ""),
            {share["writer"]["agent"] or share["writer"]["id"]: share["lines"] for share in one["writers"]},
        )
        for one in reply["files"]
    }


@pytest.mark.parametrize("how", ["mv", "git mv"])
def test_a_plain_rename_has_no_lines_of_anybody(how: str) -> None:
    daemon = daemon_at(old=START)
    RENAMES[how](daemon, "old", "moved")
    assert shares(daemon) == {"moved": ("changed", "old", {})}
    assert shares(daemon, "old", "moved") == shares(daemon, "moved") == shares(daemon)


def test_a_rename_by_a_tool_is_told_with_who_renamed() -> None:
    daemon = daemon_at(old=START)
    daemon.move("old", "moved", daemon.ben)
    assert shares(daemon) == {"moved": ("changed", "old", {"ben": 0})}


def test_of_a_renamed_file_the_changed_lines_count(rename: Rename) -> None:
    daemon = daemon_at(old=START)
    daemon.write("old", changed(START, 2, "ben's"), daemon.ben)
    rename(daemon, "old", "moved")
    daemon.write("moved", changed(changed(START, 2, "ben's"), 6, "carl's"), daemon.who("carl"))
    status, old, lines_by = shares(daemon, "moved")["moved"]
    assert (status, old, {who: n for who, n in lines_by.items() if n}) == ("changed", "old", {"ben": 1, "carl": 1})


def test_of_a_commit_a_rename_has_only_the_lines_that_it_changed() -> None:
    daemon, later = daemon_at(old=START), "2" * 40
    daemon.outside_moves("old", "moved", "git mv")
    daemon.write("moved", changed(START, 2, "ben's"), daemon.ben)
    daemon.git_answers.trees[later] = {"moved": ("100644", changed(START, 2, "ben's"))}
    asked = {"from": f"commit:{HEAD}", "to": f"commit:{later}", "paths": ["old", "moved"]}
    assert shares(daemon, **asked) == {"moved": ("changed", "old", {"ben": 1})}


@pytest.mark.parametrize(("new", "is_rename"), [(changed(START, 2, "else"), True), (lines(*"abcdefgh"), False)])
def test_a_rename_that_the_journal_did_not_see_is_found_by_its_contents(new: bytes, is_rename: bool) -> None:
    daemon, later = daemon_at(old=START), "2" * 40
    daemon.outside_deletes("old")
    daemon.outside("moved", new)
    daemon.git_answers.trees[later] = {"moved": ("100644", new)}
    told = shares(daemon, "old", "moved", to=f"commit:{later}")
    assert (told["moved"][1], [*told]) == (("old", ["moved"]) if is_rename else ("", ["old", "moved"]))


def test_of_the_old_name_alone_a_rename_removes_nobodys_lines() -> None:
    daemon = daemon_at(old=START)
    daemon.move("old", "moved", daemon.ben)
    assert shares(daemon, "old") == {"old": ("removed", "", {})}


# ── a difference ──


def test_a_file_that_was_renamed_after_the_later_point_has_its_name_now_too(rename: Rename) -> None:
    daemon = daemon_at(old=START)
    since = daemon.journal.head
    upto = daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    rename(daemon, "old", "moved")
    daemon.outside_moves("moved", "again")
    asked = {"from": f"seq:{since}", "to": f"seq:{upto}"}
    (file,) = daemon.ask("diff", asked)["files"]
    assert (file["path"], file["moved_to"]) == ("old", "again")
    (file,) = daemon.ask("diff", {"from": f"seq:{since}"})["files"]
    assert (file["path"], file["moved_from"], file.get("moved_to")) == ("again", "old", None)


def test_a_similar_file_in_the_place_of_another_is_a_rename_as_in_git() -> None:
    daemon = daemon_at(old=START, kept=b"kept\n")
    since = daemon.journal.head
    daemon.outside_deletes("old")
    daemon.outside("moved", changed(START, 2, "else"))
    daemon.outside("other", lines(*"abcdefgh"))
    files = daemon.ask("diff", {"from": f"seq:{since}"})["files"]
    told = [(file["path"], file.get("moved_from"), file["status"]) for file in files]
    assert told == [("moved", "old", "changed"), ("other", None, "added")]


# ── names that go to another file ──


def test_lines_in_a_file_that_left_its_name_to_a_new_one_are_upon_that_name() -> None:
    daemon = daemon_at(old=START)
    daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    daemon.outside_moves("old", "moved")
    daemon.write("old", lines("a", "new", "file"), daemon.ben)
    assert patch(daemon) == [("old", "old", ["-line 2", "+ann's"])]
    (ben,) = patch(daemon, "ben")
    assert (ben[0], ben[2][-3:]) == ("old", ["+a", "+new", "+file"])


def test_a_copy_that_was_put_back_under_the_name_is_the_file_as_before() -> None:
    """`mv f f.bak; cp f.bak f`, and then an edit."""
    daemon = daemon_at(f=START)
    daemon.outside_moves("f", "f.bak")
    daemon.outside("f", START)
    daemon.write("f", changed(START, 2, "ann's"), daemon.ann)
    assert patch(daemon) == [("f", "f", ["-line 2", "+ann's"])]


def test_names_that_a_writer_swaps_are_two_changes_in_one_patch() -> None:
    daemon = daemon_at(a=START, b=lines(*"123456"))
    daemon.write("a", changed(START, 2, "ben's"), daemon.ben)
    for path, to in (("a", "c"), ("b", "a"), ("c", "b")):
        daemon.move(path, to, daemon.ann)
    ann = {path: rows for path, _, rows in patch(daemon)}
    assert [row[1:] for row in ann["a"] if row[0] == "+"] == [*"123456"]
    assert [row[1:] for row in ann["b"] if row[0] == "+"] == START.decode().splitlines()
    assert patch(daemon, "ben") == [("a", "a", ["-line 2", "+ben's"])]


def test_after_a_stash_and_its_return_a_rename_is_still_its_renamers() -> None:
    daemon = daemon_at(old=START)
    daemon.move("old", "moved", daemon.ann)
    daemon.by_git("git stash", moved=None, old=START)
    daemon.by_git("git stash pop", old=None, moved=START)
    assert patch(daemon) == [("moved", "old", [])]


def test_a_removal_that_git_brought_back_is_still_its_removers_alone() -> None:
    daemon = daemon_at(f=START)
    daemon.write("f", changed(START, 2, "ben's"), daemon.ben)
    daemon.delete("f", daemon.ann)
    daemon.by_git("git stash", f=START)
    daemon.by_git("git stash pop", f=None)
    assert patch(daemon, "ben") == []
    assert [(path, len(rows)) for path, _, rows in patch(daemon)] == [("f", 8)]


@pytest.mark.parametrize("point", [f"commit:{HEAD}", "seq:"])
def test_what_a_writer_changed_in_a_file_that_left_its_name_is_shown_there_alone(point: str) -> None:
    daemon = daemon_at(old=START)
    since = f"seq:{daemon.journal.head}" if point == "seq:" else point
    daemon.write("old", changed(START, 2, "ann's"), daemon.ann)
    daemon.outside_moves("old", "moved")
    daemon.write("old", lines("a", "new", "file"), daemon.ben)
    files = daemon.ask("diff", {"from": since, "writer": "ann"})["files"]
    told = [(file["path"], [row for row in file["hunks"][0]["lines"] if row[0] != " "]) for file in files]
    assert told == [("moved", ["-line 2", "+ann's"])]


def test_similar_files_whose_names_are_swapped_are_told_apart() -> None:
    other = changed(START, 5, "other")
    daemon = daemon_at(a=START, b=other)
    for path, to in (("a", "c"), ("b", "a"), ("c", "b")):
        daemon.move(path, to, daemon.ann)
    assert [(path, rows) for path, _, rows in patch(daemon)] == [
        ("a", ["-line 5", "+other"]),
        ("b", ["-other", "+line 5"]),
    ]
