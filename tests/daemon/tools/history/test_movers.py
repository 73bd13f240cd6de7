"""Whoever only moves lines is not their author: `diff` by writer, alone or not, after undo, redo, restore and git."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import GitRan, OutsideDeleted, OutsideWritten, WorkspaceScanned
from quire_journal.model.ids import blob_id

HEAD = "1" * 40
START = lines("a", "b", "c", "d", "e", "f", "g", "h", "i")
ANNS = START.replace(b"b\n", b"ann's line\n")
LINE = ["-b", "+ann's line"]


def with_head(text: bytes = START) -> MemoryDaemon:
    daemon = MemoryDaemon({"f": text})
    daemon.watch("captured")
    daemon.note(WorkspaceScanned("start", 1, 1))
    daemon.git_answers.trees[HEAD] = {"f": ("100644", text)}
    return daemon


def by_git(daemon: MemoryDaemon, text: bytes, hint: str = "git stash") -> None:
    command = hint.removeprefix("git ").replace("reset: moving to", "reset --hard")
    daemon.note(GitRan(command, head_before=f"main {HEAD[:12]}", head_after=f"main {HEAD[:12]}"))
    there = OutsideWritten("f", blob_id(text), len(text), 0o644, "watched", daemon.head_of("f"), hint=hint)
    daemon.note(there, blobs=(text,))
    daemon.save("f", text)


def undo(daemon: MemoryDaemon, tool: str = "undo", who: str = "max", **args: Any) -> None:
    reply = daemon.ask(tool, args, who)
    assert reply["ok"], reply


def own(daemon: MemoryDaemon, writer: str, **more: Any) -> list[str]:
    reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": writer, **more}, "max")
    if not reply["ok"]:
        assert (reply["error"], reply["argument"]) == ("not_found", "writer"), reply
        return []
    rows = [row for file in reply["files"] for hunk in file.get("hunks", ()) for row in hunk["lines"]]
    return [row for row in rows if row[:1] != " "]


def only_anns(daemon: MemoryDaemon, rows: list[str]) -> None:
    for alone in ("", "apart"):
        assert (own(daemon, "ann", alone=alone), own(daemon, "max", alone=alone)) == (rows, []), alone


def renames(daemon: MemoryDaemon, writer: str, **more: Any) -> list[tuple[str, str]]:
    """The renames of a writer: (old name, new name)."""
    reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": writer, **more}, "max")
    return [(file["moved_from"], file["path"]) for file in reply.get("files", ()) if file.get("moved_from")]


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("more", [{}, {"alone": "apart"}, {"from": "seq:2"}])
def test_an_undo_and_a_redo_by_another_leave_a_rename_to_its_renamer(more: dict[str, str], edited: bool) -> None:
    daemon = with_head()
    daemon.move("f", "g", daemon.ann)
    undo(daemon, writer="ann")
    assert [renames(daemon, who, **more) for who in ("ann", "ben", "max")] == [[], [], []]
    if edited:
        daemon.write("f", ANNS, daemon.ben)
    undo(daemon, "redo")
    assert [renames(daemon, who, **more) for who in ("ann", "ben", "max")] == [[("f", "g")], [], []]
    undo(daemon, writer="ann")
    daemon.move("f", "g", daemon.ben)
    assert [renames(daemon, who, **more) for who in ("ann", "ben", "max")] == [[], [("f", "g")], []]


def test_a_rename_that_somebody_took_back_is_nobodys() -> None:
    daemon = with_head()
    daemon.move("f", "g", daemon.ben)
    undo(daemon, who="ann", writer="ben")
    assert [renames(daemon, who, alone=alone) for who in ("ann", "ben") for alone in ("", "apart")] == [[]] * 4
    daemon.move("f", "h", daemon.ann)
    assert [renames(daemon, who) for who in ("ann", "ben")] == [[("f", "h")], []]


def test_an_undo_and_a_redo_by_another_leave_a_line_to_its_author() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    undo(daemon, writer="ann")
    only_anns(daemon, [])
    undo(daemon, "redo")
    only_anns(daemon, LINE)


def test_a_removal_that_is_undone_and_redone_stays_its_authors() -> None:
    daemon = with_head()
    daemon.write("f", START.replace(b"b\n", b""), daemon.ann)
    undo(daemon, writer="ann")
    undo(daemon, "redo")
    only_anns(daemon, ["-b"])


@pytest.mark.parametrize(("typed", "rows"), [(b"ann's line\n", LINE), (b"", ["-b"])])
def test_a_redo_beside_work_that_came_meanwhile_leaves_the_change_to_its_author(typed: bytes, rows: list[str]) -> None:
    daemon = with_head()
    daemon.write("f", START.replace(b"b\n", typed), daemon.ann)
    undo(daemon, writer="ann")
    daemon.write("f", START.replace(b"h\n", b"ben's line\n"), daemon.ben)
    undo(daemon, "redo")
    only_anns(daemon, rows)
    assert own(daemon, "ben") == ["-h", "+ben's line"]


def test_a_stash_and_its_pop_leave_a_line_to_its_author() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    by_git(daemon, START)
    by_git(daemon, ANNS, "git stash pop")
    only_anns(daemon, LINE)
    assert own(daemon, "outside") == []


def test_a_pop_upon_a_new_commit_leaves_a_line_to_its_author() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    by_git(daemon, START)
    pulled = START.replace(b"h\n", b"pulled\n")
    by_git(daemon, pulled, "git pull")
    daemon.git_answers.trees[HEAD] = {"f": ("100644", pulled)}
    by_git(daemon, pulled.replace(b"b\n", b"ann's line\n"), "git stash pop")
    only_anns(daemon, LINE)


def test_an_undo_of_a_reset_leaves_a_line_to_its_author() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    by_git(daemon, START, "git reset: moving to HEAD")
    undo(daemon, git="last")
    only_anns(daemon, LINE)


def test_a_restored_line_is_its_authors() -> None:
    daemon = with_head()
    seq = daemon.write("f", ANNS, daemon.ann)
    daemon.outside("f", START)
    undo(daemon, "restore", path="f", at=f"v{seq}")
    only_anns(daemon, LINE)


def test_an_undo_of_what_is_committed_is_its_makers_change() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    daemon.git_answers.trees[HEAD] = {"f": ("100644", ANNS)}
    undo(daemon, writer="ann")
    assert own(daemon, "max", alone="apart") == ["-ann's line", "+b"]
    assert own(daemon, "ann") == []


def test_what_came_back_since_a_point_is_its_authors() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    undo(daemon, writer="ann")
    since = daemon.journal.head
    undo(daemon, "redo")
    for writer, rows in (("ann", LINE), ("max", [])):
        reply = daemon.ask("diff", {"from": f"seq:{since}", "writer": writer}, "max")
        assert [row for file in reply["files"] for row in file["hunks"][0]["lines"] if row[:1] != " "] == rows


def test_a_line_brought_back_counts_for_its_author() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    undo(daemon, writer="ann")
    undo(daemon, "redo")
    (file,) = daemon.ask("contributions", {"from": f"commit:{HEAD}", "lines": True}, "max")["files"]
    assert [(one["writer"]["agent"], one["lines"]) for one in file["writers"]] == [("ann", 1)]


def test_a_line_that_was_typed_again_is_not_the_first_ones_when_old_bytes_come_back() -> None:
    daemon = with_head()
    daemon.write("f", lines("a line"), daemon.ben)
    daemon.write("f", b"", daemon.ann)
    daemon.write("f", lines("another", "a line"), daemon.ann)
    daemon.outside("f", lines("a line"))
    assert "+a line" not in own(daemon, "ben")


texts = st.lists(
    st.sampled_from(["one line", "two line", "three line", "four line", "{", ""]), max_size=6, unique=True
).map(lambda said: lines(*said))
steps = st.lists(st.tuples(st.sampled_from(["ann", "ben", "git", "save", "undo", "redo"]), texts), max_size=9)


@given(steps)
def test_no_line_is_shown_as_the_work_of_somebody_whom_blame_does_not_name(script: list[tuple[str, bytes]]) -> None:
    daemon = with_head(lines("one line", "{", "two line"))
    for who, text in script:
        if who in ("undo", "redo"):
            daemon.ask(who, {"writer": "ann"} if who == "undo" else {}, "max")
        elif text == daemon.text("f"):
            continue
        elif who == "git":
            by_git(daemon, text)
        elif who == "save":
            daemon.outside("f", text)
        else:
            daemon.write("f", text, daemon.who(who))
    for who in ("ann", "ben"):
        told = daemon.ask("blame", {"path": "f", "writer": who}, "max")
        theirs = [line["text"] for line in told["lines"]] if told["ok"] else []
        rows = own(daemon, who)
        for row in rows:
            if row[:1] == "+" and f"-{row[1:]}" not in rows:  # else the line has another place now
                assert row[1:] in theirs, (who, row)
                theirs.remove(row[1:])


def others(daemon: MemoryDaemon, writer: str, alone: str = "apart") -> list[str]:
    (file,) = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": writer, "alone": alone}, "max")["files"]
    return list(file.get("others") or ())


def test_whoever_only_took_back_or_removed_for_a_time_is_no_other_writer() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    undo(daemon, writer="ann")
    undo(daemon, "redo")
    there = daemon.head_of("f")
    daemon.outside_deletes("f")
    undo(daemon, "restore", path="f", at=f"v{there}")
    assert others(daemon, "ann") == others(daemon, "ann", "") == []
    daemon.write("f", ANNS.replace(b"h\n", b"ben's line\n"), daemon.ben)
    assert others(daemon, "ann") == ["ben"]


@pytest.mark.parametrize("moved", [False, True])
def test_lines_of_a_new_file_rest_on_those_of_others_also_after_a_stash_was_taken_back(moved: bool) -> None:
    daemon = with_head()
    daemon.write("new", lines("1", "2", "3"), daemon.ben)
    daemon.write("new", lines("1", "2", "ann's", "3"), daemon.ann)

    def resting() -> list[Any]:
        reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": "ann", "alone": "apart"}, "max")
        return [(file["path"], file.get("resting"), file["others"]) for file in reply["files"]]

    before = resting()
    assert before == [("new", [{"start": 3, "end": 3}], ["ben"])]
    daemon.note(OutsideDeleted("new", "watched", daemon.head_of("new"), hint="git stash"))
    del daemon.files["new"]
    heads = "2" * 12 if moved else HEAD[:12]
    daemon.note(GitRan("stash -u", head_before=f"main {heads}", head_after=f"main {HEAD[:12]}"))
    undo(daemon, git="last")
    assert resting() == before


def test_whose_undo_stands_is_another_writer() -> None:
    daemon = with_head()
    daemon.write("f", ANNS, daemon.ann)
    daemon.git_answers.trees[HEAD] = {"f": ("100644", ANNS)}
    undo(daemon, writer="ann")
    daemon.write("f", START.replace(b"h\n", b"ann's new line\n"), daemon.ann)
    assert others(daemon, "ann") == ["max"]
