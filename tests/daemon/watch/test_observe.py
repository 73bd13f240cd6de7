"""Gathering: what a look at a path brings, and what it may leave out because of what is known of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from quire_daemon.clock import SystemClock
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.reconcile import SeenStat
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import Observer
from quire_daemon.workspace.types import Image
from quire_daemon.workspace.workspace import Workspace
from quire_journal.history.authorship import LOCK_TAKEN
from quire_journal.journal import Journal
from quire_journal.model.events import OutsideMoved, OutsideWritten
from quire_journal.model.ids import blob_id, journal_path, percent_escaped
from quire_journal.model.refusals import Refusal
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import u64

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"
LINES = "".join(f"line {n}\n" for n in range(100))


def test_a_file_stands_as_long_as_its_signature_is_the_one_that_was_seen_last(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    observer = Observer(
        workspace, Recorder(Journal.open(MemoryStore(), 1), SystemClock()), Ignore(tmp_path), LiveSettings(Settings())
    )
    file = tmp_path / "f"
    file.write_bytes(b"ours")
    assert not observer.stands("f")  # nobody has seen it
    s = workspace.look("f").signature
    assert s is not None
    observer.recorder.seen.tell({"f": SeenStat(s.dev, s.ino, s.size, s.mtime_ns, s.ctime_ns, s.mode, b"blob", 1)})
    assert observer.stands("f")
    other = tmp_path / "other"
    other.write_bytes(b"ours")
    os.utime(other, ns=(s.mtime_ns, s.mtime_ns))
    file.rename(tmp_path / "kept")
    assert not observer.stands("f")  # nothing is there
    other.rename(file)
    assert not observer.stands("f")  # another file is
    workspace.close()


@pytest.fixture
def observer(tmp_path: Path) -> Iterator[Observer]:
    clock, settings, workspace = SystemClock(), Settings(), Workspace(tmp_path)
    ignore = Ignore(tmp_path, settings.capture.ignore, settings.capture.secret_globs)
    yield Observer(
        workspace, Recorder(Journal.open(MemoryStore(), time.time_ns()), clock), ignore, LiveSettings(settings)
    )
    workspace.close()


@pytest.fixture
def files(observer: Observer) -> RequestFiles:
    return RequestFiles(observer)


def test_a_file_that_is_read_again_is_the_text_that_is_at_hand(tmp_path: Path) -> None:
    """Where stamps prove nothing each look reads: what was made of the lines is not made again."""
    probed = Workspace(tmp_path)
    workspace = Workspace(tmp_path, protection=replace(probed.protection, stamps=False))
    probed.close()
    recorder = Recorder(Journal.open(MemoryStore(), 1), SystemClock())
    files = RequestFiles(Observer(workspace, recorder, Ignore(tmp_path), LiveSettings(Settings())))
    (tmp_path / "a.py").write_text(LINES)
    first = files.file("a.py", writing=True).text
    assert first is not None
    assert files.file("a.py", writing=True).text is first
    (tmp_path / "a.py").write_text(f"{LINES}more\n")
    second = files.file("a.py", writing=True).text
    assert second is not None
    assert (second.data, second.blob) == (f"{LINES}more\n".encode(), blob_id(f"{LINES}more\n".encode()))
    workspace.close()


class Raced(Workspace):
    """A workspace in which a program saves `f` just before it is read."""

    saves = b""

    def read(self, path: str, limit: int, *, unfinished_ok: bool = False) -> Image:
        if self.saves:
            (self.root / "f").write_bytes(self.saves)
        return super().read(path, limit, unfinished_ok=unfinished_ok)


@pytest.mark.parametrize(("saves", "damaged"), [(b"", True), (b"changed\n", False)])
def test_unchanged_files_are_read_and_only_a_file_that_just_changed_is_unpacked(
    tmp_path: Path, saves: bytes, damaged: bool
) -> None:
    """To unpack a version takes going over those before it; here that cannot be done at all."""
    (tmp_path / "f").write_text(LINES)
    store, workspace, settings = MemoryStore(), Raced(tmp_path), LiveSettings(Settings())
    gathers = [
        Observer(workspace, Recorder(Journal.open(store, 1), SystemClock()), Ignore(tmp_path), settings)
        for _ in range(2)
    ]
    RequestFiles(gathers[0]).file("f", writing=True)
    if damaged:
        with store.writing() as w:
            w.put("blobs", u64(1), b"nonsense")
    seen, signature = gathers[1].recorder.seen, workspace.look("f").signature
    assert signature is not None
    seen.tell({"f": SeenStat.of(signature, blob_id(LINES.encode()), 1)})
    workspace.saves = saves
    text = RequestFiles(gathers[1]).file("f", writing=True).text
    assert text is not None
    assert text.data == LINES.encode()
    workspace.close()


def test_the_journals_own_form_of_a_name_that_is_not_utf_8_means_that_file_though_it_is_gone(
    files: RequestFiles,
) -> None:
    name = journal_path("d/\udcff x")
    assert files.file(name, writing=True).path == name
    assert files.file("d/%FF%20x", writing=True).path == name


def test_a_name_that_looks_percent_escaped_means_the_file_that_was_really_called_so(files: RequestFiles) -> None:
    file = files.observer.workspace.root / "%FF"
    file.write_bytes(b"x\n")
    assert files.file("%FF", writing=True).path == "%FF"
    file.unlink()
    assert files.file("%FF", writing=True).path == "%FF"


def test_an_absolute_path_of_the_workspace_is_asked_about_as_the_journal_knows_it(files: RequestFiles) -> None:
    root = str(files.observer.workspace.root)
    for given, asked in [
        ("a/b", "a/b"),
        ("*.py", "*.py"),
        (root, "."),
        (f"{root}/a/b", "a/b"),
        (f"{root}/*.py", "*.py"),
        (f"{root}/../x", "../x"),  # for `relative_path` to refuse
        ("/src/*.py", "/src/*.py"),  # begins at the top, as in .gitignore
    ]:
        assert files.asked(given) == asked
    for given, code in [(f"{root}x/a", "outside_workspace"), ("/", "outside_workspace"), ("/a\0*", "schema_invalid")]:
        with pytest.raises(Refusal) as refused:
            files.asked(given)
        assert refused.value.code == code


def saved(files: RequestFiles, text: str) -> str:
    """Another program saves; why the journal does not hold what it saved, "" when it does."""
    (files.observer.workspace.root / "a.py").write_text(text)
    return files.file("a.py", writing=False).uncaptured


def test_a_secret_is_found_in_the_first_version_and_in_what_a_later_one_changes(files: RequestFiles) -> None:
    assert saved(files, LINES + TOKEN) == "holds_secret"
    assert saved(files, LINES) == ""
    assert saved(files, f"begin\n{LINES}") == ""
    assert saved(files, f"begin\n{LINES}key = '{TOKEN}'\n") == "holds_secret"
    assert saved(files, f"begin\n{LINES}key = '{TOKEN}'\nmore\n") == "holds_secret"
    assert saved(files, f"begin\n{LINES}key = ''\nmore\n") == ""
    half = len(TOKEN) // 2
    assert saved(files, f"{LINES}key = '{TOKEN[:half]}\n{TOKEN[half:]}'\n") == ""
    assert saved(files, f"{LINES}key = '{TOKEN}'\n") == "holds_secret"  # a line break is gone, no more


@pytest.mark.parametrize("path", ["f", "d/f"])
def test_a_file_went_no_later_than_the_last_change_of_its_folder(observer: Observer, path: str) -> None:
    """On a busy machine the checkout that took a file away had ended long before, and was not named."""
    asked: list[tuple[int, bool]] = []
    observer.hint = lambda path, at_ns, exact: asked.append((at_ns, exact)) or "git"
    file = observer.workspace.root / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("x\n")
    seen = observer.observe(path, "captured")
    observer.note(seen, seen.event)
    observer.recorder.commit()
    file.unlink()
    went_ns, hour_ns = file.parent.stat().st_ctime_ns, 3600 * 10**9
    for named_ns in (went_ns + hour_ns, went_ns - hour_ns):
        gone = observer.observe(path, "watched", named_ns=named_ns)
        observer.note(gone, gone.event)
    assert asked == [(went_ns, False), (went_ns - hour_ns, False)]


def test_a_file_moves_with_its_folder_at_the_time_of_the_folder(observer: Observer) -> None:
    """`mv lib lib2` after a `git stash pop` was the pop's, as the times of the files in it were."""
    asked: list[int] = []
    observer.hint = lambda path, at_ns, exact: asked.append(at_ns) or ""
    old, new = observer.workspace.root / "d", observer.workspace.root / "e"
    (old / "in").mkdir(parents=True)
    (old / "in" / "f").write_text("x\n")
    seen = observer.observe("d/in/f", "captured")
    observer.note(seen, seen.event)
    observer.recorder.commit()
    old.rename(new)
    while new.stat().st_ctime_ns == (new / "in" / "f").stat().st_ctime_ns:  # as the clock of files goes by ticks
        new.rename(old)
        old.rename(new)
    came = observer.observe("e/in/f", "watched")
    assert isinstance(came.event, OutsideWritten)
    size, mode = came.event.size, came.event.mode
    observer.note(came, OutsideMoved("d/in/f", "e/in/f", came.event.blob, size, mode, "watched", 1))
    assert asked == [new.stat().st_ctime_ns]


def test_new_bytes_that_came_with_the_lock_of_the_index_are_not_gits(observer: Observer) -> None:
    """Git takes the lock in the tick of the clock in which the person saved: `echo >f; git add f`."""
    observer.hint = lambda path, at_ns, exact: LOCK_TAKEN
    hints: list[str] = []
    for text in ("one\n", "two\n", "one\n"):
        (observer.workspace.root / "f").write_text(text)
        seen = observer.observe("f", "watched")
        observer.note(seen, seen.event)
        observer.recorder.commit()
        with observer.recorder.history() as history:
            event = history.event(history.head())
        assert isinstance(event, OutsideWritten)
        hints.append(event.hint)
    assert hints == ["", "", LOCK_TAKEN]


def test_a_name_in_a_folder_called_percent_leads_back_as_it_is_shown(files: RequestFiles) -> None:
    """It is escaped as those are that are not UTF-8, whose mark begins as it does."""
    folder = files.observer.workspace.root / "%"
    folder.mkdir()
    (folder / "x").write_bytes(b"x\n")
    name = journal_path("%/x")
    assert percent_escaped(name) == "%25/x"
    assert files.file("%25/x", writing=False).path == name
    assert files.file(name, writing=False).path == name
