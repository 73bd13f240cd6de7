"""What others do to the tree is looked at until it is journaled: no disk that is full and no error loses any of it.

In turns, as in the daemon, but with a clock, a watcher and long work that do what a test says, and a journal in memory.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from in_turn import JobsInTurn

from quire_daemon.ahead import ReadAhead
from quire_daemon.config import Settings
from quire_daemon.gather import Gather, Observation
from quire_daemon.ignore import Ignore
from quire_daemon.in_force import InForce
from quire_daemon.linked import REST
from quire_daemon.mounts import Mounts
from quire_daemon.noticed import FEW, Batch
from quire_daemon.outside import AGAIN_S, UNFINISHED_S, Outside
from quire_daemon.recorder import Recorder
from quire_daemon.scanning import FIRST_S, TRY_AGAIN_S
from quire_daemon.watcher import Watcher
from quire_daemon.workspace import Look, Workspace
from quire_journal.events import FileWritten, OutsideDeleted, OutsideMoved, OutsideWritten, WorkspaceScanned
from quire_journal.ids import WriterId, blob_id, disk_path
from quire_journal.journal import Journal
from quire_journal.log import Damaged, Reading, StoreFailed
from quire_journal.refusals import Refused
from quire_journal.stores.memory import MemoryStore

BEGAN_NS = 1_700_000_000 * 10**9


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def mono_s(self) -> float:
        return self.at_s

    def now_ns(self) -> int:
        return BEGAN_NS + int(self.at_s * 1e9)


class Choosy(Gather):
    """A gather that some paths cannot be looked at with, as when a disk cannot read them."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.refuses: dict[str, Exception] = {}
        self.looks = 0
        self.fails_ahead: list[Exception] = []  # with which what was read ahead cannot be noted

    def note_ahead(self, found: Iterable[ReadAhead], evidence: str) -> list[str]:
        if self.fails_ahead:
            raise self.fails_ahead.pop()
        return super().note_ahead(found, evidence)

    def observe(
        self, path: str, evidence: str, unfinished_ok: bool = False, named_ns: int = 0, look: Look | None = None
    ) -> Observation:
        self.looks += 1
        if path in self.refuses:
            raise self.refuses[path]
        return super().observe(path, evidence, unfinished_ok, named_ns, look)


class Telling(Watcher):
    """A watcher that tells of what a test says."""

    def __init__(self, root: Path, ignore: Ignore) -> None:
        super().__init__(root, ignore.ignored, lambda: None)
        self.batches: list[Batch] = []
        self.rewatched = 0

    def rewatch(self) -> None:
        self.rewatched += 1

    def has_news(self) -> bool:
        return bool(self.batches)

    def drain(self) -> Batch:
        return self.batches.pop(0)


