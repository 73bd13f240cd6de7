"""Bases: a version is made from what stood at its path, a new file from one that it is like, and none depends on it."""

from __future__ import annotations

import pytest

from quire_journal.export.formats import FORMATS
from quire_journal.export.importer import import_lines
from quire_journal.export.source import Source, Stretch
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance import purge
from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import BytesGone, FileMoved, OutsideDeleted, OutsideWritten
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.storage.blobs import blobs
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store

LICENCE = b"".join(b"# line %d of a licence that stands in every file\n" % n for n in range(40))


def text(name: str, number: int = 0) -> bytes:
    """A file of which the beginning is that of every other."""
    return LICENCE + b"".join(b"%s = %d  # %d\n" % (name.encode(), n * n, number) for n in range(12))


@pytest.fixture
def journal() -> Journal:
    return Journal.open(MemoryStore(), 1)


def write(journal: Journal, *files: tuple[str, bytes]) -> None:
    """One commit with a new version of each."""
    first = journal.head + 1
    events = [OutsideWritten(path, blob_id(data), len(data), 0o644, "watched") for path, data in files]
    journal.append(
        [NewRecord(event, OUTSIDE, 1, BatchId(first)) for event in events], [(data, path) for path, data in files]
    )


def base(store: Store, data: bytes) -> bytes:
    """The bytes that these are stored as a change of; b"": of none."""
    with store.reading() as r:
        stored = blobs.stored_at(r, blobs.number_of(r, blob_id(data)))
        return blobs.unpack(r, stored.base) if stored.base else b""


def test_a_new_file_is_made_from_the_last_new_one_of_its_name_as_it_is_now(journal: Journal) -> None:
    write(journal, ("a/views.py", text("views")))
    write(journal, ("a/views.py", text("views", 1)))
    write(journal, ("a/other.py", text("other")))
    write(journal, ("b/views.py", text("views", 2)))
    assert base(journal.store, text("views", 2)) == text("views", 1)


@pytest.mark.parametrize(
    ("path", "of"), [("b/new.py", "two"), ("b/new.txt", ""), ("Makefile", ""), ("b/.py", ""), ("c.d/new", "")]
)
def test_a_new_file_with_a_new_name_is_a_delta_against_the_newest_of_its_suffix(path: str, of: str) -> None:
    journal = Journal.open(MemoryStore(), 1)
    write(journal, ("one.py", text("one")))
    write(journal, ("two.py", text("two")))
    write(journal, ("three.md", text("three")))
    write(journal, (path, text("new")))
    assert base(journal.store, text("new")) == (text(of) if of else b"")


def test_files_that_come_in_one_commit_are_made_from_each_other(journal: Journal) -> None:
    write(journal, *((f"{name}.py", text(name)) for name in ("one", "two", "three")))
    assert [base(journal.store, text(name)) for name in ("one", "two", "three")] == [b"", text("one"), text("two")]


def test_a_file_that_comes_back_is_made_from_what_it_was(journal: Journal) -> None:
    write(journal, ("a.py", text("a")))
    write(journal, ("b.py", text("b")))
    journal.append([NewRecord(OutsideDeleted("a.py", "watched"), OUTSIDE, 1, BatchId(3))])
    write(journal, ("a.py", text("a", 1)))
    assert base(journal.store, text("a", 1)) == text("a")


def test_a_new_file_is_a_delta_against_a_moved_and_changed_file_of_its_name(journal: Journal) -> None:
    write(journal, ("a/x.py", text("x")))
    moved = FileMoved("a/x.py", "b/y.py", blob_id(text("x")), len(text("x")), 0o644, 1)
    journal.append([NewRecord(moved, OUTSIDE, 1, BatchId(2))])
    write(journal, ("b/y.py", text("x", 1)))
    write(journal, ("c/x.py", text("x", 2)))
    assert base(journal.store, text("x", 2)) == text("x", 1)


def test_two_versions_of_one_file_in_one_commit_are_made_from_each_other(journal: Journal) -> None:
    write(journal, ("a.py", text("a")))
    write(journal, ("a.py", text("a", 1)), ("a.py", text("a", 2)))
    assert base(journal.store, text("a", 2)) == text("a", 1)


def test_what_a_new_file_was_made_from_can_be_purged_and_dropped(journal: Journal) -> None:
    write(journal, ("a/conf.py", text("conf")))
    write(journal, ("b/conf.py", text("conf", 1)))
    write(journal, ("b/conf.py", text("conf", 2)))
    assert base(journal.store, text("conf", 1)) == text("conf")
    with journal.store.reading() as r:
        looking = purge.PurgeSurvey(PurgeTarget(path="a/conf.py"))
        looking.look(r)
        change = looking.change(r)
    journal.append(
        [NewRecord(event, OUTSIDE, 1, BatchId(journal.head + 1)) for event in change.events],
        dropped=change.dropped,
        instead=change.rows,
    )
    with journal.store.reading() as r:
        assert not blobs.holds(r, blob_id(text("conf")))
        head = History(r).file("b/conf.py")
        assert head is not None
        assert [History(r).bytes_of(blob_id(text("conf", n))) for n in (1, 2)] == [text("conf", n) for n in (1, 2)]
    assert list(check(journal.store)) == []
    gone = BytesGone((blob_id(text("conf", 2)),), "dropped", ("b/conf.py",))
    journal.append([NewRecord(gone, OUTSIDE, 1, BatchId(journal.head + 1))], dropped=gone.blobs)
    write(journal, ("b/conf.py", text("conf", 3)))
    write(journal, ("c/conf.py", text("conf", 4)))
    assert base(journal.store, text("conf", 4)) == text("conf", 3)
    assert list(check(journal.store)) == []


def test_rows_that_lead_nowhere_or_elsewhere_cost_space_and_nothing_else(journal: Journal) -> None:
    write(journal, ("a/x.py", text("x")))
    write(journal, ("b/data.bin", bytes(5000)))
    with journal.store.writing() as w:
        elsewhere = next(value for _, value in w.scan("kin"))
        for key, _ in list(w.scan("kin")):
            w.put("kin", key, b"nowhere")
    write(journal, ("b/x.py", text("x", 1)))
    assert base(journal.store, text("x", 1)) == b""
    with journal.store.writing() as w:
        for key, _ in list(w.scan("kin")):
            w.put("kin", key, elsewhere)
    write(journal, ("c/x.py", text("x", 2)))
    with journal.store.reading() as r:
        assert History(r).bytes_of(blob_id(text("x", 2))) == text("x", 2)
    assert list(check(journal.store)) == []


def test_an_imported_journal_takes_no_more_than_the_one_it_was_made_of(journal: Journal) -> None:
    for number in range(6):
        write(journal, *((f"p{number}/{name}.py", text(name, number)) for name in ("one", "two")))
        write(journal, (f"p{number // 2}/one.py", text("one", number + 9)))
    lines = b"".join(FORMATS["jsonl"].export(Source(journal.store, Stretch(0, journal.head), "w", "/site"), "batch"))
    again = Journal.open(MemoryStore(), 1).store
    import_lines(lines.splitlines(keepends=True), again)

    def frames(store: Store) -> int:
        with store.reading() as r:
            return sum(len(value) for table in ("blobs", "pieces") for _, value in r.scan(table))

    assert frames(again) <= frames(journal.store) * 1.1
    assert list(check(again)) == []
