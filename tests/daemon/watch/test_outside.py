"""What others do to the tree is looked at until it is journaled: no disk that is full and no error loses any of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from outside_turns import Turns

from quire_daemon.watch.hints import FEW, Batch
from quire_daemon.watch.outside import AGAIN_S, BRIEF_S, MOST_NAMELESS, NAMELESS_S, UNFINISHED_S
from quire_daemon.workspace.types import FileBusy
from quire_journal.history.authorship import LOCK_HELD, LOCK_TAKEN
from quire_journal.model.events import OutsideDeleted, OutsideMoved, OutsideWritten
from quire_journal.model.ids import blob_id, disk_path
from quire_journal.model.records import JournalDamaged
from quire_journal.model.refusals import Refusal
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import ReadTransaction, StoreFailure

# ── a store that takes nothing ──


def test_outside_writes_during_a_full_disk_are_journaled_when_there_is_room(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    turns.told("b", "bee\n")
    turns.turns()
    assert [type(error) for error in turns.errors] == [StoreFailure]
    assert turns.texts("a") == []
    turns.turns(AGAIN_S)
    assert len(turns.errors) == 2, "it is tried once a second, not in each turn"
    turns.store.fault = None
    turns.turns(AGAIN_S)
    assert (turns.texts("a"), turns.texts("b")) == (["one\n"], ["bee\n"])
    turns.turns(10 * AGAIN_S)
    assert len(turns.errors) == 2


def test_a_file_written_again_meanwhile_is_journaled_with_its_last_bytes(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    turns.turns()
    turns.told("a", "two\n")
    turns.turns()
    turns.store.fault = None
    turns.turns(2 * AGAIN_S)
    assert turns.texts("a") == ["two\n"]


def test_nobody_waits_for_records_that_the_store_rejects(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    assert not turns.outside.idle()
    turns.turns()
    assert turns.outside.idle()
    turns.told("a", "two\n")
    assert not turns.outside.idle()


def test_a_first_capture_on_a_full_disk_is_repeated_when_there_is_room(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.full()
    turns.outside.scanner.open()
    turns.turns()
    assert turns.texts("a") == []
    turns.store.fault = None
    turns.turns(2 * AGAIN_S)
    assert turns.texts("a") == ["one\n"]
    assert turns.scans() == ["start"]


def test_a_comparison_forgets_the_rules_of_folders_that_are_gone(turns: Turns) -> None:
    """They come and go by the thousand where a build makes temporary ones."""
    turns.opened()
    for number in range(50):
        assert not turns.observer.ignore.ignored(f"build{number}/file", False)
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert turns.observer.ignore.at_hand == 1


def test_nobody_waits_while_the_folders_of_changed_rules_are_watched_anew(turns: Turns) -> None:
    """Of 2,000 folders that kept the loop for more than a second, as all that is known was then named one by one."""
    (turns.root / "sub").mkdir()
    for path in ("a", "b", "sub/c"):
        turns.write(path, "one\n")
    turns.opened()
    turns.clock.at_s += 1
    turns.write(".gitignore", "made\n")
    turns.write("sub/.gitignore", "made\n")
    turns.watcher.batches.append(Batch(dirty={".gitignore", "sub/.gitignore"}))
    turns.outside.look(turns.clock.at_s, hurried=True)
    assert turns.watcher.rewatched == 0
    assert not turns.outside.idle()  # who asks for the tree waits for what is not ignored any more
    turns.turns()
    assert turns.outside.idle()
    assert turns.watcher.rewatched == 1
    assert turns.scans() == ["start", "rules"]


def test_new_files_of_a_folder_that_hides_itself_are_not_captured(turns: Turns) -> None:
    """A cache's own rules come a moment after its first file, and both were told as saved."""
    turns.opened()
    turns.turns()
    (turns.root / "cache").mkdir()
    assert not turns.observer.ignore.ignored("cache/TAG", False)
    turns.write("cache/TAG", "made\n")
    turns.write("cache/.gitignore", "*\n")
    turns.watcher.batches.append(Batch(dirty={"cache/TAG", "cache/.gitignore"}))
    turns.turns()
    assert (turns.texts("cache/TAG"), turns.texts("cache/.gitignore")) == ([], [])