class Turns:
    """A daemon's turns over a checkout, as far as they are about what others do."""

    def __init__(self, root: Path, store: MemoryStore | None = None, scan_minutes: float = 0.0) -> None:
        self.root, self.clock, self.store = root, Hands(), store or MemoryStore()
        self.workspace = Workspace(root)
        self.recorder = Recorder(Journal.open(self.store, BEGAN_NS), self.clock)
        ignore, self.in_force = Ignore(root), InForce(Settings())
        self.gather = Choosy(self.workspace, self.recorder, ignore, self.in_force)
        self.set(scan_minutes)
        self.errors: list[Exception] = []
        self.reloads: list[Exception] = []  # with which the settings cannot be read again
        self.jobs = JobsInTurn(self.guarded)
        self.watcher = Telling(root, ignore)
        self.outside = Outside(self.gather, self.watcher, self.jobs.start, self._reload)

    def _reload(self) -> None:
        if self.reloads:
            raise self.reloads.pop()

    def set(self, scan_minutes: float) -> None:
        """The settings say that the tree is compared so often."""
        settings = self.in_force.now
        capture = msgspec.structs.replace(settings.capture, scan_minutes=scan_minutes)
        self.in_force.now = msgspec.structs.replace(settings, capture=capture)

    def guarded(self, what: str, act: Callable[[], None]) -> None:
        """As `App`: an error of background work is told, and ends nothing."""
        try:
            act()
        except Exception as error:  # noqa: BLE001
            self.errors.append(error)

    def turn(self, later_s: float = 0.0) -> None:
        """One turn, so much later."""
        self.clock.at_s += later_s
        self.jobs.take_results()
        self.guarded("outside", lambda: self.outside.look(self.clock.at_s, hurried=False))
        if self.recorder.waiting and self.store.fault is None:
            self.recorder.commit()

    def turns(self, later_s: float = 0.0) -> None:
        """So many that everything is through that needs no waiting."""
        self.turn(later_s)
        for _ in range(6):
            self.turn()

    def opened(self) -> Turns:
        """With the first capture behind it."""
        self.outside.scanning.open()
        self.turns()
        assert self.outside.scanning.progress()["finished"]
        return self

    def write(self, path: str, text: str) -> None:
        """Another program writes a file, and nobody tells of it."""
        (self.root / path).write_text(text)

    def told(self, path: str, text: str) -> None:
        """Another program writes a file, and the watcher tells of it."""
        self.write(path, text)
        self.outside.name(path, "watched", self.clock.at_s)

    def full(self) -> None:
        """The disk takes nothing from now on."""

        def fault() -> None:
            raise StoreFailed("the disk is full", disk_full=True)

        self.store.fault = fault

    def texts(self, path: str) -> list[str]:
        """Every version of the file whose bytes the journal has."""
        with self.recorder.history() as history:
            held = [v.blob for v in history.versions(path) if not (v.gone or v.uncaptured)]
            return [history.text_of(blob).data.decode() for blob in held]

    def scans(self) -> list[str]:
        """The reasons of the comparisons in the log."""
        return [e.reason for e in self.events() if isinstance(e, WorkspaceScanned)]

    def events(self) -> list[object]:
        with self.recorder.history() as history:
            return [record.event() for record in history.records()]

    def waits_s(self) -> float:
        """How long the loop may sleep."""
        return self.outside.next_look_s(self.clock.at_s) - self.clock.at_s


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    one = Turns(tmp_path)
    yield one
    one.workspace.close()


# ── a store that takes nothing ──


