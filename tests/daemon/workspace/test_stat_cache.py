"""The cache of the disk: what is told counts at once, what was saved is looked up when somebody asks."""

from __future__ import annotations

from quire_daemon.core.reconcile import SeenStat
from quire_daemon.workspace.stat_cache import SeenFiles
from quire_journal.history.path_cache import PathNames
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import OutsideWritten
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import u32


def seen(size: int) -> SeenStat:
    """A file of so many bytes."""
    return SeenStat(1, 2, size, 3, 4, 0o100644, blob_id(b"x" * size), 5)


def store_of(*paths: str) -> MemoryStore:
    """A journal that names these paths."""
    store = MemoryStore()
    journal = Journal.open(store, 1)
    journal.append(
        [
            NewRecord(OutsideWritten(path, blob_id(b""), 0, 0o644, "captured"), OUTSIDE, 1, BatchId(seq))
            for seq, path in enumerate(paths, 1)
        ],
        [(b"", None)],
    )
    return store


def everything(files: SeenFiles, store: MemoryStore) -> dict[str, SeenStat]:
    """As a scan reads it."""
    with store.reading() as r:
        return files.all()(r, PathNames())


def test_what_was_saved_is_found_by_the_next_daemon_path_by_path_and_as_a_whole() -> None:
    store = store_of("a", "b", "c")
    files = SeenFiles(store)
    files.tell({"a": seen(1), "b": seen(2), "c": None})
    assert not files.save()
    later = SeenFiles(store)
    assert (later.get("a"), later.get("b"), later.get("c")) == (seen(1), seen(2), None)
    assert everything(SeenFiles(store), store) == {"a": seen(1), "b": seen(2)}


def test_entries_are_saved_in_any_order_and_over_those_that_are_there() -> None:
    store = store_of("a", "b", "c", "d")
    files = SeenFiles(store)
    for told in ({"c": seen(1)}, {"d": seen(2), "a": seen(3), "c": seen(4)}, {"b": seen(5)}):
        files.tell(told)
        assert not files.save()
    assert everything(SeenFiles(store), store) == {"a": seen(3), "b": seen(5), "c": seen(4), "d": seen(2)}


def test_what_is_told_counts_before_it_is_saved_and_over_what_was() -> None:
    store = store_of("a", "b")
    before = SeenFiles(store)
    before.tell({"a": seen(1), "b": seen(2)})
    before.save()
    files = SeenFiles(store)
    files.tell({"a": None, "b": seen(3)})
    assert (files.get("a"), files.get("b")) == (None, seen(3))
    assert everything(files, store) == {"b": seen(3)}


def test_entries_are_saved_in_the_order_in_which_they_were_told() -> None:
    names = [f"f{number}" for number in range(20)]
    store = store_of(*names)
    files = SeenFiles(store)
    files.tell(dict.fromkeys(names, seen(1)))
    for count in (5, 10, 15):
        assert files.save(5)
        assert [*everything(SeenFiles(store), store)] == names[:count]


def test_names_that_came_and_went_are_not_kept_in_memory() -> None:
    """Compilers and editors make thousands in a day."""
    store = store_of("a")
    files = SeenFiles(store)
    files.tell({"a": seen(1), "a~": None, "4913": None})
    assert len(files) == 3
    files.save()
    assert len(files) == 1
    assert (files.get("a"), files.get("4913")) == (seen(1), None)


def test_it_is_saved_in_portions() -> None:
    store = store_of("a", "b", "c")
    files = SeenFiles(store)
    files.tell({"a": seen(1), "b": seen(2), "c": seen(3)})
    assert files.save(2)
    assert not files.save(2)
    assert not files.save(2)
    assert len(everything(SeenFiles(store), store)) == 3


def test_a_row_that_makes_no_sense_says_nothing() -> None:
    store = store_of("a")
    with store.writing() as w:
        w.put("seen", u32(1), b"nonsense")
    assert SeenFiles(store).get("a") is None
    assert everything(SeenFiles(store), store) == {}


def quiet(blob: bytes, taken_ns: int = 10**12) -> SeenStat:
    """An empty file, last changed long before it was read."""
    return SeenStat(1, 2, 0, 3, 4, 0o100644, blob, taken_ns)


def test_a_row_of_a_file_that_has_the_bytes_of_its_head_is_half_as_long_and_proves_the_same() -> None:
    store = store_of("a", "b")
    files = SeenFiles(store)
    files.tell({"a": quiet(blob_id(b"")), "b": quiet(blob_id(b"others"))})
    files.save()
    with store.reading() as r:
        short, long = r.values("seen")
    assert 2 * len(short) < len(long)
    for found in (SeenFiles(store).get("a"), everything(SeenFiles(store), store)["a"]):
        assert found is not None
        assert found.matches(quiet(b""))
        assert (found.blob, found.racy()) == (blob_id(b""), False)
    assert SeenFiles(store).get("b") == quiet(blob_id(b"others"))


def test_a_row_of_a_file_that_was_read_just_after_its_change_stays_racy() -> None:
    store = store_of("a")
    files = SeenFiles(store)
    files.tell({"a": quiet(blob_id(b""), taken_ns=5)})
    files.save()
    found = SeenFiles(store).get("a")
    assert found == quiet(blob_id(b""), taken_ns=5)
    assert found.racy()


def test_a_short_row_says_nothing_after_its_path_got_another_head() -> None:
    store = store_of("a")
    files = SeenFiles(store)
    files.tell({"a": quiet(blob_id(b""))})
    files.save()
    written = OutsideWritten("a", blob_id(b"new"), 3, 0o644, "scanned", 1)
    Journal.open(store, 1).append([NewRecord(written, OUTSIDE, 1, BatchId(2))], [(b"new", "a")])
    assert SeenFiles(store).get("a") is None
    assert everything(SeenFiles(store), store) == {}