def test_a_new_file_that_gits_excludes_name_since_a_moment_is_not_captured(turns: Turns) -> None:
    turns.write("a", "one\n")
    (turns.root / ".git" / "info").mkdir(parents=True)
    turns.opened()
    turns.turns()
    (turns.root / ".git" / "info" / "exclude").write_text("*.log\n")
    turns.write("x.log", "noise\n")
    turns.write("b", "two\n")
    turns.watcher.batches.append(Batch(dirty={"x.log", "b"}))
    turns.turns()
    assert (turns.texts("x.log"), turns.texts("b")) == ([], ["two\n"])
    assert turns.scans() == ["start", "rules"]


def test_a_recorded_file_that_gits_excludes_name_is_ignored_for_the_next_call(turns: Turns) -> None:
    """No event tells of that file: it was listed as new until any other file changed."""
    (turns.root / ".git" / "info").mkdir(parents=True)
    turns.write("x.log", "noise\n")
    turns.opened()
    turns.outside.look_at_unwatched()
    assert turns.outside.idle()
    (turns.root / ".git" / "info" / "exclude").write_text("*.log\n")
    turns.outside.look_at_unwatched()
    assert not turns.outside.idle(), "whoever asked waits for the scan"
    turns.outside.look_at_unwatched()
    turns.turns()
    assert turns.outside.idle()
    with turns.recorder.history() as history:
        version = history.file("x.log")
    assert version is not None
    assert version.uncaptured == "ignored"
    assert turns.scans() == ["start", "rules"]


def test_an_unchanged_file_is_captured_once_the_settings_allow_it(turns: Turns) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"
    turns.write(".env", "plain\n")
    turns.write("code", f"{token}\n")
    turns.write("more.env", f"{token}\n")
    turns.clock.at_s += 10**9  # that they have not changed since is certain only long after
    turns.observer.ignore.tune((), (".env", "more.env"))
    turns.opened()
    assert (turns.texts(".env"), turns.texts("code")) == ([], [])
    turns.observer.ignore.tune((), ())
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert (turns.texts(".env"), turns.texts("code"), turns.texts("more.env")) == (["plain\n"], [], [])
    capture = msgspec.structs.replace(turns.in_force.now.capture, scan_secrets=False)
    turns.in_force.now = msgspec.structs.replace(turns.in_force.now, capture=capture)
    before = turns.observer.looks
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert (turns.texts("code"), turns.texts("more.env")) == ([f"{token}\n"], [f"{token}\n"])
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert turns.observer.looks == before + 2, "what is kept is not read again"


def test_a_call_during_the_first_capture_does_not_wait_for_changed_rules(turns: Turns) -> None:
    """It may take minutes, and replies say that it goes on."""
    turns.write("a", "one\n")
    turns.outside.scanner.open()
    turns.outside.scanner.scan("rules")
    assert turns.outside.idle()


def test_a_known_file_that_is_now_ignored_is_recorded_as_unwatched_only(turns: Turns) -> None:
    """A database that somebody ignores because it grows went into the journal with each comparison all the same."""
    turns.write("a.db", "one\n")
    turns.opened()

    def compare_with(rules: str) -> None:
        turns.write(".gitignore", rules)
        turns.observer.ignore.forget()
        turns.outside.scanner.scan("rules")
        turns.turns(1)

    turns.write("a.db", "two two\n")
    compare_with("*.db\n")
    turns.write("a.db", "three three three\n")
    turns.outside.scanner.scan("periodic")
    turns.turns(1)
    assert turns.texts("a.db") == ["one\n"]
    compare_with("")
    assert turns.texts("a.db") == ["one\n", "three three three\n"]
    (turns.root / "a.db").unlink()
    compare_with("*.db\n")
    with turns.recorder.history() as history:
        head = history.file("a.db")
    assert head is not None
    assert head.gone