def test_what_others_write_while_the_disk_is_full_is_journaled_when_it_takes_again(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    turns.told("b", "bee\n")
    turns.turns()
    assert [type(error) for error in turns.errors] == [StoreFailed]
    assert turns.texts("a") == []
    turns.turns(AGAIN_S)
    assert len(turns.errors) == 2, "it is tried once a second, not in each turn"
    turns.store.fault = None
    turns.turns(AGAIN_S)
    assert (turns.texts("a"), turns.texts("b")) == (["one\n"], ["bee\n"])
    turns.turns(10 * AGAIN_S)
    assert len(turns.errors) == 2


def test_what_is_written_again_meanwhile_is_journaled_as_it_is_at_last(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    turns.turns()
    turns.told("a", "two\n")
    turns.turns()
    turns.store.fault = None
    turns.turns(2 * AGAIN_S)
    assert turns.texts("a") == ["two\n"]


def test_nobody_waits_for_what_the_store_does_not_take(turns: Turns) -> None:
    turns.opened()
    turns.full()
    turns.told("a", "one\n")
    assert not turns.outside.idle()
    turns.turns()
    assert turns.outside.idle()
    turns.told("a", "two\n")
    assert not turns.outside.idle()


def test_a_first_capture_that_the_disk_does_not_take_is_made_when_it_takes_again(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.full()
    turns.outside.scanning.open()
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
        assert not turns.gather.ignore.ignored(f"build{number}/file", False)
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert turns.gather.ignore.at_hand == 1


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


def test_what_the_settings_kept_out_is_kept_when_they_allow_it_though_the_file_has_not_changed(turns: Turns) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"
    turns.write(".env", "plain\n")
    turns.write("code", f"{token}\n")
    turns.write("more.env", f"{token}\n")
    turns.clock.at_s += 10**9  # that they have not changed since is certain only long after
    turns.gather.ignore.tune((), (".env", "more.env"))
    turns.opened()
    assert (turns.texts(".env"), turns.texts("code")) == ([], [])
    turns.gather.ignore.tune((), ())
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert (turns.texts(".env"), turns.texts("code"), turns.texts("more.env")) == (["plain\n"], [], [])
    capture = msgspec.structs.replace(turns.in_force.now.capture, scan_secrets=False)
    turns.in_force.now = msgspec.structs.replace(turns.in_force.now, capture=capture)
    before = turns.gather.looks
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert (turns.texts("code"), turns.texts("more.env")) == ([f"{token}\n"], [f"{token}\n"])
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert turns.gather.looks == before + 2, "what is kept is not read again"


def test_who_asks_during_a_first_capture_waits_for_no_change_of_the_rules(turns: Turns) -> None:
    """It may take minutes, and replies say that it goes on."""
    turns.write("a", "one\n")
    turns.outside.scanning.open()
    turns.outside.scanning.scan("rules")
    assert turns.outside.idle()


def test_of_a_known_file_that_is_ignored_by_now_only_its_end_is_told(turns: Turns) -> None:
    """A database that somebody ignores because it grows went into the journal with each comparison all the same."""
    turns.write("a.db", "one\n")
    turns.opened()

    def compare_with(rules: str) -> None:
        turns.write(".gitignore", rules)
        turns.gather.ignore.forget()
        turns.outside.scanning.scan("rules")
        turns.turns(1)

    turns.write("a.db", "two two\n")
    compare_with("*.db\n")
    turns.write("a.db", "three three three\n")
    turns.outside.scanning.scan("periodic")
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
    turns.gather.fails_ahead.append(Damaged("a row cannot be read"))
    turns.outside.scanning.open()
    turns.turns(AGAIN_S)
    turns.turns(AGAIN_S)
    assert [str(error) for error in turns.errors] == ["a row cannot be read"]
    assert (turns.texts("a"), turns.outside.scanning.progress()["finished"]) == (["one\n"], True)


# ── a path that cannot be looked at ──


def test_what_was_seen_before_an_error_in_the_same_slice_is_journaled(turns: Turns) -> None:
    turns.opened()
    turns.told("a", "one\n")
    turns.told("bad", "none\n")
    turns.told("c", "three\n")
    turns.gather.refuses["bad"] = OSError(5, "Input/output error")
    turns.turn()
    assert turns.texts("a") == ["one\n"]
    turns.turns()
    assert turns.texts("c") == ["three\n"]
    assert len(turns.errors) == 1
    assert turns.outside.idle(), "nobody waits for it"
    turns.gather.refuses.clear()
    turns.turns(AGAIN_S)
    assert turns.texts("bad") == ["none\n"]


def test_what_was_told_of_a_folder_that_was_closed_to_us_is_looked_at_when_it_is_open(turns: Turns) -> None:
    """It was let go, and told by the next comparison, minutes later; and the coverage was full."""
    turns.opened()
    turns.gather.refuses["d/f"] = Refused("permission_denied", "The disk does not allow it: d/f: Permission denied.")
    (turns.root / "d").mkdir()
    turns.told("d/f", "one\n")
    turns.turns()
    said = "1 path cannot be looked at; the first: The disk does not allow it: d/f: Permission denied."
    assert said in turns.outside.reasons()
    assert turns.outside.idle(), "nobody waits for it"
    turns.gather.refuses.clear()
    turns.turns(AGAIN_S)
    assert turns.texts("d/f") == ["one\n"]
    assert said not in turns.outside.reasons()


def test_a_path_that_can_never_be_looked_at_is_tried_more_and_more_seldom(turns: Turns) -> None:
    turns.opened()
    turns.gather.refuses["bad"] = OSError(5, "Input/output error")
    turns.told("bad", "none\n")
    for _ in range(600):
        turns.turn(1.0)
    assert 10 <= len(turns.errors) <= 20


def test_a_scan_ends_though_a_path_cannot_be_looked_at(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    turns.write("bad", "none\n")
    turns.gather.refuses["bad"] = OSError(5, "Input/output error")
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert turns.scans() == ["start", "rules"]
    assert turns.texts("a") == ["one\n"]


# ── comparisons ──


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), StoreFailed("the disk is full", disk_full=True)])
def test_a_comparison_that_breaks_off_is_made_again(turns: Turns, error: Exception) -> None:
    """Also where the settings want none by themselves."""
    turns.opened()
    turns.write("a", "one\n")
    turns.jobs.fails["scan"] = error
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert turns.errors == [error]
    assert 0 < turns.waits_s() <= TRY_AGAIN_S
    turns.turns(TRY_AGAIN_S)
    assert turns.texts("a") == ["one\n"]
    assert turns.scans() == ["start", "rules"]


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Within the block so many more can be opened, and no file then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(more + 1)]
    for fd in free:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[more], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("more", range(5))
