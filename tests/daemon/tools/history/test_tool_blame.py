"""`blame`: who wrote each line, as a reply tells it."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import BEGAN_NS, SECOND, MemoryDaemon, lines
from quire_daemon.tools.history.blame import BLAME_TOOL, MOST_LINES
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, UNDO_TOOL
from quire_journal.history.authorship import LOCK_HELD, CommitFile, CommitFileLines, CommitLine
from quire_journal.history.points import rfc3339
from quire_journal.model.events import CaptureFailed, CheckpointNamed, GitRan, OutsideWritten
from quire_journal.model.ids import blob_id


def seqs(reply: dict[str, Any]) -> list[int]:
    """The record of each line."""
    return [line["seq"] for line in reply["lines"]]


def test_every_line_names_its_record_its_writer_the_turn_and_the_time() -> None:
    daemon = MemoryDaemon()
    eve = daemon.introduce("eve", "s3", turn="t7")
    first = daemon.outside("f.txt", lines("one", "two"))
    second = daemon.write("f.txt", lines("one", "TWO", "three"), eve)
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f.txt")
    assert (reply["ok"], reply["path"], reply["version"], reply["lineCount"]) == (True, "f.txt", f"v{second}", 3)
    assert reply["message"] == "Lines 1-3 of 3 of f.txt come from 2 versions."
    one, two, three = reply["lines"]
    assert (one["line"], one["seq"], one["version"], one["text"]) == (1, first, f"v{first}", "one")
    assert (one["writer"]["id"], one["writer"]["type"], one["evidence"]) == ("outside", "outside", "watched")
    assert (two["line"], two["seq"], two["turn"], two["text"]) == (2, second, "t7", "TWO")
    assert (two["writer"]["agent"], two["writer"]["agent_session"], two["writer"]["type"]) == ("eve", "s3", "edit")
    assert two["at"] == rfc3339(BEGAN_NS + second * SECOND)
    assert "evidence" not in two
    assert {**two, "line": 3, "text": "three"} == three


@pytest.mark.parametrize(
    ("writer", "told", "message"),
    [
        ("ann", [1, 4], "Of lines 1-5 of 5 of f, ann wrote 2."),
        ("ben/s2", [2, 3], "Of lines 1-5 of 5 of f, ben/s2 wrote 2."),
        ("outside", [5], "Of lines 1-5 of 5 of f, outside wrote 1."),
        ("user", [], "Of lines 1-5 of 5 of f, user wrote none."),
        ("be", [], "Of lines 1-5 of 5 of f, be wrote none."),
    ],
)
def test_only_the_lines_of_one_writer_are_told_where_one_is_named(writer: str, told: list[int], message: str) -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("a", "b", "c"), daemon.ann)
    daemon.write("f", lines("a", "x", "y", "c"), daemon.ben)
    daemon.outside("f", lines("a", "x", "y", "c", "z"))
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f", writer=writer)
    assert (reply["message"], [line["line"] for line in reply["lines"]]) == (message, told)
    assert [line for run in reply["runs"] for line in range(run["start"], run["end"] + 1)] == told
    assert (reply["startLine"], reply["endLine"], "warnings" in reply) == (1, 5, writer == "be")


def test_neighbours_of_one_version_are_told_as_runs_too() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a", "b", "c", "d"), daemon.ann)
    second = daemon.write("f", lines("a", "x", "y", "c", "d"), daemon.ben)
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert [(r["start"], r["end"], r["seq"], r["writer"]["agent"]) for r in reply["runs"]] == [
        (1, 1, first, "ann"),
        (2, 3, second, "ben"),
        (4, 5, first, "ann"),
    ]


@pytest.mark.parametrize(
    ("start", "end", "told", "asked"),
    [
        (2, 3, [2, 3], (2, 3)),
        (0, 2, [1, 2], (1, 2)),
        (4, 99, [4, 5], (4, 5)),
        (4, None, [4, 5], (4, 5)),
        (9, None, [], (6, 5)),
        (3, 2, [], (3, 2)),
    ],
)
def test_some_lines_are_asked_for_and_clamped_to_the_file(
    start: int, end: int | None, told: list[int], asked: tuple[int, int]
) -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("a", "b", "c", "d", "e"), daemon.ann)
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f", start_line=start, end_line=end)
    assert [line["line"] for line in reply["lines"]] == told
    assert (reply["startLine"], reply["endLine"], reply["truncated"]) == (*asked, False)
    assert [n for r in reply["runs"] for n in range(r["start"], r["end"] + 1)] == told


def test_a_long_file_is_told_in_pages() -> None:
    daemon = MemoryDaemon()
    daemon.write("f", b"x\n" * (MOST_LINES + 5), daemon.ann)
    daemon.write("wide", lines(*["y" * 100_000] * 5), daemon.ann)
    for path, pages in (("f", 2), ("wide", 3)):
        told, at, calls = [], 1, 0
        while at:
            reply = daemon.call(BLAME_TOOL, daemon.ann, path=path, start_line=at)
            told += [line["line"] for line in reply["lines"]]
            at, calls = reply.get("next_line", 0), calls + 1
        assert told == list(range(1, reply["lineCount"] + 1))
        assert calls == pages


def test_any_point_will_do() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a"), daemon.ann)
    daemon.note(CheckpointNamed("here", daemon.journal.head), who=daemon.ann)
    second = daemon.write("f", lines("b"), daemon.ben)
    assert seqs(daemon.call(BLAME_TOOL, daemon.ann, path="f", at="here")) == [first]
    assert seqs(daemon.call(BLAME_TOOL, daemon.ann, path="f", at=f"v{first}")) == [first]
    assert seqs(daemon.call(BLAME_TOOL, daemon.ann, path="f")) == [second]
    assert daemon.call(BLAME_TOOL, daemon.ann, path="f", at="seq:1")["error"] == "not_found"
    assert daemon.call(BLAME_TOOL, daemon.ann, path="f", at="seq:999")["error"] == "not_found"


def test_a_file_that_was_removed_is_blamed_at_a_point_when_it_was_there() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a"), daemon.ann)
    daemon.delete("f", daemon.ben)
    refused = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert refused["error"] == "not_found"
    assert "removed by ben/s2 at " in refused["message"]
    assert seqs(daemon.call(BLAME_TOOL, daemon.ann, path="f", at=f"v{first}")) == [first]


def test_former_names_are_told() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a"), daemon.ann)
    daemon.move("f", "g", daemon.ben)
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="g")
    assert (seqs(reply), reply["names"]) == ([first], ["f", "g"])
    assert daemon.call(BLAME_TOOL, daemon.ann, path="f")["error"] == "not_found"


def test_what_an_undo_brings_back_is_its_authors_and_the_undo_is_told() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a", "b"), daemon.ann)
    daemon.write("f", lines("a", "B"), daemon.ben)
    undone = daemon.call(UNDO_TOOL, daemon.ben)["batch"]
    kept, back = daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"]
    assert (kept["seq"], back["seq"], back["writer"]["agent"]) == (first, first, "ann")
    assert ("brought" in kept, back["brought"]["version"], back["brought"]["by"]) == (False, f"v{undone}", "undo")
    assert back["brought"]["writer"] == "ben/s2"


def test_a_redo_makes_nobody_else_an_author() -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("a", "b"), daemon.ann)
    second = daemon.write("f", lines("a", "B"), daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ben)
    daemon.call(REDO_TOOL, daemon.ben)
    _, back = daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"]
    assert (back["seq"], back["brought"]["by"]) == (second, "redo")


def test_a_restore_brings_back_the_version_of_its_point_and_not_a_later_one_with_the_same_bytes() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a"), daemon.ann)
    daemon.write("f", lines("b"), daemon.ann)
    typed_again = daemon.write("f", lines("a"), daemon.ben)
    daemon.write("f", lines("c"), daemon.ann)
    for point, author in ((first, "ann"), (typed_again, "ben")):
        assert daemon.call(RESTORE_TOOL, daemon.ann, path="f", at=f"v{point}")["ok"]
        (line,) = daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"]
        assert (line["seq"], line["writer"]["agent"], line["brought"]["by"]) == (point, author, "restore")
        daemon.write("f", lines("d"), daemon.ann)


def git_brings(daemon: MemoryDaemon, path: str, data: bytes, hint: str = "git checkout side (pid 7)") -> int:
    """A git command writes."""
    daemon.files[path] = data
    return daemon.note(OutsideWritten(path, blob_id(data), len(data), 0o644, "watched", hint=hint), blobs=(data,))


def test_a_checkout_there_and_back_makes_git_nobodys_author() -> None:
    daemon = MemoryDaemon()
    first = daemon.write("f", lines("a", "b"), daemon.ann)
    second = daemon.write("f", lines("a", "B"), daemon.ben)
    git_brings(daemon, "f", lines("a", "b"))
    back = git_brings(daemon, "f", lines("a", "B"), "git: checkout: moving from side to main (HEAD side 1 -> main 2)")
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert seqs(reply) == [first, second]
    assert reply["lines"][1]["brought"]["by"] == "git checkout"
    assert reply["lines"][1]["brought"]["version"] == f"v{back}"


def first_look(daemon: MemoryDaemon, path: str, data: bytes) -> int:
    """The journal sees a file for the first time."""
    daemon.files[path] = data
    return daemon.note(OutsideWritten(path, blob_id(data), len(data), 0o644, "captured"), blobs=(data,))


MAX = CommitLine("1a2b3c4d" * 5, "Max", "2025-03-01T10:00:00+01:00")
MIA = CommitLine("9f8e7d6c" * 5, "Mia", "2025-04-02T10:00:00+00:00")


def test_lines_that_were_only_met_are_those_of_the_commits_and_what_is_not_committed_stays_outside() -> None:
    daemon = MemoryDaemon()
    met = first_look(daemon, "f", lines("one", "two", "not committed"))
    typed = daemon.write("f", lines("zero", "one", "two", "not committed"), daemon.ann)
    daemon.git_answers.of["f"] = CommitFileLines(b"one\ntwo\ngone\n", (MAX, MIA), (0, 1, 0))
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert seqs(reply) == [typed, met, met, met]
    assert [line.get("commit", {}).get("author") for line in reply["lines"]] == [None, "Max", "Mia", None]
    assert reply["message"] == "Lines 1-4 of 4 of f come from 2 versions and 2 commits."
    assert len(daemon.git_answers.asked) == 1
    daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert len(daemon.git_answers.asked) == 1, "the answer is kept"


def test_after_two_seconds_commit_authors_are_pending_and_a_later_question_gets_them() -> None:
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one"))
    daemon.git_answers.of["f"] = CommitFileLines(b"one\n", (MAX,), (0,))
    daemon.git_answers.slow = True
    began_s = daemon.clock.mono_s()
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert 2.0 <= daemon.clock.mono_s() - began_s < 2.5
    assert reply["lines"][0]["commit_pending"] is True
    assert reply["message"].endswith("; the commit authors of 1 line are pending, ask again.")
    daemon.git_answers.answer()
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert ("commit_pending" in reply["lines"][0], reply["lines"][0]["commit"]["author"]) == (False, "Max")
    assert len(daemon.git_answers.asked) == 1


def test_nobody_waits_for_git_about_lines_that_are_not_asked_for() -> None:
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one"))
    daemon.write("f", lines("one", "two"), daemon.ann)
    daemon.git_answers.slow = True
    began_s = daemon.clock.mono_s()
    daemon.call(BLAME_TOOL, daemon.ann, path="f", start_line=2)
    assert daemon.clock.mono_s() - began_s < 1.0
    assert not daemon.git_answers.asked


def test_lines_of_a_commit_are_nobodys_who_wrote_here_and_a_person_is_told_what_nobody_claims() -> None:
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one", "two"))
    daemon.git_answers.of["f"] = CommitFileLines(b"one\n", (MAX,), (0,))
    daemon.write("f", lines("one", "two", "ann's"), daemon.ann)
    daemon.outside("f", lines("one", "two", "ann's", "saved"))
    user = daemon.introduce("", "")
    daemon.write("f", lines("one", "two", "ann's", "saved", "the user's"), user)
    for writer, told in (("ann", [3]), ("outside", [2, 4]), ("me", [4, 5]), ("user", [5])):
        reply = daemon.call(BLAME_TOOL, daemon.ann, path="f", writer=writer)
        assert [line["line"] for line in reply["lines"]] == told
    shown = daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"]
    assert [line.get("unclaimed", False) for line in shown] == [False, False, False, True, False]


def test_git_is_asked_about_the_commit_to_which_it_went() -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("one"), daemon.ann)
    at_ns = daemon.now_ns
    ran = GitRan("pull", ended_ns=at_ns, head_before="main 111111111111", head_after="main 222222222222")
    daemon.note(ran)
    git_brings(daemon, "f", lines("one", "theirs"), "git pull (pid 7)")
    daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert daemon.git_answers.asked == [CommitFile("f", "222222222222")]


MOVE = "git: {} (HEAD main 1 -> main 1)"


@pytest.mark.parametrize(("hint", "ran"), [(MOVE, True), (MOVE, False), (LOCK_HELD, True), ("", True)])
@pytest.mark.parametrize("command", ["merge 2222222", "merge --squash 2222222", "cherry-pick: 2222222"])
def test_a_line_of_a_commit_whose_merge_is_not_committed_is_that_commits(command: str, hint: str, ran: bool) -> None:
    """Only HEAD was asked for, which lacks the other side. A write as git took its lock has no hint."""
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one", "two"))
    at_ns = daemon.now_ns
    git_brings(daemon, "f", lines("one", "two", "theirs"), hint.format(command))
    if ran:  # the command is recorded after its writes
        daemon.note(GitRan(command, ended_ns=at_ns, evidence="head"))
    head = CommitFileLines(b"one\ntwo\n", (MAX,), (0, 0))
    theirs = CommitFileLines(b"one\ntwo\ntheirs\n", (MIA,), (0, 0, 0))
    daemon.git_answers.at = {"": head, "2222222": theirs}
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert [line["commit"]["author"] for line in reply["lines"]] == ["Max", "Max", "Mia"]


def test_a_line_of_a_branch_whose_merge_was_heard_is_its_commits() -> None:
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one"))
    at_ns = daemon.now_ns
    git_brings(daemon, "f", lines("one", "theirs"), "git pull o main (pid 7)")
    daemon.note(GitRan("pull o main", ended_ns=at_ns, merged="222222222222"))
    daemon.git_answers.at = {"222222222222": CommitFileLines(b"one\ntheirs\n", (MIA,), (0, 0))}
    assert daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"][1]["commit"]["author"] == "Mia"


def test_a_write_beside_that_of_a_merge_is_the_merges_before_the_command_is_recorded() -> None:
    daemon = MemoryDaemon()
    daemon.note(GitRan("checkout: moving from a to main", ended_ns=daemon.now_ns, evidence="head", head_after="main 1"))
    first_look(daemon, "f", lines("one"))
    git_brings(daemon, "f", lines("one", "theirs"), hint=LOCK_HELD)
    daemon.now_ns -= SECOND
    git_brings(daemon, "g", lines("theirs"), hint=MOVE.format("merge 2222222"))
    daemon.git_answers.at = {"2222222": CommitFileLines(b"one\ntheirs\n", (MIA,), (0, 0))}
    assert daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"][1]["commit"]["author"] == "Mia"


def test_a_save_a_second_before_a_merge_is_not_the_merges() -> None:
    daemon = MemoryDaemon()
    first_look(daemon, "f", lines("one"))
    at_ns = daemon.now_ns
    git_brings(daemon, "f", lines("one", "saved"), hint="")
    daemon.note(GitRan("merge 2222222", ended_ns=at_ns + SECOND, evidence="head"))
    daemon.git_answers.at = {"2222222": CommitFileLines(b"one\nsaved\n", (MIA,), (0, 0))}
    assert "commit" not in daemon.call(BLAME_TOOL, daemon.ann, path="f")["lines"][1]


def test_what_was_not_captured_is_said() -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("a"), daemon.ann)
    failed = daemon.note(CaptureFailed("f", "too_large", 1 << 40))
    after = daemon.outside("f", lines("a", "b"))
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert reply["gaps"] == [{"version": f"v{failed}", "why": "too_large", "attributed_to": f"v{after}"}]
    assert f"beyond v{after} nothing is known (too_large)" in reply["message"]
    assert seqs(reply) == [after, after]


def test_what_has_no_lines_is_refused() -> None:
    daemon = MemoryDaemon()
    daemon.outside("b", b"\0\1\2")
    assert daemon.call(BLAME_TOOL, daemon.ann, path="b")["error"] == "binary_file"
    daemon.files[".env"] = b"TOKEN=1\n"
    daemon.note(CaptureFailed(".env", "secret", 8))
    refused = daemon.call(BLAME_TOOL, daemon.ann, path=".env")
    assert (refused["error"], refused["why"]) == ("uncaptured", "secret")
    daemon.outside("big", b"x" * (9 << 20))
    assert daemon.call(BLAME_TOOL, daemon.ann, path="big")["error"] == "file_too_large"
    assert daemon.call(BLAME_TOOL, daemon.ann, path="never")["error"] == "not_found"


def test_bytes_that_are_not_utf8_are_shown_and_said_to_be_lossy() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f", b"caf\xe9\nplain\n")
    reply = daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert (reply["lines"][0]["text"], reply["lossy"]) == ("caf\ufffd", True)
    assert "lossy" not in daemon.call(BLAME_TOOL, daemon.ann, path="f", start_line=2)


def test_who_read_the_file_hears_of_changes_and_a_blame_is_no_reading() -> None:
    daemon = MemoryDaemon()
    daemon.write("f", lines("a"), daemon.ann)
    daemon.call(READ_TOOL, daemon.ann, path="f")
    head = daemon.write("f", lines("b"), daemon.ben)
    for _ in range(2):
        assert "changed_since_your_read" in daemon.call(BLAME_TOOL, daemon.ann, path="f")
    assert daemon.journal.head == head


def test_a_line_of_both_sides_of_a_conflict_is_its_authors_on_each() -> None:
    """Git removes the file at a checkout and writes it; the removal alone was taken for the state of the branch."""
    daemon = MemoryDaemon()
    daemon.write("f", lines("one", "two", "three of cat", "four", "five"), daemon.introduce("cat", "s3"))
    daemon.write("f", lines("one", "two of ann", "three of cat", "four of ann", "five"), daemon.ann)
    daemon.by_git("git: index.lock was held", f=None)
    hint = f"git: checkout: moving from side to main (HEAD side {'a' * 12} -> main {'b' * 12})"
    daemon.by_git(hint, f=lines("one", "two", "three of cat", "four", "five"))
    heads = {"head_before": f"side {'a' * 12}", "head_after": f"main {'b' * 12}"}
    daemon.note(GitRan("checkout: moving from side to main", ended_ns=daemon.now_ns, evidence="head", **heads))
    ours = ("two of ben", "three of cat", "four of ben")
    daemon.write("f", lines("one", *ours, "five"), daemon.introduce("ben", "s2"))
    daemon.after(60)
    theirs = ("two of ann", "three of cat", "four of ann")
    daemon.by_git(
        "git: merge aaaaaaa",
        f=lines("one", "<<<<<<< HEAD", *ours, "=======", *theirs, ">>>>>>> side", "five"),
    )
    daemon.note(GitRan("merge aaaaaaa", ended_ns=daemon.now_ns, evidence="head"))
    told = daemon.ask("blame", {"path": "f"}, "max")
    writers = [line["writer"]["agent"] or "outside" for line in told["lines"]]
    assert writers[1:-1] == ["outside", "ben", "cat", "ben", "outside", "ann", "cat", "ann", "outside"]


@pytest.mark.parametrize(("after_ns", "by"), [(0, "git stash pop"), (5 * SECOND, "another program")])
def test_an_untracked_file_that_a_stash_restored_is_back_by_it(after_ns: int, by: str) -> None:
    """Git restores untracked files before it is seen to run."""
    daemon = MemoryDaemon()
    daemon.write("f", lines("some words of ann"), daemon.ann)
    daemon.by_git("git stash", f=None)
    daemon.by_git("", f=lines("some words of ann"))
    daemon.note(GitRan("stash pop", ended_ns=daemon.now_ns + after_ns, evidence="head"))
    (line,) = daemon.ask("blame", {"path": "f"}, "max")["lines"]
    assert line["brought"]["by"] == by