def test_a_first_capture_that_meets_an_error_goes_on(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.observer.fails_ahead.append(JournalDamaged("a row cannot be read"))
    turns.outside.scanner.open()
    turns.turns(AGAIN_S)
    turns.turns(AGAIN_S)
    assert [str(error) for error in turns.errors] == ["a row cannot be read"]
    assert (turns.texts("a"), turns.outside.scanner.progress()["finished"]) == (["one\n"], True)


# ── a path that cannot be looked at ──


def test_observations_before_an_error_in_the_same_slice_are_journaled(turns: Turns) -> None:
    turns.opened()
    turns.told("a", "one\n")
    turns.told("bad", "none\n")
    turns.told("c", "three\n")
    turns.observer.refuses["bad"] = OSError(5, "Input/output error")
    turns.turn()
    assert turns.texts("a") == ["one\n"]
    turns.turns()
    assert turns.texts("c") == ["three\n"]
    assert len(turns.errors) == 1
    assert turns.outside.idle(), "nobody waits for it"
    turns.observer.refuses.clear()
    turns.turns(AGAIN_S)
    assert turns.texts("bad") == ["none\n"]


def test_hints_about_an_unreadable_folder_are_followed_once_it_is_readable(turns: Turns) -> None:
    """It was let go, and told by the next comparison, minutes later; and the coverage was full."""
    turns.opened()
    turns.observer.refuses["d/f"] = Refusal("permission_denied", "The disk does not allow it: d/f: Permission denied.")
    (turns.root / "d").mkdir()
    turns.told("d/f", "one\n")
    turns.turns()
    said = "1 path cannot be looked at; the first: The disk does not allow it: d/f: Permission denied."
    assert said in turns.outside.reasons()
    assert turns.outside.idle(), "nobody waits for it"
    turns.observer.refuses.clear()
    turns.turns(AGAIN_S)
    assert turns.texts("d/f") == ["one\n"]
    assert said not in turns.outside.reasons()


def test_a_path_that_can_never_be_looked_at_is_tried_more_and_more_seldom(turns: Turns) -> None:
    turns.opened()
    turns.observer.refuses["bad"] = OSError(5, "Input/output error")
    turns.told("bad", "none\n")
    for _ in range(600):
        turns.turn(1.0)
    assert 10 <= len(turns.errors) <= 20


def test_a_scan_ends_though_a_path_cannot_be_looked_at(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    turns.write("bad", "none\n")
    turns.observer.refuses["bad"] = OSError(5, "Input/output error")
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert turns.scans() == ["start", "rules"]
    assert turns.texts("a") == ["one\n"]


# ── files that stay open ──


def test_nobody_waits_for_a_file_that_a_program_keeps_open(turns: Turns) -> None:
    """What is in it is journaled as unfinished; it is looked at again until it is closed, which may be never."""
    turns.opened()
    with (turns.root / "log").open("w") as log:
        log.write("one\n")
        log.flush()
        turns.outside.name("log", "watched", turns.clock.at_s)
        turns.turns()
        if turns.texts("log"):
            pytest.skip("nothing here tells who has a file open")
        assert not turns.outside.idle()
        turns.turns(1.0)
        assert turns.texts("log") == ["one\n"]
        assert turns.outside.idle()
        log.write("two\n")
        log.flush()
        turns.outside.name("log", "watched", turns.clock.at_s)
        assert not turns.outside.idle(), "something has happened to it"
        turns.turns(UNFINISHED_S)
        assert turns.outside.idle()
    os.utime(turns.root / "log")
    turns.turns(AGAIN_S)
    assert turns.texts("log") == ["one\n", "one\ntwo\n"]


class Counting(MemoryStore):
    """A store that counts how often names are read."""

    names_read = 0

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        with super().reading() as r:
            yield _Counted(r, self)


class _Counted:
    def __init__(self, r: ReadTransaction, store: Counting) -> None:
        self._r, self._store = r, store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._r, name)

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        found = self._r.values(table, start, most)
        self._store.names_read += len(found) if table == "paths" else 0
        return found

    def scan(self, table: str, *args: Any, **named: Any) -> Iterator[tuple[bytes, bytes]]:
        for pair in self._r.scan(table, *args, **named):
            self._store.names_read += table == "paths"
            yield pair


def test_the_first_question_about_many_paths_after_a_start_finds_their_names_read(tmp_path: Path) -> None:
    before = Turns(tmp_path, Counting())
    before.write("a.txt", "a\n")
    before.opened().workspace.close()
    store = before.store
    assert isinstance(store, Counting)
    store.names_read = 0
    after = Turns(tmp_path, store)
    after.outside.scanner.open()
    read = store.names_read
    assert read
    with after.recorder.history() as history:
        assert list(history.path_numbers("all", lambda path: True)) == [1]
    assert store.names_read == read
    after.workspace.close()


def test_many_changed_folders_read_the_names_of_all_paths_once(tmp_path: Path) -> None:
    """The loop serves nobody meanwhile: a hundred new folders beside 20,000 files took it four seconds."""
    turns = Turns(tmp_path, Counting())
    (tmp_path / "old").mkdir()
    for number in range(30):
        turns.write(f"old/{number}", "text\n")
    turns.opened()
    assert isinstance(turns.store, Counting)
    turns.store.names_read = 0
    for number in range(30):
        (tmp_path / f"new{number}").mkdir()
        turns.write(f"new{number}/file", "text\n")
    (tmp_path / "old").rename(tmp_path / "elsewhere")
    folders = {"old", "elsewhere", *(f"new{number}" for number in range(30))}
    turns.watcher.batches.append(Batch(folders=folders))
    turns.turns()
    turns.turns(BRIEF_S)
    with turns.recorder.history() as history:
        standing = {path for path, head in history.paths() if not head.gone}
    expected = {f"elsewhere/{number}" for number in range(30)} | {f"new{number}/file" for number in range(30)}
    assert standing == expected
    assert turns.store.names_read < 200
    turns.workspace.close()


@pytest.mark.parametrize("others", [0, FEW])
@pytest.mark.parametrize("folder", ["gone", "g\udcff"])
def test_what_was_in_a_folder_that_went_is_known_whatever_it_was_called(turns: Turns, folder: str, others: int) -> None:
    for path in (f"{folder}/file", f"{folder}/\udcfe/file", f"{folder}-not/file", "file"):
        (turns.root / path).parent.mkdir(parents=True, exist_ok=True)
        turns.write(path, "text\n")
    turns.opened()
    (turns.root / folder).rename(turns.root.with_name(f"elsewhere-{folder}-{others}"))
    turns.watcher.batches.append(Batch(folders={folder, *map(str, range(others))}))
    turns.turns()
    turns.turns(BRIEF_S)
    with turns.recorder.history() as history:
        standing = {disk_path(path) for path, head in history.paths() if not head.gone}
    assert standing == {f"{folder}-not/file", "file"}


def test_a_file_that_is_written_to_all_the_time_is_looked_at_no_more_often_for_it(turns: Turns) -> None:
    """Each time that the watcher told of it was another reason to look at it again and again, until it was closed."""
    turns.opened()
    with (turns.root / "log").open("w") as log:
        for _ in range(30):
            log.write("one\n")
            log.flush()
            turns.outside.name("log", "watched", turns.clock.at_s)
            turns.turn(0.1)
        if not turns.outside.next_look_s(turns.clock.at_s) - turns.clock.at_s <= AGAIN_S:
            pytest.skip("nothing here tells who has a file open")
        before = turns.observer.looks
        for _ in range(10):
            turns.turns(AGAIN_S)
        assert turns.observer.looks - before <= 11


def test_a_rename_long_ago_explains_nothing_that_happens_now(turns: Turns) -> None:
    """Also while a file stays open: renames were remembered until nothing was to be looked at, which was never."""
    turns.opened()
    with (turns.root / "log").open("w") as log:
        log.write("one\n")
        log.flush()
        turns.told("log2", "")
        turns.outside.name("log", "watched", turns.clock.at_s)
        turns.turns(1.0)
        turns.told("a", "text\n")
        turns.turns()
        (turns.root / "a").rename(turns.root / "b")
        turns.watcher.batches.append(Batch(dirty={"a", "b"}, touched={"a", "b"}, moved=[("a", "b")]))
        turns.turns()
        (turns.root / "b").unlink()
        turns.told("a", "text\n")
        turns.outside.name("b", "watched", turns.clock.at_s)
        turns.turns()
        (turns.root / "a").unlink()
        turns.outside.name("a", "watched", turns.clock.at_s)
        turns.told("b", "text\n")
        turns.turns()
    assert len([event for event in turns.events() if isinstance(event, OutsideMoved)]) == 1


def test_a_file_that_a_program_removes_and_writes_anew_has_one_more_version(turns: Turns) -> None:
    """Git does so with each file that it changes: seen in between, it was deleted, and all of its lines were new."""
    turns.told("a", "one\n")
    turns.opened()
    (turns.root / "a").unlink()
    turns.outside.name("a", "watched", turns.clock.at_s)
    turns.turns()
    assert not turns.outside.idle()
    turns.told("a", "one\ntwo\n")
    turns.turns()
    assert turns.texts("a") == ["one\n", "one\ntwo\n"]
    (turns.root / "a").unlink()
    turns.outside.name("a", "watched", turns.clock.at_s)
    turns.turns(BRIEF_S)
    turns.turns(BRIEF_S)
    kinds = [type(event) for event in turns.events() if isinstance(event, OutsideDeleted | OutsideWritten)]
    assert kinds == [OutsideWritten, OutsideWritten, OutsideDeleted]
    assert turns.outside.idle()


def test_a_file_replaced_by_a_folder_is_recorded_as_gone_before_the_content_of_the_folder(turns: Turns) -> None:
    """A reader of the log who does after it what it tells would find the file in the way."""
    turns.told("a", "one\n")
    turns.opened()
    (turns.root / "a").unlink()
    (turns.root / "a").mkdir()
    turns.write("a/b", "two\n")
    turns.watcher.batches.append(Batch(dirty={"a"}, folders={"a"}))
    turns.turns()
    turns.turns(BRIEF_S)
    told = [(type(e), e.path) for e in turns.events() if isinstance(e, OutsideDeleted | OutsideWritten)]
    assert told == [(OutsideWritten, "a"), (OutsideDeleted, "a"), (OutsideWritten, "a/b")]


@pytest.mark.parametrize(
    "told",
    [
        (Batch(folders={"old", "new"}, moved=[("old", "new")]),),
        (Batch(folders={"old"}), Batch(folders={"old"}, moved=[("old", "new")]), Batch(folders={"new"})),
    ],
)
def test_what_is_in_a_folder_that_is_renamed_moves_with_it(turns: Turns, told: tuple[Batch, ...]) -> None:
    """It was told as deleted, and as new once the folder was crawled: nobody had written any line of it before."""
    paths = ["a", *(f"old/{n}" for n in range(5)), "old/deep/a"]
    (turns.root / "old/deep").mkdir(parents=True)
    for path in paths:
        turns.told(path, f"text of {path}\n")
    turns.opened()
    begun = len(turns.events())
    (turns.root / "old").rename(turns.root / "new")
    for batch in told:
        turns.watcher.batches.append(batch)
        turns.turns()
    turns.turns(BRIEF_S)
    moved = [event for event in turns.events()[begun:] if isinstance(event, OutsideMoved)]
    assert {(event.path, event.to) for event in moved} == {(path, f"new{path[3:]}") for path in paths[1:]}
    assert len(moved) == len(turns.events()[begun:])


@pytest.mark.parametrize("locked", [True, False])
def test_what_is_in_a_folder_that_went_while_the_index_was_locked_is_gits(turns: Turns, locked: bool) -> None:
    """`git mv FOLDER` was a burst of other programs: its files have no events, and their times do not change."""
    (turns.root / "old").mkdir()
    for number in range(3):
        turns.told(f"old/{number}", f"text of {number}\n")
    turns.opened()
    begun = len(turns.events())
    (turns.root / "old").rename(turns.root / "new")
    folders = {"old", "new"}
    turns.watcher.batches.append(
        Batch(folders=folders, locked_folders=folders if locked else set(), moved=[("old", "new")])
    )
    turns.turns()
    turns.turns(NAMELESS_S)
    hints = [event.hint for event in turns.events()[begun:] if isinstance(event, OutsideMoved)]
    assert hints == [LOCK_HELD if locked else ""] * 3


def test_hints_during_a_failure_are_followed(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    turns.write(".quire.toml", "")
    turns.reloads.append(OSError(5, "Input/output error"))
    turns.watcher.batches.append(Batch(dirty={".quire.toml"}, touched={".quire.toml"}))
    turns.turns()
    assert len(turns.errors) == 1
    assert turns.texts("a") == ["one\n"]
    assert turns.scans() == ["start", "overflow"]


# ── requests that meet it first ──


@pytest.mark.parametrize("asked", ["a", "b"])
def test_a_rename_stays_a_rename_if_a_request_meets_one_end_first(turns: Turns, asked: str) -> None:
    """It was told as a deletion and a new file, and an undo did not find the one in the other."""
    turns.write("a", "one\n")
    turns.opened()
    (turns.root / "a").rename(turns.root / "b")
    turns.watcher.batches.append(Batch(dirty={"a", "b"}, moved=[("a", "b")]))
    assert turns.files.file(asked, writing=False).kind == ("file" if asked == "b" else "missing")
    turns.turns()
    assert [(e.path, e.to) for e in turns.events() if isinstance(e, OutsideMoved)] == [("a", "b")]
    assert not [e for e in turns.events() if isinstance(e, OutsideDeleted)]


def test_a_request_does_not_fail_for_an_error_in_other_hints(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    turns.observer.refuses["b"] = OSError(5, "Input/output error")
    turns.watcher.batches.append(Batch(dirty={"b"}))
    assert turns.files.file("a", writing=False).kind == "file"
    turns.turns(AGAIN_S)
    assert [str(error) for error in turns.errors] == ["[Errno 5] Input/output error"]


def test_the_attribution_learns_all_changes_before_the_first_is_noted(turns: Turns) -> None:
    expected: list[list[str]] = []
    turns.opened()
    turns.observer.expect = lambda paths: expected.append([*paths])
    turns.told("a", "one\n")
    turns.told("b", "bee\n")
    turns.turns()
    assert [sorted(paths) for paths in expected if paths] == [["a", "b"]]


# ── git, seen in the middle ──


@pytest.mark.parametrize(
    ("locked", "again", "told"),
    [({"a"}, {"a"}, LOCK_HELD), ({"a"}, set(), ""), (set(), {"a"}, "")],
    ids=["all of it", "and after it", "and before it"],
)
@pytest.mark.parametrize("hint", ["", LOCK_TAKEN])
def test_what_changed_only_while_the_index_was_locked_is_gits_however_late_it_is_looked_at(
    turns: Turns, locked: set[str], again: set[str], told: str, hint: str
) -> None:
    """`git stash apply` writes the index once more at its end, and what it had written before was a person's."""
    turns.opened()
    turns.observer.hint = lambda path, at_ns, exact: hint
    turns.write("a", "one\n")
    turns.observer.refuses["a"] = FileBusy("a")  # at the first look it is open
    for found in (locked, again):
        turns.watcher.batches.append(Batch(dirty={"a"}, touched={"a"}, locked=found))
        turns.turn()
    turns.observer.refuses.clear()
    turns.turns(NAMELESS_S)
    (written,) = [event for event in turns.events() if isinstance(event, OutsideWritten)]
    assert written.hint == told


@pytest.mark.parametrize("many", [False, True])
def test_what_git_wrote_waits_a_moment_for_the_name_of_its_command_unless_it_is_much(turns: Turns, many: bool) -> None:
    """Of `git stash; git checkout main; git stash pop` the last command was told as one of no file."""
    turns.opened()
    paths = [f"f{number}" for number in range(MOST_NAMELESS + 1 if many else 2)]
    for path in paths:
        turns.write(path, "one\n")
    turns.watcher.batches.append(Batch(dirty={*paths}, touched={*paths}, locked={*paths}))
    turns.turns()
    turns.observer.hint = lambda path, at_ns, exact: "git: stash pop (HEAD a 1 -> a 1)"
    turns.turns(NAMELESS_S)
    hints = [event.hint for event in turns.events() if isinstance(event, OutsideWritten)]
    assert hints[:1] == [LOCK_HELD if many else "git: stash pop (HEAD a 1 -> a 1)"]
    assert len(hints) == len(paths)


@pytest.mark.parametrize(
    ("unlocked", "again", "known"),
    [({"a"}, {"a"}, True), ({"a"}, set(), False), (set(), {"a"}, False)],
    ids=["none of it", "and after it", "and before it"],
)
@pytest.mark.parametrize(
    ("hint", "was_there"),
    [
        (LOCK_HELD, False),
        ("git: checkout: moving from a to b (HEAD a 1 -> b 2)", False),
        ("git: stash (HEAD a 1 -> a 1)", False),
        ("git: stash pop (HEAD a 1 -> a 1)", False),
        ("git: stash pop (HEAD a 1 -> a 1)", True),
    ],
)
def test_what_changed_only_while_the_index_was_not_locked_is_no_checkouts(
    turns: Turns, unlocked: set[str], again: set[str], known: bool, hint: str, was_there: bool
) -> None:
    """`git switch` and a save just after it have the same time, as clocks of files go by ticks. A stash brings back
    untracked files, which are new, without this lock.
    """
    if was_there:
        turns.write("a", "zero\n")
    turns.opened()
    turns.observer.hint = lambda path, at_ns, exact: hint
    turns.write("a", "one\n")
    turns.observer.refuses["a"] = FileBusy("a")  # at the first look it is open
    for found in (unlocked, again):
        turns.watcher.batches.append(Batch(dirty={"a"}, touched={"a"}, unlocked=found))
        turns.turn()
    turns.observer.refuses.clear()
    turns.turns(BRIEF_S)
    is_known = known and (was_there or not hint.startswith("git: stash pop"))
    *_, written = [event for event in turns.events() if isinstance(event, OutsideWritten)]
    assert (written.hint, written.unlocked) == ("" if is_known else hint, is_known)


@pytest.mark.parametrize("later", ["git: merge side: Fast-forward (HEAD main 1 -> main 2)", LOCK_TAKEN])
def test_new_bytes_at_the_moment_of_gits_lock_wait_for_head_to_tell_whose_they_are(turns: Turns, later: str) -> None:
    """A fast merge had written its first files before HEAD moved: they were saves of another program."""
    turns.opened()
    said = [LOCK_TAKEN]
    turns.observer.hint = lambda path, at_ns, exact: said[0]
    turns.told("a", "one\n")
    turns.turns()
    assert turns.texts("a") == []
    said[0] = later
    turns.turns(BRIEF_S)
    with turns.recorder.history() as history:
        (written,) = [event for one in history.records() if isinstance(event := one.event(), OutsideWritten)]
    assert written.hint == (later if later != LOCK_TAKEN else "")


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_rename_at_the_moment_of_gits_lock_is_a_move(turns: Turns, first: str) -> None:
    """`git mv` was told as a deletion by git and a new file of another program, as only the new one waited for HEAD."""
    turns.write("a", "one\n")
    turns.opened()
    turns.observer.hint = lambda path, at_ns, exact: LOCK_TAKEN
    turns.write("a", "one\ntwo\n")
    (turns.root / "a").rename(turns.root / "b")
    turns.outside.name(first, "watched", turns.clock.at_s)
    turns.watcher.batches.append(Batch(dirty={"a", "b"}, moved=[("a", "b")]))
    turns.turns()
    turns.turns(BRIEF_S)
    turns.turns(BRIEF_S)
    assert [(e.path, e.to) for e in turns.events() if isinstance(e, OutsideMoved)] == [("a", "b")]
    assert not [e for e in turns.events() if isinstance(e, OutsideDeleted)]
    assert turns.outside.idle()


def test_a_renamed_file_that_is_written_anew_at_once_is_still_a_move(turns: Turns) -> None:
    """`git mv a b && sed -i 1d b`: the new name could not be read at first, and was then recorded without the old."""
    turns.write("a", "one\ntwo\n")
    turns.opened()
    (turns.root / "a").rename(turns.root / "b")
    turns.observer.refuses["b"] = FileBusy("b")
    turns.watcher.batches.append(Batch(dirty={"a", "b"}, moved=[("a", "b")]))
    turns.turn()
    turns.observer.refuses.clear()
    turns.write("b.tmp", "two\n")
    (turns.root / "b.tmp").replace(turns.root / "b")
    turns.watcher.batches.append(Batch(dirty={"b", "b.tmp"}, touched={"b.tmp"}, moved=[("b.tmp", "b")]))
    turns.turn()
    turns.turns(BRIEF_S)
    (moved,) = [event for event in turns.events() if isinstance(event, OutsideMoved)]
    assert (moved.path, moved.to, moved.blob) == ("a", "b", blob_id(b"two\n"))
    assert not [event for event in turns.events() if isinstance(event, OutsideDeleted)]


def test_a_removal_and_a_new_file_at_the_moment_of_gits_lock_are_no_move(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    turns.observer.hint = lambda path, at_ns, exact: LOCK_TAKEN
    (turns.root / "a").unlink()
    turns.write("b", "one\n")
    turns.watcher.batches.append(Batch(dirty={"a", "b"}, touched={"a", "b"}))
    turns.turns()
    turns.turns(BRIEF_S)
    assert not [e for e in turns.events() if isinstance(e, OutsideMoved)]
    assert [e.path for e in turns.events() if isinstance(e, OutsideDeleted)] == ["a"]