def test_for_want_of_descriptors_nothing_is_taken_for_looked_at_nor_for_rules_that_are_not_there(
    turns: Turns, more: int
) -> None:
    """The first capture was told as finished, with nothing in it, and the coverage as full."""
    turns.write(".gitignore", "ignored\n")
    for folder in ("a", "b", "ignored"):
        (turns.root / folder).mkdir()
        turns.write(f"{folder}/f", "one\n")
    with few_descriptors(more):
        turns.outside.scanning.open()
        turns.turns()
        assert turns.outside.scanning.progress()["captured"] is (more == 4), "so many are enough"
        assert any("Too many open files" in reason for reason in turns.outside.reasons()) is (more < 4)
        assert bool(turns.outside.scanning.progress()["waits_for"]) is (more < 4)
    turns.turns(2 * TRY_AGAIN_S)
    turns.turns(2 * TRY_AGAIN_S)
    assert [turns.texts(f"{folder}/f") for folder in ("a", "b", "ignored")] == [["one\n"], ["one\n"], []]
    assert turns.outside.scanning.progress()["finished"]
    assert not any("broke off" in reason for reason in turns.outside.reasons())


def test_a_first_comparison_that_breaks_off_is_made_again_as_the_first(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.jobs.fails["scan"] = OSError(24, "Too many open files")
    turns.outside.scanning.open()
    turns.turns()
    assert not turns.outside.scanning.progress()["captured"]
    turns.turns(TRY_AGAIN_S)
    assert turns.scans() == ["start"]
    assert [e.evidence for e in turns.events() if isinstance(e, OutsideWritten)] == ["captured"]


def test_a_comparison_that_breaks_off_each_time_is_made_more_and_more_seldom(turns: Turns) -> None:
    turns.opened()
    turns.outside.scanning.scan("rules")
    for _ in range(600):
        turns.jobs.fails["scan"] = OSError(24, "Too many open files")
        turns.turn(1.0)
    assert 10 <= len(turns.errors) <= 20


def test_a_journal_that_the_first_comparison_cannot_read_ends_the_daemon(turns: Turns) -> None:
    """The next start checks it; a later comparison only tells of it."""
    turns.jobs.fails["scan"] = Damaged("a row cannot be read")
    turns.outside.scanning.open()
    turns.turns()
    assert [(type(e), getattr(e, "everywhere", False)) for e in turns.errors] == [(Damaged, True)]
    turns.turns(TRY_AGAIN_S)
    turns.jobs.fails["scan"] = Damaged("a row cannot be read")
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert [getattr(e, "everywhere", False) for e in turns.errors] == [True, False]


def test_without_scan_minutes_the_tree_is_compared_once_and_the_loop_sleeps(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    for _ in range(100):
        assert turns.waits_s() >= 60
        turns.turn(60.0)
    assert turns.scans() == ["start"]
    assert turns.texts("a") == []


def test_with_scan_minutes_the_tree_is_compared_so_often(tmp_path: Path) -> None:
    turns = Turns(tmp_path, scan_minutes=5).opened()
    for minute in range(21):
        turns.write("a", f"{minute}\n")
        turns.turns(60.0)
    assert turns.scans() == ["start", *["periodic"] * 4]
    turns.workspace.close()


def test_scan_minutes_count_as_soon_as_the_settings_change(turns: Turns) -> None:
    turns.opened()
    turns.set(1.0)
    turns.outside.scanning.retime()
    assert turns.waits_s() == 60
    turns.turns(60.0)
    assert turns.scans() == ["start", "periodic"]
    turns.set(0.0)
    turns.outside.scanning.retime()
    turns.turns(1000.0)
    assert turns.scans() == ["start", "periodic"]


def test_the_loop_sleeps_while_a_comparison_takes_longer_than_the_time_between_two(tmp_path: Path) -> None:
    turns = Turns(tmp_path, scan_minutes=0.1)
    turns.outside.scanning.open()
    for _ in range(3):
        turns.clock.at_s += 60
        assert turns.waits_s() >= 6
        turns.guarded("outside", lambda: turns.outside.look(turns.clock.at_s, hurried=False))
    turns.workspace.close()


def test_a_comparison_that_is_asked_for_during_one_follows_it(turns: Turns) -> None:
    turns.outside.scanning.open()
    turns.outside.scanning.scan("overflow")
    turns.outside.scanning.scan("rules")
    turns.turns()
    assert turns.scans() == ["start", "rules"]


# ── after a restart ──


def again(turns: Turns) -> Turns:
    """Another daemon over the same journal."""
    return Turns(turns.root, turns.store)


def test_who_asks_after_a_restart_waits_for_what_happened_meanwhile(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    later = again(turns)
    turns.write("a", "two\n")
    later.outside.scanning.open()
    assert not later.outside.idle()
    assert 0 < later.waits_s() < 2 * FIRST_S
    later.outside.scanning.hurry()
    later.turns()
    assert later.outside.idle()
    assert later.texts("a") == ["one\n", "two\n"]
    later.workspace.close()


def test_what_came_about_while_no_daemon_ran_was_not_there_when_the_journal_began(turns: Turns) -> None:
    """It was told as first seen, by nobody knew whom: also what the journal has known for long, and what went."""
    for path in ("a", "b"):
        turns.write(path, "one\n")
    turns.opened()
    turns.write("a", "two\n")
    (turns.root / "b").unlink()
    turns.write("new", "one\n")
    later = again(turns)
    later.outside.scanning.open()
    later.turns(FIRST_S)
    assert {(e.path, e.evidence) for e in later.events() if isinstance(e, OutsideWritten | OutsideDeleted)} == {
        *(("a", "captured"), ("b", "captured")),
        *(("a", "scanned"), ("b", "scanned"), ("new", "scanned")),
    }
    later.workspace.close()


def emptied(turns: Turns, disks: int) -> Turns:
    """Another daemon over the journal of two files, in a folder where nothing is; so many disks further than before."""
    for path in ("a", "b"):
        turns.write(path, "one\n")
    turns.opened()
    for path in ("a", "b"):
        seen = turns.recorder.seen.get(path)
        assert seen is not None
        turns.recorder.seen.tell({path: msgspec.structs.replace(seen, dev=seen.dev + disks)})
        (turns.root / path).unlink()
    turns.recorder.seen.save()
    later = again(turns)
    later.outside.scanning.open()
    later.turns(FIRST_S)
    return later


def deletions(turns: Turns) -> set[str]:
    return {event.path for event in turns.events() if isinstance(event, OutsideDeleted)}


def test_an_empty_folder_where_another_disk_was_mounted_is_not_taken_for_deletions(turns: Turns) -> None:
    """Every file was journaled as deleted, and came back as a new version with the disk."""
    later = emptied(turns, disks=1)
    assert (deletions(later), later.errors) == (set(), [])
    assert later.outside.idle(), "nobody waits for a disk"
    assert "another disk" in later.outside.scanning.progress()["waits_for"]
    assert "another disk" in later.outside.reasons()[-1]
    later.write("c", "new\n")
    later.turns(later.waits_s())
    assert deletions(later) == {"a", "b"}, "somebody works there"
    assert "another disk" not in str(later.outside.reasons())
    later.workspace.close()


@pytest.mark.parametrize(("disks", "left"), [(0, ""), (1, ".git")])
def test_a_folder_that_somebody_has_emptied_is(turns: Turns, disks: int, left: str) -> None:
    if left:
        (turns.root / left).mkdir()
    later = emptied(turns, disks)
    assert deletions(later) == {"a", "b"}
    later.workspace.close()


def test_nobody_waits_for_a_first_capture_that_was_interrupted_and_goes_on(turns: Turns) -> None:
    """It may take minutes, as any other; replies say that it goes on."""
    turns.told("a", "one\n")
    turns.turns()
    assert (turns.texts("a"), turns.scans()) == (["one\n"], [])
    turns.write("b", "bee\n")
    later = again(turns)
    later.outside.scanning.open()
    assert later.outside.idle()
    assert later.outside.reasons()
    later.turns()
    assert later.texts("b") == ["bee\n"]
    later.workspace.close()


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
    def reading(self) -> Iterator[Reading]:
        with super().reading() as r:
            yield _Counted(r, self)


class _Counted:
    def __init__(self, r: Reading, store: Counting) -> None:
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
    after.outside.scanning.open()
    read = store.names_read
    assert read
    with after.recorder.history() as history:
        assert list(history.path_numbers("all", lambda path: True)) == [1]
    assert store.names_read == read
    after.workspace.close()


def test_however_many_folders_come_and_go_at_once_the_names_of_all_paths_are_not_read_for_each(tmp_path: Path) -> None:
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
        before = turns.gather.looks
        for _ in range(10):
            turns.turns(AGAIN_S)
        assert turns.gather.looks - before <= 11


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


def test_what_the_watcher_told_of_while_something_failed_is_looked_at(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    turns.write(".quire.toml", "")
    turns.reloads.append(OSError(5, "Input/output error"))
    turns.watcher.batches.append(Batch(dirty={".quire.toml"}, touched={".quire.toml"}))
    turns.turns()
    assert len(turns.errors) == 1
    assert turns.texts("a") == ["one\n"]
    assert turns.scans() == ["start", "overflow"]


# ── disks that come and go ──


class Disk:
    """A folder of the checkout at which another disk can be mounted, as far as a table of mounts tells of that."""

    def __init__(self, turns: Turns, folder: str) -> None:
        self.turns, self.at, self.other = turns, turns.root / folder, turns.root / ".quire" / folder
        self.at.mkdir()
        self.other.mkdir()
        self.mounted, self.news = False, True
        turns.gather.mounts = Mounts(os.fspath(turns.root), self)

    def changed(self) -> bool:
        return self.news

    def read(self) -> bytes:
        self.news = False
        return f"1 1 0:1 / {self.at} rw - ext4 disk rw\n".encode() if self.mounted else b""

    def close(self) -> None:
        """As the kernel's."""

    def holds(self, *names: str) -> None:
        """It is mounted with these files when the daemon begins."""
        for name in names:
            (self.other / name).write_text(f"{name}\n")
        self.comes_or_goes()
        self.turns.opened()

    def comes_or_goes(self) -> None:
        """What was seen is elsewhere, and what was elsewhere is seen; the watcher tells of the folder."""
        between = self.other.with_name("between")
        self.at.rename(between)
        self.other.rename(self.at)
        between.rename(self.other)
        self.mounted, self.news = not self.mounted, True
        self.turns.watcher.batches.append(Batch(folders={self.at.name}, unseen={self.at.name}))
        self.turns.turns()


def hidden(turns: Turns) -> list[str]:
    """What `status` says of files that are hidden."""
    return [reason for reason in turns.outside.reasons() if "not taken for deleted" in reason]


def test_files_of_a_disk_that_is_unmounted_are_not_taken_for_deleted(turns: Turns) -> None:
    """Each was journaled as deleted, and as written anew when the disk came back."""
    disk = Disk(turns, "sub")
    disk.holds("a", "b", "gone")
    rewatched = turns.watcher.rewatched
    disk.comes_or_goes()
    (disk.other / "gone").unlink()
    assert deletions(turns) == set()
    assert [event for event in turns.events() if isinstance(event, OutsideWritten) and event.path == "sub"] == []
    assert hidden(turns) == [
        "3 files went with what was mounted at sub: not taken for deleted until it is mounted again, something is made "
        "there, or the folder is removed"
    ]
    assert turns.outside.idle(), "nobody waits for a disk"
    assert turns.gather.file("sub/a", writing=False).kind == "missing"
    assert deletions(turns) == set(), "who looks for it changes nothing"
    disk.comes_or_goes()
    assert (deletions(turns), hidden(turns)) == ({"sub/gone"}, [])
    assert turns.watcher.rewatched == rewatched + 2, "other folders stand there"
    assert [turns.texts(f"sub/{name}") for name in ("a", "b")] == [["a\n"], ["b\n"]]


def test_who_works_in_the_folder_of_a_disk_that_went_goes_on_without_it(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    disk.holds("a", "b", "c")
    disk.comes_or_goes()
    assert turns.gather.file("sub/c", writing=True).kind == "missing"
    assert deletions(turns) == {"sub/c"}, "a tool is about to make it"
    turns.told("sub/new", "new\n")
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a", "sub/b", "sub/c"}, [])


def test_a_tool_that_makes_a_file_in_the_folder_of_a_disk_that_went_goes_on_without_it(turns: Turns) -> None:
    """The watcher tells of what a tool wrote, but that is known, and nobody looks at it again."""
    disk = Disk(turns, "sub")
    disk.holds("a", "b")
    disk.comes_or_goes()
    turns.write("sub/new", "new\n")
    signature = turns.workspace.look("sub/new").signature
    turns.outside.landed("sub/new", signature, blob_id(b"new\n"))
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a", "sub/b"}, [])


def test_behind_what_is_mounted_nothing_is_looked_for_whatever_is_written_there(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    for name in ("a", "b", "c"):
        (disk.at / name).write_text(f"{name}\n")
    turns.opened()
    disk.comes_or_goes()
    looks = turns.gather.looks
    turns.told("sub/a", "another\n")
    turns.turns()
    assert turns.gather.looks == looks + 1
    assert hidden(turns) == [
        "what is mounted at sub hides 2 files of before: not taken for deleted until it is unmounted"
    ]


def test_files_that_a_mount_hides_are_not_taken_for_deleted_and_its_own_are(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    for name in ("a", "b"):
        (disk.at / name).write_text(f"{name}\n")
    turns.opened()
    (disk.other / "own").write_text("own\n")
    disk.comes_or_goes()
    assert turns.texts("sub/own") == ["own\n"]
    (disk.at / "own").unlink()
    turns.outside.scanning.scan("overflow")
    turns.turns()
    assert deletions(turns) == {"sub/own"}
    assert hidden(turns) == [
        "what is mounted at sub hides 2 files of before: not taken for deleted until it is unmounted"
    ]
    (disk.other / "b").unlink()
    disk.comes_or_goes()
    assert (deletions(turns), hidden(turns)) == ({"sub/own", "sub/b"}, [])


def test_a_disk_that_went_together_with_its_folder_took_its_files_for_good(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    disk.holds("a")
    disk.at.rename(disk.other.with_name("away"))
    disk.mounted, disk.news = False, True
    turns.turns()
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a"}, [])


# ── several names of one file ──


def saved(turns: Turns, path: str, text: str) -> None:
    """Another program writes through this name, and the watcher tells of it alone, as the kernel does."""
    turns.write(path, text)
    turns.watcher.batches.append(Batch(dirty={path}, touched={path}))
    turns.turns()


def linked(turns: Turns, path: str, to: str) -> None:
    """A file gets another name, of which the watcher tells."""
    os.link(turns.root / path, turns.root / to)
    turns.watcher.batches.append(Batch(dirty={to}))
    turns.turns()


def test_what_is_written_through_one_name_of_a_file_is_journaled_at_all_of_them(turns: Turns) -> None:
    turns.write("a", "one\n")
    os.link(turns.root / "a", turns.root / "b")
    turns.opened()
    saved(turns, "b", "two\n")
    saved(turns, "a", "three\n")
    assert turns.texts("a") == turns.texts("b") == ["one\n", "two\n", "three\n"]


def test_what_a_tool_writes_through_one_name_is_told_so_at_the_others(turns: Turns) -> None:
    turns.write("a", "one\n")
    os.link(turns.root / "a", turns.root / "b")
    turns.opened()
    turns.recorder.note(FileWritten("a", blob_id(b"two\n"), 4, 0o644), WriterId(1))
    turns.recorder.note_blob(b"two\n", "a")
    turns.recorder.commit()
    saved(turns, "a", "two\n")
    saved(turns, "a", "three\n")
    seen = [e.hint for e in turns.events() if isinstance(e, OutsideWritten) and e.path == "b"]
    assert (turns.texts("b"), seen) == (["one\n", "two\n", "three\n"], ["", "hard link of a", ""])


def test_the_names_of_a_file_that_gets_another_one_are_looked_for(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    linked(turns, "a", "b")
    saved(turns, "b", "two\n")
    (turns.root / "b").unlink()
    turns.write("c", "other\n")
    os.link(turns.root / "c", turns.root / "b")
    turns.watcher.batches.append(Batch(dirty={"b", "c"}, touched={"c"}))
    turns.turns()
    saved(turns, "c", "other two\n")
    assert turns.texts("a") == ["one\n", "two\n"]
    assert turns.texts("b") == ["one\n", "two\n", "other\n", "other two\n"]


def test_a_program_that_makes_links_all_the_time_has_the_tree_looked_through_for_a_tenth_of_it(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    begun = 0
    for number in range(100):
        os.link(turns.root / "a", turns.root / f"lock{number}")
        turns.watcher.batches.append(Batch(dirty={f"lock{number}"}))
        turns.turn(0.1)  # as long as the crawl that the turn before began
        begun += "names of files" in turns.jobs.waiting
    assert begun == 100 // (REST + 1) + 1
    assert not turns.outside.idle(), "who asks for the tree waits"
    turns.turns(REST * 0.1)
    assert turns.outside.idle()
    saved(turns, "lock99", "two\n")
    assert turns.texts("a") == ["one\n", "two\n"]


def test_names_that_cannot_be_looked_for_are_found_by_a_comparison(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    turns.jobs.fails["names of files"] = OSError(24, "Too many open files")
    linked(turns, "a", "b")
    assert [str(error) for error in turns.errors] == ["[Errno 24] Too many open files"]
    saved(turns, "b", "two\n")
    assert turns.texts("a") == ["one\n", "two\n"]
